"""`resay journal`: what was found, listed, exported and deleted."""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from resay.adapters import run_sync
from resay.plugins import JudgeCall, RecordedEvidence
from resay_server.journal import Feedback, JournalConfig, open_journal
from support.cli import resay_here
from support.journal import NOW, QUESTION, SENTENCE, entry


async def fill(file: Path, **settings: Any) -> None:
    journal = open_journal(JournalConfig(url=f"sqlite:///{file}", **settings))
    for i, tenant in enumerate(("acme", None, "acme")):
        named = {"id": f"e-{i}", "time": NOW + 60 * i, "request_id": f"req/{i}"}
        await journal.append(entry(**named, tenant=tenant, policy=("strict", "mild")[i % 2]))
    await journal.rate(Feedback(entry_id="e-1", rating="wrong", rater="ann", note="=cmd()"))
    await journal.aclose()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    run_sync(fill, tmp_path / "journal.db", content="all")
    return tmp_path / "journal.db"


def said(*words: str | Path, code: int = 0) -> str:
    done = resay_here("journal", *words)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def listed(file: Path, *words: str) -> list[str]:
    found = json.loads(said("list", "-j", file, "--json", *words))
    return [one["id"] for one in found["entries"]]


def test_list(file: Path) -> None:
    assert listed(file) == ["e-2", "e-1", "e-0"]
    assert listed(file, "--tenant", "acme") == ["e-2", "e-0"]
    assert listed(file, "--policy-name", "mild") == ["e-1"]
    assert listed(file, "--request", "req/1") == ["e-1"]
    assert listed(file, "--decision", "consistent") == []
    assert listed(file, "--words", SENTENCE.upper()) == ["e-2", "e-1", "e-0"]
    assert listed(file, "--since", "2023-11-14T22:14:20") == ["e-2", "e-1"]
    assert listed(file, "--until", "2023-11-14") == []
    assert listed(file, "--since", "1h") == []
    assert listed(file, "-n", "1") == ["e-2"]
    assert "req/2" in said("list", "-j", file)


def test_no_cell_of_a_list_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fill_one() -> None:
        journal = open_journal(JournalConfig(url=f"sqlite:///{tmp_path / 'j.db'}"))
        await journal.append(entry(request_id="r" * 36, model="openai/gpt-4.1-mini", policy="p"))
        await journal.aclose()

    run_sync(fill_one)
    for width, lines in (("80", 3), ("200", 2)):
        monkeypatch.setenv("COLUMNS", width)
        shown = said("list", "-j", tmp_path / "j.db").splitlines()
        assert len(shown) == lines
        assert all(len(line) <= int(width) for line in shown)
        assert shown[1].endswith("r" * 36)
        assert ("openai/gpt-4.1-mini" in shown[1]) == (width == "200")


def test_the_journal_of_a_policy(file: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(f"chain: [{{method: ngram}}]\njournal: {{url: 'sqlite:///{file}'}}\n")
    assert len(json.loads(said("list", "-p", policy, "--json"))["entries"]) == 3
    policy.write_text("chain: [{method: ngram}]\n")
    assert "no `journal:`" in said("list", "-p", policy, code=2)
    assert "no such file" in said("list", "--policy", "mild", code=2)


def test_show(file: Path) -> None:
    for name in ("e-1", "req/1"):
        shown = said("show", name, "-j", file)
        assert QUESTION in shown
        assert SENTENCE in shown
        assert "ann (code): the verdict is wrong: =cmd()" in shown
    assert json.loads(said("show", "e-1", "-j", file, "--json"))["feedback"][0]["rater"] == "ann"
    assert "no entry or request 'e-9'" in said("show", "e-9", "-j", file, code=2)


def test_show_without_words(tmp_path: Path) -> None:
    run_sync(fill, tmp_path / "journal.db")
    assert "its text was not stored" in said("show", "e-1", "-j", tmp_path / "journal.db")


@pytest.fixture
def with_evidence(tmp_path: Path) -> Path:
    """A journal of an entry with samples and a judge's answer."""
    path = tmp_path / "evidence.db"
    call = JudgeCall(method="prompt", prompt="Is it so?", answers=("1: no",), claims=(SENTENCE,))
    evidence = RecordedEvidence(
        samples=("It has 30.", "It has 32."), judge_calls=(call,), omitted_calls=3
    )

    async def write() -> None:
        journal = open_journal(JournalConfig(url=f"sqlite:///{path}", content="all"))
        await journal.append(entry(id="e", evidence=evidence))
        await journal.aclose()

    run_sync(write)
    return path


def test_show_and_export_the_evidence(with_evidence: Path, tmp_path: Path) -> None:
    shown = said("show", "e", "-j", with_evidence)
    assert "2 samples, 1 question to judges stored; --evidence shows them" in shown
    assert "It has 32." not in shown
    shown = said("show", "e", "-j", with_evidence, "--evidence")
    for text in ("sample 2: It has 32.", "prompt asked:\nIs it so?\nanswer: 1: no", "3 more were"):
        assert text in shown
    said("export", tmp_path / "out.jsonl", "-j", with_evidence)
    exported = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))["evidence"]
    assert exported["samples"] == ["It has 30.", "It has 32."]
    assert exported["judge_calls"][0]["answers"] == ["1: no"]
    said("export", tmp_path / "out.csv", "-j", with_evidence)
    assert "It has 30." not in (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert json.loads(said("show", "e", "-j", with_evidence, "--json"))["evidence"] == exported
    assert "evidence" not in json.loads(said("list", "-j", with_evidence, "--json"))["entries"][0]


def test_export_as_json_lines(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert said("export", out, "-j", file, "--tenant", "acme") == f"{out}: 2 entries\n"
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["e-2", "e-0"]
    assert rows[0]["verdict"]["sentences"][0]["text"] == SENTENCE
    assert rows[0]["time"] == "2023-11-14T22:15:20.000Z"
    assert said("export", "-", "-j", file, "--tenant", "acme") == out.read_text(encoding="utf-8")


def test_export_as_csv(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    said("export", out, "-j", file)
    with out.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["rating"] for row in rows] == ["", "wrong", ""]
    assert rows[0]["answer"] == SENTENCE
    assert rows[0]["main_cost_usd"] == str(entry().usage.cost_usd)


def test_a_csv_has_no_formulas(tmp_path: Path) -> None:
    async def write() -> None:
        journal = open_journal(JournalConfig(url=f"sqlite:///{tmp_path / 'j.db'}", content="all"))
        await journal.append(entry(question="=HYPERLINK(1)", model="@SUM(1)"))
        await journal.aclose()

    run_sync(write)
    said("export", tmp_path / "out.csv", "-j", tmp_path / "j.db")
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert ",'=HYPERLINK(1)," in text
    assert ",'@SUM(1)," in text


@pytest.fixture
def parquet(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stands for pyarrow, which is not installed everywhere."""
    written: list[Any] = []

    class Table:
        @staticmethod
        def from_pylist(rows: list[Any], schema: list[tuple[str, str]]) -> Any:
            return [{name: row[name] for name, _ in schema} for row in rows]

    def types() -> dict[str, Any]:
        return {name: (lambda n=name: n) for name in ("string", "int64", "float64")}

    arrow = SimpleNamespace(**types(), schema=list, Table=Table)
    writer = SimpleNamespace(write_table=lambda table, path: written.append((table, path)))
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", writer)
    return written


def test_export_as_parquet(file: Path, tmp_path: Path, parquet: list[Any]) -> None:
    out = tmp_path / "out.parquet"
    said("export", out, "-j", file)
    ((table, path),) = parquet
    assert path == str(out)
    assert [row["id"] for row in table] == ["e-2", "e-1", "e-0"]


def test_parquet_without_pyarrow(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in said("export", tmp_path / "o.parquet", "-j", file, code=2)


def test_stats(file: Path) -> None:
    shown = json.loads(
        said("stats", "-j", file, "--since", "2023-11-14", "--by", "tenant", "--json")
    )
    assert {part["tenant"]: part["entries"] for part in shown["parts"]} == {None: 1, "acme": 2}
    assert shown["feedback"] == {"right": 0, "wrong": 1, "unsure": 0}
    assert "0 right, 1 wrong" in said("stats", "-j", file, "--since", "2023-11-14")


def left(file: Path) -> int:
    connection = sqlite3.connect(file)
    (count,) = connection.execute("SELECT count(*) FROM resay_journal_entries").fetchone()
    connection.close()
    return count


def test_prune(file: Path) -> None:
    assert "pass --retention-days" in said("prune", "-j", file, code=2)
    assert said("prune", "-j", file, "--max-entries", "2") == "1 entry deleted\n"
    assert left(file) == 2
    assert said("prune", "-j", file, "--retention-days", "30") == "2 entries deleted\n"
    assert "greater than or equal to 1" in said("prune", "-j", file, "--max-entries", "0", code=2)


def test_forget(file: Path) -> None:
    assert "--tenant or --request" in said("forget", "-j", file, code=2)
    assert said("forget", "-j", file, "--tenant", "acme") == "2 entries deleted\n"
    assert said("forget", "-j", file, "--request", "req/1") == "1 entry deleted\n"
    assert left(file) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["list", "-j", "nowhere.db"], "no journal at 'nowhere.db'"),
        (["list", "-j", "mysql://secret@here/db"], "url: must be sqlite:///FILE"),
        (["list", "-j", ".", "--since", "soon"], "--since must be a date"),
        (["export", "out.txt", "-j", "."], "the file must end in .jsonl, .csv or .parquet"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = said(*words, code=2)
    assert message in error
    assert "secret" not in error
