"""What the soak bench checks once all requests have ended."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from performance.soak_answers import Ended
from performance.soak_plan import Plan

__all__ = [
    "JUDGED",
    "MOST_GROWTH",
    "WARM_UP",
    "WINDOWS",
    "Memory",
    "Spell",
    "Written",
    "growth",
    "growth_problems",
    "journal_problems",
    "lost_and_doubled",
    "refused_problems",
    "windows",
]

WARM_UP = 0.3
"""The share of a process's requests before its memory is looked at."""
WINDOWS = 4
"""How many stretches of equally many requests the others are divided into."""
MOST_GROWTH = 0.05
"""By how much the memory of a stretch may be over that of the first one, as medians."""
JUDGED = 3000
"""How many requests a process must have ended for its memory to be judged."""
# Where a request is sent when the gateway is told to stop, its bytes may not have been read yet.
_SLACK_S = 5.0


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process held at one moment.

    Attributes:
        ended: How many of its requests had ended.
        mb: Its memory (VmRSS), in MiB.
    """

    ended: int
    mb: float


@dataclass(frozen=True, slots=True)
class Spell:
    """When the gateway could not be asked, in seconds of `time.monotonic`.

    Attributes:
        stopped_s: When it was told to stop.
        ready_s: When the next one was ready.
    """

    stopped_s: float
    ready_s: float = math.inf


@dataclass(frozen=True, slots=True)
class Written:
    """An entry of the journal, as far as it is looked at.

    Attributes:
        request_id: What the request was called.
        decision: What was found.
        policy: By which policy.
        tenant: For whom.
    """

    request_id: str | None
    decision: str
    policy: str
    tenant: str | None


def lost_and_doubled(plans: Sequence[Plan], ended: Sequence[Ended]) -> list[str]:
    """Return what is wrong with how requests ended: each did once, and well.

    Args:
        plans: All requests.
        ended: How they ended.
    """
    ends = Counter(end.plan.number for end in ended)
    problems = [
        f"{plan} ended {ends[plan.number]} times" for plan in plans if ends[plan.number] != 1
    ]
    for end in ended:
        end_problems = end.problems or (("it was lost",) if end.outcome == "lost" else ())
        problems += [f"{end.plan}, {end.outcome}: {problem}" for problem in end_problems]
    return problems


def refused_problems(
    ended: Sequence[Ended], begun: Collection[str], spells: Sequence[Spell]
) -> list[str]:
    """Return which requests got no answer at all without a reason.

    A gateway that stops takes no new requests. What it has begun it must end, and it has begun what
    the upstream has heard of.

    Args:
        ended: How requests ended.
        begun: What the requests are called that the upstream has heard of.
        spells: When the gateway could not be asked.
    """
    problems: list[str] = []
    for end in ended:
        if end.outcome != "refused":
            continue
        if end.plan.request_id in begun:
            problems.append(f"{end.plan} was begun, and dropped")
        elif not any(s.stopped_s - _SLACK_S <= end.sent_s <= s.ready_s for s in spells):
            problems.append(f"{end.plan} was refused while the gateway ran")
    return problems


def journal_problems(ended: Sequence[Ended], entries: Sequence[Written]) -> list[str]:
    """Compare the journal with the verdicts that clients were given.

    Args:
        ended: How requests ended; those with a verdict were given all of their answer.
        entries: The whole journal.
    """
    written = {entry.request_id: entry for entry in entries}
    counts = Counter(entry.request_id for entry in entries)
    problems = [f"{name!r} is in the journal {n} times" for name, n in counts.items() if n > 1]
    plans = {end.plan.request_id: end.plan for end in ended}
    problems += [
        f"nobody sent {name!r}, which is in the journal" for name in written if name not in plans
    ]
    for end in ended:
        entry = written.get(end.plan.request_id)
        if end.decision is not None and entry is None:
            problems.append(f"{end.plan}, {end.decision}, is not in the journal")
        elif end.decision is not None and entry is not None:
            problems += _differences(end, entry)
    return problems


def _differences(end: Ended, entry: Written) -> Iterator[str]:
    expected = {"decision": end.decision, "policy": end.plan.policy, "tenant": end.plan.tenant}
    for name, value in expected.items():
        written = getattr(entry, name)
        if written != value:
            yield f"{end.plan} has the {name} {value!r}, and {written!r} in the journal"


def windows(samples: Sequence[Memory]) -> tuple[float, ...]:
    """Return a process's memory after its warm-up, the median of each stretch of requests, in MiB.

    The first 30 % of the requests that it ended are the warm-up; the others are divided into four
    stretches of equally many.

    Args:
        samples: What it held, at several moments of its life.

    Returns:
        The medians; empty where a stretch has no sample.
    """
    if not samples:
        return ()
    last = max(sample.ended for sample in samples)
    first = WARM_UP * last
    width = (last - first) / WINDOWS
    held: list[list[float]] = [[] for _ in range(WINDOWS)]
    for sample in samples:
        if sample.ended > first:
            held[min(int((sample.ended - first) / width), WINDOWS - 1)].append(sample.mb)
    return tuple(median(each) for each in held) if all(held) else ()


def growth(samples: Sequence[Memory]) -> float | None:
    """Return by which share a process's memory grew after its warm-up; None where unknown.

    It is that of the largest of the `windows` over the first.

    Args:
        samples: What it held, at several moments of its life.
    """
    held = windows(samples)
    return max(held) / held[0] - 1 if held else None


def growth_problems(processes: Sequence[Sequence[Memory]], *, judged: int = JUDGED) -> list[str]:
    """Return which processes grew.

    Args:
        processes: What each held, at several moments of its life.
        judged: How many requests one must have ended to be judged.
    """
    problems: list[str] = []
    for number, samples in enumerate(processes, start=1):
        grown = growth(samples)
        if grown is None or samples[-1].ended < judged:
            continue
        if grown > MOST_GROWTH:
            held = ", ".join(f"{mb:.1f}" for mb in windows(samples))
            problems.append(f"process {number} grew by {grown:.1%}: {held} MiB")
    return problems
