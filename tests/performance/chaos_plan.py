"""What the chaos bench draws: policies, weather, and what each caller does."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resay.policy import StreamMode
from simulation import (
    CutConnection,
    EmptyAnswer,
    Fault,
    Garbled,
    Hang,
    IdenticalSamples,
    IgnoreLogprobs,
    IgnoreN,
    IgnoreStreamOptions,
    Invention,
    MalformedJson,
    RateLimited,
    Refused,
    RefusedLogprobs,
    RefusedStreamOptions,
    ServerError,
    Slow,
    Stall,
    Subject,
    World,
)

__all__ = ["CACHED", "PLACES", "POLICIES", "WEATHERS", "WORLD", "Plan", "draw"]

CACHED = 60
"""How many answers the cache keeps of those policies that have one."""

PLACES = 7
"""How many requests the policy that limits the process lets through at once."""

_NO_CACHE = {"store": "none"}
_CACHE = {"store": "memory", "max_entries": CACHED}
_SOON = {"deadline_s": 1.5, "timeout_s": 0.6, "retries": 1}
_LATER = {"deadline_s": 3.0, "timeout_s": 1.0, "retries": 2}
_NGRAM = {"method": "ngram"}
_PAIRS = {"method": "prompt"}
_LISTS = {"method": "prompt", "mode": "per_sample"}
_THREE = {"max": 3, "min": 2}
_ALWAYS_BLOCK = {"do": "block", "message": "Withheld."}
_RAISE = {"do": "block", "exit": "raise"}


def _policy(chain: Sequence[Mapping[str, Any]], **sections: object) -> dict[str, Any]:
    usual = {"cache": _NO_CACHE, "limits": _SOON, "sampling": _THREE}
    return {"chain": list(chain), **usual, **sections}


POLICIES: tuple[Mapping[str, Any], ...] = (
    _policy([_NGRAM]),
    _policy([_NGRAM], cache=_CACHE, limits={**_SOON, "timeout_s": None}, on_error="allow"),
    _policy([_NGRAM], cache=_CACHE, limits={**_LATER, "process": {"concurrency": PLACES}}),
    _policy([_NGRAM], action=_ALWAYS_BLOCK, threshold={"sentence": 0.2}, on_error="block"),
    _policy([_PAIRS], sampling={"max": 2, "min": 2, "confidence": None}),
    _policy([_PAIRS], cache=_CACHE, limits={**_LATER, "calls": 5}, action=_RAISE),
    _policy([{**_PAIRS, "order": "nearest"}], limits=_LATER, action=_ALWAYS_BLOCK),
    _policy([_LISTS], sampling={"max": 5, "min": 2, "confidence": 0.9, "ahead": 1}),
    _policy([_LISTS], cache=_CACHE, sampling={**_THREE, "start": "after"}, on_error="block"),
    _policy([_LISTS], limits={**_SOON, "tokens": 250, "cost_usd": 0.01}),
    _policy([_LISTS], action=_RAISE, limits={**_SOON, "concurrency": 2, "deadline_s": 0.4}),
    _policy([{**_NGRAM, "settle": {"below": 0.2, "above": 0.8}}, _LISTS], limits=_LATER),
    _policy([_NGRAM, {"method": "snowballing"}], when={"min_chars": 60}),
    _policy([{"method": "logprobs"}], on_error="block"),
    _policy([{"method": "zero_shot"}], cache=_CACHE),
)
"""Policies of every kind; those that share a cache share their answers too."""

WEATHERS: Mapping[str, tuple[Fault, ...]] = {
    "mild": (Slow(0.3, probability=0.1), EmptyAnswer(probability=0.02)),
    "overload": (
        RateLimited(retry_after_s=0.05, probability=0.15),
        RateLimited(probability=0.02),
        ServerError(probability=0.1),
        ServerError(status=503, probability=0.05),
        Refused(probability=0.02),
        Slow(0.5, probability=0.1),
    ),
    "outage": (
        CutConnection(probability=0.08),
        MalformedJson(probability=0.08),
        Hang(probability=0.1),
        Stall(probability=0.1),
    ),
    "oddities": (
        RefusedLogprobs(probability=0.5),
        RefusedStreamOptions(probability=0.3),
        IgnoreLogprobs(probability=0.1),
        IgnoreStreamOptions(probability=0.1),
        IgnoreN(probability=0.15),
        Refused(status=422, probability=0.05),
        IdenticalSamples(probability=0.1),
        EmptyAnswer(probability=0.05),
        Garbled(probability=0.1),
        Garbled(style="empty", restated=True, probability=0.05),
    ),
}
"""What goes wrong, in turns."""

_NAMES = ("Amber Bridge", "Brass Tower", "Copper Gate", "Dusty Canal", "Elm Market", "Flint Pier")

WORLD = World(
    [
        Subject(
            name,
            facts=(f"The {name} was opened in {1900 + i}.", "It is made of stone."),
            inventions=(Invention("It cost {number} crowns."), Invention("{person} drew it.")),
        )
        for i, name in enumerate(_NAMES)
    ]
)
"""Few and short answers: what is tested is not what they say."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one caller does.

    Attributes:
        number: Tells the request apart from all others.
        policy: Which policy it is asked under, by its place.
        mode: How the answer is streamed; None where it is asked for whole.
        question: What is asked.
        cancel_s: After how many seconds the caller is cancelled; None where it is not.
        leave_after: After how many parts of a stream the reader leaves; None to read all.
    """

    number: int
    policy: int
    mode: StreamMode | None
    question: str
    cancel_s: float | None = None
    leave_after: int | None = None


def draw(count: int, seed: int, *, first: int = 0) -> list[Plan]:
    """Draw what callers do.

    Args:
        count: How many of them.
        seed: Equal seeds give equal plans.
        first: The number of the first request.
    """
    # What a pretended caller does is no secret.
    rng = random.Random(f"chaos {seed}")
    return [_plan(first + i, rng) for i in range(count)]


def _plan(number: int, rng: random.Random) -> Plan:
    mode: StreamMode | None = rng.choice((None, None, "hold", "hold", "after", "buffer"))
    question = f"Tell me about the {rng.choice(_NAMES)}."
    # Half of those who ask do so for the first time, the others may find what is kept.
    if rng.random() < 0.5:
        question = f"{question} ({rng.randrange(10**6)})"
    return Plan(
        number,
        rng.randrange(len(POLICIES)),
        mode,
        question,
        cancel_s=rng.uniform(0.0, 1.0) if rng.random() < 0.15 else None,
        leave_after=rng.randint(0, 4) if mode and rng.random() < 0.15 else None,
    )
