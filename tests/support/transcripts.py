"""Transcripts of a session in which one test failed, as Claude Code and Codex write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["CLAUDE", "CODEX", "written"]

CLAUDE: Sequence[Mapping[str, Any]] = [
    {"type": "summary", "summary": "Fix the parser", "leafUuid": "u-0"},
    {"type": "user", "message": {"role": "user", "content": "Run the tests."}, "uuid": "u-1"},
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Tests pass, surely."}],
        },
    },
    {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t-1", "name": "Bash", "input": {"command": "pytest"}}
            ],
        },
    },
    {
        "type": "user",
        "message": {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t-1",
                    "content": "Exit code 1\n1 failed",
                    "is_error": True,
                }
            ],
        },
        "toolUseResult": "Error: Exit code 1",
    },
    {"type": "user", "isMeta": True, "message": {"role": "user", "content": "Caveat: …"}},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "It failed."}]},
    },
]
CODEX: Sequence[Mapping[str, Any]] = [
    {"type": "session_meta", "payload": {"id": "s", "cwd": "/x", "cli_version": "0.118.0"}},
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Run the tests."}],
        },
    },
    {"type": "event_msg", "payload": {"type": "user_message", "message": "Run the tests."}},
    {"type": "response_item", "payload": {"type": "reasoning", "summary": []}},
    {
        "type": "response_item",
        "payload": {
            "type": "function_call",
            "name": "shell",
            "arguments": '{"command": ["pytest"]}',
            "call_id": "c-1",
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "function_call_output",
            "call_id": "c-1",
            "output": "Exit code: 1\n1 failed",
        },
    },
    {
        "type": "response_item",
        "payload": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "It failed."}],
        },
    },
]


def written(folder: Path, events: Sequence[object]) -> Path:
    path = folder / "transcript.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path
