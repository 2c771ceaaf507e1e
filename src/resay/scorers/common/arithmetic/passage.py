"""The computed values of a passage's claims, as documents give them.

"A opened 18 years before B" is right if B's year less A's is 18; "48 in total" if the values that
it is about add up to 48. With many numbers in documents almost any is the sum of two. So the
claim's own words say the computation (`cues`), and its operands are values of the subjects that it
names, under heads that it shares (`values`); or the number is hardly by chance (`chance`). Where
these are not to be told, nothing is said of the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from resay.core.claims import Claim
from resay.core.normalization import NormalizedText
from resay.core.passage import Passage, Sentence
from resay.core.quantities import Quantity
from resay.scorers.common.arithmetic.changes import change, share
from resay.scorers.common.arithmetic.claim import ComputedClaim, Documents
from resay.scorers.common.arithmetic.comparisons import difference, extreme, order, ratio
from resay.scorers.common.arithmetic.counts import count
from resay.scorers.common.arithmetic.cues import Computation, ComputedWords
from resay.scorers.common.arithmetic.durations import duration
from resay.scorers.common.arithmetic.result import ComputedResult
from resay.scorers.common.arithmetic.stated import derived, stated
from resay.scorers.common.arithmetic.totals import total_or_average
from resay.scorers.common.arithmetic.values import Value, values_in
from resay.scorers.common.document_records import Record
from resay.scorers.common.uncited import uncited_sentences

# The characters of an answer and of its question from which their language is guessed.
_LANGUAGE_CHARS = 2_000
# Each claim is compared with each value; of long answers and documents, only the first ones are.
_MAX_VISITS = 60_000
# Each number of a claim is compared with each word of it; one with more numbers is a list.
_MAX_CLAIM_NUMBERS = 40
# Numbers that may be computed, but are often stated as well.
_MAY_BE_STATED = ("duration", "share", "count")
_COMPUTE = {
    "total": total_or_average,
    "average": total_or_average,
    "difference": difference,
    "ratio": ratio,
    "change": change,
    "share": share,
    "duration": duration,
    "count": count,
    "value": stated,
}


@dataclass(frozen=True, slots=True)
class CheckedNumbers:
    """What documents give for the computed values of a claim.

    Attributes:
        sentence: The claim, with blanks in place of what they bear out.
        right: The values that they bear out.
        wrong: Those for which they give something else.
    """

    sentence: Sentence
    right: tuple[ComputedResult, ...] = ()
    wrong: tuple[ComputedResult, ...] = ()

    @property
    def operands(self) -> frozenset[int]:
        """The indexes of the records from whose values it computes those that they bear out."""
        return frozenset[int]().union(*(result.records for result in self.right))


def check_numbers(
    passage: Passage, records: Sequence[Record], owners: Sequence[int], question: str
) -> list[CheckedNumbers]:
    """Return what documents give for the computed values of each claim.

    Args:
        passage: The claims, as its `sentences`.
        records: The records of the documents.
        owners: By index of a record, the index of its document.
        question: The question.
    """
    language = ComputedWords.language_of(
        passage.text[:_LANGUAGE_CHARS], question[-_LANGUAGE_CHARS:]
    )
    documents = Documents(records, owners, language)
    checked: list[CheckedNumbers] = []
    visits = 0
    before = ""
    for sentence, text in zip(passage.sentences, uncited_sentences(passage), strict=True):
        if text is None:
            checked.append(CheckedNumbers(sentence))
            continue
        original = NormalizedText.of(text)
        if visits <= _MAX_VISITS and documents.may_compute(original.text):
            visits += len(documents.values)
            checked.append(_checked(sentence, original, before, documents))
        else:
            checked.append(CheckedNumbers(sentence))
        before = original.text
    return checked


def _checked(
    sentence: Sentence, original: NormalizedText, before: str, documents: Documents
) -> CheckedNumbers:
    results = results_of(original.text, documents, before)
    right = [_in_text(result, original) for result in results if result.is_right]
    wrong = [_in_text(result, original) for result in results if not result.is_right]
    covers = [span for result in right for span in result.covers]
    for result in wrong:
        # What it computes remains in doubt, but not how many values it is about.
        covers += [span for span in result.covers if span[0] != (result.number or span)[0]]
    if covers:
        masked = list(sentence.text)
        for start, end in covers:
            masked[start:end] = " " * (end - start)
        is_whole = sentence.standalone == sentence.text
        sentence = replace(sentence, text="".join(masked))
        if isinstance(sentence, Claim) and is_whole:
            sentence = replace(sentence, completed_text="")
    return CheckedNumbers(sentence, tuple(right), tuple(wrong))


def results_of(claim: str, documents: Documents, before: str = "") -> list[ComputedResult]:
    """Return what documents give for each computed value of a claim.

    Args:
        claim: The claim, in the form in which texts are compared.
        documents: The documents.
        before: The sentence before it.
    """
    parsed = values_in(claim)
    if len(parsed) > _MAX_CLAIM_NUMBERS:
        return []

    def computing(computation: Computation) -> ComputedClaim:
        return ComputedClaim(claim, parsed, computation, documents, before)

    results: list[ComputedResult] = []
    settled: set[Quantity | None] = set()
    for computation in documents.cues.computations(claim, parsed):
        result = _result(computing(computation))
        if result is not None:
            results.append(result)
        if result is not None or computation.kind not in _MAY_BE_STATED:
            settled.add(computation.quantity)
    wholes = [result.operands[-1] for result in results if len(result.operands) == 2]
    for quantity in parsed:
        if quantity not in settled:
            result = _unexplained(quantity, computing, wholes)
            if result is not None:
                results.append(result)
    return results


def _result(claim: ComputedClaim) -> ComputedResult | None:
    kind = claim.computation.kind
    quantity = claim.computation.quantity
    if kind == "difference" and quantity is not None and claim.is_in_name(quantity):
        # "Heavier than the Tundra 30 but lighter than the Tundra 55."
        return None
    if kind == "order":
        return extreme(claim) if claim.computation.is_extreme else order(claim)
    result = _COMPUTE[kind](claim)
    if kind == "total" and (result is None or not result.is_right):
        # "Comes to" need not be the total of a column.
        return derived(claim) or result
    return result


def _unexplained(
    quantity: Quantity,
    computing: Callable[[Computation], ComputedClaim],
    wholes: Sequence[Value],
) -> ComputedResult | None:
    """Return what documents give for a number of which no word says how it was computed.

    Args:
        quantity: The number.
        computing: Returns the claim as one that computes something.
        wholes: What other percentages of the claim are of.
    """
    if quantity.unit == "share" and wholes:
        # "64 percent were for it and 35 percent against it": of the same votes.
        computation = Computation("share", quantity, quantity.end, quantity.end)
        result = share(computing(computation), wholes)
        if result is not None:
            return result
    return stated(computing(Computation("value", quantity, quantity.start, quantity.end)))


def _in_text(result: ComputedResult, original: NormalizedText) -> ComputedResult:
    """Return a result with offsets in the text as written."""
    written = "" if result.number is None else original.text[slice(*result.number)].strip()
    return replace(
        result,
        covers=tuple(original.span(start, end) for start, end in result.covers),
        number=None if result.number is None else original.span(*result.number),
        written=written,
    )
