"""Finds what samples and documents say in place of a flagged claim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from math import log

from resay._internal.event_loops import stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.claim_verdict import Part, PartKind
from resay.core.claims import Claim
from resay.core.contradiction import Contradiction, ContraryKind, EvidenceKind
from resay.core.links import links_in
from resay.core.quantities import Quantity, negations, quantities
from resay.core.segmentation.spans import Span
from resay.core.tokens import InvertedIndex, tokenize
from resay.lang.detection import detect_from_words
from resay.scorers.samples import Sample

# Sentences that share less than this part of their weight are about different things.
_RELATED = 0.2
# Tolerance for rounding errors in a likeness.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class _ClaimWords:
    """The words of a claim, and whether it is negated."""

    words: set[str]
    is_negated: bool


class ContradictionIndex:
    """A search index over the sentences of all samples or references.

    A word weighs more the fewer sentences contain it, so that names and numbers count and "the"
    does not. The time of a search depends on the length of the sentence searched for, and hardly
    on the size of the index.

    Args:
        samples: The samples or references of one check.
        source: Which of the two they are.
    """

    def __init__(self, samples: Sequence[Sample], source: EvidenceKind = "sample") -> None:
        self._source: EvidenceKind = source
        self._sentences: list[tuple[int, str]] = []
        self._words: list[set[str]] = []
        for sample in samples:
            for sentence in sample.passage.sentences:
                stop_if_abandoned()
                self._sentences.append((sample.index, sentence.text))
                self._words.append(sample.runs.tokens(sentence.text))
        total = 1 + len(self._words)
        self._index = InvertedIndex(self._words, lambda count: log(total / count))
        self._totals: dict[int, float] = {}
        self._claims: dict[str, _ClaimWords] = {}

    def search(
        self, text: str, against: Collection[int] | None = None, *, claim: str | None = None
    ) -> Contradiction | None:
        """Return the nearest sentence on the same matter that says something else.

        Args:
            text: The flagged claim, or words of it.
            against: Indices of the samples that do not support it; None if unknown.
            claim: The claim that the words are from.

        Returns:
            The nearest sentence that says more than the claim; None if no sample comes near.
        """
        whole = self._words_of(text if claim is None else claim)
        words = whole.words if claim is None else set(tokenize(text))
        own_weight = self._index.weight(words)
        shared_weights, unsearched = self._index.search(words, _RELATED * own_weight)
        min_weight = (_RELATED - _ROUNDING) * own_weight - unsearched
        bounds: list[tuple[float, int]] = []
        for position, weight in shared_weights.items():
            if weight < min_weight:
                continue
            if against is not None and self._sentences[position][0] not in against:
                continue
            # The shared weight cannot exceed the weight of the other sentence.
            total = self._total(position)
            max_shared = min(weight + unsearched, own_weight, total)
            bound = max_shared / (own_weight + total - max_shared)
            if bound >= _RELATED - _ROUNDING:
                bounds.append((-bound, position))
        likeness, nearest = 0.0, -1
        for negative_bound, position in self._index.smallest(bounds):
            if -negative_bound < likeness - _ROUNDING:
                break
            other = self._words[position]
            # "It never closed" has all the words of "it closed".
            says_no_more = other == whole.words if whole.is_negated else other <= whole.words
            if says_no_more:
                continue
            shared, union = self._index.weight(words & other), self._index.weight(words | other)
            # Among equally near sentences, quote the first.
            if shared / union > likeness or (shared / union == likeness and position < nearest):
                likeness, nearest = shared / union, position
        if likeness < _RELATED:
            return None
        sample, text = self._sentences[nearest]
        return Contradiction(source=self._source, index=sample, text=text)

    def _words_of(self, claim: str) -> _ClaimWords:
        """Return the words of a claim, read once for all its parts."""
        if claim not in self._claims:
            words = set(tokenize(claim))
            self._claims[claim] = _ClaimWords(words, is_negated=bool(negations(claim)))
        return self._claims[claim]

    def _total(self, position: int) -> float:
        """Return the weight of a sentence's words; few sentences are ever compared."""
        if position not in self._totals:
            self._totals[position] = self._index.weight(self._words[position])
        return self._totals[position]


class AnalysisCache:
    """Caches the analysis of sample sentences for all claims that they contradict."""

    def __init__(self) -> None:
        self.quantities = cache(quantities)
        self.negations = cache(negations)
        self.names = cache(_names)


def stretches_in_doubt(text: str, start: int, parts: Sequence[Part]) -> list[Span]:
    """Return the words around each part of a claim that is in doubt, up to those around the next.

    Args:
        text: The claim's own words.
        start: Their offset in the response.
        parts: The claim's parts, in order.

    Returns:
        Spans in the text: all of it if no part of it is told from the others.
    """
    if not any(part.flagged for part in parts):
        return [(0, len(text))]
    borders = [0]
    for part, following in pairwise(parts):
        borders.append(_border(text, part.end - start, following.start - start))
    borders.append(len(text))
    stretches: list[Span] = []
    for part, stretch in zip(parts, pairwise(borders), strict=True):
        if part.flagged:
            stretches.append(stretch)
    return stretches


def _border(text: str, end: int, start: int) -> int:
    """Return where the words around a part give way to those around the next.

    Args:
        text: The text.
        end: The end of the part.
        start: The start of the next part.
    """
    middle = (end + start) / 2
    marks = _MARKS.finditer(text, end, start)
    # "It has 90 sails, and its wheel measures 8 metres."
    borders = [mark.end() for mark in marks] or [
        space.end() for space in _SPACES.finditer(text, end, start)
    ]
    return min(borders, key=lambda border: abs(border - middle), default=end)


def contradiction_of(
    claim: Claim,
    parts: Sequence[Part],
    index: ContradictionIndex,
    against: Collection[int] | None,
    analyses: AnalysisCache,
    *,
    of_fields: bool,
) -> Contradiction | None:
    """Return the nearest sentence that says something else than a flagged claim.

    A sentence of several statements is near to sentences about any of them, so what is near to the
    parts in doubt is looked for first.

    Args:
        claim: The claim.
        parts: Its parts, in order.
        index: Where to look.
        against: Indices of the samples that do not support it; None if unknown.
        analyses: The cache of sentence analyses.
        of_fields: As for `with_difference`.
    """
    text = claim.standalone
    context = text.removesuffix(claim.text)
    nearest: Contradiction | None = None
    for begin, end in stretches_in_doubt(claim.text, claim.start, parts):
        contradiction = index.search(f"{context}{claim.text[begin:end]}", against, claim=text)
        if contradiction is None:
            continue
        contradiction = with_difference(
            contradiction, claim, [(begin, end)], analyses, of_fields=of_fields
        )
        if contradiction.kind != "other":
            return contradiction
        nearest = nearest or contradiction
    if nearest is not None or not parts:
        return nearest
    contradiction = index.search(text, against)
    if contradiction is None:
        return None
    whole = (0, len(claim.text))
    return with_difference(contradiction, claim, [whole], analyses, of_fields=of_fields)


def with_difference(
    contradiction: Contradiction,
    claim: Claim,
    stretches: Sequence[Span],
    analyses: AnalysisCache,
    *,
    of_fields: bool,
) -> Contradiction:
    """Return a contradiction with the words in which it differs from a claim.

    Args:
        contradiction: The contradiction.
        claim: The claim.
        stretches: The spans of the claim's own words to look at, in this order.
        analyses: The cache of sentence analyses.
        of_fields: Whether both are lines of fields, of which only the values are compared.
    """
    offset = 0
    if of_fields:
        offset = _value_offset(contradiction.text)
        stretches = [(_value_offset(claim.text), len(claim.text))]
    other = contradiction.text[offset:]
    for begin, end in stretches:
        words = claim.text[begin:end]
        for kind, claim_span, evidence_span in _differences(words, other, analyses):
            return replace(
                contradiction,
                kind=kind,
                claim_span=_shifted(claim_span, claim.start + begin),
                evidence_span=_shifted(evidence_span, offset),
            )
    return contradiction


def with_kind(contradiction: Contradiction, claim: Claim, analyses: AnalysisCache) -> Contradiction:
    """Return a contradiction of known words with its kind, narrowed to what differs in them.

    Args:
        contradiction: The contradiction, of which the method named the words on both sides.
        claim: The claim.
        analyses: The cache of sentence analyses.
    """
    if contradiction.claim_span is None or contradiction.evidence_span is None:
        return contradiction
    start, end = contradiction.claim_span
    words = claim.text[start - claim.start : end - claim.start]
    other_start, other_end = contradiction.evidence_span
    other = contradiction.text[other_start:other_end]
    for kind, claim_span, evidence_span in _differences(words, other, analyses):
        return replace(
            contradiction,
            kind=kind,
            claim_span=_shifted(claim_span, start) or contradiction.claim_span,
            evidence_span=_shifted(evidence_span, other_start) or contradiction.evidence_span,
        )
    kind = kind_of_words(words, claim.text)
    return replace(contradiction, kind="other" if kind == "link" else kind)


def kind_of_words(words: str, claim: str) -> PartKind:
    """Return what words in doubt are: a number, a date, a link, a name, a negation or other words.

    Args:
        words: The words.
        claim: The claim that they are from.
    """
    if any(links_in(words)):
        return "link"
    numbers = quantities(words)
    if numbers:
        return "date" if all(number.year_or_date for number in numbers) else "number"
    # In German, all nouns are capitalized.
    is_noun = " " not in words and detect_from_words(claim.lower().split()) == "de"
    if _NAME.fullmatch(words) and not is_noun:
        return "name"
    return "negation" if negations(words) else "other"


def _value_offset(line: str) -> int:
    """Return the offset of the value in a field's line."""
    path, colon, _ = line.partition(": ")
    return len(path) + len(colon) if colon else 0


def _shifted(span: Span | None, by: int) -> Span | None:
    return span and (span[0] + by, span[1] + by)


def _differences(
    claim: str, other: str, analyses: AnalysisCache
) -> Iterator[tuple[ContraryKind, Span | None, Span | None]]:
    """Yield the differences between two texts on the same matter, numbers first.

    Each has its kind, its words in the claim, and those in the other text.
    """
    other_quantities = analyses.quantities(other)
    own_quantities = quantities(claim) if other_quantities else ()
    own_alone = _without_equals(own_quantities, other_quantities)
    other_alone = _without_equals(other_quantities, own_quantities) if own_alone else ()
    for own in own_alone:
        for quantity in other_alone:
            if own.unit == quantity.unit and own.year_or_date == quantity.year_or_date:
                kind = "date" if own.year_or_date else "number"
                yield kind, (own.start, own.end), (quantity.start, quantity.end)
    own_names = [(name, span) for name, span in _names(claim) if name not in other]
    other_names = [(name, span) for name, span in analyses.names(other) if name not in claim]
    both = own_names and other_names
    # In German, all nouns are capitalized.
    has_nouns = both and detect_from_words(claim.lower().split()) == "de"
    for (own_name, span), (name, other_span) in zip(own_names, other_names, strict=False):
        is_noun = has_nouns and not (" " in own_name and " " in name)
        yield "other" if is_noun else "name", span, other_span
    negated, denied = negations(claim), analyses.negations(other)
    if bool(negated) != bool(denied):
        yield "negation", next(iter(negated), None), next(iter(denied), None)


def _without_equals(numbers: Iterable[Quantity], others: Sequence[Quantity]) -> list[Quantity]:
    """Return the numbers that none of the others agrees with."""
    return [number for number in numbers if not any(map(number.agrees, others))]


def _names(text: str) -> list[tuple[str, Span]]:
    return [(match.group(), match.span()) for match in _NAME.finditer(text) if match.start()]


_MARKS = lazy_pattern(r"[,;:()、，；–—]")
_SPACES = lazy_pattern(r"\s+")
# A name, possibly with small words in it; a sentence's first word is capitalized anyway.
_NAME = lazy_pattern(
    r"(?<!\w)[^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\s(?:(?:of|the|de|la|van|von|der|du|di|da)\s)?"
    r"[^\W\d_a-zß-öø-ÿ][\w'’-]*){0,5}"
)
INDEX_BUILDERS: Mapping[EvidenceKind, Callable[[Sequence[Sample]], ContradictionIndex]] = {
    "sample": ContradictionIndex,
    "reference": partial(ContradictionIndex, source="reference"),
    "second_opinion": partial(ContradictionIndex, source="second_opinion"),
}
"""Builders of a search index, by the kind of evidence."""
