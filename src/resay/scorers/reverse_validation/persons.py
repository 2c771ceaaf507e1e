"""Compares the names of persons: given names, initials and family names."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from resay._internal.patterns import lazy_pattern
from resay.scorers.reverse_validation.word_lists import (
    COMPANY,
    DIRECTIONS,
    GIVEN_NAMES,
    HEADS,
    ORDINARY,
    PARTICLES,
    TITLES,
)
from resay.scorers.reverse_validation.words import Word, respell

_FAMILY_NAME = lazy_pattern(
    r"(?:ova?|eva?|enko|sk[iy]|skaya|ska|sen|sson|stein|berg|mann|ini|elli|ides|poulos|shvili|vich|wicz)$"
)
_PEOPLE = lazy_pattern(r"(?:ian|ese|ish)$")


def is_person(words: Sequence[Word]) -> bool:
    """Return whether a name looks like a given name with a family name."""
    names = [word for word in words if word.key not in PARTICLES]
    if not 2 <= len(names) <= 4 or names[-1] is not words[-1] or len(words[-1].key) < 3:
        return False
    if not all(word.capital and not word.small and not word.number for word in names):
        return False
    first, last = names[0].key, names[-1].key
    if first in DIRECTIONS | TITLES or any(word.key in HEADS | COMPANY for word in names):
        return False
    if first in GIVEN_NAMES or len(first) == 1 or _FAMILY_NAME.search(last):
        return True
    # Without evidence for a person, everyday words and names of peoples are evidence against one.
    return not any(word.key in ORDINARY or _PEOPLE.search(word.key) for word in names)


def name_parts(words: Sequence[Word]) -> tuple[str, ...]:
    """Return given names, initials and the family name of a person, without small words."""
    parts: list[str] = []
    for word in words:
        letters = [character for character in word.text.lower() if character.isalpha()]
        if len(letters) == 1 or "." in word.text:
            parts += letters
        elif not word.small:
            parts.append(word.key)
    return tuple(parts)


def is_same_person(parts: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two names may be those of one person.

    Initials come and go, but a different middle name means another person.

    Args:
        parts: The parts of a name; see `name_parts`.
        other: Those of the other.
    """
    if not is_spelled_alike(parts[-1], other[-1]) or not _is_same_given_name(parts[0], other[0]):
        return False
    fewer, more = sorted((parts[1:-1], other[1:-1]), key=len)
    if len(fewer) == len(more):
        return all(map(_is_same_given_name, fewer, more))
    return not fewer and all(len(given) == 1 for given in more)


def _is_same_given_name(name: str, other: str) -> bool:
    if len(name) == 1 or len(other) == 1:
        return name[0] == other[0]
    return is_spelled_alike(name, other)


def is_spelled_alike(part: str, other: str) -> bool:
    """Return whether two parts differ only in spelling: if long, by at most one inner letter."""
    if part == other:
        return True
    if min(len(part), len(other)) < 4:
        return False
    part, other = respell(part), respell(other)
    if part == other:
        return True
    if min(len(part), len(other)) < 6 or part[0] != other[0] or part[-1] != other[-1]:
        return False
    return Levenshtein.distance(part, other, weights=(1, 1, 2), score_cutoff=1) <= 1
