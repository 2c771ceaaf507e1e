"""Each extra does what is promised of it, and each page runs with what it says to install.

All of it in clean environments made from the built wheel: `make test-extras`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulation import SimulatedInference, SimulatedProvider
from support.docs import (
    EXAMPLES,
    ROOT,
    Snippet,
    answered_by,
    create_files,
    installed_for,
    remove_output,
    snippets,
)
from support.extras import BARE, EXTRAS, Environment, Environments, build_wheel
from support.tiny_models import make_deberta

FOLDER = os.environ.get("RESAY_TEST_EXTRAS")
pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason="`make test-extras` sets RESAY_TEST_EXTRAS"),
    # Each test waits for its environment.
    pytest.mark.timeout(1200),
]

PROMISES = Path(__file__).parent / "promises"
# What brings others together has nothing of its own.
TOGETHER = {"all", "dev"}
ALONE = sorted(EXTRAS.keys() - TOGETHER)
LINES = {"resay": BARE, **{extra: (f"resay[{extra}]",) for extra in ALONE}}
PYTHON = snippets("python")
COMMANDS = [
    Snippet(snippet.page, line.removeprefix("$ resay "), snippet.installed)
    for snippet in snippets("console")
    for line in snippet.text.splitlines()
    if line.startswith("$ resay ")
]


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environments]:
    """The environments, all begun before the first is wanted."""
    wheels = tmp_path_factory.mktemp("wheels")
    for project in (ROOT, ROOT / "server", ROOT / "lab"):
        build_wheel(project, wheels)
    made = Environments(Path(FOLDER or wheels), wheels)
    for line in [
        *LINES.values(),
        *(snippet.installed for snippet in [*PYTHON, *COMMANDS]),
        *map(installed_for, EXAMPLES),
    ]:
        made.begin(line)
    yield made
    made.close()


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, and the same exported."""
    folder = tmp_path_factory.mktemp("models")
    make_deberta(folder / "tiny")
    export = [sys.executable, "-m", "resay", "models", "export", "tiny", "tiny-onnx"]
    subprocess.run(export, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_files(tmp_path)
    return tmp_path


def run(made: Environment, folder: Path, provider: SimulatedProvider, *words: str | Path) -> str:
    with SimulatedInference() as inference:
        env = {**answered_by(provider), "INFERENCE_URL": inference.url}
        done = made.run(*words, cwd=folder, env=env)
    assert done.returncode in ((0, 1) if "-m" in words else (0,)), done.stderr
    return done.stdout


def test_each_extra_is_tried_and_is_in_all_of_them() -> None:
    assert {path.stem for path in PROMISES.glob("*.py")} == {"resay", *ALONE}
    (everything,) = EXTRAS["all"]
    # `demo` is made of others, `remote` brings what nearly all others do; who uses Ray or a place
    # to observe an application uses one of them, and each is large.
    left_out = {"demo", "langfuse", "langsmith", "mlflow", "phoenix", "ray", "remote", "weave"}
    assert {extra for extra in ALONE if extra not in everything} == left_out


@pytest.mark.parametrize("name", LINES)
def test_an_extra_does_alone_what_it_promises(
    environments: Environments,
    simulated: SimulatedProvider,
    folder: Path,
    name: str,
    request: pytest.FixtureRequest,
) -> None:
    made = environments.begin(LINES[name]).result()
    if name in ("export", "nli", "onnx"):
        shutil.copytree(request.getfixturevalue("models"), folder, dirs_exist_ok=True)
    with SimulatedInference() as inference:
        env = {**answered_by(simulated), "INFERENCE_URL": inference.url}
        done = made.run(PROMISES / f"{name}.py", cwd=folder, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("snippet", PYTHON, ids=lambda one: one.page)
def test_a_page_runs_with_what_it_installs(
    environments: Environments, simulated: SimulatedProvider, folder: Path, snippet: Snippet
) -> None:
    made = environments.begin(snippet.installed).result()
    script = folder / "snippet.py"
    script.write_text(snippet.text)
    assert run(made, folder, simulated, script).strip()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_with_what_it_installs(
    environments: Environments, simulated: SimulatedProvider, folder: Path, path: Path
) -> None:
    made = environments.begin(installed_for(path)).result()
    assert run(made, folder, simulated, path).strip()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.text)
def test_a_command_runs_with_what_its_page_installs(
    environments: Environments, simulated: SimulatedProvider, folder: Path, command: Snippet
) -> None:
    made = environments.begin(command.installed).result()
    # What a page writes to a file is not needed here.
    text = command.text.removesuffix(" > verdict.json")
    words = ["-m", "resay", *shlex.split(text)]
    remove_output(folder, words)
    assert run(made, folder, simulated, *words).strip()
