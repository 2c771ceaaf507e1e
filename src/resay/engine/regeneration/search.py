"""Searches for exactly what is in doubt, and puts together the documents that are found.

A flagged sentence alone is a bad search: "He was born in Leeds" fits everyone born there. Each is
put behind the question's topic, unless it names that itself: "Ada Lovelace: She was born in
London". That reads as a heading with its text does, which suits an index of words and one of
meanings alike. It is searched for without what it may have wrong too, and that comes first: who
searches for an invented value finds whatever else has that value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import anyio
from rapidfuzz import fuzz, utils

from resay._internal.telemetry import span
from resay.core.references import (
    Document,
    edition_of,
    names_another,
    names_it,
    naming,
    newness,
)
from resay.core.verdict import tally
from resay.engine.regeneration.prompts import disarmed
from resay.engine.regeneration.topics import Topic, content_of, has_words, plain, topic_of
from resay.errors import ConfigurationError
from resay.policy import Regenerate
from resay.retrieval import AdaptedRetriever, fused
from resay.scorers.reverse_validation.words import read_words

_CHARS = 300
_ALIKE = 92
# What is compared with each other, in an answer that is flagged throughout.
_MOST_CLAIMS = 200
_CLAUSE_ENDS = ("; ", ". ", ": ", ", ", "；", "。", "，", "、", "۔", "، ")


def search_queries(
    question: str | Topic, sentences: Sequence[str], *, entity: str | None = None, most: int = 8
) -> tuple[str, ...]:
    """Return what to search for to support or correct sentences of an answer.

    Sentences that say nearly the same are searched for once, by the longest, unless another has
    names or numbers of its own. A sentence too long for one search is divided. Where there are
    more than `most`, neighbours that are short enough are searched for together, the shortest
    first, and then those with the fewest names, numbers and other words of content are left out.

    Args:
        question: What was asked, plain or Markdown, perhaps empty; or what that is about.
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
        raise ConfigurationError(f"most must be at least 1, not {most!r}")
    topic = question if isinstance(question, Topic) else topic_of(question, entity)
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


# Pages of products with nearly the same name are found before the right one.
_FURTHER, _MOST_FOUND = 10, 50


@dataclass(frozen=True, slots=True)
class Found:
    """What a search gave.

    Attributes:
        documents: The documents, best first, without instructions to a model.
        note: What went wrong, in one line without content, or None.
        failures: How many searches failed.
    """

    documents: tuple[Document, ...]
    note: str | None = None
    failures: int = 0


class Gathering:
    """Searches on behalf of one answer. The same is searched for once.

    Args:
        action: How much is searched for, and for how long.
        retriever: Who finds it.
        tenant: On whose behalf, where the application serves several.
    """

    def __init__(
        self, action: Regenerate, retriever: AdaptedRetriever, tenant: str | None = None
    ) -> None:
        self._action = action
        self._retriever = retriever
        self._tenant = tenant
        self._known: dict[str, Sequence[Document]] = {}
        self._failures: list[str] = []

    async def search(self, queries: Sequence[str], subjects: Sequence[str] = ()) -> Found:
        """Search for all at the same time.

        Args:
            queries: What to search for, none twice.
            subjects: The names of what the searches are about. Of what a search finds, those
                documents come first that name all of them that the search names.

        Returns:
            What was found, for these queries and for those before them.
        """
        self._failures.clear()
        async with anyio.create_task_group() as tasks:
            for query in queries:
                if query not in self._known:
                    names = [name for name in subjects if names_it(name, query)]
                    tasks.start_soon(self._search, query, names)
        latest = [self._known.get(query, ()) for query in queries]
        earlier = [found for query, found in self._known.items() if query not in queries]
        documents = self._fitting([*fused(latest), *fused(earlier)], [f[0].id for f in latest if f])
        note = self._note(len(queries), bool(documents))
        return Found(documents, note, len(self._failures))

    async def _search(self, query: str, names: Sequence[str]) -> None:
        wanted = min(self._action.k * _FURTHER, _MOST_FOUND) if names else self._action.k
        try:
            with span("resay.retrieve") as around, anyio.fail_after(self._action.timeout_s):
                found = await self._retriever.retrieve(query, k=wanted, tenant=self._tenant)
                around.set({"resay.documents": len(found)})
            self._known[query] = tuple(named_first(found, names))[: self._action.k]
        # Whoever wrote the retriever, it must not cost the user the answer.
        except Exception as error:
            self._failures.append(type(error).__name__)

    def _fitting(
        self, documents: Sequence[Document], best: Collection[str]
    ) -> tuple[Document, ...]:
        """Leave out what is there twice, or too much to read.

        Args:
            documents: What was found, best first.
            best: The ids of those that one search found first; they stay before others.
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
            kept[document.id] = disarmed(_shortened(document, left))
            left -= len(text)
        found = sorted(kept.values(), key=lambda document: order[document.id])
        return newest_first(found, self._action.edition)

    def _note(self, asked: int, found: bool) -> str | None:
        if self._failures:
            return f"{len(self._failures)} of {asked} searches failed: {tally(self._failures)}"
        return None if found else "nothing was found"


def _shortened(document: Document, chars: int) -> Document:
    if len(document.text) <= chars:
        return document
    return Document(document.id, document.text[:chars], document.score, document.metadata)


def named_first(documents: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """Put documents that name more of what is looked for before others, else as they come.

    Those are left out that speak of something else with nearly the same name, and of none of these.
    """
    counts = [sum(naming(name, full_text(document)) for name in names) for document in documents]
    about = [
        (-count, place)
        for place, (count, document) in enumerate(zip(counts, documents, strict=True))
        if count or not any(names_another(name, full_text(document)) for name in names)
    ]
    return [documents[place] for _, place in sorted(about)]


def full_text(document: Document) -> str:
    """Return a document's text with the words of its metadata, such as its title."""
    further = (value for value in document.metadata.values() if isinstance(value, str))
    return "\n".join((document.text, *further))


def newest_first(documents: Sequence[Document], key: str | None) -> tuple[Document, ...]:
    """Put documents that name their edition in its order, the newest first, among the others.

    Args:
        documents: Documents, best first.
        key: Where metadata has the edition; None for the usual places.
    """
    editions = {d.id: e for d in documents if (e := edition_of(d.metadata, key))}
    ordered = sorted(
        (d for d in documents if d.id in editions),
        key=lambda d: newness(editions[d.id]),
        reverse=True,
    )
    following = iter(ordered)
    return tuple(next(following) if d.id in editions else d for d in documents)
