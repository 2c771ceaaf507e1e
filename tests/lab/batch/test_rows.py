"""What is read of an input, what becomes of each row, and which rows are wanted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError, Guard, MissingDependencyError
from resay_lab.batch import Columns, Results, RowScorer, Where, estimate, run_batch
from support.batch import JUDGED, NGRAM, LoggingJudge, lines_of, made_rows, write_lines
from support.later import LazyImport

pandas = LazyImport("pandas")
polars = LazyImport("polars")
pyarrow = LazyImport("pyarrow")

ROWS = made_rows(7)


def scored(tmp_path: Path, source: object, **options: Any) -> list[dict[str, Any]]:
    out = tmp_path / "out.jsonl"
    run_batch(Guard(NGRAM), source, out, **options)
    return lines_of(out)


def test_each_row_keeps_its_columns_and_has_a_verdict(tmp_path: Path) -> None:
    found = scored(tmp_path, write_lines(tmp_path / "in.jsonl", ROWS))
    assert [{name: row[name] for name in ROWS[0]} for row in found] == ROWS
    assert [row["decision"] for row in found] == [
        "consistent" if i % 3 else "flagged" for i in range(7)
    ]
    first = found[0]
    verdict = Guard(NGRAM).check(ROWS[0]["response"], samples=ROWS[0]["samples"])
    assert first["score"] == verdict.score
    assert first["reason"] == verdict.reason
    assert [claim["score"] for claim in first["claims"]] == [c.score for c in verdict.claims]
    assert first["claims"][1]["text"] == verdict.claims[1].text
    assert first["usage"]["calls"] == 0
    assert first["error"] is None


def test_equal_rows_are_told_apart(tmp_path: Path) -> None:
    rows = [ROWS[0], ROWS[1], ROWS[0], ROWS[0]]
    ids = [row["id"] for row in scored(tmp_path, rows)]
    assert ids[2:] == [f"{ids[0]}-2", f"{ids[0]}-3"]
    assert len(set(ids)) == 4


def test_rows_that_have_a_name_keep_it(tmp_path: Path) -> None:
    rows = [{"id": 7, **ROWS[0]}, {"id": None, **ROWS[1]}]
    assert [row["id"] for row in scored(tmp_path, rows)] == [7, None]
    run_batch(Guard(NGRAM), ROWS, tmp_path / "named.jsonl", columns=Columns(id="name"))
    named = lines_of(tmp_path / "named.jsonl")
    assert [row["name"] for row in named] == [row["name"] for row in ROWS]
    assert "id" not in named[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "ConfigurationError: the row is not valid JSON"),
        ("[1]", "ConfigurationError: the row must be an object, not list"),
        ('{"a": 1}', "ConfigurationError: the row has no column 'response'"),
        ('{"response": "It has 9 lamps."}', "ConfigurationError: method 'ngram' needs samples"),
        ('{"response": "x", "samples": [1]}', "column 'samples' must contain a list of strings"),
        (
            '{"response": "x", "samples": "[\'a\', \'b\']"}',
            "contains a list that is not valid JSON",
        ),
        (r'{"response": "x", "samples": "[\"a\", null]"}', "must contain a list of strings"),
        ('{"response": "x", "score": 1}', "the input already has a column 'score'"),
    ],
)
def test_a_row_that_fails_is_a_row_with_an_error(tmp_path: Path, line: str, said: str) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(f"{json.dumps(ROWS[0])}\n\n{line}\n{json.dumps(ROWS[1])}")
    found = scored(tmp_path, source)
    assert [row["decision"] for row in found] == ["flagged", None, "consistent"]
    assert said in found[1]["error"]
    assert (found[1]["claims"], found[1]["usage"]) == ([], None)


@pytest.mark.parametrize(
    "document",
    [
        "[1] Moor, Ada: The lamps of Corvel. The bridge has 9 lamps.",
        "[Draft] The bridge has 9 lamps.",
        "[9 lamps](https://corvel.example/bridge)",
        "[[Corvel bridge]] has 9 lamps.",
        "[ ] The bridge has 9 lamps.",
        "[",
        '["Corvel" is a bridge of 9 lamps.',
        '[{"bridge": "Corvel", "lamps": 9}]',
        "[9, 7]",
        "  [sic] 9 lamps",
    ],
)
def test_a_document_may_begin_with_a_bracket(tmp_path: Path, document: str) -> None:
    row = {"response": "It has 9 lamps.", "references": document, "question": document}
    out = tmp_path / "out.jsonl"
    policy = {"chain": [{"method": "ngram", "evidence": "references"}]}
    run_batch(Guard(policy), [row], out)
    (result,) = lines_of(out)
    assert result["error"] is None
    assert result["references"] == document
    expected = Guard(policy).check(row["response"], question=document, references=[document])
    assert result["score"] == expected.score


def test_values_unknown_to_json_are_written_as_json(tmp_path: Path) -> None:
    row = {
        **ROWS[0],
        "measured": {"values": [1.5, math.nan, {"most": math.inf}], 2024: -math.inf},
        "half": "\ud83d",
        "long": [10**5000, 2**70],
        "raw": {"text": b"Corvel", "other": b"\xff"},
        "pair": ("a", {"b"}),
    }
    source = write_lines(tmp_path / "in.jsonl", [{**ROWS[0], "measured": [math.nan, [math.inf]]}])
    found = [*scored(tmp_path, [row])]
    assert found[0]["measured"] == {"values": [1.5, None, {"most": None}], "2024": None}
    assert found[0]["half"] == "\ud83d"
    assert found[0]["long"] == [hex(10**5000), 2**70]
    assert found[0]["raw"] == {"text": "Corvel", "other": "\\xff"}
    assert found[0]["pair"] == ["a", ["b"]]
    run_batch(Guard(NGRAM), source, tmp_path / "lines.jsonl")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    for out in ("out.jsonl", "lines.jsonl"):
        text = (tmp_path / out).read_text("utf-8")
        values = json.loads(text, parse_constant=refuse)
        assert values["decision"] == "flagged"
    run_batch(Guard(NGRAM), [row], tmp_path / "out.parquet")
    assert [r["decision"] for r in Results(tmp_path / "out.parquet")] == ["flagged"]


def test_what_breaks_tells_nothing_of_the_response(tmp_path: Path) -> None:
    class Broken(LoggingJudge):
        async def complete(self, query: Any, *, n: int = 1) -> Any:
            raise ZeroDivisionError(str(query.messages))

    guard = Guard(JUDGED, provider=Broken(tmp_path / "log"))
    run_batch(guard, ROWS[:1], tmp_path / "out.jsonl")
    (row,) = lines_of(tmp_path / "out.jsonl")
    assert "lamps" not in f"{row['error']} {row['reason']}"


def test_a_prefix_keeps_columns_apart(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "score": "mine", "decision": "mine"}]
    (row,) = scored(tmp_path, rows, prefix="resay_")
    assert (row["score"], row["decision"]) == ("mine", "mine")
    assert (row["resay_score"], row["resay_decision"]) == (1.0, "flagged")


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    rows = [{"answer": row["response"], "drawn": row["samples"]} for row in ROWS]
    found = scored(tmp_path, rows, columns=Columns(response="answer", samples="drawn"))
    assert found[0]["decision"] == "flagged"
    guard = Guard(NGRAM)
    run_batch(guard, rows, tmp_path / "b.jsonl", columns=Columns(response="text"))
    assert "the row has no column 'text'" in lines_of(tmp_path / "b.jsonl")[0]["error"]


@pytest.mark.parametrize(("kind", "delimiter"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_csv(tmp_path: Path, kind: str, delimiter: str) -> None:
    import csv

    source = tmp_path / f"in.{kind}"
    with source.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, ROWS[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows({**row, "samples": json.dumps(row["samples"])} for row in ROWS)
    found = scored(tmp_path, source)
    assert [row["name"] for row in found] == [row["name"] for row in ROWS]
    assert [row["decision"] for row in found][:3] == ["flagged", "consistent", "consistent"]


def test_an_iterator_is_taken_as_it_comes(tmp_path: Path) -> None:
    taken: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for i, row in enumerate(made_rows(1000)):
            taken.append(i)
            yield row

    assert len(scored(tmp_path, rows(), limit=5)) == 5
    assert len(taken) == 5


def test_conversations_and_references(tmp_path: Path) -> None:
    policy = {"chain": [{"method": "ngram", "evidence": "references"}]}
    row = {
        "messages": [{"role": "user", "content": "When did it open?"}],
        "response": "It opened in 1932.",
        "references": ["The bridge opened in 1932."],
    }
    text = {**row, "messages": json.dumps(row["messages"]), "references": "It opened in 1932."}
    run_batch(Guard(policy), [row, text], tmp_path / "out.jsonl")
    found = lines_of(tmp_path / "out.jsonl")
    assert [one["error"] for one in found] == [None, None]
    assert all(one["decision"] for one in found)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("lang == 'de'", [1, 3, 5]),
        ("not lang == 'de' and name != 'row 0'", [2, 4, 6]),
        ("name in ['row 1', 'row 6']", [1, 6]),
        ("len(samples) == 3 and len(name) < 4", []),
        ("rare > 3", []),
        ("name > 3", []),
        ("1 < 2 < 3 or rare", list(range(7))),
        ("-1 < 0", list(range(7))),
    ],
)
def test_where(tmp_path: Path, text: str, names: list[int]) -> None:
    rows = [*ROWS[:-1], {**ROWS[-1], "rare": 3}]
    found = scored(tmp_path, rows, where=text)
    assert [row["name"] for row in found] == [f"row {i}" for i in names]


@pytest.mark.parametrize(
    "text", ["__import__('os')", "name.upper()", "name[0]", "1 +", "lambda: 1", "len(*name)", "1+1"]
)
def test_where_runs_nothing(text: str) -> None:
    with pytest.raises(ConfigurationError, match="--where"):
        Where(text)


@pytest.mark.parametrize("out", ["out.txt", "none/out.jsonl"])
def test_outputs_that_cannot_be(tmp_path: Path, out: str) -> None:
    with pytest.raises(ConfigurationError):
        run_batch(Guard(NGRAM), ROWS, tmp_path / out)


@pytest.mark.parametrize("source", ["none.jsonl", "in.xlsx", 3])
def test_inputs_that_cannot_be(tmp_path: Path, source: object) -> None:
    (tmp_path / "in.xlsx").write_text("")
    given = source if isinstance(source, int) else str(tmp_path / str(source))
    with pytest.raises(ConfigurationError):
        run_batch(Guard(NGRAM), given, tmp_path / "out.jsonl")


@pytest.mark.parametrize("url", ["file://{}", "https://me:secret@x.test{}", "s3://bucket{}"])
@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "csv", "TSV"])
def test_only_parquet_may_be_a_url(tmp_path: Path, url: str, ending: str) -> None:
    source = tmp_path / f"in.{ending}"
    source.write_text(json.dumps(ROWS[0]))
    with pytest.raises(ConfigurationError) as raised:
        run_batch(Guard(NGRAM), url.format(source), tmp_path / "out.jsonl")
    assert "only Parquet (.parquet) can be read from a URL" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_parquet_from_a_url(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "in.parquet")
    found = scored(tmp_path, f"file://{tmp_path}/in.parquet")
    assert [row["decision"] for row in found][:3] == ["flagged", "consistent", "consistent"]


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError, match=r"resay\[batch\]"):
        run_batch(Guard(NGRAM), ROWS, tmp_path / "out.parquet")


def test_parquet_in_and_out(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    rows = [{**row, "n": i, "mixed": i if i % 2 else "x"} for i, row in enumerate(ROWS)]
    given = [{**row, "mixed": str(row["mixed"])} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(given), source)
    run_batch(Guard(NGRAM), source, out)
    found = list(Results(out))
    assert [row["n"] for row in found] == list(range(7))
    assert found[0]["decision"] == "flagged"
    assert found[0]["claims"][0]["score"] is not None
    assert found[0]["samples"] == ROWS[0]["samples"]
    # Columns whose values have nothing in common become JSON.
    run_batch(Guard(NGRAM), rows, tmp_path / "mixed.parquet")
    assert [json.loads(row["mixed"]) for row in Results(tmp_path / "mixed.parquet")] == [
        row["mixed"] for row in rows
    ]


def test_frames(tmp_path: Path) -> None:
    frame = pandas.DataFrame([{**row, "n": float("nan")} for row in ROWS])
    found = scored(tmp_path, frame)
    assert (found[0]["decision"], found[0]["n"]) == ("flagged", None)
    run_batch(Guard(NGRAM), polars.DataFrame(ROWS), tmp_path / "polars.jsonl")
    results = Results(tmp_path / "polars.jsonl")
    assert list(results.to_pandas()["decision"]) == [row["decision"] for row in found]
    assert results.to_polars()["score"].to_list() == [row["score"] for row in found]


def test_data_sets_of_hugging_face(tmp_path: Path) -> None:
    data = pytest.importorskip("datasets").Dataset.from_list(ROWS)
    assert scored(tmp_path, data)[0]["decision"] == "flagged"


@given(st.dictionaries(st.text(), st.text() | st.none() | st.integers(), max_size=3))
def test_a_scorer_fills_rows_whatever_is_in_them(row: dict[str, Any]) -> None:
    row = {**row, "response": "It is 9."}
    (found,) = RowScorer(Guard(NGRAM), prefix="resay ").fill([row])
    assert found["resay error"].startswith("ConfigurationError: ")
    assert {name: found[name] for name in row} == row


def test_an_estimate_asks_nobody(tmp_path: Path) -> None:
    log = tmp_path / "log"
    policy = {**JUDGED, "prices": {"any": {"input": 1.0, "output": 2.0}}}
    guard = Guard(policy, provider=LoggingJudge(log))
    found = estimate(guard, ROWS, sample=5)
    assert not log.exists()
    assert (found.sampled, found.rows, found.failed) == (5, 7, (0, None))
    assert found.calls == (6.0, 6.0)
    assert found.cost_usd is not None
    assert 0 < found.cost_usd[0] <= found.cost_usd[1]
    assert estimate(guard, iter(ROWS), where="lang == 'de'").rows is None
    broken = estimate(guard, [{"response": "It is."}, *ROWS])
    assert broken.failed[0] == 1
