from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from resay import ConfigurationError
from resay.cli.ask import read_logprobs, read_texts
from resay.commands import read_text


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfHello\r\n")
    assert read_text(file) == "Hello\r\n"


def test_a_dash_reads_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Grüße".encode())))
    assert read_text("-") == "Grüße"


def test_many_texts_in_one_file(tmp_path: Path) -> None:
    plain, listed, lines = tmp_path / "a.txt", tmp_path / "b.json", tmp_path / "c.jsonl"
    plain.write_text("one\ntwo\n")
    listed.write_text(json.dumps(["one", "two"]))
    lines.write_text('"one"\n\n"t\u2028wo"\n')
    assert read_texts(plain) == ["one\ntwo\n"]
    assert read_texts(listed) == ["one", "two"]
    assert read_texts(lines) == ["one", "t\u2028wo"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"\xff\xfe", "not UTF-8"),
        ("a.json", b"[1]", "only strings"),
        ("a.json", b'{"a": "b"}', "only strings"),
        ("a.json", b"[", "not valid JSON"),
        ("a.jsonl", b'"a"\nb', "not valid JSON"),
    ],
)
def test_other_files_are_refused_by_name(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigurationError, match=message) as caught:
        read_texts(tmp_path / name)
    assert name in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*nowhere"):
        read_texts(tmp_path / "nowhere.txt")
    with pytest.raises(ConfigurationError, match="cannot read"):
        read_text(tmp_path)


def test_tokens_are_a_list_or_what_holds_one(tmp_path: Path) -> None:
    tokens = [{"token": "a", "logprob": -1.0}]
    for document in (tokens, {"content": tokens, "refusal": None}):
        (tmp_path / "a.json").write_text(json.dumps(document))
        assert read_logprobs(tmp_path / "a.json") == tokens


@pytest.mark.parametrize("document", ["[1]", '{"tokens": []}', "7", "[null]"])
def test_what_holds_no_tokens_is_refused_by_name(tmp_path: Path, document: str) -> None:
    (tmp_path / "a.json").write_text(document)
    with pytest.raises(ConfigurationError, match=r"a\.json' must contain a list of tokens"):
        read_logprobs(tmp_path / "a.json")
