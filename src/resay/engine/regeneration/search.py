"""Searches for the claims in doubt, and merges the documents found.

A flagged sentence alone makes a bad query: "He was born in Leeds" fits everyone born there. So the
question's topic is put before each one, unless the sentence names it: "Ada Lovelace: She was born
in London". That reads like a heading with its text, which suits keyword and semantic indexes alike.
Queries without the possibly wrong details are added, and come first: a search for an invented value
finds other things with that value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import anyio
from rapidfuzz import fuzz, utils

from resay._internal.telemetry import span
from resay.core.documents import Document
from resay.core.editions import edition_of, newness
from resay.core.mentions import mention_score, mentions_name, mentions_similar
from resay.core.verdict import tally
from resay.engine.regeneration.prompts import without_instructions
from resay.engine.regeneration.topics import Topic, content_of, has_words, plain, topic_of
from resay.errors import ConfigurationError
from resay.policy import Regenerate
from resay.retrieval import AdaptedRetriever, fused
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


# Fetch more: pages about products with similar names may rank before the right one.
_FURTHER, _MAX_FOUND = 10, 50


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        documents: The documents, best first, without instructions to a model.
        error: One line about failures, without content, or None.
        failures: The number of failed queries.
    """

    documents: tuple[Document, ...]
    error: str | None = None
    failures: int = 0


class DocumentSearch:
    """Searches on behalf of one answer, sending each query only once.

    Args:
        action: The limits of the search.
        retriever: The retriever.
        tenant: The tenant on whose behalf to search, if the application serves several.
    """

    def __init__(
        self, action: Regenerate, retriever: AdaptedRetriever, tenant: str | None = None
    ) -> None:
        self._action = action
        self._retriever = retriever
        self._tenant = tenant
        self._known: dict[str, Sequence[Document]] = {}
        self._failures: list[str] = []

    async def search(self, queries: Sequence[str], subjects: Sequence[str] = ()) -> SearchResult:
        """Run all queries concurrently.

        Args:
            queries: The distinct queries.
            subjects: The names of the subjects. Documents with more of those in a query come first
                in its results.

        Returns:
            The results of these queries and of all earlier ones.
        """
        self._failures.clear()
        async with anyio.create_task_group() as tasks:
            for query in queries:
                if query not in self._known:
                    names = [name for name in subjects if mentions_name(name, query)]
                    tasks.start_soon(self._search, query, names)
        latest = [self._known.get(query, ()) for query in queries]
        earlier = [found for query, found in self._known.items() if query not in queries]
        documents = self._fitting([*fused(latest), *fused(earlier)], [f[0].id for f in latest if f])
        error = self._error(len(queries), bool(documents))
        return SearchResult(documents, error, len(self._failures))

    async def _search(self, query: str, names: Sequence[str]) -> None:
        wanted = min(self._action.k * _FURTHER, _MAX_FOUND) if names else self._action.k
        try:
            with span("resay.retrieve") as around, anyio.fail_after(self._action.timeout_s):
                found = await self._retriever.retrieve(query, k=wanted, tenant=self._tenant)
                around.set({"resay.documents": len(found)})
            self._known[query] = tuple(named_first(found, names))[: self._action.k]
        # A failing retriever must not cost the user the answer.
        except Exception as error:
            self._failures.append(type(error).__name__)

    def _fitting(
        self, documents: Sequence[Document], best: Collection[str]
    ) -> tuple[Document, ...]:
        """Drop duplicates, and documents beyond the limits of number and length.

        Args:
            documents: The results, best first.
            best: The ids of the top results of each query, which are kept before others.
        """
        order = {document.id: place for place, document in reversed([*enumerate(documents)])}
        documents = sorted(documents, key=lambda document: document.id not in best)
        texts: set[str] = set()
        kept: dict[str, Document] = {}
        left = self._action.max_chars
        for document in documents:
            text = document.text.strip()
            full = len(kept) == self._action.max_documents or (len(text) > left and kept)
            if full or not text or text in texts or document.id in kept:
                continue
            texts.add(text)
            kept[document.id] = without_instructions(_shortened(document, left))
            left -= len(text)
        found = sorted(kept.values(), key=lambda document: order[document.id])
        return newest_first(found, self._action.edition)

    def _error(self, asked: int, found: bool) -> str | None:
        if self._failures:
            return f"{len(self._failures)} of {asked} searches failed: {tally(self._failures)}"
        return None if found else "nothing was found"


def _shortened(document: Document, chars: int) -> Document:
    if len(document.text) <= chars:
        return document
    return Document(document.id, document.text[:chars], document.score, document.metadata)


def named_first(documents: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """Put documents first that contain more of the names, otherwise keeping the order.

    Documents about something else with a similar name, and none of these, are dropped.
    """
    counts = [
        sum(mention_score(name, full_text(document)) for name in names) for document in documents
    ]
    about = [
        (-count, place)
        for place, (count, document) in enumerate(zip(counts, documents, strict=True))
        if count or not any(mentions_similar(name, full_text(document)) for name in names)
    ]
    return [documents[place] for _, place in sorted(about)]


def full_text(document: Document) -> str:
    """Return a document's text with the words of its metadata, such as its title."""
    further = (value for value in document.metadata.values() if isinstance(value, str))
    return "\n".join((document.text, *further))


def newest_first(documents: Sequence[Document], key: str | None) -> tuple[Document, ...]:
    """Sort documents that have an edition, newest first, keeping the others in place.

    Args:
        documents: Documents, best first.
        key: The metadata key of the edition; None for the usual keys.
    """
    editions = {d.id: e for d in documents if (e := edition_of(d.metadata, key))}
    ordered = sorted(
        (d for d in documents if d.id in editions),
        key=lambda d: newness(editions[d.id]),
        reverse=True,
    )
    following = iter(ordered)
    return tuple(next(following) if d.id in editions else d for d in documents)
