"""Settles the claims about which no two readers of the documents would differ.

A claim is plain if a document about its subject has a sentence of the same words in the same order.
It is supported if their quantities agree ("5 km", "5,000 m"), and contradicted if exactly one
differs. A sentence of a document may go on with a preposition behind the words of the claim, unless
something takes them back ("only", "unless", a negation), and may begin with a date that the claim
has at its end. Claims that documents disagree about are not plain, nor are quotations, items of
lists, which may be lists of errors, and what follows a colon.

Precision is all that counts here: whatever is not plain goes to a model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from resay._internal.event_loops import compute
from resay._internal.patterns import lazy_pattern
from resay.core.editions import newness
from resay.core.grounds import Grounds
from resay.core.normalization import NormalizedText, normalized
from resay.core.passage import Passage, Sentence
from resay.core.quantities import Quantity, negations, quantities
from resay.core.quotes import find_quote
from resay.core.references import Reference
from resay.core.scores import UnsupportedSpan
from resay.core.segmentation.spans import Span
from resay.lang.language import all_words
from resay.scorers.common.cited_documents import source_entries, without_citations
from resay.scorers.common.document_subjects import DocumentSubjects
from resay.scorers.common.grounded_claims import GroundedClaim, contradicting, supporting
from resay.scorers.common.words import WORD, restricts, word_stems, words_of

WORDS = "facts"
"""The method that settles claims by words."""
# Cost of reading a character, in characters; see `compute`.
_COST = 20
_QUANTITY = "#"
_KEY_WORDS = 3
_MIN_CONTENT_WORDS = 2
# What is quoted, asked, or leads to something else.
_UNPLAIN = lazy_pattern(r'"|[?:]\s*\Z|\A\W*>')
_LEADS = lazy_pattern(r":\s*\Z")
# A phrase at the beginning of a sentence, with its comma: "In 1932, ...".
_LEAD = lazy_pattern(r"\A([^,.;:]{2,60}),\s+(?=\S)")
_MAX_LEAD_WORDS = 6


@dataclass(frozen=True, slots=True)
class _Frame:
    """A sentence as its words and its quantities.

    Attributes:
        words: Its words in lower case, with a mark in the place of each quantity.
        quantities: The quantities, in order.
        text: The sentence.
        document: The index of its document; -1 for a claim.
    """

    words: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    text: str
    document: int = -1

    @classmethod
    def of(cls, text: str, document: int = -1) -> _Frame:
        """Return the frame of a sentence, with a date at its beginning put at its end."""
        written = normalized(text).strip()
        lead = _LEAD.match(written)
        if lead and len(lead[1].split()) <= _MAX_LEAD_WORDS and quantities(lead[1]):
            written = f"{written[lead.end() :].rstrip(' .!')} {lead[1]}"
        values = quantities(written)
        pattern = words_of(written)
        words: list[str] = []
        position = 0
        for value in (*values, None):
            end = len(written) if value is None else value.start
            words += pattern.findall(written[position:end].lower())
            if value is not None:
                words.append(_QUANTITY)
                position = value.end
        return cls(tuple(words), tuple(values), text, document)

    @property
    def key(self) -> tuple[str, ...]:
        """Its first words."""
        return self.words[:_KEY_WORDS]

    def begins_with(self, claim: _Frame) -> bool:
        """Return whether it has the words of a claim, perhaps with a preposition behind them."""
        size = len(claim.words)
        if self.words[:size] != claim.words:
            return False
        # "She lives in New York" has the words of "She lives in New", which is no part of it.
        return len(self.words) == size or self.words[size] in all_words("comparison", "besides")

    def goes_on_with(self, claim: _Frame) -> str:
        """Return the words behind those of a claim."""
        return " ".join(self.words[len(claim.words) :])


class _Documents:
    """The documents, read to be compared with claims.

    Args:
        references: The documents.
    """

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = references
        self._frames: defaultdict[tuple[str, ...], list[_Frame]] = defaultdict(list)
        for frame in _frames_of(references):
            self._frames[frame.key].append(frame)

    def alike(self, claim: _Frame, about: Collection[int]) -> list[_Frame]:
        """Return the sentences of the documents about its subject that begin with a claim."""
        frames = self._frames.get(claim.key, ())
        return [f for f in frames if f.document in about and f.begins_with(claim)]

    @cached_property
    def values(self) -> list[Quantity]:
        """All values in them, of whatever."""
        values: list[Quantity] = []
        for reference in self._references:
            values += quantities(normalized(reference.text))
        return values

    def grounds(self, frames: Collection[_Frame], *, supports: bool) -> tuple[Grounds, ...]:
        """Return the first sentence of each document as what speaks for or against a claim."""
        grounds: dict[int, Grounds] = {}
        for frame in frames:
            if frame.document not in grounds:
                text = self._references[frame.document].text
                start, end = find_quote(frame.text, text) or (None, None)
                grounds[frame.document] = Grounds(
                    frame.document, supports=supports, start=start, end=end
                )
        return tuple(grounds.values())


async def settle_plainly(
    passage: Passage, references: Sequence[Reference], question: str
) -> list[GroundedClaim | None]:
    """Return what documents say of the claims that are plain; None for the others.

    Args:
        passage: The answer, with its claims as `sentences`.
        references: The documents.
        question: The question, which may say what a claim is about; empty if it is unknown.
    """
    chars = len(passage.text) + sum(len(reference.text) for reference in references)
    settle = partial(_settle, passage, references, question)
    return await compute(settle, chars=_COST * chars)


def _settle(
    passage: Passage, references: Sequence[Reference], question: str
) -> list[GroundedClaim | None]:
    documents = _Documents(references)
    subjects = DocumentSubjects(references, question)
    sources = source_entries(passage)
    newest = _newest(references)
    claims: list[GroundedClaim | None] = []
    for index, sentence in enumerate(passage.sentences):
        text = without_citations(sentence)
        own = _Frame.of(text)
        written = normalized(text)
        if index in sources or sentence.unit != "sentence" or not _is_plain(written, own):
            claims.append(None)
            continue
        alike = documents.alike(own, set(subjects.of(written)))
        is_current = not newest or not newest.isdisjoint(frame.document for frame in alike)
        claims.append(_settled(own, alike, sentence, documents) if is_current else None)
    return claims


def _frames_of(references: Sequence[Reference]) -> Iterator[_Frame]:
    """Yield the sentences of documents that stand by themselves."""
    for index, reference in enumerate(references):
        leads = False
        for sentence in Passage.of(reference.text).sentences:
            if sentence.unit == "sentence" and not leads and not _UNPLAIN.search(sentence.text):
                yield _Frame.of(sentence.text, index)
            leads = _LEADS.search(sentence.text) is not None


def _newest(references: Sequence[Reference]) -> frozenset[int]:
    """Return the indexes of the newest documents; none if they are all of one edition."""
    editions = [newness(reference.edition or "") for reference in references]
    if len(set(editions)) < 2:
        return frozenset()
    return frozenset(i for i, edition in enumerate(editions) if edition == max(editions))


def _is_plain(written: str, frame: _Frame) -> bool:
    """Return whether a claim in its normal form has enough words to be compared, and no others."""
    content = [word for word in frame.words if word != _QUANTITY and word_stems(word)]
    return len(content) >= _MIN_CONTENT_WORDS and not _UNPLAIN.search(written)


def _settled(
    claim: _Frame,
    alike: Sequence[_Frame],
    sentence: Sentence,
    documents: _Documents,
) -> GroundedClaim | None:
    """Return what sentences of the same words say of a claim; None if they do not settle it."""
    if not alike or any(_takes_back(frame.goes_on_with(claim)) for frame in alike):
        return None
    differing = [_differing(claim, frame) for frame in alike]
    if any(own.agrees(value) for pairs in differing for own, value in pairs):
        # A date without its day is neither the same nor another.
        return None
    indexes = sorted({frame.document for frame in alike})
    if not any(differing):
        return GroundedClaim(
            score=0.0,
            reason=f"{supporting(indexes)} word for word",
            grounds=documents.grounds(alike, supports=True),
            method=WORDS,
        )
    if any(len(pairs) != 1 for pairs in differing):
        return None
    own, value = differing[0][0]
    is_one = all(pairs[0][0] == own and pairs[0][1].agrees(value) for pairs in differing)
    is_exact = not (own.about or value.about) and own.comparable(value)
    if not is_one or not is_exact or _names_subject(own, claim):
        return None
    if any(own.agrees(other) for other in documents.values):
        # It may be of something else, said in other words.
        return None
    reason = contradicting(indexes)
    written = normalized(alike[0].text)
    stated = next((q for q in quantities(written) if q[2:] == value[2:]), None)
    if stated is not None:
        reason = f"{reason}: {written[stated.start : stated.end]!r}"
    span = span_of_value(own, sentence)
    return GroundedClaim(
        score=1.0,
        reason=reason,
        grounds=documents.grounds(alike, supports=False),
        spans=() if span is None else (UnsupportedSpan(*span, 1.0),),
        method=WORDS,
    )


def _differing(claim: _Frame, frame: _Frame) -> list[tuple[Quantity, Quantity]]:
    """Return the quantities of a claim that a sentence of the same words does not confirm."""
    pairs = zip(claim.quantities, frame.quantities, strict=False)
    return [(own, value) for own, value in pairs if own.supported_by(value) < 1]


def _names_subject(value: Quantity, claim: _Frame) -> bool:
    """Return whether a value may be a part of a name, such as "Room 5"."""
    position = claim.quantities.index(value)
    before = 0
    for word in claim.words:
        if word == _QUANTITY:
            if not position:
                break
            position -= 1
        before += bool(word_stems(word))
    return before < _MIN_CONTENT_WORDS


def _takes_back(text: str) -> bool:
    """Return whether words behind a claim change what it says."""
    words = {match[0].lower() for match in WORD.finditer(text)}
    has_condition = not words.isdisjoint(all_words("comparison", "conditions"))
    return has_condition or restricts(text) or bool(negations(text))


def span_of_value(value: Quantity, sentence: Sentence) -> Span | None:
    """Return where in the response a sentence has a value; None if its own words do not have it.

    Args:
        value: The value, of the sentence in its normal form.
        sentence: The sentence.
    """
    source = NormalizedText.of(sentence.text)
    for quantity in quantities(source.text):
        if quantity[2:] == value[2:]:
            start, end = source.span(quantity.start, quantity.end)
            return sentence.start + start, sentence.start + end
    return None
