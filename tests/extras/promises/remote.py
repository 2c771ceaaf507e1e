import os
from importlib.util import find_spec

from resay import Guard

nli = {"method": "nli", "model": {"backend": "tei", "url": os.environ["INFERENCE_URL"]}}
samples = [f"It has {n} lamps." for n in (1, 2, 3)]
verdict = Guard({"chain": [nli]}).check("It has 31 lamps.", samples=samples)
assert verdict.score is not None, verdict.reason
assert find_spec("torch") is None
