import json
import subprocess
import sys
from pathlib import Path

samples = ["It has 31 lamps.", "It has 32 lamps.", "It has 33 lamps."]
rows = [{"response": "It has 30 lamps.", "samples": samples}]
Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
resay = [sys.executable, "-I", "-m", "resay"]
for words in (
    ["batch", "rows.jsonl", "--out", "checked.jsonl", "--method", "facts"],
    ["calibrate", "--help"],
    ["bench", "--help"],
):
    done = subprocess.run([*resay, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
assert json.loads(Path("checked.jsonl").read_text())["decision"] == "flagged"
