"""Queries that find support or corrections for sentences in doubt.

A flagged sentence alone makes a bad query: "He was born in Leeds" fits everyone born there. So the
question is put before each one: "Who was Ada Lovelace? She was born in London". Queries without the
possibly wrong details are added, and come first: a search for an invented value finds other things
with that value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from rapidfuzz import fuzz, utils

from resay._internal.patterns import lazy_pattern
from resay.engine.regeneration.asked_questions import content_words
from resay.engine.regeneration.plain_text import has_words, plain
from resay.errors import ConfigurationError

_CHARS = 300
_WORD = lazy_pattern(r"[^\W_]+")
_ALIKE = 92
# Limit on pairwise comparisons, for an answer that is flagged throughout.
_MAX_CLAIMS = 200
_CLAUSE_ENDS = ("; ", ". ", ": ", ", ", "；", "。", "，", "、", "۔", "، ")


def search_queries(question: str, sentences: Sequence[str], *, most: int = 8) -> tuple[str, ...]:
    """Return the queries that find support or corrections for an answer's sentences.

    Nearly identical sentences share one query, made from the longest, unless one has names or
    numbers of its own. A sentence too long for one query is split. If there are more than `most`,
    neighbours that are short enough are joined, the shortest first; then those with the fewest
    names, numbers and other content words are dropped.

    Args:
        question: What is asked, plain and in few words; may be empty.
        sentences: The flagged sentences, in order, plain or Markdown.
        most: The maximum number of queries, at least 1.

    Returns:
        The distinct queries in the order of the sentences, each of at most 300 characters on one
        line. At least one if any sentence has letters, none if no sentence has words.

    Raises:
        ConfigurationError: `most` is less than 1.
    """
    if most < 1:
        raise ConfigurationError(f"most must be at least 1, not {most!r}")
    room = _CHARS - len(question) - 1
    claims: list[str] = []
    for sentence in sentences:
        # A sentence that does not end has too many parts.
        claims += islice(filter(has_words, _split(plain(sentence), room)), most)
    claims = _distinct(claims[:_MAX_CLAIMS])
    claims = _most_informative(_merged(claims, room, most), question, most)
    if question:
        claims = [claim if claim == question else f"{question} {claim}" for claim in claims]
    return tuple(dict.fromkeys(claims))


def _split(text: str, room: int) -> Iterator[str]:
    """Yield a text in parts that fit."""
    while len(text) > room:
        cut = _cut(text, room)
        yield text[:cut].strip()
        text = text[cut:].strip()
    yield text


def _cut(text: str, room: int) -> int:
    """Return where to split a text: after a clause, else between words, else anywhere."""
    ends = [text.rfind(end, room // 2, room) + len(end.rstrip()) for end in _CLAUSE_ENDS]
    best = max(ends)
    if best > room // 2:
        return best
    space = text.rfind(" ", room // 2, room)
    return space if space > 0 else room


def _distinct(claims: Sequence[str]) -> list[str]:
    """Drop claims that another claim covers."""
    folded = [utils.default_process(claim) for claim in claims]
    marks = [_names_and_numbers(claim) for claim in claims]
    distinct: list[int] = []
    for i in sorted(range(len(claims)), key=lambda i: (-len(claims[i]), i)):
        covered = any(
            marks[i] <= marks[j] and fuzz.token_set_ratio(folded[i], folded[j], score_cutoff=_ALIKE)
            for j in distinct
        )
        if not covered:
            distinct.append(i)
    return [claims[i] for i in sorted(distinct)]


def _names_and_numbers(claim: str) -> frozenset[str]:
    """Return the words that begin with a capital or a digit, except the first word."""
    words = _WORD.findall(claim)[1:]
    return frozenset(w.lower() for w in words if w[0].isupper() or w[0].isdecimal())


def _merged(claims: list[str], room: int, most: int) -> list[str]:
    """Join neighbours, the shortest first, until there are few enough or no pair fits."""
    while len(claims) > most:
        pairs = [f"{a} {b}" for a, b in pairwise(claims)]
        i = min(range(len(pairs)), key=lambda i: len(pairs[i]))
        if len(pairs[i]) > room:
            break
        claims = [*claims[:i], pairs[i], *claims[i + 2 :]]
    return claims


def _most_informative(claims: list[str], question: str, most: int) -> list[str]:
    """Keep the most informative claims, in their order."""
    if len(claims) <= most:
        return claims
    weights = [_weight(claim, question) for claim in claims]
    best = sorted(range(len(claims)), key=lambda i: (-weights[i], i))[:most]
    return [claims[i] for i in sorted(best)]


def _weight(claim: str, question: str) -> int:
    """Count content words that are not in the question, names and numbers twice."""
    words = content_words(claim) - content_words(question)
    return len(words) + len(words & _names_and_numbers(claim))
