from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from resay import Answer, SentenceVerdict, Usage, Verdict
from resay.cli import main
from resay.cli.app import app
from resay.errors import ConfigurationError, MissingDependencyError
from support.alone import needs
from support.html import Element, parsed

TEXT = "It has six lanes.\u2028It is wide."
FLAGGED = Verdict(
    "flagged",
    0.8,
    "1 of 1 sentence > 0.50",
    (SentenceVerdict("It has six lanes.", 0, 17, 0.8, True),),
)
FINE = Verdict("consistent", 0.0, "passage 0.00 <= 0.50")
ANSWER = Answer(TEXT, TEXT, "annotate", FLAGGED, Usage(7, 10, 2, None))


def resay(*words: str | Path, stdin: str | None = None) -> str:
    done = CliRunner().invoke(app, ["report", *map(str, words)], input=stdin)
    if done.exception is not None:
        raise done.exception
    assert done.exit_code == 0
    return done.stdout.strip()


def written(file: Path, content: str) -> tuple[str, list[Element]]:
    file.write_text(content, encoding="utf-8")
    out = file.with_suffix(".html")
    said = resay(file, "--html", out)
    return said, parsed(out.read_text(encoding="utf-8")).all("article")


def json_text(value: Any, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, **options)


@pytest.mark.parametrize("indent", [None, 2])
def test_one_verdict(tmp_path: Path, indent: int | None) -> None:
    said, (article,) = written(tmp_path / "v.json", json_text(FLAGGED.to_dict(), indent=indent))
    assert said == f"{tmp_path / 'v.html'}: 1 verdict, 1 flagged"
    assert FLAGGED.reason in article.text


def test_an_answer_as_ask_writes_it(tmp_path: Path) -> None:
    _, (article,) = written(tmp_path / "a.json", json_text(ANSWER.to_dict(), indent=2))
    assert "annotated" in article.text
    assert "7 calls" in article.text
    assert "It is wide." in article.one("span", "unscored").text


def test_a_list(tmp_path: Path) -> None:
    data = [FINE.to_dict(), ANSWER.to_dict()]
    said, articles = written(tmp_path / "v.json", json_text(data, indent=2))
    assert said.endswith("2 verdicts, 1 flagged")
    assert [a.one("span", "badge").text for a in articles] == ["✓consistent", "!flagged"]


@pytest.mark.parametrize("name", ["v.jsonl", "v.log"])
def test_one_per_line(tmp_path: Path, name: str) -> None:
    rows = [{"id": i, "verdict": v.to_dict()} for i, v in enumerate((FINE, FLAGGED, FINE))]
    lines = "\n\n".join([*map(json_text, rows), json_text(ANSWER.to_dict())])
    said, articles = written(tmp_path / name, f"{lines}\n")
    assert said.endswith("4 verdicts, 2 flagged")
    names = [a.one("h2").one("bdi").text for a in articles]
    assert names == ["0", "1", "2", "Verdict 4"]


def test_one_after_the_other(tmp_path: Path) -> None:
    """As `ask --json >> v.json` leaves them."""
    documents = [json_text(v, indent=2) for v in (FINE.to_dict(), ANSWER.to_dict())]
    listed = json_text([FLAGGED.to_dict()], indent=2)
    said, articles = written(tmp_path / "v.json", "\n".join([*documents, "", listed]))
    assert said.endswith("3 verdicts, 2 flagged")
    assert len(articles) == 3
    with pytest.raises(ConfigurationError, match=r"v\.json:\d+: not valid JSON"):
        written(tmp_path / "v.json", f"{documents[0]}\n{documents[1][:-2]}")


def test_stdin(tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    resay("-", "--html", out, stdin=json_text(FINE.to_dict()))
    assert "<h1><bdi>stdin</bdi></h1>" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "contains no verdict; pass an output of `resay check --json`"),
        ("[]", "contains no verdict"),
        ("{", "not valid JSON"),
        ('{\n"decision": nonsense\n}', "not valid JSON"),
        ("[1]", r"v\.json\[0\]: a verdict must be an object, not int"),
        ('"words"', "a verdict must be an object, not str"),
        ('{"decision": "secret"}', "not a verdict; check decision, score, reason"),
        ('[{"verdict": {"score": "secret"}}]', r"v\.json\[0\]: not a verdict"),
        ('{"decision": "flagged", "score": 1, "reason": "a"}\n{"a', r"v\.json:2: not valid"),
        ('{"a": 1}\n\n{"b": 2}', r"v\.json:1: not a verdict"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_not_a_verdict_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as refused:
        written(tmp_path / "v.json", content)
    assert "secret" not in str(refused.value)
    assert not (tmp_path / "v.html").exists()


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    file = tmp_path / "v.json"
    file.write_text(json_text(FINE.to_dict()))
    with pytest.raises(ConfigurationError, match="cannot read"):
        resay(tmp_path / "nowhere.json", "--html", tmp_path / "out.html")
    with pytest.raises(ConfigurationError, match="cannot write"):
        resay(file, "--html", tmp_path / "nowhere" / "out.html")
    with pytest.raises(ConfigurationError, match="is also the input file"):
        resay(file, "--html", tmp_path / "." / "v.json")
    assert json.loads(file.read_text()) == FINE.to_dict()


def test_exit_code_of_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["resay", "report", str(tmp_path / "nowhere"), "--html", str(tmp_path / "out.html")]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "cannot read" in capsys.readouterr().err


ROW = {
    "response": "It has six lanes.",
    "decision": "flagged",
    "score": 0.8,
    "reason": "why",
    "claims": [],
    "usage": None,
    "error": None,
}


def test_a_row_of_a_batch_says_what_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text(json_text(ROW) + "\n")
    monkeypatch.setattr("resay.cli.report.installed_names", lambda group: ())
    with pytest.raises(MissingDependencyError, match=r"pip install 'resay\[lab\]'"):
        resay(file, "--html", tmp_path / "out.html")


@needs("resay_lab")
def test_a_row_of_a_batch_is_handed_to_its_reader(tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text(json_text(ROW) + "\n")
    assert resay(file, "--html", tmp_path / "out.html").endswith("1 row, 1 flagged")
    with pytest.raises(
        ConfigurationError, match=r"a row of a batch; pass its \.jsonl or \.parquet"
    ):
        resay("-", "--html", tmp_path / "out.html", stdin=json_text(ROW))
    prefixed = {f"v_{name}": value for name, value in ROW.items()}
    file.write_text(json_text(prefixed) + "\n")
    with pytest.raises(ConfigurationError, match="with --prefix 'v_'"):
        resay(file, "--html", tmp_path / "out.html")
