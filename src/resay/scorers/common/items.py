"""Match the items of two lists of objects by what they share, not by their positions.

Two answers list the same things in different orders, or one lists a thing more. Items match if all
their values are equal; then those that share the rarest values, the first field of an item before
its others, because that is mostly its name; the rest match in order. Values that most items have
say nothing about which is which, and are not looked up, so that the cost is about linear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

# A value that more items have tells none of them from the others.
_COMMON = 16
_FIRST_FIELD = 0.01


@dataclass(frozen=True, slots=True)
class Item:
    """What an item of a list can be recognized by.

    Attributes:
        features: Its values, each with its path in the item.
        first: The first of them, if it has any.
    """

    features: frozenset[str]
    first: str | None


def matches(items: Sequence[Item], others: Sequence[Item]) -> dict[int, int]:
    """Match each item with at most one item of another list.

    Args:
        items: The items of a list.
        others: The items of the other list.

    Returns:
        The index of the other item, by the index of the item.
    """
    matched = _equal(items, others)
    taken = set(matched.values())
    for index, other in _similar(items, others, matched, taken):
        if index not in matched and other not in taken:
            matched[index] = other
            taken.add(other)
    unmatched = [index for index in range(len(items)) if index not in matched]
    free = [other for other in range(len(others)) if other not in taken]
    matched.update(zip(unmatched, free, strict=False))
    return matched


def _equal(items: Sequence[Item], others: Sequence[Item]) -> dict[int, int]:
    """Match items that have all values in common, in order."""
    waiting: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for index in reversed(range(len(others))):
        waiting[others[index].features].append(index)
    matched: dict[int, int] = {}
    for index, item in enumerate(items):
        equal = waiting.get(item.features)
        if equal:
            matched[index] = equal.pop()
    return matched


def _similar(
    items: Sequence[Item],
    others: Sequence[Item],
    matched: dict[int, int],
    taken: set[int],
) -> list[tuple[int, int]]:
    """Return pairs of the other items that share a rare value, the most similar first."""
    having: defaultdict[str, list[int]] = defaultdict(list)
    for other, item in enumerate(others):
        if other not in taken:
            for feature in item.features:
                having[feature].append(other)
    similarity: defaultdict[tuple[int, int], float] = defaultdict(float)
    for index, item in enumerate(items):
        if index in matched:
            continue
        for feature in item.features:
            sharing = having.get(feature, ())
            if len(sharing) > _COMMON:
                continue
            weight = 1 / len(sharing) if sharing else 0.0
            for other in sharing:
                is_first = feature == item.first == others[other].first
                similarity[index, other] += weight + (_FIRST_FIELD if is_first else 0.0)

    def order(pair: tuple[int, int]) -> tuple[float, int, tuple[int, int]]:
        # Rounded, because the order of a sum decides its last digits.
        return -round(similarity[pair], 9), abs(pair[0] - pair[1]), pair

    return sorted(similarity, key=order)
