"""What a newcomer types first: without a model, with a server of their own, and with Tab."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from resay.cli.app import COMMANDS
from simulation import SimulatedProvider
from support.alone import needs
from support.cli import resay_here

QUESTION = "Tell me about the Sydney Harbour Bridge."


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RESAY_POLICY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "answer.txt").write_text("The bridge opened in 1932. It has 31 lamps.")
    samples = [f"The bridge was opened in 1932. There are {n} lamps on it." for n in (11, 22, 33)]
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    return tmp_path


def test_without_a_model_the_method_is_facts(files: Path) -> None:
    words = ("check", "-r", "answer.txt", "--samples", "samples.json")
    done = resay_here(*words, cwd=files)
    assert done.returncode == 1, done.stderr
    assert done.stderr == "method: facts (name a --model to have a judge check as well)\n"
    assert "1 of 2 sentences" in done.stdout
    named = resay_here(*words, "--method", "facts", cwd=files)
    assert (named.stdout.split("The check")[0], named.stderr) == (
        done.stdout.split("The check")[0],
        "",
    )
    policy = files / "p.yaml"
    policy.write_text("chain: [ngram]")
    other = resay_here(*words, "-p", "p.yaml", cwd=files)
    assert "facts" not in other.stdout + other.stderr


def test_a_page_is_written_beside_the_output(files: Path) -> None:
    words = ("check", "-r", "answer.txt", "--samples", "samples.json", "--question", "When?")
    done = resay_here(*words, "--html", "verdict.html", cwd=files)
    assert done.returncode == 1
    assert "FLAGGED" in done.stdout
    page = (files / "verdict.html").read_text()
    assert "When?" in page
    assert "31 lamps" in page
    done = resay_here(*words, "--html", "nowhere/verdict.html", cwd=files)
    assert done.returncode == 2
    assert "cannot write 'nowhere/verdict.html'" in done.stderr


@pytest.mark.parametrize("options", [(), ("--stream-mode", "hold"), ("--json",)])
def test_a_page_of_an_answer_is_written(tmp_path: Path, options: tuple[str, ...]) -> None:
    with SimulatedProvider(seed=7) as server:
        done = resay_here(
            *("ask", QUESTION, "-m", "llama3.2", "--api-base", server.base_url),
            *("--html", "answer.html", *options),
            cwd=tmp_path,
        )
    assert done.returncode == 1, done.stderr
    page = (tmp_path / "answer.html").read_text()
    assert "1932" in page
    assert "Tell me about the Sydney Harbour Bridge." in page


def test_a_server_is_asked_with_the_key_of_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SimulatedProvider(seed=7) as server:
        words = ("ask", QUESTION, "-m", "llama3.2", "--api-base", server.base_url)
        done = resay_here(*words, "--api-key-env", "MY_KEY", cwd=tmp_path)
        assert done.returncode == 2
        assert "the environment variable 'MY_KEY' of --api-key-env is not set" in done.stderr
        monkeypatch.setenv("MY_KEY", "sk-mine")
        done = resay_here(*words, "--api-key-env", "MY_KEY", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert "sk-mine" not in done.stdout + done.stderr


@needs("litellm")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("-m", "openai/gpt-4.1-mini"),
            "'openai/gpt-4.1-mini' needs an API key; set OPENAI_API_KEY or pass `--api-key-env`",
        ),
        (
            ("-m", "opnai/gpt-4.1-mini"),
            "the model 'opnai/gpt-4.1-mini' cannot be called because 'opnai' is not a known"
            " provider; did you mean 'openai/gpt-4.1-mini'? For a server of your own, pass its"
            " address as `--api-base`",
        ),
        (
            ("-m", "x", "--api-base", "127.0.0.1:9"),
            "`--api-base` '127.0.0.1:9' is not a URL; did you mean 'http://127.0.0.1:9/v1'?",
        ),
        (
            ("-m", "x", "--api-base", "http://127.0.0.1:9/v1"),
            "'x' cannot be reached: nothing listens at 127.0.0.1:9; start the server, or check"
            " `--api-base`",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = resay_here("ask", "Who?", *words, cwd=tmp_path)
    assert done.returncode == 4
    assert done.stderr.splitlines() == [message]


def test_commands_are_listed_in_the_order_of_first_use() -> None:
    done = resay_here("--help")
    panels = list(dict.fromkeys(command.panel for command in COMMANDS.values()))
    positions = [done.stdout.index(f"─ {panel} ") for panel in panels]
    assert positions == sorted(positions)
    assert list(COMMANDS)[:3] == ["demo", "check", "ask"]
    assert "--install-completion" in done.stdout


def _completions(line: str) -> set[str]:
    code = "import sys; sys.argv[0] = 'resay'; from resay.cli import main; main()"
    words = line.split(" ")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "_RESAY_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
            "_TYPER_COMPLETE_ARGS": line,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return set(done.stdout.split())


def test_the_shell_completes_commands_and_their_options() -> None:
    assert {"check", "calibrate"} >= _completions("resay c") >= {"check"}
    assert {"--references", "--response"} <= _completions("resay check --r")
