"""Reads what a judge says about claims and texts: which samples or documents support or contradict.

The judge is asked for JSON, one object for each claim. Models write the objects in any wrapping,
as YAML, as a table or in lines, and the numbers of texts as numbers, as strings ("sample 1"),
as ranges, as "all" or "none", or counted from 0. All forms but lines are read as fields with names,
of which an entry about a claim is made. What names a text that was not shown, or says two different
things about a claim, is undetermined.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.quotes import find_quote
from resay.core.segmentation.spans import Span
from resay.scorers.common.claim_fields import ClaimEntry, FieldReader
from resay.scorers.common.field_rows import field_rows
from resay.scorers.common.judge_json import json_values, without_json
from resay.scorers.common.text_numbers import TextNumbers
from resay.scorers.common.verdict_json import entries_in_json
from resay.scorers.common.verdict_lines import entries_in_lines

# A judge that writes more than this is not answering.
_MAX_CHARS = 60_000
# A field with a list of numbers or words, closed.
_LIST = lazy_pattern(r"[\w\"'”]\s{0,9}:\s{0,9}\[[^\[\]{}]{0,2000}\]")
_BLANKS = lazy_pattern(r"[^\S\n]+")
_REPEATED = lazy_pattern(r"([^\w\s]|\n)\1{3,}")


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    """A judge's verdict on one claim.

    Attributes:
        supports: Indexes of the texts that support it, each alone or all together.
        contradicts: Indexes of the texts that contradict it.
        quotes: Words of texts that the judge relies on.
        words: Words of the claim that it finds wrong, or said by nobody.
    """

    supports: tuple[int, ...]
    contradicts: tuple[int, ...]
    quotes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def spans_in(self, claim: str) -> list[Span]:
        """Return where its words stand in the claim, in order; words that do not are left out."""
        spans = {find_quote(words, claim) for words in self.words}
        return sorted(span for span in spans if span is not None)


def read_document_verdicts(
    text: str, count: int, documents: Sequence[int], *, was_cut: bool = False
) -> list[DocumentVerdict | None]:
    """Read a judge's verdict on each of several numbered claims.

    Args:
        text: The judge's answer.
        count: Number of claims, numbered from 1.
        documents: The indexes of the texts it was shown; it knows each by its index plus 1.
        was_cut: Whether the answer reached a limit of its length, so that its last line is
            incomplete. An object that breaks off is noticed without that.

    Returns:
        One entry per claim; None for what is missing, unclear or said in two ways.
    """
    texts = TextNumbers(tuple(index + 1 for index in documents))
    was_cut = was_cut or len(text) > _MAX_CHARS
    text = _without_broken_object(text[:_MAX_CHARS])
    # What is JSON is read as that; the rest is other forms, or JSON that is malformed.
    prose = _tidied(without_json(text))
    if was_cut:
        prose = prose[: prose.rfind("\n") + 1]
    readings = (
        lambda: entries_in_json(json_values(text), texts),
        lambda: _entries_in_fields(prose, texts),
        lambda: entries_in_lines(prose, count, texts),
    )
    verdicts: list[DocumentVerdict | None] = [None] * count
    mentioned: set[int] = set()
    for read_entries in readings:
        entries = read_entries()
        for claim, verdict in enumerate(_verdicts(entries, count, texts)):
            if claim not in mentioned and verdict is not None:
                verdicts[claim] = verdict
        mentioned |= {entry.claim - 1 for entry in entries if entry.claim is not None}
        if len(mentioned) >= count or any(entry.claim is None for entry in entries):
            break
    return verdicts


def _without_broken_object(text: str) -> str:
    """Return a text without the object that breaks off at its end, or with that object closed.

    An object whose two lists are complete says everything that counts; with fewer, it would say
    less than its author meant to.
    """
    start = text.rfind("{")
    while start >= 0 and "}" not in text[start:]:
        lists = list(_LIST.finditer(text, start))
        if len(lists) > 1:
            return f"{text[: lists[-1].end()]}}}"
        text = text[:start]
        start = text.rfind("{")
    return text


def _tidied(text: str) -> str:
    """Return a text without runs of blanks and marks, which cost time and mean nothing."""
    return _REPEATED.sub(r"\1\1\1", _BLANKS.sub(" ", unicodedata.normalize("NFKC", text)))


def _entries_in_fields(text: str, texts: TextNumbers) -> list[ClaimEntry]:
    """Return the entries of a table, or of fields with names, one below or beside the other."""
    reader = FieldReader(texts)
    entries = [reader.entry(fields, claim) for claim, fields in field_rows(text)]
    return [entry for entry in entries if entry is not None]


def _verdicts(
    entries: Sequence[ClaimEntry], count: int, texts: TextNumbers
) -> list[DocumentVerdict | None]:
    """Return the verdict on each claim that entries give."""
    verdicts: list[DocumentVerdict | None] = [None] * count
    claims = _claim_numbers(entries, count)
    if claims is None:
        return verdicts
    numbers: set[int] = set()
    for entry in entries:
        numbers.update(entry.stances.supports, entry.stances.contradicts)
    # Texts are counted from 0, unless their numbers fit neither way.
    shift = int(0 in numbers and max(texts.shown) not in numbers)
    entries_by_claim: defaultdict[int, list[ClaimEntry]] = defaultdict(list)
    for claim, entry in zip(claims, entries, strict=True):
        entries_by_claim[claim].append(entry)
    for claim, claim_entries in entries_by_claim.items():
        if 1 <= claim <= count:
            verdicts[claim - 1] = _verdict(claim_entries, texts, shift)
    return verdicts


def _claim_numbers(entries: Sequence[ClaimEntry], count: int) -> list[int] | None:
    """Return the number of each entry's claim, from 1; None if they cannot be told."""
    if all(entry.claim is None for entry in entries):
        return list(range(1, count + 1)) if len(entries) == count else None
    numbers = [-1 if entry.claim is None else entry.claim for entry in entries]
    if 0 in numbers and count not in numbers:
        if set(numbers) != set(range(count)):
            return None
        return [number + 1 for number in numbers]
    return numbers


def _verdict(
    entries: Sequence[ClaimEntry], texts: TextNumbers, shift: int
) -> DocumentVerdict | None:
    """Return the verdict that all entries about a claim give together; None if they differ.

    Args:
        entries: The entries.
        texts: Reads numbers of texts.
        shift: What to add to the numbers of texts so that they count from 1.
    """
    supports: list[int] = []
    contradicts: list[int] = []
    kinds: set[tuple[bool, bool]] = set()
    for entry in entries:
        supporting = [number + shift for number in entry.stances.supports]
        contradicting = [number + shift for number in entry.stances.contradicts]
        if not set(texts.shown).issuperset((*supporting, *contradicting)):
            return None
        supports += [number - 1 for number in supporting]
        contradicts += [number - 1 for number in contradicting]
        # One object for each text that supports a claim is no contradiction.
        if not entry.is_part:
            kinds.add((bool(supporting), bool(contradicting)))
    if len(kinds) > 1 or set(supports) & set(contradicts):
        return None
    return DocumentVerdict(
        supports=tuple(dict.fromkeys(supports)),
        contradicts=tuple(dict.fromkeys(contradicts)),
        quotes=tuple(dict.fromkeys(quote for entry in entries for quote in entry.quotes)),
        words=tuple(dict.fromkeys(words for entry in entries for words in entry.words)),
    )
