from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from resay_lab.benchmarks.table import Column, ResultTable, print_table

COLUMNS = (
    Column("method", "method"),
    Column("judge", "judge"),
    Column("figure", "Figure", 2),
    Column("seconds", "s", 3),
    Column("met", "met"),
)
PLAIN = {"method": "ngram", "figure": 85.714, "seconds": 0.0123, "paper": None}
PUBLISHED = {"method": "prompt", "figure": None, "seconds": 2, "paper": {"figure": 93.42}}


def table(*rows, notes=()):
    return ResultTable("wikibio", COLUMNS, rows, notes, {"passages": 3})


def test_json_has_everything():
    document = json.loads(table(PLAIN, PUBLISHED, notes=("Mind the gap.",)).to_json())
    assert document == {
        "benchmark": "wikibio",
        "passages": 3,
        "rows": [PLAIN, PUBLISHED],
        "notes": ["Mind the gap."],
    }


def test_json_refuses_nan():
    with pytest.raises(ValueError, match="not JSON compliant"):
        table({"method": "ngram", "figure": float("nan")}).to_json()


def test_markdown():
    assert table(PLAIN, PUBLISHED, notes=("Mind the gap.",)).to_markdown().splitlines() == [
        "| method | Figure | s |",
        "| --- | ---: | ---: |",
        "| ngram | 85.71 | 0.012 |",
        "| prompt | – | 2.000 |",
        "| paper | 93.42 |  |",
        "",
        "- Mind the gap.",
    ]


def test_markdown_without_notes_ends_with_the_table():
    assert table(PLAIN).to_markdown().splitlines()[-1] == "| ngram | 85.71 | 0.012 |"


def test_a_pipe_in_a_cell_does_not_break_markdown():
    lines = table({"method": "a|b", "figure": 1.0}).to_markdown().splitlines()
    assert lines[2] == r"| a\|b | 1.00 |"


def test_truth_values_are_words_and_absent_values_dashes():
    lines = table({"method": "x", "met": False}, {"method": "y"}).to_markdown().splitlines()
    assert lines[0] == "| method | met |"
    assert lines[2:] == ["| x | no |", "| y | – |"]


def test_the_terminal_shows_the_same_cells():
    file = io.StringIO()
    print_table(table(PLAIN, PUBLISHED, notes=("[red]not markup",)), Console(file=file, width=100))
    lines = file.getvalue().splitlines()
    cells = [line.strip("│┃ ").replace("│", " ").replace("┃", " ").split() for line in lines]
    assert ["method", "Figure", "s"] in cells
    assert ["ngram", "85.71", "0.012"] in cells
    assert ["paper", "93.42"] in cells
    assert lines[-1] == "- [red]not markup"
