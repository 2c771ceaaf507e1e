"""Transcripts of coding agents, in the shapes that Claude Code and Codex write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError
from resay.cli import transcript
from resay.cli.transcript import before_last, last_text, read_transcript
from resay.core.call_log import CallLog
from support.transcripts import CLAUDE, CODEX, written


@pytest.mark.parametrize("events", [CLAUDE, CODEX], ids=["claude", "codex"])
def test_calls_results_and_the_last_message_are_read(
    events: Sequence[object], tmp_path: Path
) -> None:
    messages = read_transcript(written(tmp_path, events))
    (call,) = CallLog.of(messages).calls
    assert "pytest" in json.dumps(call.arguments)
    assert call.result is not None
    assert "1 failed" in call.result
    assert last_text(messages) == "It failed."
    rest = before_last(messages, "It failed.")
    assert len(rest) == len(messages) - 1
    assert before_last(messages, "Something else.") == messages
    assert [m.get("role") for m in messages].count("user") == (2 if events is CLAUDE else 1)


def test_a_result_that_is_an_error_stays_one(tmp_path: Path) -> None:
    (call,) = CallLog.of(read_transcript(written(tmp_path, CLAUDE))).calls
    assert call.is_error


def test_of_subagents_the_calls_count_and_not_the_words(tmp_path: Path) -> None:
    events = [{**event, "isSidechain": True} for event in CLAUDE]
    messages = read_transcript(written(tmp_path, [CLAUDE[1], *events]))
    assert len(CallLog.of(messages).calls) == 1
    assert CallLog.of(messages).turn == 1
    assert last_text(messages) == ""
    assert "It failed." not in json.dumps(messages)


def test_what_is_written_at_the_moment_is_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, CLAUDE)
    path.write_bytes(path.read_bytes() + b'{"type": "assistant", "message": {"role": "assi')
    assert last_text(read_transcript(path)) == "It failed."


def test_of_a_long_transcript_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "_MAX_BYTES", 400)
    messages = read_transcript(written(tmp_path, [*CLAUDE[1:2]] * 50 + [*CLAUDE[-1:]]))
    assert 0 < len(messages) < 10
    assert last_text(messages) == "It failed."


def test_a_transcript_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot read the transcript: No such file"):
        read_transcript(tmp_path / "nowhere.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "message", "payload", "role", "content", "isMeta", "isSidechain", "text"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(events=st.lists(JSON, max_size=4))
def test_no_event_breaks_it(events: list[object], tmp_path_factory: pytest.TempPathFactory) -> None:
    messages = read_transcript(written(tmp_path_factory.mktemp("fuzz"), events))
    CallLog.of(messages)
    assert isinstance(last_text(messages), str)


def test_messages_whose_role_is_no_text_are_passed_over(tmp_path: Path) -> None:
    odd = [
        {"type": "user", "message": {"role": ["user"], "content": "x"}},
        {"type": "response_item", "payload": {"role": {"a": 1}, "content": "x"}},
    ]
    assert read_transcript(written(tmp_path, [*odd, *CLAUDE])) == read_transcript(
        written(tmp_path, CLAUDE)
    )
