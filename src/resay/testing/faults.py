"""Faults of a provider, as values: which requests they hit, and how."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from resay.errors import ConfigurationError

RequestKind = Literal["judge", "restated", "chat", "text"]
"""The kind of a request: a judge's question, that question repeated because the first answer could
not be parsed, a plain-text completion, or anything else."""
GarbledStyle = Literal["prose", "markdown", "foreign", "refusal", "empty"]


def _check(name: str, value: float | None, low: float, high: float | None = None) -> None:
    if value is None or (value >= low and (high is None or value <= high)):
        return
    range_text = f"{low} or more" if high is None else f"one in [{low}, {high}]"
    raise ConfigurationError(f"{name} is {value!r}; give {range_text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that affects requests for completions.

    A request matches if it is of the kind in `only`. Matching requests are counted from the moment
    the fault is set; the fault skips the first `after` of them and may strike the `first` ones that
    follow.

    Attributes:
        probability: The chance, in [0, 1], of striking an eligible request. Drawn from the
            provider's seed.
        first: Maximum number of matching requests that are eligible; None for no limit.
        after: Number of matching requests to skip before that.
        only: `judge` for requests that ask a judge in a form that the provider knows, `text` for
            plain-text completions, `chat` for all others, `any` for every kind.
    """

    probability: float = 1.0
    first: int | None = None
    after: int = 0
    only: Literal["any", "judge", "chat", "text"] = "any"

    def __post_init__(self) -> None:
        _check("probability", self.probability, 0, 1)
        _check("first", self.first, 0)
        _check("after", self.after, 0)
        if self.only not in ("any", "judge", "chat", "text"):
            raise ConfigurationError(
                f"only is {self.only!r}; give 'any', 'judge', 'chat' or 'text'"
            )

    def matches(self, kind: RequestKind, params: Collection[str]) -> bool:
        """Return whether it may strike a request of this kind, with these parameters."""
        del params
        return self.only in ("any", "judge" if kind == "restated" else kind)


@dataclass(frozen=True, slots=True)
class RateLimited(Fault):
    """429: too many requests, with a `Retry-After` header of `retry_after_s` seconds, if set."""

    retry_after_s: float | None = None

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        _check("retry_after_s", self.retry_after_s, 0)


@dataclass(frozen=True, slots=True)
class ServerError(Fault):
    """A retryable failure on the provider's side, with a status in [500, 599]."""

    status: int = 500

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        _check("status", self.status, 500, 599)


@dataclass(frozen=True, slots=True)
class Refused(Fault):
    """A refusal that must not be retried: a bad key, model or request.

    The status is in [400, 499], except 429, which is `RateLimited`.
    """

    status: int = 401

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if not 400 <= self.status <= 499 or self.status == 429:
            raise ConfigurationError(
                f"status is {self.status!r}; give one in [400, 499], and RateLimited for 429"
            )


@dataclass(frozen=True, slots=True)
class Slow(Fault):
    """The answer is late by `seconds`, in addition to the provider's latency."""

    seconds: float

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        _check("seconds", self.seconds, 0)


@dataclass(frozen=True, slots=True)
class Hang(Fault):
    """No answer until `SimulatedProvider.release`, a client disconnect, or the provider's stop."""


@dataclass(frozen=True, slots=True)
class Stall(Fault):
    """The first half of an answer or a stream; the rest only after what would end a `Hang`."""


@dataclass(frozen=True, slots=True)
class CutConnection(Fault):
    """The connection breaks in the middle of the answer's body or stream."""


@dataclass(frozen=True, slots=True)
class MalformedJson(Fault):
    """Status 200 and a body, or a stream event, that is half a JSON document."""


@dataclass(frozen=True, slots=True)
class IgnoreN(Fault):
    """One answer, regardless of `n`."""


@dataclass(frozen=True, slots=True)
class IdenticalSamples(Fault):
    """The same text for the same conversation each time, as from a cache."""


@dataclass(frozen=True, slots=True)
class EmptyAnswer(Fault):
    """An answer whose text is empty."""


_GARBLE: Mapping[GarbledStyle, str] = {
    "prose": (
        "That is an interesting matter, and people have looked at it from many sides; before one"
        " can say anything that helps, a good deal would have to be taken into account."
    ),
    "markdown": (
        "## Before I begin, the *text* above deserves a `careful` reading, and there is more than"
        " one way to look at it, so here is a table of **what matters**\n\n"
        "| Aspect | Weight |\n| --- | --- |\n| Style | high |\n| Tone | low |"
    ),
    "foreign": (
        "Voilà une question intéressante, que l'on peut considérer sous bien des angles ; avant"
        " d'en dire quoi que ce soit d'utile, il faudrait tenir compte de beaucoup de choses."
    ),
    "refusal": "I'm sorry, but I can't help with that.",
    "empty": "",
}


@dataclass(frozen=True, slots=True)
class Garbled(Fault):
    """A judge's answer that cannot be parsed; repeated requests get normal answers.

    Methods that cannot parse an answer repeat the request, with the form restated. The fault
    neither strikes nor counts those requests, unless `restated` is set: every first answer is
    garbled, and every second one can be parsed.

    Attributes:
        style: The replacement of the answer: evasive `prose` or `markdown`, `foreign` (evasive
            prose in French), a `refusal`, or an `empty` text.
        restated: Whether it also strikes repeated requests.
    """

    style: GarbledStyle = "prose"
    restated: bool = False
    only: Literal["any", "judge", "chat", "text"] = field(default="judge", kw_only=True)

    def __post_init__(self) -> None:
        Fault.__post_init__(self)
        if self.style not in _GARBLE:
            styles = ", ".join(map(repr, _GARBLE))
            raise ConfigurationError(f"style is {self.style!r}; give one of {styles}")

    @property
    def text(self) -> str:
        """The text that replaces the answer."""
        return _GARBLE[self.style]

    def matches(self, kind: RequestKind, params: Collection[str]) -> bool:
        """Return whether it may strike a request; see `Fault.matches`."""
        return (kind != "restated" or self.restated) and Fault.matches(self, kind, params)


@dataclass(slots=True)
class FaultSchedule:
    """Decides which fault, if any, strikes a request. Stateful, so use it from one thread.

    Faults are tried in order. A request that one of them strikes is not seen, and not counted, by
    later ones: `[RateLimited(first=1), ServerError(first=1)]` gives a 429, then a 500.

    Attributes:
        faults: The faults, in order.
        seed: The seed of the probabilities.
    """

    faults: Sequence[Fault]
    seed: int
    _matched: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.faults = tuple(self.faults)
        for fault in self.faults:
            if not isinstance(fault, Fault):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a type checker
                raise ConfigurationError(f"not a fault: {fault!r}; pass one like RateLimited()")
        self._matched = [0] * len(self.faults)

    def strike(self, kind: RequestKind, params: Collection[str] = ()) -> Fault | None:
        """Count one request and return the fault that strikes it; see `Fault.matches`."""
        for index, fault in enumerate(self.faults):
            if fault.matches(kind, params) and self._strikes(index, fault):
                return fault
        return None

    def _strikes(self, index: int, fault: Fault) -> bool:
        turn = self._matched[index] - fault.after
        self._matched[index] += 1
        if turn < 0 or (fault.first is not None and turn >= fault.first):
            return False
        # The generator controls a simulated provider; nothing about it is secret.
        roll = random.Random(f"fault {self.seed} {index} {turn}").random()  # noqa: S311 - see above
        return roll < fault.probability
