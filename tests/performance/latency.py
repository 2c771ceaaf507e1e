"""The time that guarding adds to an answer, with a simulated provider that takes its time.

The same questions are asked in several ways: unguarded, guarded, and checked by hand in the way one
would write first. The ways take turns, so that a machine that is busy for a while slows all of
them. Requests of one way run beside each other, as many as `concurrency` says.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

import anyio

from performance.latency_hold import first_release
from performance.serving import simulated_elsewhere
from performance.skipping import SkippedError
from performance.turns import Ask, Setting, in_turns
from resay import Guard, Passage, Policy, Request
from resay.adapters.providers import LiteLLMProvider, Metered
from resay.plugins import Evidence, Provider, Samples
from resay.providers.layers import FanOut
from resay.scorers.prompt import Prompt
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["WAYS", "RequestTime", "by_hand", "percentile", "row_of", "run"]

_MODEL = "openai/gpt-4.1-mini"
_UNKNOWN = "the lighthouse at Quarrel Point"
_HALF_KNOWN = "the Sydney Harbour Bridge"
_NO_CACHE = {"cache": {"store": "none"}}
_NGRAM = {"chain": [{"method": "ngram"}], **_NO_CACHE}
_PROMPT = {"chain": [{"method": "prompt"}], **_NO_CACHE}
# Two of five samples are drawn, and judged, only where the first three leave a doubt.
_SPARING = {**_PROMPT, "sampling": {"ahead": 0}}
# As many samples as are looked at in any case: this method looks at all it can have.
_HELD = {**_NGRAM, "sampling": {"max": 3, "min": 3}}

_COLUMNS = (
    Column("way", "way"),
    Column("p50_ms", "p50 ms", 0),
    Column("p95_ms", "p95 ms", 0),
    Column("ratio_p50", "p50 / unguarded", 2),
    Column("ratio_p95", "p95 / unguarded", 2),
    Column("release", "release / ready", 2),
    Column("target", "target"),
    Column("met", "met"),
    Column("calls", "calls", 2),
    Column("remark", "remark"),
)


@dataclass(frozen=True, slots=True)
class RequestTime:
    """The time and the calls of one request.

    Attributes:
        seconds: The time to the answer, for a stream to the first release, in seconds.
        calls: How many calls it made.
        samples: How many samples were compared.
        ready_s: For a stream, the time until the first release was possible, in seconds.
    """

    seconds: float
    calls: int = 1
    samples: int = 0
    ready_s: float | None = None


Way = Callable[[int, str], Awaitable[RequestTime]]
"""Asks a question, with its number, and returns the time that it took."""


@dataclass(frozen=True, slots=True)
class _Goal:
    """The goal of a way.

    Attributes:
        plain: The most time, as a multiple of the unguarded request's.
        ready: The most time to the first release, as a multiple of when it was possible.
    """

    plain: float | None = None
    ready: float | None = None


_GOALS: Mapping[str, _Goal] = {
    "unguarded": _Goal(),
    "ngram": _Goal(plain=1.15),
    "prompt": _Goal(plain=1.6),
    "prompt, in doubt": _Goal(plain=2.6),
    "prompt, none ahead": _Goal(),
    "prompt, in doubt, none ahead": _Goal(),
    "same calls": _Goal(),
    "by hand": _Goal(),
    "hold, ngram": _Goal(ready=1.1),
    "hold, prompt": _Goal(ready=1.1),
}


WAYS = tuple(_GOALS)
"""The ways of asking, in order."""


@dataclass(slots=True)
class _Ways:
    """The ways of asking one server.

    Attributes:
        params: The parameters of its address and key.
        compared: How many samples the guard compared, by the number of the question.
    """

    params: Mapping[str, Any]
    compared: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def all(self) -> Mapping[str, Way]:
        ngram, held = Guard(_NGRAM, model=_MODEL), Guard(_HELD, model=_MODEL)
        prompts = {
            "prompt": Guard(_PROMPT, model=_MODEL),
            "none ahead": Guard(_SPARING, model=_MODEL),
        }
        return {
            "unguarded": self._plainly,
            "ngram": lambda number, question: self._guarded(ngram, number, question),
            "prompt": self._by("prompt", prompts),
            "prompt, in doubt": self._by("prompt", prompts, in_doubt=True),
            "prompt, none ahead": self._by("none ahead", prompts),
            "prompt, in doubt, none ahead": self._by("none ahead", prompts, in_doubt=True),
            "same calls": lambda number, question: self._by_hand(number, question, at_once=True),
            "by hand": lambda number, question: self._by_hand(number, question, at_once=False),
            "hold, ngram": lambda _, question: self._held(held, question),
            "hold, prompt": lambda _, question: self._held(prompts["prompt"], question),
        }

    def _by(self, name: str, guards: Mapping[str, Guard], *, in_doubt: bool = False) -> Way:
        about = _HALF_KNOWN if in_doubt else _UNKNOWN

        def ask(number: int, question: str) -> Awaitable[RequestTime]:
            compares = name == "prompt"
            own_question = question.replace(_UNKNOWN, about)
            return self._guarded(guards[name], number, own_question, compares=compares)

        return ask

    async def _plainly(self, number: int, question: str) -> RequestTime:
        litellm: Any = import_module("litellm")
        messages = [{"role": "user", "content": question}]
        started = time.perf_counter()
        await litellm.acompletion(model=_MODEL, messages=messages, max_retries=0, **self.params)
        return RequestTime(time.perf_counter() - started)

    async def _guarded(
        self, guard: Guard, number: int, question: str, *, compares: bool = False
    ) -> RequestTime:
        started = time.perf_counter()
        answer = await guard.aask(question, params=self.params)
        seconds = time.perf_counter() - started
        _raise_if_inconclusive(answer.verdict.inconclusive, answer.verdict.reason)
        if compares and _UNKNOWN in question:
            self.compared[number] = answer.verdict.samples
        return RequestTime(seconds, answer.usage.calls, answer.verdict.samples)

    async def _by_hand(self, number: int, question: str, *, at_once: bool) -> RequestTime:
        meter = Metered(LiteLLMProvider())
        request = Request.of(question, model=_MODEL, params=self.params)
        samples = self.compared.get(number) or Policy.default().sampling.max
        started = time.perf_counter()
        await by_hand(meter, request, samples, at_once=at_once)
        return RequestTime(time.perf_counter() - started, meter.usage.calls, samples)

    async def _held(self, guard: Guard, question: str) -> RequestTime:
        request = Request.of(question, model=_MODEL, params=self.params)
        released = await first_release(guard, request, LiteLLMProvider())
        _raise_if_inconclusive(released.inconclusive, "a stream was inconclusive")
        return RequestTime(released.seconds, released.calls, released.samples, released.ready_s)


def _raise_if_inconclusive(inconclusive: bool, reason: str) -> None:
    if inconclusive:
        raise SkippedError(f"a check was inconclusive: {reason}")


async def by_hand(provider: Provider, request: Request, samples: int, *, at_once: bool) -> None:
    """Check an answer without a guard: ask, draw samples in one go, ask a judge about them.

    Args:
        provider: The provider of answers, samples and judgements.
        request: The request of the answer.
        samples: How many samples are drawn and judged.
        at_once: Whether samples are drawn beside the answer; else after it, as one would write it
            first.
    """
    judge = Prompt(Prompt.Config(restate=False))
    texts: list[str] = []
    drawn: list[str] = []

    async def answer() -> None:
        texts.append((await provider.complete(request)).first.text)

    async def sample() -> None:
        completions = await FanOut(provider).complete(request.for_sampling(), n=samples)
        drawn.extend(completion.text for completion in completions.items)

    await _each([answer, sample], at_once=at_once)
    evidence = Evidence(request=request, judge_provider=provider, samples=Samples(drawn))
    await judge.score(Passage.of(texts[0]), evidence)


async def _each(
    steps: Sequence[Callable[[], Coroutine[None, None, None]]], *, at_once: bool
) -> None:
    async with anyio.create_task_group() as tasks:
        for step in steps:
            if at_once:
                tasks.start_soon(step)
            else:
                await step()


async def run(
    setting: Setting | None = None, *, done: Callable[[], object] = lambda: None
) -> ResultTable:
    """Measure all ways.

    Args:
        setting: How many questions are asked, and how long the answers take.
        done: Called after each request.

    Returns:
        A row for each way.

    Raises:
        SkippedError: It cannot be measured here.
    """
    setting = setting or Setting()
    with simulated_elsewhere(**setting.server) as params:
        ways = _Ways(params).all
        # The provider imports litellm quietly; by itself it fetches a list of prices first.
        await LiteLLMProvider().takes_n(Request((), _MODEL))
        # Everything once before, for what is loaded at the first use.
        for name, way in ways.items():
            await way(-1, f"Tell me about {_UNKNOWN}. ({name})")
        asks = {name: _asking(name, way) for name, way in ways.items()}
        times = await in_turns(asks, setting, done)
    rows = [row_of(name, times[name], times["unguarded"]) for name in ways]
    return ResultTable("latency", _COLUMNS, tuple(rows), _NOTES, {"setting": asdict(setting)})


def _asking(name: str, way: Way) -> Ask[RequestTime]:
    # Nobody has been asked this before.
    return lambda number: way(number, f"Tell me about {_UNKNOWN}. ({name} {number})")


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is at least as large as a share of all.

    Args:
        values: At least one.
        share: In (0, 1].
    """
    ranked = sorted(values)
    return ranked[max(0, -int(-share * len(ranked) // 1) - 1)]


def row_of(name: str, times: Sequence[RequestTime], plain: Sequence[RequestTime]) -> Row:
    """Return the row of a way.

    Args:
        name: The way, one of `WAYS`.
        times: The times of its requests, at least one.
        plain: The times of unguarded requests.
    """
    seconds = [request.seconds for request in times]
    plain_seconds = [request.seconds for request in plain]
    ready = [request.seconds / request.ready_s for request in times if request.ready_s]
    ratios = {p: percentile(seconds, p) / percentile(plain_seconds, p) for p in (0.5, 0.95)}
    release = percentile(ready, 0.5) if ready else None
    goal = _GOALS[name]
    limit, value = (goal.plain, ratios[0.5]) if goal.plain else (goal.ready, release)
    return {
        "way": name,
        "p50_ms": round(1000 * percentile(seconds, 0.5), 1),
        "p95_ms": round(1000 * percentile(seconds, 0.95), 1),
        "ratio_p50": None if ready else round(ratios[0.5], 3),
        "ratio_p95": None if ready else round(ratios[0.95], 3),
        "release": release and round(release, 3),
        "release_p95": round(percentile(ready, 0.95), 3) if ready else None,
        "target": f"<= {limit:g}" if limit else None,
        "met": value <= limit if limit and value is not None else None,
        "requests": len(times),
        "calls": sum(request.calls for request in times) / len(times),
        "samples": sum(request.samples for request in times) / len(times),
    }


_NOTES = (
    "Each way asks its own questions, so that nothing comes from a cache, which is switched off"
    " besides; `prompt` has the default settings: five samples in one request, judged in one.",
    "`prompt` is asked about what the model knows nothing of, which three samples settle as a rule,"
    " `prompt, in doubt` about what it knows half of; none ahead: `sampling: {ahead: 0}`, which"
    " draws and judges the last two only in doubt.",
    "by hand: the answer, then as many samples as `prompt` compared for the question with the same"
    " number, then a judge's answer about them. same calls: the samples with the answer.",
    "hold: p50 and p95 are of the first release; `ready` is when its sentence and `sampling.min`"
    " samples were there, for `prompt` as much later as the slowest of the sentence's judges took.",
    "The provider is simulated in another process; litellm, the guard and the bench share one core,"
    " of which litellm takes milliseconds for every call: with many at once that is what is waited"
    " for. `same calls` is what is left without the guard.",
)
