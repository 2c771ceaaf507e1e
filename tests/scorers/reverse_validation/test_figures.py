"""How well the matchers tell PHD's passages apart, from ChatGPT's recorded answers.

Figures are F1, precision and recall in percent; non-factual is the positive class.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resay.scorers.reverse_validation.answer_match import names_entity, names_exactly
from resay.scorers.reverse_validation.percentages import parse_percentage, parse_percentage_exactly

Row = dict[str, Any]
RELEASED_LEAST = 80  # the released code's least percentage; the paper's text says "exceeding 90"


@pytest.fixture(scope="session")
def rows(data_dir: Path) -> list[Row]:
    passages = (data_dir / "phd.jsonl").read_text(encoding="utf-8").splitlines()
    recorded = (data_dir / "phd_recorded.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(a) | json.loads(b) for a, b in zip(passages, recorded, strict=True)]


def met(share: float | None) -> bool:
    return share is None or share >= RELEASED_LEAST


def question_exactly(row: Row) -> bool:
    return names_exactly(row["rv_qg"]["answer"], row["entity"])


def matching_exactly(row: Row) -> bool:
    answer = row["rv_em"]["answer"]
    return names_exactly(answer, row["entity"]) and met(parse_percentage_exactly(answer))


def question(row: Row) -> bool:
    return names_entity(row["rv_qg"]["answer"], row["entity"])


def matching(row: Row) -> bool:
    answer = row["rv_em"]["answer"]
    return names_entity(answer, row["entity"]) and met(parse_percentage(answer))


def figures(rows: list[Row], accepts: Callable[[Row], bool]) -> tuple[float, float, float]:
    flagged = [row["label"] == "non-factual" for row in rows if not accepts(row)]
    hits, wrong = sum(flagged), sum(row["label"] == "non-factual" for row in rows)
    f1 = 2 * hits / (len(flagged) + wrong)
    return round(100 * f1, 2), round(100 * hits / len(flagged), 2), round(100 * hits / wrong, 2)


def part(rows: list[Row], name: str) -> list[Row]:
    if name in ("even", "odd"):
        return [row for row in rows if row["id"] % 2 == (name == "odd")]
    return [row for row in rows if name in ("all", row["domain"])]


@pytest.mark.parametrize(
    ("accepts", "name", "published"),
    [
        (question_exactly, "all", (52.3, 40.7, 73.1)),
        (question_exactly, "low", (58.6, 44.7, 85.0)),
        (question_exactly, "medium", (53.3, 44.4, 66.6)),
        # Table 3 prints a precision of 25.5, which no counts with this F1 and recall give.
        (question_exactly, "high", (33.3, 25.0, 50.0)),
        (matching_exactly, "all", (59.1, 48.0, 76.9)),
        (matching_exactly, "low", (63.6, 50.7, 85.0)),
        (matching_exactly, "medium", (64.2, 58.6, 70.8)),
        (matching_exactly, "high", (41.9, 31.0, 64.3)),
    ],
)
def test_the_exact_match_gives_the_papers_table_3(
    rows: list[Row],
    accepts: Callable[[Row], bool],
    name: str,
    published: tuple[float, float, float],
) -> None:
    # The table truncates some last digits and rounds others.
    assert figures(part(rows, name), accepts) == pytest.approx(published, abs=0.1)


@pytest.mark.parametrize(
    ("accepts", "name", "measured"),
    [
        (question, "even", (55.56, 46.88, 68.18)),
        (question, "odd", (50.53, 39.34, 70.59)),
        (question, "all", (53.20, 43.20, 69.23)),
        (matching, "even", (60.00, 53.57, 68.18)),
        (matching, "odd", (58.95, 45.90, 82.35)),
        (matching, "all", (59.49, 49.57, 74.36)),
    ],
)
def test_the_default_match_is_as_good_as_measured(
    rows: list[Row],
    accepts: Callable[[Row], bool],
    name: str,
    measured: tuple[float, float, float],
) -> None:
    # The rules were settled on the even rows; the odd ones were only counted.
    reached = figures(part(rows, name), accepts)
    assert all(now >= then for now, then in zip(reached, measured, strict=True)), reached


@pytest.mark.parametrize("name", ["even", "odd", "all"])
@pytest.mark.parametrize(
    ("accepts", "exactly"), [(question, question_exactly), (matching, matching_exactly)]
)
def test_the_default_match_raises_fewer_false_alarms(
    rows: list[Row],
    accepts: Callable[[Row], bool],
    exactly: Callable[[Row], bool],
    name: str,
) -> None:
    f1, precision, _ = figures(part(rows, name), accepts)
    exact_f1, exact_precision, _ = figures(part(rows, name), exactly)
    assert precision > exact_precision
    # Of the passages it no longer flags some are non-factual: a half alone may lose F1 by them.
    assert f1 > exact_f1 or name == "odd"
