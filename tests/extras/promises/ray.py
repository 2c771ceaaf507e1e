import json
import subprocess
import sys
from pathlib import Path

rows = [
    {
        "response": f"The bridge opened in 1932. It has {lamps} lamps.",
        "samples": [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)],
    }
    for lamps in range(60)
]
Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
for engine in ("local", "ray"):
    words = ["batch", "in.jsonl", "--out", f"{engine}.jsonl", "--method", "ngram", "--workers", "2"]
    done = subprocess.run(
        [sys.executable, "-I", "-m", "resay", *words, "--engine", engine],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
assert Path("ray.jsonl").read_bytes() == Path("local.jsonl").read_bytes()
