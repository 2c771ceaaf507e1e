from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from resay import ConfigurationError, Guard

SEARCH = """
def search(query):
    return ["a document"]

def wanted(query, text):
    return True
"""
POLICY = {
    "chain": [{"method": "ngram"}],
    "action": {"do": "regenerate", "retriever": "app:search"},
    "when": {"call": "app:wanted"},
}
MAKES = f"from resay import Guard\nguard = Guard({POLICY!r})\nprint('made')\n"
# Too early at first, and again once the functions are there.
APP = f"""
print("running")
try:
    {MAKES.replace(chr(10), chr(10) + "    ")}
except Exception as error:
    print(error)
{SEARCH}
{MAKES}
"""
TOO_EARLY = (
    "cannot import 'app:wanted': 'app' creates a guard that needs 'wanted' before defining it;"
    " define it first, or in another module"
)


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


@pytest.mark.parametrize("command", [("app.py",), ("-m", "app"), ("-c", "import app")])
def test_a_program_may_name_its_own_functions_once_they_are_defined(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(tmp_path, *command, app=APP)
    assert (done.stdout.splitlines(), done.stderr) == (["running", TOO_EARLY, "made"], "")


def test_modules_that_import_each_other_may_share_a_retriever(tmp_path: Path) -> None:
    other = "print('running')\n" + MAKES.replace("app:", "search:")
    done = run(tmp_path, "app.py", app=other, search=f"{SEARCH}import app\n{other}")
    assert (done.returncode, done.stdout.split()[-1]) == (0, "made"), done.stderr


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (
            "from resay.scorers import Nothing",
            "failed with ImportError: cannot import name 'Nothing' from 'resay.scorers'",
        ),
        ("import no_such.thing", "failed with ModuleNotFoundError: No module named 'no_such'"),
        ("raise ImportError('secret')", "failed with ImportError"),
        ("raise ModuleNotFoundError('secret')", "failed with ModuleNotFoundError"),
        ("raise ValueError('secret')", "failed with ValueError"),
        ("def", "failed with SyntaxError"),
    ],
)
def test_a_module_that_fails_is_not_called_missing(
    source: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_module.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError) as raised:
        Guard({"chain": [{"method": "failing_module:Scorer"}]})
    message = f"cannot import 'failing_module:Scorer': importing 'failing_module' {why}"
    assert str(raised.value).endswith(message)


@pytest.mark.parametrize("module", ["no_such_module", "no_such.module", "json.no_such"])
def test_a_module_that_is_missing_is_called_so(module: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Guard({"chain": [{"method": f"{module}:Scorer"}]})
    assert f"ModuleNotFoundError in {module!r}; check that it is installed" in str(raised.value)


def test_a_text_that_is_executed_is_no_program(tmp_path: Path) -> None:
    """What it names is imported, and so makes its guard too early."""
    done = run(tmp_path, "-c", "exec(open('app.py').read())", app=MAKES + SEARCH)
    assert done.returncode == 1
    assert TOO_EARLY in done.stderr
