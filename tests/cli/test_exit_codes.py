from __future__ import annotations

import io
import os
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, TextIO

import pytest

from resay import Guard
from resay.cli import main
from simulation import SimulatedProvider
from support.alone import needs
from support.cli import resay_cli, resay_here

CHECK = ("check", "-r", "r.txt", "--method", "ngram", "--samples", "a.txt", "b.txt", "c.txt")
FULL = Path("/dev/full")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "r.txt").write_text("It opened in 1932 ✓. It has 31 lämps.", encoding="utf-8")
    for name, lamps in (("a", 11), ("b", 22), ("c", 33)):
        (tmp_path / f"{name}.txt").write_text(f"It opened in 1932. It has {lamps} lamps.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def code_with(out: TextIO, *words: str) -> int:
    """Run the command in this process, with this for its output."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "argv", ["resay", *words])
        with pytest.raises(SystemExit) as left:
            main()
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_cannot_be_encoded_is_replaced(encoding: str) -> None:
    written = io.BytesIO()
    out = io.TextIOWrapper(written, encoding=encoding)
    assert code_with(out, *CHECK) == 1
    lamps = "l?mps" if encoding == "ascii" else "lämps"
    told = written.getvalue().decode(encoding)
    assert "It opened in 1932 ?." in told
    assert f"It has 31 {lamps}." in told


@pytest.mark.parametrize("words", [CHECK, (*CHECK, "--json"), ("--help",)])
def test_output_that_cannot_be_written_is_no_verdict(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as nobody:
        assert code_with(nobody, *words) == 141
    assert capsys.readouterr().err == ""
    if FULL.exists():
        with FULL.open("w") as full:
            assert code_with(full, *words) == 5
        told = capsys.readouterr().err
        assert told == "cannot write the output: No space left on device\n"


@pytest.mark.skipif(not FULL.exists(), reason="only some systems have it")
def test_python_itself_adds_nothing(files: Path) -> None:
    # What Python writes at its end is written after `main`.
    with FULL.open("w") as full:
        done = resay_cli(*CHECK, "--json", cwd=files, stdout=full)
    assert done.returncode == 5
    assert done.stderr == "cannot write the output: No space left on device\n"


class _Interrupting(MetaPathFinder):
    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name == "resay.cli.app":
            raise KeyboardInterrupt
        return None


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> None:
    import resay.cli.app

    monkeypatch.delitem(sys.modules, "resay.cli.app")
    monkeypatch.delattr(resay.cli, "app")
    monkeypatch.setattr(sys, "meta_path", [_Interrupting(), *sys.meta_path])


@pytest.mark.usefixtures("interrupting")
def test_an_interrupted_import_is_no_error(files: Path) -> None:
    done = resay_here(*CHECK, cwd=files)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (ZeroDivisionError("by zero"), 5)]
)
def test_what_ends_a_check_is_no_verdict(
    error: BaseException, code: int, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(Guard, "check", fail)
    done = resay_here(*CHECK, cwd=files)
    assert (done.returncode, done.stdout) == (code, "")
    assert ("Traceback" in done.stderr) is (code == 5)


def test_an_answer_that_the_policy_withholds_by_raising_is_flagged(
    files: Path, simulated: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (files / "p.yaml").write_text(
        "chain: [{method: ngram}]\nthreshold: {passage: 0.0, sentence: 0.0}\n"
        "action: {do: block, exit: raise}\n"
    )
    words = ("ask", "Who was Marie Curie?", "-m", "openai/simulated", "-p", "p.yaml")
    done = resay_here(*words, "--api-base", simulated.base_url, cwd=files)
    assert done.returncode == 1
    assert done.stderr.startswith("the answer was withheld: ")


@needs("litellm")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("ask", "Who?", "--method", "ngram"), 2, "no model given; pass `--model`, such as"),
        (("ask", "Who?"), 2, "pass `--model`"),
        (("check", "-r", "r.txt", "--method", "ngram"), 2, "pass `--samples`, or the question and"),
        (("check", "-r", "r.txt"), 2, "the question and the `--model`"),
        (("ask", "Who?", "-m", "llama3"), 4, "it names no provider; pass the address"),
        (("ask", "Who?", "-m", "openai/x"), 4, "'openai/x' needs an API key; set OPENAI_API_KEY"),
        (("ask", "Who?", "-m", "anthropic/claude-x"), 4, "'anthropic/claude-x' needs an API key"),
        (
            ("ask", "Who?", "-m", "ollama_chat/x", "--api-base", "http://127.0.0.1:9"),
            4,
            "'ollama_chat/x' cannot be reached: nothing listens at 127.0.0.1:9; start the server,"
            " or check `--api-base`",
        ),
    ],
)
def test_errors_name_the_remedy(
    words: tuple[str, ...], code: int, told: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "RESAY_POLICY"):
        monkeypatch.delenv(name, raising=False)
    if "--api-base" in words:
        (files / "p.yaml").write_text("chain: [{method: ngram}]\nlimits: {retries: 0}\n")
        words = (*words, "-p", "p.yaml")
    done = resay_here(*words, cwd=files)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Warning" not in done.stderr


def test_an_empty_file_among_the_references_is_ignored(files: Path) -> None:
    (files / "empty.txt").write_text("")
    told = resay_cli(
        "check", "-r", "r.txt", "--method", "facts", "--references", "empty.txt", "a.txt"
    )
    assert "no reference has its facts" in told.stdout
    assert "failed" not in told.stdout + told.stderr
