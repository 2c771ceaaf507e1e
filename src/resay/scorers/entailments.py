"""Entailments between the texts of a check, each computed once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

import anyio

from resay._internal.plurals import counted
from resay.core.failures import tally

Pair: TypeAlias = tuple[str, str]
"""A premise and a hypothesis."""


@dataclass(frozen=True, slots=True)
class Entailment:
    """How a premise relates to a hypothesis, as probabilities that sum to 1."""

    entails: float
    neutral: float
    contradicts: float


NEUTRAL = Entailment(0.0, 1.0, 0.0)
"""The relation of a premise to an unrelated hypothesis."""
SAME = Entailment(1.0, 0.0, 0.0)
"""The relation of a text to itself."""


@dataclass(frozen=True, slots=True)
class Entailed:
    """How premises relate to hypotheses.

    Attributes:
        by_pair: None if the answer could not be parsed. Pairs whose call failed are missing.
        failures: Kinds of failed calls.
    """

    by_pair: Mapping[Pair, Entailment | None]
    failures: tuple[str, ...] = ()

    def relation(self, premise: str, hypothesis: str) -> Entailment:
        """Return how two texts relate; neutral if the answer could not be parsed, as published."""
        if premise == hypothesis:
            return SAME
        return self.by_pair.get((premise, hypothesis)) or NEUTRAL

    def undetermined(self, pairs: Iterable[Pair]) -> int:
        """Return for how many pairs the answer could not be parsed."""
        return sum(pair in self.by_pair and self.by_pair[pair] is None for pair in pairs)

    def complete(self, texts: Sequence[str], pairs: Iterable[Pair]) -> list[int]:
        """Return the indexes of texts with all entries between them; the first is always included.

        A failed call says nothing; as an entry of the matrix it would look like doubt.

        Args:
            texts: The texts.
            pairs: The entries that were asked for.
        """
        failed = {pair for pair in pairs if pair not in self.by_pair}
        complete = list(range(len(texts)))
        while len(complete) > 1:
            missing: dict[int, int] = {}
            for i in complete:
                entries = [((texts[i], texts[j]), (texts[j], texts[i])) for j in complete]
                missing[i] = sum(to in failed or back in failed for to, back in entries)
            if not any(missing.values()):
                break
            complete.remove(max(complete[1:], key=lambda i: missing[i]))
        return complete

    def missing_reason(self, pairs: Sequence[Pair]) -> str | None:
        """Return why too few of the entries that were asked for are known, or None."""
        failed = sum(pair not in self.by_pair for pair in pairs)
        if failed * 2 > len(pairs):
            return (
                f"{failed} of {counted(len(pairs), 'comparison')} failed ({tally(self.failures)})"
            )
        unread = self.undetermined(pairs)
        if (failed + unread) * 2 > len(pairs):
            return f"{unread} of {counted(len(pairs), 'comparison')} could not be read"
        return None


def pairs_among(texts: Sequence[str]) -> list[Pair]:
    """Return each text with each different one, in both directions."""
    return [(premise, other) for premise, other in permutations(texts, 2) if premise != other]


class Entailments:
    """Matrix of entailments between the texts of a check, in which each entry is computed once.

    Callers get the known entries; the missing ones are computed together, in one batch. Methods
    that run concurrently wait for each other's entries.
    """

    def __init__(self) -> None:
        self._entries: dict[object, dict[Pair, Entailment | None]] = {}
        self._locks: dict[object, anyio.Lock] = {}

    async def find(
        self,
        source: object,
        pairs: Iterable[Pair],
        ask: Callable[[Sequence[Pair]], Awaitable[Entailed]],
    ) -> Entailed:
        """Return how premises relate to hypotheses.

        A text entails itself. An entry whose call failed is computed again for the next caller.

        Args:
            source: The model or judge that decides; each source has its own entries.
            pairs: The pairs to return, in any order.
            ask: Computes the missing entries, all at once.

        Returns:
            At least the entries that could be computed, with the failures of this call.
        """
        entries = self._entries.setdefault(source, {})
        failures: tuple[str, ...] = ()
        async with self._locks.setdefault(source, anyio.Lock()):
            missing = [pair for pair in dict.fromkeys(pairs) if pair not in entries]
            same = {pair: SAME for pair in missing if pair[0] == pair[1]}
            entries.update(same)
            missing = [pair for pair in missing if pair not in same]
            if missing:
                entailed = await ask(missing)
                entries.update(entailed.by_pair)
                failures = entailed.failures
        return Entailed(entries, failures)
