"""What our clients add to the time of a call, beside the SDKs' own clients.

Every question is asked by both clients, one right after the other and in turns first, so that a
machine that is busy for a while slows both. One request is under way at a time: what is measured
is what a client adds, not how many it can serve.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from performance.clients_calls import APIS, Api, Ask, Call, Timed, asking, calls_of, require
from performance.latency import percentile
from performance.serving import simulated_elsewhere
from performance.skipping import SkippedError
from resay import Verdict
from resay.errors import MissingDependencyError
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["KINDS", "Kind", "Pair", "Setting", "added_ms", "row_of", "run", "total"]

_NO_CACHE = {"cache": {"store": "none"}}
_SAMPLES = 3
_WARM_UP = 3
_RESAMPLES = 1000
_QUESTION = "Tell me about the lighthouse at Quarrel Point. ({number})"

_COLUMNS = (
    Column("call", "call"),
    Column("guard", "guard"),
    Column("plain_p50_ms", "plain p50 ms", 2),
    Column("plain_p95_ms", "plain p95 ms", 2),
    Column("p50_ms", "p50 ms", 2),
    Column("p95_ms", "p95 ms", 2),
    Column("added_ms", "added p50 ms", 2),
    Column("added_low_ms", "from", 2),
    Column("added_high_ms", "to", 2),
    Column("events", "events", 0),
    Column("ratio_p50", "p50 / plain", 2),
    Column("target", "target"),
    Column("met", "met"),
    Column("remark", "remark"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """How often is asked, and how long the provider takes.

    Attributes:
        rounds: How many pairs of calls there are of each kind that checks nothing.
        guarded_rounds: How many of each that is checked.
        latency_s: How long an answer takes where nothing is checked, in seconds.
        guarded_latency_s: How long where it is.
    """

    rounds: int = 200
    guarded_rounds: int = 100
    latency_s: float = 0.0
    guarded_latency_s: float = 0.05


@dataclass(frozen=True, slots=True)
class Kind:
    """What the second client of a pair is.

    Attributes:
        name: What it is called.
        policy: Its policy; None for a client of the SDK's own once more.
        checks: Whether answers are checked.
        most_ms: How much it may add at p50, if anything is wanted.
    """

    name: str
    policy: Mapping[str, Any] | None
    checks: bool = False
    most_ms: float | None = None

    def worked(self, verdict: Verdict | None) -> bool:
        """Return whether a call had the verdict that it must have."""
        if self.policy is None or verdict is None:
            return self.policy is None and verdict is None
        if not self.checks:
            return verdict.decision == "skipped"
        return not verdict.inconclusive and verdict.samples == _SAMPLES


KINDS = (
    Kind("none", None),
    Kind(
        "off by `when`",
        {"when": {"roles": ["tool"]}, "chain": [{"method": "ngram"}], **_NO_CACHE},
        most_ms=1.0,
    ),
    Kind(
        f"ngram, {_SAMPLES} samples",
        {
            "chain": [{"method": "ngram"}],
            "sampling": {
                "max": _SAMPLES,
                "min": _SAMPLES,
                "start": "together",
                "temperature": 1.0,
            },
            **_NO_CACHE,
        },
        checks=True,
    ),
)
"""What the second client is, in order."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What the same question took by both clients, in seconds, and in how many pieces it came."""

    plain: float
    guarded: float
    events: int = 0


@dataclass(frozen=True, slots=True)
class _Contest:
    """Two clients that are asked the same, and what that took."""

    call: Call
    kind: Kind
    asks: tuple[Ask, Ask]
    pairs: list[Pair]

    def ask(self, number: int) -> Pair:
        """Ask both; every other question the second one first."""
        question = _QUESTION.format(number=f"{self.call.name}, {number}")
        order = (0, 1) if number % 2 else (1, 0)
        answers = {side: self.asks[side](question) for side in order}
        self._raise_unless_checked(answers)
        return Pair(answers[0].seconds, answers[1].seconds, answers[1].events)

    def _raise_unless_checked(self, answers: Mapping[int, Timed]) -> None:
        verdict = answers[1].verdict
        if answers[0].verdict is not None or not self.kind.worked(verdict):
            reason = verdict.reason if verdict else "no verdict"
            raise SkippedError(
                f"{self.call.name!r}, {self.kind.name!r} was not what it should be: {reason}"
            )


def total(setting: Setting) -> int:
    """Return how many pairs of calls are made that count."""
    calls = sum(len(calls_of(api)) for api in _available())
    return calls * sum(_rounds(kind, setting) for kind in KINDS)


def run(
    setting: Setting | None = None, *, done: Callable[[], object] = lambda: None
) -> ResultTable:
    """Measure all clients. It blocks, as half of the clients do.

    Args:
        setting: How often is asked, and how long the provider takes.
        done: Called after each pair of calls.

    Returns:
        A row for each way of asking and each kind of guard.

    Raises:
        SkippedError: It cannot be measured here.
    """
    setting = setting or Setting()
    calls = [call for api in _available() for call in calls_of(api)]
    rows: list[Row] = []
    if calls:
        with start_blocking_portal() as portal:
            for checks in sorted({kind.checks for kind in KINDS}):
                rows += _rows_of_kinds(calls, checks, setting, portal, done)
    rows += [row for api in APIS for row in _missing(api)]
    return ResultTable("clients", _COLUMNS, tuple(rows), _NOTES, {"setting": asdict(setting)})


def _rows_of_kinds(
    calls: Sequence[Call],
    checks: bool,
    setting: Setting,
    portal: BlockingPortal,
    done: Callable[[], object],
) -> Iterator[Row]:
    """Measure the kinds of guard that check something, or those that do not, in one go."""
    latency_s = setting.guarded_latency_s if checks else setting.latency_s
    kinds = [kind for kind in KINDS if kind.checks is checks]
    with ExitStack() as stack:
        params = stack.enter_context(simulated_elsewhere(latency_s=latency_s))
        contests: list[_Contest] = []
        for kind, call in product(kinds, calls):
            plain = stack.enter_context(asking(call, params, None, portal))
            guarded = stack.enter_context(asking(call, params, kind.policy, portal))
            contests.append(_Contest(call, kind, (plain, guarded), []))
        # A few questions before, for what is loaded at the first use.
        for number in range(-_WARM_UP, 0):
            for contest in contests:
                contest.ask(number)
        for number in range(_rounds(kinds[0], setting)):
            for contest in contests:
                contest.pairs.append(contest.ask(number))
                done()
    return (row_of(contest.call.name, contest.kind, contest.pairs) for contest in contests)


def _rounds(kind: Kind, setting: Setting) -> int:
    return setting.guarded_rounds if kind.checks else setting.rounds


def _available() -> Sequence[Api]:
    return [api for api in APIS if not _missing(api)]


def _missing(api: Api) -> Sequence[Row]:
    """Return a row that says what is missing; none where nothing is."""
    try:
        require(api)
    except MissingDependencyError as error:
        skipped = f"skipped: {error}"
        return [{"call": api.name, "remark": skipped, "skipped": skipped}]
    return []


def row_of(name: str, kind: Kind, pairs: Sequence[Pair]) -> Row:
    """Return the row of a way of asking.

    Args:
        name: The way.
        kind: What the second client is.
        pairs: What the questions took, at least one.
    """
    plain, guarded = _sides(pairs)
    added = added_ms(pairs)
    low, high = _interval(pairs)
    return {
        "call": name,
        "guard": kind.name,
        "plain_p50_ms": _ms(percentile(plain, 0.5)),
        "plain_p95_ms": _ms(percentile(plain, 0.95)),
        "p50_ms": _ms(percentile(guarded, 0.5)),
        "p95_ms": _ms(percentile(guarded, 0.95)),
        "added_ms": round(added, 3),
        "added_low_ms": round(low, 3),
        "added_high_ms": round(high, 3),
        "ratio_p50": round(percentile(guarded, 0.5) / percentile(plain, 0.5), 3),
        "target": None if kind.most_ms is None else f"< {kind.most_ms:g} ms added",
        "met": None if kind.most_ms is None else added < kind.most_ms,
        "events": percentile([pair.events for pair in pairs], 0.5) or None,
        "pairs": len(pairs),
        "skipped": None,
    }


def added_ms(pairs: Sequence[Pair]) -> float:
    """Return by how much the second client's median is over the first one's, in milliseconds.

    Args:
        pairs: At least one.
    """
    plain, guarded = _sides(pairs)
    return 1000 * (percentile(guarded, 0.5) - percentile(plain, 0.5))


def _sides(pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    return [pair.plain for pair in pairs], [pair.guarded for pair in pairs]


def _interval(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return between what `added_ms` is for 95 % of the sets of pairs drawn from these."""
    # What is drawn is no secret, and equal figures shall have equal intervals.
    rng = random.Random("clients")
    drawn = [added_ms(rng.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES)]
    return percentile(drawn, 0.025), percentile(drawn, 0.975)


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 3)


_NOTES = (
    "Each question is asked by the SDK's own client and by the other one, every other time in the"
    " other order, with one request under way at a time; a streamed answer is read to its end.",
    "none: the other client is one of the SDK's own too, so that what is added is noise.",
    "off by `when`: the policy checks only what follows a tool's result, and nothing here does.",
    f"ngram: {_SAMPLES} samples, asked for together with the answer.",
    "added is the difference of the medians; in 95 % of 1,000 sets of pairs drawn from those that"
    " were measured it is between `from` and `to`.",
    "events: in how many pieces a streamed answer came from the other client. Without latency they"
    " come at once, and whatever a client does with each of them is waited for.",
    "The provider is simulated in another process.",
)
