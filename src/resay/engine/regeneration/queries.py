"""Searches for exactly what is in doubt.

A flagged sentence alone is a bad search: "He was born in Leeds" fits everyone born there. Each is
put behind what the question is about, unless it names that itself: "Ada Lovelace: She was born in
London". That reads as a heading with its text does, which suits an index of words and one of
meanings alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from rapidfuzz import fuzz, utils

from resay.engine.regeneration.plain import has_words, plain
from resay.engine.regeneration.topics import Topic, content_of, topic_of
from resay.errors import ConfigurationError
from resay.scorers.reverse_validation.words import read_words

__all__ = ["search_queries"]

_CHARS = 300
_ALIKE = 92
# What is compared with each other, in an answer that is flagged throughout.
_MOST_CLAIMS = 200
_CLAUSE_ENDS = ("; ", ". ", ": ", ", ", "；", "。", "，", "、", "۔", "، ")


def search_queries(
    question: str, sentences: Sequence[str], *, entity: str | None = None, most: int = 8
) -> tuple[str, ...]:
    """Return what to search for to support or correct sentences of an answer.

    Sentences that say nearly the same are searched for once, by the longest, unless another has
    names or numbers of its own. A sentence too long for one search is divided. Where there are
    more than `most`, neighbours that are short enough are searched for together, the shortest
    first, and then those with the fewest names, numbers and other words of content are left out.

    Args:
        question: What was asked, plain or Markdown; may be empty.
        sentences: The flagged sentences, in order, plain or Markdown.
        entity: What the question is mainly about, where that is known.
        most: How many searches there may be, at least 1.

    Returns:
        The searches in the order of the sentences, none twice, each of at most 300 characters on
        one line. At least one where a sentence has letters, none where no sentence has words.

    Raises:
        ConfigurationError: `most` is less than 1.
    """
    if most < 1:
        raise ConfigurationError(f"there must be room for a search; most must not be {most!r}")
    topic = topic_of(question, entity)
    room = _CHARS - topic.longest - len(": ")
    claims = [claim for sentence in sentences for claim in _claims(sentence, room, most)]
    claims = _distinct(claims[:_MOST_CLAIMS])
    claims = _telling(_merged(claims, room, most), topic, most)
    return tuple(dict.fromkeys(_alone(claim, topic) for claim in claims))


def _alone(claim: str, topic: Topic) -> str:
    missing = topic.missing(claim)
    return f"{missing}: {claim}" if missing else claim


def _claims(sentence: str, room: int, most: int) -> Iterator[str]:
    """Yield a sentence in parts that fit; one that runs on and on without its end."""
    parts = filter(has_words, _divided(plain(sentence), room))
    yield from islice(parts, most)


def _divided(text: str, room: int) -> Iterator[str]:
    while len(text) > room:
        cut = _cut(text, room)
        yield text[:cut].strip()
        text = text[cut:].strip()
    yield text


def _cut(text: str, room: int) -> int:
    """Return where to divide a text: behind a clause, else between words, else anywhere."""
    ends = [text.rfind(end, room // 2, room) + len(end.rstrip()) for end in _CLAUSE_ENDS]
    best = max(ends)
    if best > room // 2:
        return best
    space = text.rfind(" ", room // 2, room)
    return space if space > 0 else room


def _distinct(claims: Sequence[str]) -> list[str]:
    """Leave out what another claim says too."""
    folded = [utils.default_process(claim) for claim in claims]
    marks = [_names_and_numbers(claim) for claim in claims]
    kept: list[int] = []
    for i in sorted(range(len(claims)), key=lambda i: (-len(claims[i]), i)):
        covered = any(
            marks[i] <= marks[j] and fuzz.token_set_ratio(folded[i], folded[j], score_cutoff=_ALIKE)
            for j in kept
        )
        if not covered:
            kept.append(i)
    return [claims[i] for i in sorted(kept)]


def _names_and_numbers(claim: str) -> frozenset[str]:
    """Return the words that begin with a capital or a digit, but for the first."""
    words = read_words(claim)[1:]
    return frozenset(w.key for w in words if w.capital or w.text[0].isdecimal())


def _merged(claims: list[str], room: int, most: int) -> list[str]:
    """Join neighbours, the shortest first, until there are few enough or none that fit."""
    while len(claims) > most:
        pairs = [f"{a} {b}" for a, b in pairwise(claims)]
        i = min(range(len(pairs)), key=lambda i: len(pairs[i]))
        if len(pairs[i]) > room:
            break
        claims = [*claims[:i], pairs[i], *claims[i + 2 :]]
    return claims


def _telling(claims: list[str], topic: Topic, most: int) -> list[str]:
    """Keep the claims that say most, in their order."""
    if len(claims) <= most:
        return claims
    weights = [_weight(claim, topic) for claim in claims]
    best = sorted(range(len(claims)), key=lambda i: (-weights[i], i))[:most]
    return [claims[i] for i in sorted(best)]


def _weight(claim: str, topic: Topic) -> int:
    """Count words of content that the topic has not, names and numbers twice."""
    said = content_of(claim) - content_of(" ".join(topic.names))
    return len(said) + len(said & _names_and_numbers(claim))
