"""The program of docs/scale.md, with Spark in local mode; `make test-frameworks` installs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.versions import ran

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
INSTALLED = os.environ.get("RESAY_TEST_FRAMEWORKS")


@pytest.mark.skipif(INSTALLED is None, reason="`make test-frameworks` installs the frameworks")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed")
@pytest.mark.timeout(660)  # most of it imports
def test_the_program_runs() -> None:
    (code,) = re.findall(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    python = Path(INSTALLED or "").resolve() / "spark" / "bin" / "python"
    done = subprocess.run(
        [str(python), "-c", code],
        # Spark starts its workers with whatever `python3` is found first.
        env={**os.environ, "PYSPARK_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"row 11\s*\|.*consistent", done.stdout)
    assert re.search(r"row 44\s*\|.*flagged", done.stdout)
    ran("frameworks", Path(INSTALLED or ""), "spark")
