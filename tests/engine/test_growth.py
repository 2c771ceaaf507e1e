"""The work of a check grows no faster than its input, and ends with its deadline."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from types import FrameType
from typing import Any

import anyio
import pytest

from resay import Guard, Request, Verdict
from resay._internal.event_loops import stop_if_abandoned
from resay.core.growing_passage import GrowingPassage, TextSoFar
from resay.plugins import Chunk, Completion, Completions
from support.clock import LoopClock

pytestmark = pytest.mark.anyio

POLICY: dict[str, Any] = {
    "chain": [{"method": "ngram"}],
    "threshold": {"sentence": 0.1},
    "sampling": {"confidence": None},
    "cache": {"store": "none"},
    "limits": {"deadline_s": None},
}


class Work:
    """Counts the lines of ours that Python runs, in any thread that begins meanwhile."""

    def __init__(self) -> None:
        self._lines = count()

    @property
    def lines(self) -> int:
        return next(self._lines)

    @contextmanager
    def counted(self) -> Generator[None]:
        before = sys.gettrace()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type] - None is what there was

    def _enter(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        return self._step if "/resay/" in frame.f_code.co_filename else None

    def _step(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
        next(self._lines)
        return self._step


def sentences(number: int, other: int = 0) -> str:
    same = "The bridge over the harbour was opened in"
    return " ".join(f"{same} {1000 + i % 90} by K{i}x{other}." for i in range(number))


def items(number: int, other: int = 0) -> str:
    return json.dumps({"items": [f"item {i}x{other}" for i in range(number)]})


def checked(part: str, size: int) -> tuple[Guard, dict[str, Any]]:
    few = [sentences(4, j) for j in range(1, size)]
    if part == "documents":
        step = {"method": "ngram", "evidence": "references"}
        return Guard({**POLICY, "chain": [step]}), {"response": sentences(4), "references": few}
    if part == "samples":
        return Guard(POLICY), {"response": sentences(4), "samples": few}
    make = items if part == "fields" else sentences
    asked = {"response": make(size), "samples": [make(size, j) for j in range(1, 4)]}
    if part == "fields":
        form = {"params": {"response_format": {"type": "json_object"}}}
        asked |= {"question": "Which?", "model": "none", **form}
    return Guard(POLICY), asked


class Written:
    """Writes a response word by word, and samples at once."""

    def __init__(self, response: str, samples: Sequence[str]) -> None:
        self._response = response
        self._samples = samples

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        return Completions(tuple(map(Completion, self._samples[request.index : request.index + n])))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def words() -> AsyncGenerator[Chunk]:
            for word in self._response.split(" "):
                yield Chunk(f"{word} ")

        yield words()


def test_a_response_three_times_as_long_is_held_with_about_three_times_the_work() -> None:
    lines: list[int] = []
    for size in (30, 90):
        # Of a paragraph all is read again while it is short.
        response = sentences(size).replace(". ", ".\n\n")
        writer = Written(response, [sentences(size, j) for j in range(1, 4)])
        guard = Guard({**POLICY, "sampling": {"max": 3, "confidence": None}}, provider=writer)
        work = Work()

        async def hold(guard: Guard = guard) -> Verdict:
            async with guard.astream("When?", stream_mode="hold") as stream:
                async for _ in stream:
                    pass
            return stream.answer.verdict

        with work.counted():
            verdict = anyio.run(hold)
        assert len(verdict.flagged_sentences) == len(verdict.sentences) == size
        lines.append(work.lines)
    # Nearly five times, if the samples were counted for each sentence.
    assert lines[1] < 4 * lines[0]


@pytest.mark.parametrize("method", ["ngram", "facts"])
def test_the_text_of_a_stream_is_not_assembled_for_each_sentence(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined: list[str] = []

    def join(text: TextSoFar) -> str:
        joined.append("".join(piece.text for piece in text.pieces))
        return joined[-1]

    monkeypatch.setattr(TextSoFar, "text", property(join))
    response = sentences(100)
    writer = Written(response, [sentences(100, j) for j in range(1, 4)])
    policy = {**POLICY, "chain": [{"method": method}], "sampling": {"max": 3, "confidence": None}}
    guard = Guard(policy, provider=writer)

    async def hold() -> None:
        async with guard.astream("When?", stream_mode="hold") as stream:
            async for _ in stream:
                pass

    anyio.run(hold)
    assert joined == []

    final_text = GrowingPassage().feed("It opened in 1932. It was closed in 1950.\n\n")
    assert final_text is not None
    assert final_text.passage.text == joined[0]


def code(number: int, other: int = 0) -> str:
    block = "Then call this.\n\n```python\nimport requests\nrequests.get_{0}(x_{1})\n```\n\n"
    return "".join(block.format(i % 90, other) for i in range(number))


def test_code_three_times_as_long_is_held_with_about_three_times_the_work() -> None:
    lines: list[int] = []
    for size in (25, 75):
        writer = Written(code(size), [code(size, j).replace("get", "got") for j in range(1, 4)])
        sampling = {"max": 3, "confidence": None}
        guard = Guard({**POLICY, "code": "names", "sampling": sampling}, provider=writer)
        work = Work()

        async def hold(guard: Guard = guard) -> Verdict:
            async with guard.astream("How?", stream_mode="hold") as stream:
                async for _ in stream:
                    pass
            return stream.answer.verdict

        with work.counted():
            verdict = anyio.run(hold)
        assert len([c for c in verdict.claims if c.unit == "code"]) == size + 1
        lines.append(work.lines)
    assert lines[1] < 4 * lines[0]


# So large that nothing is done on the event loop, and more than an index looks at closely.
@pytest.mark.parametrize(
    ("part", "size"), [("sentences", 50), ("samples", 40), ("documents", 40), ("fields", 60)]
)
def test_three_times_as_much_takes_about_three_times_the_work(part: str, size: int) -> None:
    lines: list[int] = []
    for factor in (1, 3):
        guard, asked = checked(part, factor * size)
        work = Work()

        async def check(guard: Guard = guard, asked: dict[str, Any] = asked) -> Verdict:
            return await guard.acheck(**asked)

        with work.counted():
            verdict = anyio.run(check)
        assert len(verdict.flagged_sentences) == len(verdict.sentences) > 0
        lines.append(work.lines)
    # Nine times, if each were compared with each.
    assert lines[1] < 5 * lines[0]


async def test_search_for_contradictions_stops_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, loop = LoopClock(monkeypatch), asyncio.get_running_loop()
    elsewhere = threading.Event()

    def endless(text: str) -> list[str]:
        if not elsewhere.is_set():
            elsewhere.set()
            clock.put_forward(3600)
            loop.call_soon_threadsafe(lambda: None)
        while True:
            time.sleep(0.01)
            stop_if_abandoned()

    monkeypatch.setattr("resay.engine.contradictions.tokenize", endless)
    _, asked = checked("sentences", 50)
    soon = {**POLICY, "limits": {"deadline_s": 3600}}
    verdict = await Guard(soon).acheck(**asked)
    assert elsewhere.is_set()
    assert verdict.flagged
    assert len(verdict.flagged_sentences) == 50
    assert not any(sentence.contradicted_by for sentence in verdict.sentences)


_ENDS = """
import threading
import time
import resay.engine.contradictions
from resay import Guard
from resay._internal.event_loops import stop_if_abandoned

begun = threading.Event()

def endless(text):
    begun.set()
    while True:
        time.sleep(0.01)
        stop_if_abandoned()

resay.engine.contradictions.tokenize = endless
guard = Guard({policy!r})
threading.Thread(target=guard.check, kwargs={asked!r}, daemon=True).start()
begun.wait()
print("ends")
"""


def test_a_process_does_not_wait_for_a_check_to_end() -> None:
    _, asked = checked("sentences", 50)
    program = _ENDS.replace("{policy!r}", repr(POLICY)).replace("{asked!r}", repr(asked))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr


class Text(str):
    """One that can be referred to weakly."""


@pytest.mark.parametrize("method", ["ngram", "facts"])
async def test_checks_are_freed_without_the_garbage_collector(method: str) -> None:
    samples = [Text(f"The bridge was opened in 193{digit} by a king.") for digit in range(4)]
    held = [weakref.ref(sample) for sample in samples]
    guard = Guard({**POLICY, "chain": [{"method": method}]})
    gc.disable()
    try:
        verdict = await guard.acheck("The bridge was opened in 1923 by a queen.", samples=samples)
        del samples
        assert verdict.sentences[0].contradicted_by is not None
        assert [sample() for sample in held] == [None] * 4
    finally:
        gc.enable()
