import subprocess
import sys

done = subprocess.run(
    [sys.executable, "-I", "-m", "resay", "demo"], capture_output=True, text=True, check=False
)
assert done.returncode in (0, 1), done.stderr
assert "FLAGGED" in done.stdout
