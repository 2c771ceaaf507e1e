"""Observers and evaluation tools, each with its own package in an environment of its own.

`make test-ecosystem` makes the environments and installs the wheel in them. Nothing but the
loopback interface is reached.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from ecosystem.loopback import listening, pushed_to
from support.versions import program_of, ran

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples" / "evaluation"
INSTALLED = os.environ.get("RESAY_TEST_ECOSYSTEM")
FOLDER = Path(INSTALLED or "")
NAMES = sorted(path.stem for path in HERE.glob("*.txt"))
OBSERVERS = [path.stem.removeprefix("push_to_") for path in (HERE / "observers").glob("*.py")]
TOOLS = [path.stem.removeprefix("with_") for path in EXAMPLES.glob("with_*.py")]
# What the examples say of the two answers.
SAID = {
    "mlflow": ("hallucination/mean: 0.43",),
    "inspect_ai": ("1932. C", "1947. I"),
    "deepeval": ("1932. True", "1947. False"),
    "ragas": ("hallucination: [0.0, 0.87]",),
    "langsmith": ("1932. consistent 0.0", "1947. flagged 0.87"),
    "llamaindex": ("1932. True", "1947. False"),
}
KEY = "key-that-must-not-appear"


WITH_OBSERVER = [name for name in NAMES if program_of(name) in OBSERVERS]
WITH_EXAMPLE = [name for name in NAMES if program_of(name) in TOOLS and name != "mlflow-skinny"]
needs_installed = pytest.mark.skipif(
    INSTALLED is None, reason="`make test-ecosystem` installs the tools"
)
slow = pytest.mark.timeout(300)


def run(
    name: str, *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    quiet = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        # Nothing is reached but what listens here.
        **{f"{kind}_PROXY": "http://127.0.0.1:9" for kind in ("HTTP", "HTTPS", "ALL")},
        "NO_PROXY": "127.0.0.1",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "RAGAS_DO_NOT_TRACK": "true",
        "LANGSMITH_API_KEY": KEY,
        "LANGSMITH_ENDPOINT": "http://127.0.0.1:9",
        "MLFLOW_TRACKING_URI": f"sqlite:///{cwd / 'mlflow.db'}",
        **(env or {}),
    }
    python = FOLDER / name / "bin" / "python"
    return subprocess.run(
        [python, *words], cwd=cwd, env=quiet, capture_output=True, text=True, timeout=280
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_everything_has_its_versions() -> None:
    tools = {program_of(name) for name in NAMES}
    assert {*OBSERVERS, *TOOLS, "mcp", "pytest"} - {"promptfoo"} == tools
    assert "promptfoo" in json.loads((HERE / "package.json").read_text())["dependencies"]


@needs_installed
@slow
@pytest.mark.parametrize("name", WITH_OBSERVER)
def test_an_observer_pushes(name: str, tmp_path: Path) -> None:
    tool = program_of(name)
    with listening(tmp_path) as (url, loopback):
        env = {
            **dict.fromkeys(("LANGFUSE_BASE_URL", "LANGFUSE_HOST", "LANGSMITH_ENDPOINT"), url),
            **dict.fromkeys(("PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_BASE_URL"), url),
            **dict.fromkeys(("MLFLOW_TRACKING_URI", "WANDB_BASE_URL", "WF_TRACE_SERVER_URL"), url),
            **dict.fromkeys(("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "PHOENIX_API_KEY"), KEY),
            "LANGSMITH_TRACING": "true",
            "WANDB_API_KEY": f"{KEY:x<40}",
        }
        done = run(name, HERE / "observers" / f"push_to_{tool}.py", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    found = pushed_to(tool, loopback)
    numbers = [one for one in found if one.score is not None]
    assert [one.name for one in numbers] == ["hallucination"] * 2
    assert [round(one.score or 0, 2) for one in numbers] == [0.82, 0.0]
    # One number and one category, or both in one.
    each = len(found) // 2
    assert [one.decision for one in found] == ["flagged"] * each + ["consistent"] * each
    assert {one.name for one in found} <= {"hallucination", "hallucination.decision"}
    ids = next(line for line in done.stdout.splitlines() if len(line.split()) == 2)
    placed = [one.place for one in found]
    assert all(ids.endswith(place) for place in placed[:each])
    # Outside of the application's span, Phoenix has the check's own.
    assert all(ids.endswith(place) != (tool == "phoenix") for place in placed[each:])
    sent = [one.body for one in loopback.received if b"hallucination" in one.body]
    assert sent
    # Weave sends the source of what it traces.
    assert not any(b"opened in 1947" in body for body in sent if b"import weave" not in body)
    ran("ecosystem", FOLDER, name)


@needs_installed
@slow
@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_an_example_runs(name: str, folder: Path) -> None:
    tool = program_of(name)
    done = run(name, f"with_{tool}.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    for line in SAID[tool]:
        assert line in done.stdout
    ran("ecosystem", FOLDER, name)


@needs_installed
@slow
@pytest.mark.parametrize("name", [name for name in NAMES if program_of(name) == "pytest"])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_plugin_reports(name: str, workers: str, folder: Path) -> None:
    done = run(name, "-m", "pytest", "-n", workers, "test_with_pytest.py", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert "2 answers checked: 1 consistent, 1 flagged" in done.stdout
    assert "against: The Sydney Harbour Bridge opened in March 1932." in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    loaded = run(name, "-c", _LOADED, cwd=folder)
    assert loaded.returncode == 0, loaded.stderr
    ran("ecosystem", FOLDER, name)


@needs_installed
@slow
@pytest.mark.parametrize("name", [name for name in NAMES if program_of(name) == "mcp"])
def test_agents_call_the_server(name: str, tmp_path: Path) -> None:
    done = run(name, HERE / "agents" / "call_mcp.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["legacy 3 contradicted", "auto 3 contradicted"] * 2
    ran("ecosystem", FOLDER, name)


_LOADED = "import sys, resay_pytest; sys.exit('resay.guard' in sys.modules)"


@needs_installed
@slow
def test_promptfoo_asserts(folder: Path) -> None:
    node = FOLDER / "node"
    env = {
        **os.environ,
        "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo"),
        "PROMPTFOO_PYTHON": str(FOLDER / "pytest" / "bin" / "python"),
        **dict.fromkeys(("PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE"), "1"),
    }
    command = [node / "node_modules" / ".bin" / "promptfoo", "eval", "--no-cache"]
    words = ["-c", "with_promptfoo.yaml", "-o", "out.json"]
    done = subprocess.run(
        [*command, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=280
    )
    # That a test failed is not that promptfoo did.
    assert done.returncode == 100, done.stdout + done.stderr
    results = json.loads((folder / "out.json").read_text())["results"]["results"]
    assert [one["success"] for one in results] == [True, False]
    assert "1 of 1 sentence" in results[1]["gradingResult"]["componentResults"][0]["reason"]
    ran("ecosystem", FOLDER, "node")
