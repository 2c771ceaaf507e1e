"""What is needed later, or never, is not imported before."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, resay.core.passage, resay.retrieval, resay.retrieval.qdrant
print({"numpy", "qdrant_client", "sentencex", "sqlite3"} & {*sys.modules})
import resay_server.dashboard
print("starlette" in sys.modules)
"""


def test_optional_packages_and_databases_are_imported_when_they_are_used() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()", "False"]
