"""Without OpenTelemetry everything works, and we load nothing of it."""

from __future__ import annotations

import subprocess
import sys

CHECK = """
import logging, sys
from resay import Guard
from resay._internal.telemetry import current_trace_context, span

guard = Guard({"chain": [{"method": "ngram"}], "threshold": {"passage": 0.5}})
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(name)s %(decision)s")
guard.check("The bridge opened in 1932.", samples=["It opened in 1932.", "It opened then."])
assert current_trace_context() is None
with span("anything", {"a": 1}) as around:
    around.set({"b": None})
print(sorted(m for m in sys.modules if m.startswith("opentelemetry") and sys.modules[m]))
"""
BLOCKED = "import sys\nsys.modules['opentelemetry'] = None\n"
TOO_OLD = "import sys\nimport opentelemetry\nsys.modules['opentelemetry._logs'] = None\n"


def run(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_check_without_the_package() -> None:
    logged, loaded = run(BLOCKED + CHECK)
    assert logged.startswith("resay ")
    assert loaded == "[]"


def test_a_check_with_a_package_that_is_too_old() -> None:
    logged, _ = run(TOO_OLD + CHECK)
    assert logged.startswith("resay ")


def test_the_application_may_begin_to_use_it_later() -> None:
    later = "import opentelemetry.trace\nprint(current_trace_context() is not None)"
    logged, loaded, seen = run(CHECK + later)
    assert logged.startswith("resay ")
    assert loaded == "[]"
    assert seen == "True"
