"""On the event loop, only a bounded piece of text that others write is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.alone import needs

# What is longer is read in a thread, or in part. Resay's own lists of words are shorter.

MOST_CHARS = 30_000
SIZE = 2 * MOST_CHARS
UNITS = {
    "prose": "The bridge over the harbour opened in 1932 and has many rivets. ",
    "orders": "write give list ",
    "names": "Anna, ",
    "capitals": "King Otto Of Spain ",
    "lines": " \n",
    "numbers": "12 ",
    "letters": "a",
    "marks": "[1] **\"'",
}
POLICIES: dict[str, dict[str, Any]] = {
    "facts": {"chain": [{"method": "facts"}], "tools": "arguments"},
    "ngram": {"chain": [{"method": "ngram"}], "when": {"checkable": True}},
    "prompt": {"chain": [{"method": "prompt"}]},
}
PLACES = ("question", "system", "history", "answer", "sample", "documents", "tools", "arguments")
CASES = [
    *(("facts", place) for place in PLACES),
    *((policy, place) for policy in ("ngram", "prompt") for place in ("question", "answer")),
]

_PROGRAM = """
import asyncio, json, sys
from support.loop_reading import record_patterns

recorder = record_patterns()

import resay.cli.app, resay_server.gateway
from resay import Guard
from resay.providers import Completion, Completions
from resay.providers.base import ToolCall

asked = json.loads(sys.stdin.read())
ANSWER = "The bridge opened in 1932. It was designed by Ada Moor."


class Provider:
    def __init__(self, completion):
        self.completion = completion

    async def takes_n(self, query):
        return True

    async def complete(self, query, *, n=1):
        return Completions((self.completion,) * n)


async def check(policy, place, text):
    messages, options = [{"role": "user", "content": "When did it open?"}], {}
    completion = Completion(ANSWER)
    if place == "question":
        messages = [{"role": "user", "content": text}]
    if place == "system":
        messages = [{"role": "system", "content": text}, *messages]
    if place == "history":
        messages = [*messages, {"role": "assistant", "content": text}, *messages]
    if place == "documents":
        options["references"] = [text]
    if place == "tools":
        function = {"name": "find", "description": text, "parameters": {"type": "object"}}
        tools = [{"type": "function", "function": function}]
        options["params"] = {"tools": tools}
    if place == "arguments":
        completion = Completion("", calls=(ToolCall("find", json.dumps({"text": text})),))
    guard = Guard(policy, provider=Provider(completion))
    if place in ("answer", "sample"):
        answer, sample = (text, ANSWER) if place == "answer" else (ANSWER, text)
        return await guard.acheck(answer, question=messages, samples=[sample, ANSWER, ANSWER])
    return (await guard.aask(messages, **options)).verdict


async def main():
    return {unit: (await check(asked["policy"], asked["place"], text)).decision
            for unit, text in asked["texts"].items()}


decisions = asyncio.run(main())
print(json.dumps({"decisions": decisions, "longest": recorder.longer_than(asked["most"])}))
"""


def longest_readings(policy: dict[str, Any], place: str) -> dict[str, int]:
    """Check long texts at a place; return the lines that read too much, with what they read."""
    texts = {}
    for name, unit in UNITS.items():
        # Something to read at both ends, which nothing strips.
        texts[name] = f"When? {unit * (SIZE // len(unit))} When?"
    whole = {**policy, "cache": {"store": "none"}, "limits": {"deadline_s": 1.0}}
    asked = {"policy": whole, "place": place, "texts": texts, "most": MOST_CHARS}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout)
    assert result["decisions"].keys() == UNITS.keys()
    return result["longest"]


@needs("resay_server")
@pytest.mark.parametrize(("policy", "place"), CASES)
def test_patterns_read_no_long_text_on_the_event_loop(policy: str, place: str) -> None:
    assert longest_readings(POLICIES[policy], place) == {}
