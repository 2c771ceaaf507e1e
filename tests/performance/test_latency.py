from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.latency import WAYS, RequestTime, by_hand, percentile, row_of
from performance.latency_hold import Moments, first_release
from resay import Guard, Request
from resay.plugins import Chunk, Completion, Completions

REQUEST = Request.of("Why?", model="m")
TINY = [
    *("--requests", "3", "--concurrency", "2", "--turns", "2", "--latency-s", "0.01"),
    *("--judge-latency-s", "0.01", "--jitter-s", "0.005", "--first-token-s", "0.001"),
]


class Busy:
    """Answers whoever asks once nobody else is about to, and keeps who was asked together."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.together: list[int] = []
        self.open = 0

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        judged = request.question.startswith("Context:") or "<claims-" in request.question
        self.kinds.append("judge" if judged else f"n={n}")
        self.open += 1
        await anyio.wait_all_tasks_blocked()
        self.together.append(self.open)
        self.open -= 1
        text = "1: Yes" if judged else "It is."
        return Completions(tuple(Completion(text) for _ in range(n)))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        async def words() -> AsyncGenerator[Chunk]:
            for text in ("It opened ", "in 1932. ", "It has ", "many lamps."):
                await anyio.lowlevel.checkpoint()
                yield Chunk(text)

        yield words()


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 2.0), (0.95, 4.0), (1.0, 4.0), (0.25, 1.0), (0.26, 2.0)]
)
def test_percentiles(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value
    assert percentile([5.0], share) == 5.0


def test_a_row_compares_with_the_plain_way() -> None:
    plain = [RequestTime(0.4), RequestTime(0.5), RequestTime(0.4)]
    row = row_of(
        "ngram", [RequestTime(0.44, 2, 3), RequestTime(0.44, 2, 3), RequestTime(1.0, 3, 5)], plain
    )
    assert (row["p50_ms"], row["p95_ms"]) == (440.0, 1000.0)
    assert (row["ratio_p50"], row["ratio_p95"]) == (1.1, 2.0)
    assert (row["target"], row["met"]) == ("<= 1.15", True)
    assert (row["requests"], row["calls"], row["samples"]) == (3, pytest.approx(7 / 3), 11 / 3)
    assert row["release"] is row["release_p95"] is None
    assert row_of("ngram", [RequestTime(0.47)], plain)["met"] is False
    assert row_of("unguarded", plain, plain)["met"] is None


def test_a_row_of_a_stream_compares_with_when_it_could_have_been_released() -> None:
    taken = [RequestTime(0.5, 2, 3, ready_s=0.4), RequestTime(0.6, 2, 3, ready_s=0.5)]
    row = row_of("hold, ngram", taken, [RequestTime(0.1)])
    assert (row["release"], row["release_p95"]) == (1.2, 1.25)
    assert (row["target"], row["met"]) == ("<= 1.1", False)
    assert row["ratio_p50"] is None


@pytest.mark.anyio
async def test_by_hand_one_thing_is_done_after_the_other() -> None:
    provider = Busy()
    await by_hand(provider, REQUEST, 3, at_once=False)
    assert provider.kinds == ["n=1", "n=3", "judge"]
    assert provider.together == [1] * 3


@pytest.mark.anyio
async def test_the_same_calls_can_be_made_at_once() -> None:
    provider = Busy()
    await by_hand(provider, REQUEST, 3, at_once=True)
    assert provider.kinds == ["n=1", "n=3", "judge"]
    assert provider.together == [2, 1, 1]


def test_what_is_ready_needs_the_sentence_and_the_samples() -> None:
    moments = Moments(Busy())
    moments.pieces = [(1.0, 4), (2.0, 9), (3.0, 20)]
    moments.samples = [2.5, 1.5, 4.0]
    assert moments.ready(5, 1) == 2.0
    assert moments.ready(5, 2) == 2.5
    assert moments.ready(10, 2) == 3.0
    assert moments.ready(4, 3) == 4.0
    moments.questions = [("Is it so?", 0.5), ("And it is?", 9.0), ("Is it so? Or?", 0.25)]
    assert moments.judging("it so", 1) == 0.5
    assert moments.judging("And", 2) == 9.0
    assert moments.judging("nothing", 3) == 0.0


@pytest.mark.anyio
@pytest.mark.parametrize("method", ["ngram", "prompt"])
async def test_nothing_is_released_before_it_could_be(method: str) -> None:
    policy = {"chain": [{"method": method}], "cache": {"store": "none"}}
    released = await first_release(Guard(policy), REQUEST, Busy())
    assert 0 < released.ready_s <= released.seconds
    assert released.samples >= 3
    assert released.calls >= (2 if method == "ngram" else 4)


def test_the_bench_keeps_its_books() -> None:
    result = CliRunner().invoke(app, ["latency", "--json", *TINY])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["setting"]["latency_s"] == 0.01
    rows = {row["way"]: row for row in document["rows"]}
    assert tuple(rows) == WAYS
    assert {row["requests"] for row in rows.values()} == {3}
    calls = {name: row["calls"] for name, row in rows.items()}
    assert calls["unguarded"] == 1
    assert calls["ngram"] == 2
    assert calls["by hand"] == calls["same calls"] == calls["prompt"] == 3
    assert calls["prompt, in doubt"] == 3
    # A second wave of samples is a request of its own, and so are the judge's answers about it.
    assert calls["prompt, in doubt, none ahead"] > 3
    assert calls["hold, ngram"] == 2
    assert rows["hold, ngram"]["release"] >= 1
    assert rows["hold, prompt"]["release"] > 0
    assert rows["unguarded"]["ratio_p50"] == 1


def test_the_bench_is_skipped_without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resay.providers.litellm.find_spec", lambda _: None)
    result = CliRunner().invoke(app, ["latency", *TINY])
    assert result.exit_code == 0
    assert "latency skipped: LiteLLMProvider needs 'litellm'" in result.stderr
