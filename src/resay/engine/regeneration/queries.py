"""Queries that find support or corrections for sentences in doubt.

A flagged sentence alone makes a bad query: "He was born in Leeds" fits everyone born there. So the
question's topic is put before each one, unless the sentence names it: "Ada Lovelace: She was born
in London". That reads like a heading with its text, which suits keyword and semantic indexes alike.
Queries without the possibly wrong details are added, and come first: a search for an invented value
finds other things with that value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from rapidfuzz import fuzz, utils

from resay.engine.regeneration.topics import Topic, content_of, has_words, plain, topic_of
from resay.errors import ConfigurationError
from resay.scorers.reverse_validation.words import split_words

_CHARS = 300
_ALIKE = 92
# Limit on pairwise comparisons, for an answer that is flagged throughout.
_MAX_CLAIMS = 200
_CLAUSE_ENDS = ("; ", ". ", ": ", ", ", "；", "。", "，", "、", "۔", "، ")


def search_queries(
    question: str | Topic, sentences: Sequence[str], *, entity: str | None = None, most: int = 8
) -> tuple[str, ...]:
    """Return the queries that find support or corrections for an answer's sentences.

    Nearly identical sentences share one query, made from the longest, unless one has names or
    numbers of its own. A sentence too long for one query is split. If there are more than `most`,
    neighbours that are short enough are joined, the shortest first; then those with the fewest
    names, numbers and other content words are dropped.

    Args:
        question: The question, plain or Markdown, possibly empty; or its topic.
        sentences: The flagged sentences, in order, plain or Markdown.
        entity: The main subject of the question, if known.
        most: The maximum number of queries, at least 1.

    Returns:
        The distinct queries in the order of the sentences, each of at most 300 characters on one
        line. At least one if any sentence has letters, none if no sentence has words.

    Raises:
        ConfigurationError: `most` is less than 1.
    """
    if most < 1:
        raise ConfigurationError(f"most must be at least 1, not {most!r}")
    topic = question if isinstance(question, Topic) else topic_of(question, entity)
    room = _CHARS - topic.longest - len(": ")
    claims = [claim for sentence in sentences for claim in _claims(sentence, room, most)]
    claims = _distinct(claims[:_MAX_CLAIMS])
    claims = _most_informative(_merged(claims, room, most), topic, most)
    return tuple(dict.fromkeys(_with_topic(claim, topic) for claim in claims))


def _with_topic(claim: str, topic: Topic) -> str:
    missing = topic.missing(claim)
    return f"{missing}: {claim}" if missing else claim


def _claims(sentence: str, room: int, most: int) -> Iterator[str]:
    """Yield a sentence in parts that fit, limited for one that does not end."""
    parts = filter(has_words, _split(plain(sentence), room))
    yield from islice(parts, most)


def _split(text: str, room: int) -> Iterator[str]:
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
    """Return the words that begin with a capital or a digit, except the first word."""
    words = split_words(claim)[1:]
    return frozenset(w.key for w in words if w.capital or w.text[0].isdecimal())


def _merged(claims: list[str], room: int, most: int) -> list[str]:
    """Join neighbours, the shortest first, until there are few enough or no pair fits."""
    while len(claims) > most:
        pairs = [f"{a} {b}" for a, b in pairwise(claims)]
        i = min(range(len(pairs)), key=lambda i: len(pairs[i]))
        if len(pairs[i]) > room:
            break
        claims = [*claims[:i], pairs[i], *claims[i + 2 :]]
    return claims


def _most_informative(claims: list[str], topic: Topic, most: int) -> list[str]:
    """Keep the most informative claims, in their order."""
    if len(claims) <= most:
        return claims
    weights = [_weight(claim, topic) for claim in claims]
    best = sorted(range(len(claims)), key=lambda i: (-weights[i], i))[:most]
    return [claims[i] for i in sorted(best)]


def _weight(claim: str, topic: Topic) -> int:
    """Count content words that are not in the topic, names and numbers twice."""
    said = content_of(claim) - content_of(" ".join(topic.names))
    return len(said) + len(said & _names_and_numbers(claim))
