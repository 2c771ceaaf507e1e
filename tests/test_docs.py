"""What the README, the pages and the examples say must work."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import runpy
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path

import pytest

from cli_kit import resay_here
from otel_kit import forget_providers
from resay import Policy, Verdict
from resay.testing import SimulatedProvider

ROOT = Path(__file__).resolve().parents[1]
PAGES = "\n".join(p.read_text() for p in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES, re.MULTILINE | re.DOTALL)


@contextmanager
def swept_loop() -> Iterator[None]:
    """Give LlamaIndex the event loop that it would make, and clear away what it leaves in there."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
    with warnings.catch_warnings():
        # It closes none of its asynchronous clients.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@contextmanager
def own_log() -> Iterator[None]:
    """Let a page set up the log for itself alone."""
    log = logging.getLogger("resay")
    level, handlers = log.level, log.handlers[:]
    yield
    log.setLevel(level)
    log.handlers[:] = handlers


@pytest.fixture
def openai_at_home(
    simulated: SimulatedProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[SimulatedProvider]:
    """Send what goes to OpenAI, or to Anthropic, to the simulated provider.

    It runs in a folder with the policy.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "simulated")
    monkeypatch.setenv("OPENAI_BASE_URL", simulated.base_url)
    monkeypatch.setenv("OPENAI_API_BASE", simulated.base_url)  # LlamaIndex knows only this one
    monkeypatch.setenv("ANTHROPIC_API_KEY", "simulated")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", simulated.root_url)
    (tmp_path / "policy.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "answer.txt").write_text("The bridge opened in 1932. It has 31 lamps.")
    (tmp_path / "verdict.json").write_text(json.dumps(Verdict("consistent", 0.0, "fine").to_dict()))
    for name, lamps in (("a", 11), ("b", 22), ("c", 33)):
        (tmp_path / f"{name}.txt").write_text(f"The bridge opened in 1932. It has {lamps} lamps.")
    monkeypatch.chdir(tmp_path)
    forget_providers(monkeypatch)
    with swept_loop(), own_log():
        yield simulated


def test_there_is_something_to_test() -> None:
    assert len(blocks("python")) >= 3
    assert len(blocks("yaml")) >= 5
    assert len(blocks("console")) >= 1
    assert len(EXAMPLES) >= 5


@pytest.mark.usefixtures("openai_at_home")
@pytest.mark.filterwarnings("default::DeprecationWarning")
@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.strip().splitlines()[-1])
def test_python_in_the_pages_runs(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = compile(code, "README.md", "exec")
    copy_context().run(exec, page, {"__name__": "__readme__"})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("text", blocks("yaml"))
def test_policies_in_the_pages_are_valid(text: str) -> None:
    Policy.parse(text)


COMMANDS = [
    line.removeprefix("$ ")
    for block in blocks("console")
    for line in block.splitlines()
    if line.startswith("$ resay")
]


@pytest.mark.usefixtures("openai_at_home")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_the_pages_run(command: str) -> None:
    done = resay_here(*shlex.split(command)[1:])
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.strip()


@pytest.mark.usefixtures("openai_at_home")
@pytest.mark.filterwarnings("default::DeprecationWarning")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.yaml")), ids=lambda path: path.name)
def test_the_example_policies_are_valid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE", raising=False)
    Policy.load(path)


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *ROOT.glob("docs/*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
