"""What the computed values of a claim decide about it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from resay.core.grounds import Grounds
from resay.core.normalization import NormalizedText
from resay.core.quotes import find_quote
from resay.core.references import Reference
from resay.core.scores import UnsupportedSpan
from resay.scorers.common.arithmetic.passage import CheckedNumbers
from resay.scorers.common.arithmetic.result import ComputedResult
from resay.scorers.common.document_records import Record
from resay.scorers.common.grounded_claims import GroundedClaim, named
from resay.scorers.common.indexed_sentences import sentences_of


def apply_numbers(
    claim: GroundedClaim,
    numbers: CheckedNumbers,
    records: Sequence[Record],
    owners: Sequence[int],
    references: Sequence[Reference],
) -> None:
    """Let what documents give for the computed values of a claim decide on it.

    Args:
        claim: The claim, compared without the values that documents bear out.
        numbers: What they give for its values.
        records: The records of the documents.
        owners: By index of a record, the index of its document.
        references: The documents.
    """
    if numbers.wrong:
        _contradict(claim, numbers, owners)
        claim.grounds = _grounds(numbers.wrong, records, owners, references)
        return
    if not numbers.right or claim.score is None:
        return
    reasons: list[str] = []
    for result in numbers.right:
        documents = _documents(result.records, owners)
        source = f", from {named(documents)}" if documents else ""
        reasons.append(f"{result.arithmetic}{source}")
    arithmetic = "; ".join(reasons)
    claim.reason = arithmetic if claim.supporting else f"{claim.reason}; {arithmetic}"


def _contradict(claim: GroundedClaim, numbers: CheckedNumbers, owners: Sequence[int]) -> None:
    """Flag a claim for whose values documents give something else."""
    reasons: list[str] = []
    spans: list[UnsupportedSpan] = []
    offset = numbers.sentence.start
    for result in numbers.wrong:
        documents = _documents(result.records, owners)
        if result.number is None:
            reasons.append(f"{named(documents)}: {result.arithmetic}")
            continue
        start, end = result.number
        spans.append(UnsupportedSpan(offset + start, offset + end, 1.0))
        gives = "gives" if len(documents) == 1 else "give"
        reasons.append(
            f"{named(documents)} {gives} {result.arithmetic}, the answer says {result.written!r}"
        )
    is_whole = claim.is_flagged and not claim.spans
    if is_whole or len(spans) < len(numbers.wrong):
        claim.spans = ()
    else:
        claim.spans = tuple(sorted({*claim.spans, *spans}, key=lambda span: span.start))
    claim.flag("; ".join(reasons))


def _grounds(
    results: Sequence[ComputedResult],
    records: Sequence[Record],
    owners: Sequence[int],
    references: Sequence[Reference],
) -> tuple[Grounds, ...]:
    """Return the documents that give something else, and the first words of each that do."""
    spans: dict[int, tuple[int, int] | None] = {}
    for result in results:
        for value in result.operands:
            text = _sentence_at(records[value.record], value.sentence[1])
            document = owners[value.record]
            if text and spans.get(document) is None:
                spans[document] = find_quote(text, references[document].text)
        for document in _documents(result.records, owners):
            spans.setdefault(document, None)
    grounds: list[Grounds] = []
    for document, span in sorted(spans.items()):
        start, end = span or (None, None)
        grounds.append(Grounds(document, supports=False, start=start, end=end))
    return tuple(grounds)


def _sentence_at(record: Record, position: int) -> str | None:
    """Return a sentence of a record as written; None of a row, which is written otherwise."""
    if record.cells:
        return None
    original = NormalizedText.of(record.text)
    sentences = list(sentences_of(original.text, original, record.text, 0))
    return sentences[position].written.strip() if position < len(sentences) else None


def _documents(records: Collection[int], owners: Sequence[int]) -> list[int]:
    return sorted({owners[record] for record in records})
