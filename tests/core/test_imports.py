"""What is needed later, or never, is not imported before."""

from __future__ import annotations

import subprocess
import sys

from support.alone import needs

CODE = """
import sys, resay.core.passage, resay.retrieval, resay.retrieval.qdrant
print({"numpy", "qdrant_client", "sentencex", "sqlite3"} & {*sys.modules})
"""
PYTEST_PLUGIN = """
import sys, resay_pytest
print([name for name in sys.modules if name.startswith(("resay.", "pydantic"))])
"""
DASHBOARD = """
import sys, resay_server.dashboard
print("starlette" in sys.modules)
"""


def test_optional_packages_and_databases_are_imported_when_they_are_used() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["set()"]


@needs("resay_server")
def test_a_dashboard_is_imported_without_its_server() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DASHBOARD], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]


def test_the_plugin_of_pytest_imports_nothing_before_a_test_uses_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PYTEST_PLUGIN], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
