from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

APP = """
from resay import Guard

print("running")
{above}
guard = Guard({policy!r})
{below}
print("made")
"""
SEARCH = """
def search(query):
    return ["a document"]

def wanted(query, text):
    return True
"""
REGENERATES = {"action": {"do": "regenerate", "retriever": "app:search"}}
CHECKS_SOME = {"when": {"call": "app:wanted"}}


def run(folder: Path, *command: str, **sources: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the user's; one that hangs is stopped."""
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def app(policy: Mapping[str, object], *, above: str = "", below: str = "") -> str:
    whole = {"chain": [{"method": "ngram"}], **policy}
    return APP.format(policy=whole, above=above, below=below)


@pytest.mark.parametrize("policy", [REGENERATES, CHECKS_SOME])
@pytest.mark.parametrize("command", [("app.py",), ("-m", "app"), ("-c", "import app")])
def test_a_program_may_name_its_own_functions(
    policy: Mapping[str, object], command: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(tmp_path, *command, app=app(policy, above=SEARCH))
    assert (done.stdout.split(), done.stderr) == (["running", "made"], "")


@pytest.mark.parametrize("command", ["import app", "exec(open('app.py').read())"])
def test_one_that_is_defined_too_late_is_named(command: str, tmp_path: Path) -> None:
    done = run(tmp_path, "-c", command, app=app(REGENERATES, below=SEARCH))
    assert done.returncode == 1
    assert "'app:search' cannot be imported: 'app' does not define 'search' before" in done.stderr


def test_one_that_a_program_defines_too_late_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "app.py", app=app(REGENERATES, below=SEARCH))
    assert done.returncode == 1
    assert done.stdout.split() == ["running"]
    assert "define it first, or in a module of its own" in done.stderr


def test_modules_that_import_each_other_may_share_a_retriever(tmp_path: Path) -> None:
    other = app(REGENERATES).replace("app:search", "search:search")
    done = run(
        tmp_path, "app.py", app=other, search=SEARCH + other.replace("from", "import app\nfrom", 1)
    )
    assert (done.returncode, done.stdout.split()[-1]) == (0, "made"), done.stderr
