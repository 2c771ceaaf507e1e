import json
import subprocess
import sys
from pathlib import Path

labels = [
    {
        "response": f"It has {n} lamps.",
        # Samples that are all the same prove nothing.
        "samples": [f"It has {n + m * wrong} lamps{end}" for m, end in enumerate(".!?", 1)],
        "label": "hallucinated" if wrong else "correct",
    }
    for n in range(40, 60)
    for wrong in (False, True)
]
Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
Path("ngram.yaml").write_text("chain: [{method: ngram}]\n")
files = ["--policy", "ngram.yaml", "--labels", "labels.jsonl", "--passage-fpr", "0.2"]
resay = [sys.executable, "-I", "-m", "resay"]
done = subprocess.run([*resay, "calibrate", *files], capture_output=True, text=True, check=False)
assert done.returncode == 0, done.stdout + done.stderr
assert "threshold" in done.stdout, done.stdout
