"""A deadline counts from the request on, also while what runs the first one is still imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In a fresh process, the import of one module takes longer than any deadline of these tests.
SLOW_IMPORT = """
import sys, threading, time
from resay import Guard
from resay.errors import DeadlineExceededError
from resay.testing import ScriptedProvider, SimulatedProvider

SLOW, DEADLINE_S, TAKES_S = {module!r}, 0.2, 4.0
SAMPLES = ["It opened in 1932."] * 2 + ["It opened in 1931."]
arrived = threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == SLOW and not arrived.is_set():
            arrived.set()
            time.sleep(TAKES_S)

def timed(call):
    began = time.perf_counter()
    try:
        result = call()
    except DeadlineExceededError as error:
        result = error
    print(time.perf_counter() - began < TAKES_S - 1, type(result).__name__, result, sep="|")
    return result

class Sink:
    reasons = []
    async def on_verdict(self, record):
        self.reasons.append(record.verdict.reason)

assert SLOW not in sys.modules
sys.meta_path.insert(0, Slow())
policy = {{"chain": ["facts"], "limits": {{"deadline_s": DEADLINE_S}}}}
unlimited = {{"chain": ["facts"], "limits": {{"deadline_s": 60}}}}
{script}
"""
ASK = """
with SimulatedProvider() as server:
    settings = {"model": "simulated", "api_base": server.base_url, "api_key": "x"}
    timed(lambda: Guard(policy, **settings).ask("When was the Eiffel Tower completed?"))
    assert not server.requests
    print(bool(Guard(unlimited, **settings).ask("When was it completed?").response))
"""
STREAM = """
provider = ScriptedProvider(lambda request: "It opened in 1932.")
timed(lambda: list(Guard(policy, provider=provider).stream("When?", model="m")))
assert not provider.queries
print(len(list(Guard(unlimited, provider=provider).stream("When?", model="m"))) > 0)
"""
CHECK = """
guard = Guard(policy, sinks=[Sink()])
verdict = timed(lambda: guard.check("It opened in 1932.", question="When?", samples=SAMPLES).reason)
time.sleep(TAKES_S)
later = Guard(unlimited).check("It opened in 1932.", question="When?", samples=SAMPLES)
print(later.decision)
guard.close()
print(Sink.reasons == [verdict])
"""
PREPARED = """
provider = ScriptedProvider(lambda request: "It opened in 1932.")
guard = Guard({**policy, "limits": {"deadline_s": 3}}, provider=provider)
with guard:
    timed(lambda: guard.ask("When?", model="m").response)
"""
REMEDY = "; use `with guard:` to load it when the application starts"


def printed(script: str, module: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SLOW_IMPORT.format(module=module, script=script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("module", ["resay.engine.chain", "resay.providers.default", "httpcore"])
def test_an_answer_is_not_waited_for_longer_than_its_deadline(module: str) -> None:
    late, later = printed(ASK, module)
    assert late == (
        "True|DeadlineExceededError|simulated was not asked within 0.2 s (`limits.deadline_s`),"
        f" because what calls it was still loading{REMEDY}"
    )
    # The import goes on, and is whole for the next request.
    assert later == "True"


def test_a_stream_ends_at_its_deadline_too() -> None:
    late, later = printed(STREAM, "resay.engine.chain")
    assert late.startswith("True|DeadlineExceededError|m was not asked within 0.2 s")
    assert later == "True"


def test_a_check_is_inconclusive_at_its_deadline_and_recorded() -> None:
    late, later, is_recorded = printed(CHECK, "resay.engine.chain")
    assert late == (
        "True|str|the check did not begin within 0.2 s (`limits.deadline_s`), because what checks"
        f" was still loading{REMEDY}"
    )
    assert (later, is_recorded) == ("consistent", "True")


def test_what_was_prepared_costs_a_request_no_time() -> None:
    assert printed(PREPARED, "resay.engine.chain") == ["True|str|It opened in 1932."]
