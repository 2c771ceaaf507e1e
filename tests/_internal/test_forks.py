from __future__ import annotations

import subprocess
import sys

import pytest

from support.alone import needs

_FORKS = """
import os
import signal
import sys
import tempfile
import threading
import time
import types

import pydantic
from resay import Guard
from resay.providers import Completion, Completions

folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
importing = threading.Event()
sys.modules["gate"] = types.SimpleNamespace(importing=importing)
with open(os.path.join(folder, "slow.py"), "w") as file:
    file.write("import gate, time\\ngate.importing.set()\\ntime.sleep(0.5)\\n")


def build(kind, adapter=pydantic.TypeAdapter):
    import slow
    return adapter(kind)


pydantic.TypeAdapter = build


class Provider:
    async def takes_n(self, query):
        return True

    async def complete(self, query, *, n=1):
        return Completions(tuple(Completion(f"It opened in {1930 + i}.") for i in range(n)))


policy = {"chain": [{"method": "ngram"}], "journal": {"url": f"sqlite:///{folder}/journal.db"}}
guard = Guard(policy, provider=Provider())
guard.ask("When did it open?")
importing.wait()
child = os.fork()
if child == 0:
    signal.alarm(10)
    # In this thread: a new one may have the id of the one that was importing, and its locks.
    import slow

    guard.ask("When did it open?")
    guard.close()
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@needs("resay_server")
@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="there are no forks")
def test_a_child_can_import_what_was_being_imported_by_the_journal() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout == "0\n", done.stderr


# gevent runs all threads in one, and tells them apart by the `get_ident` that it puts into
# `threading`. anyio keeps the original if it was imported before, as with gunicorn's `--preload`.
PATCHED_LATE = """
import threading
import anyio.from_thread
from resay._internal.event_loops import run_sync

anyio.from_thread.get_ident = lambda: 1

async def answer():
    return "answered"

answers = []

def ask():
    answers.append(run_sync(answer))

threads = [threading.Thread(target=ask) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*answers)
"""


def test_threads_that_were_patched_after_the_import_can_call() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PATCHED_LATE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["answered"] * 3, done.stderr


FAILS_ONCE = """
import threading
from resay._internal.event_loops import run_sync

start = threading.Thread.start

def fail(thread):
    threading.Thread.start = start
    raise RuntimeError("can't start new thread")

async def answer():
    return "answered"

threading.Thread.start = fail
try:
    run_sync(answer)
except RuntimeError as error:
    print(error)
print(run_sync(answer))
"""


def test_a_thread_that_could_not_be_started_is_started_by_the_next_call() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILS_ONCE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines() == ["can't start new thread", "answered"], done.stderr
