"""Without any extra: answers are checked against samples, and what is missing is named."""

import subprocess
import sys
from importlib.util import find_spec

from resay import Guard
from resay.errors import MissingDependencyError

SAMPLES = [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)]
NGRAM = {"chain": [{"method": "ngram"}]}
MODEL = {"method": "nli", "model": {"backend": "tei", "url": "http://127.0.0.1:9"}}
verdict = Guard(NGRAM).check("The bridge opened in 1932. It has 31 lamps.", samples=SAMPLES)
assert verdict.flagged, verdict.reason

files = ["--response", "answer.txt", "--samples", "a.txt", "b.txt", "c.txt", "--method", "ngram"]
done = subprocess.run([sys.executable, "-I", "-m", "resay", "check", *files], check=False)
assert done.returncode in (0, 1), done.returncode

answered = Guard(NGRAM, model="openai/m").ask("When did it open?")
assert answered.verdict.score is not None, answered.verdict.reason

cached = Guard({**NGRAM, "cache": {"store": "sqlite", "path": "kept.db"}})
assert cached.check("It has 31 lamps.", samples=SAMPLES).score is not None

MISSING = {
    "litellm": lambda: Guard(model="anthropic/m").ask("When did it open?"),
    "redis": lambda: Guard({**NGRAM, "cache": {"store": "redis", "url": "redis://127.0.0.1:9"}}),
    "remote": lambda: Guard({"chain": [MODEL]}),
}
for extra, needs in MISSING.items():
    try:
        needs()
    except MissingDependencyError as error:
        assert f"pip install 'resay[{extra}]'" in str(error), str(error)
    else:
        raise AssertionError(f"nothing of {extra} is missing")
for package in ("aiohttp", "litellm", "numpy", "openai", "starlette"):
    assert find_spec(package) is None, package
