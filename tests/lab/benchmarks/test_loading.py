from __future__ import annotations

import pytest

from resay import ConfigurationError
from resay_lab.benchmarks.rows import DataRow, choose_rows, parse_row, read_lines


class Row(DataRow):
    name: str


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes('{"name": "a\u2028b\x85c", "more": 1}\r\n{"name": 2}\n'.encode())
    return path


def test_a_row_is_a_line_whatever_else_separates_lines(path):
    lines = read_lines(path)
    assert len(lines) == 2
    assert parse_row(Row, lines, 0, path) == Row(name="a\u2028b\x85c")


def test_a_row_of_another_shape_is_named(path):
    with pytest.raises(ConfigurationError, match=r"rows\.jsonl', line 2: name: Input should be"):
        parse_row(Row, read_lines(path), 1, path)


def test_a_row_that_is_not_json_is_named(path):
    with pytest.raises(ConfigurationError, match=r"line 1: Invalid JSON"):
        parse_row(Row, [b"{"], 0, path)


def test_a_row_that_is_not_there_is_named(path):
    with pytest.raises(ConfigurationError, match="has no row 2"):
        parse_row(Row, read_lines(path), 2, path)


def test_rows_are_chosen_by_slice(path):
    lines = read_lines(path)
    assert list(choose_rows(lines, slice(-1, None), path)) == [1]
    with pytest.raises(ConfigurationError, match="no row is left of the 2"):
        choose_rows(lines, slice(5, None), path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"cannot read .*No such file"):
        read_lines(tmp_path / "none.jsonl")
