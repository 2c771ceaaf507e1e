import subprocess
import sys

from resay import Guard

resay = [sys.executable, "-I", "-m", "resay", "models"]
subprocess.run([*resay, "export", "./tiny", "./exported"], check=True)
guard = Guard({"chain": [{"method": "nli", "model": {"name": "./exported", "backend": "onnx"}}]})
verdict = guard.check("It has 31 lamps.", samples=[f"It has {n} lamps." for n in (1, 2, 3)])
assert verdict.score is not None, verdict.reason
