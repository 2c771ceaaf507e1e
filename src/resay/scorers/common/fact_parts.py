"""Tells the words of a sentence that texts support from those that they do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from resay._internal.event_loops import compute
from resay._internal.patterns import lazy_pattern
from resay.core.claim_verdict import Part
from resay.core.decision import Band
from resay.core.links import link_spans, normal_link
from resay.core.passage import Passage
from resay.scorers.common.fact import Fact
from resay.scorers.common.fact_comparison import (
    ELSEWHERE,
    FactComparison,
    compare_sentences,
    comparison_cost,
    index_texts,
)
from resay.scorers.common.sentence_items import CASELESS, WORD_WEIGHT
from resay.scorers.common.statement import Statement
from resay.scorers.common.words import ignored_words
from resay.scorers.evidence import Evidence

# What a number counts: "212 passengers", but not "212 hand-made lamps".
_COUNTED = lazy_pattern(r" ([^\W\d_]+)(?![\w-])")
# Within a sentence, before a name.
_CAPITALISED = lazy_pattern(r"(?<=\S )[^\W\d_a-zß-öø-ÿ][^\W\d_]+ \Z")
_MAX_WORD = 20
# Lighter facts are words, which may be paraphrased.
_MAX_WORD_WEIGHT = WORD_WEIGHT * CASELESS


async def parts_by_facts(
    passage: Passage, evidence: Evidence, *, with_answers: bool
) -> list[tuple[Part, ...]]:
    """Tell the words of sentences that texts say from those that they do not say.

    Args:
        passage: The text; its `sentences` are compared.
        evidence: The texts, as its `samples`, and the question.
        with_answers: Whether they are answers, most of which must say a fact, or documents, one of
            which is enough.

    Returns:
        For each sentence its numbers, names and other facts, in order, each supported or
        unsupported; none if all of it is in doubt, or nothing can be singled out.
    """
    index = await index_texts(evidence)
    if not index.count:
        return [()] * len(passage.sentences)

    def compare() -> list[tuple[Part, ...]]:
        pool = fmean if with_answers else max
        comparisons = compare_sentences(passage, index, with_answers=with_answers)
        return [fact_parts(comparison, pool) if comparison else () for comparison in comparisons]

    return await compute(compare, chars=comparison_cost(passage, index))


def fact_parts(
    comparison: FactComparison, pool: Callable[[Sequence[float]], float]
) -> tuple[Part, ...]:
    """Return the facts of a sentence that texts say, and those that they do not, as parts of it.

    Args:
        comparison: The sentence, compared with the texts.
        pool: Pools the support of the texts for a fact.
    """
    statement = comparison.statement
    supported: list[Fact] = []
    unsupported: list[Fact] = []
    for fact in comparison.facts(with_contradiction=False):
        if fact.text in (statement.written, statement.text.strip()):
            continue
        if pool(fact.support) >= ELSEWHERE:
            supported.append(fact)
        elif fact.weight > _MAX_WORD_WEIGHT or fact.rival:
            unsupported.append(fact)
    if not supported or not unsupported:
        return ()
    parts: list[Part] = []
    for fact in unsupported:
        parts += _parts_of(fact, statement, "unsupported")
    for fact in supported:
        if fact.weight > _MAX_WORD_WEIGHT:
            parts += _parts_of(fact, statement, "supported")
    return _joined(parts, statement)


def _parts_of(fact: Fact, statement: Statement, band: Band) -> Iterator[Part]:
    """Yield the parts of a sentence that state a fact."""
    original, offset = statement.original, statement.start
    if fact.quantity is not None:
        kind = "date" if fact.quantity.year_or_date else "number"
        start, end = original.span(fact.quantity.start, fact.quantity.end)
        yield Part(offset + start, offset + end, band, kind)
        return
    if fact.text in statement.links:
        for start, end in link_spans(original.written):
            if normal_link(original.written[start:end]) == fact.text:
                yield Part(offset + start, offset + end, band, "link")
        return
    kind = "name" if fact.text[:1].isupper() else "other"
    words = re.compile(rf"(?<!\w){re.escape(fact.text)}(?!\w)", re.IGNORECASE)
    for match in words.finditer(statement.text):
        start, end = match.span()
        if kind == "name":
            start = _start_of_name(statement.text, start)
        start, end = original.span(start, end)
        yield Part(offset + start, offset + end, band, kind)


def _start_of_name(text: str, start: int) -> int:
    """Return where a name begins that may have a common word before it, as in "Per Aske"."""
    word = _CAPITALISED.search(text, max(start - _MAX_WORD, 0), start)
    return word.start() if word and word[0].strip().lower() in ignored_words() else start


def _joined(parts: Sequence[Part], statement: Statement) -> tuple[Part, ...]:
    """Return parts in order, without overlaps, with the words of a name joined.

    A name is flagged if any of its words is.
    """
    text, offset = statement.original.written, statement.start
    joined: list[Part] = []
    for part in sorted(parts, key=lambda part: (part.start, not part.flagged)):
        previous = joined[-1] if joined else None
        if previous is not None and part.start < previous.end:
            continue
        if previous is not None and previous.kind == part.kind == "name":
            between = text[previous.end - offset : part.start - offset]
            if not between.strip(" -.'"):
                band = part.band if part.flagged else previous.band
                joined[-1] = replace(previous, end=part.end, band=band)
                continue
        counted = _COUNTED.match(text, part.end - offset) if part.kind == "number" else None
        if counted is not None and counted[1].lower() not in ignored_words():
            part = replace(part, end=offset + counted.end())
        joined.append(part)
    return tuple(joined)
