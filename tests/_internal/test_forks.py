from __future__ import annotations

import subprocess
import sys

import pytest

_FORKS = """
import os
import signal
import sys
import tempfile
import threading
import time
import types

import resay.reporting.journal.database as database
from resay import Guard
from resay.providers import Completion, Completions

folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
importing = threading.Event()
sys.modules["gate"] = types.SimpleNamespace(importing=importing)
with open(os.path.join(folder, "slow.py"), "w") as file:
    file.write("import gate, time\\ngate.importing.set()\\ntime.sleep(0.5)\\n")


def build(kind, adapter=database.TypeAdapter):
    import slow
    return adapter(kind)


database.TypeAdapter = build


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
    guard.flush()
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(sys, "getdlopenflags"), reason="there are no forks")
def test_a_child_can_import_what_was_being_imported_by_the_journal() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout == "0\n", done.stderr
