import json
import subprocess
import sys
from pathlib import Path

LAMPS = range(40, 80)
labels = [
    {
        "response": f"It has {n} lamps.",
        "samples": [
            f"It has {n if n < 60 else n + m} lamps{end}" for m, end in enumerate(".!?", 1)
        ],
        "label": "correct" if n < 60 else "hallucinated",
    }
    for n in LAMPS
]
Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
Path("ngram.yaml").write_text("chain: [{method: ngram}]\n")
files = ["--policy", "ngram.yaml", "--labels", "labels.jsonl", "--passage-fpr", "0.2"]
resay = [sys.executable, "-I", "-m", "resay"]
done = subprocess.run([*resay, "calibrate", *files], capture_output=True, text=True, check=False)
assert done.returncode == 0, done.stdout + done.stderr
assert "threshold" in done.stdout, done.stdout
