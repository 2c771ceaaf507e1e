"""Reads what a judge says about claims in JSON, in the wrappings that models use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from resay.scorers.common.claim_fields import (
    TEXT_LABEL,
    ClaimEntry,
    FieldReader,
    TextStances,
    fields_by_name,
)
from resay.scorers.common.item_numbers import as_number
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict
from resay.scorers.common.text_numbers import TextNumbers

_MAX_DEPTH = 5


def entries_in_json(values: Sequence[Any], texts: TextNumbers) -> list[ClaimEntry]:
    """Return what JSON says about claims.

    Args:
        values: The values of the JSON in an answer.
        texts: Reads numbers of texts.
    """
    for read_form in (_objects, _rows, _groups):
        entries = [entry for value in values for entry in read_form(value, texts)]
        if entries:
            return entries
    return []


def _objects(
    data: Any, texts: TextNumbers, depth: int = 0, claim: int | None = None
) -> Iterator[ClaimEntry]:
    """Yield the entries of objects with named fields, however they are nested."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, (list, tuple)):
        for item in cast("Sequence[Any]", data):
            yield from _objects(item, texts, depth + 1)
        return
    if not isinstance(data, Mapping):
        return
    fields = _fields_of(cast("Mapping[Any, Any]", data))
    entry = FieldReader(texts).entry(fields, claim)
    if entry is not None:
        yield entry
        return
    for key, value in fields.items():
        number = None if TEXT_LABEL.fullmatch(key) else as_number(key)
        stances = None if number is None else _stances_in_order(value, texts)
        if stances is not None:
            yield ClaimEntry(number, stances)
        else:
            yield from _objects(value, texts, depth + 1, number)


def _rows(data: Any, texts: TextNumbers) -> Iterator[ClaimEntry]:
    """Yield the entries of lists such as `[claim, [supporting], [contradicting]]`."""
    if isinstance(data, Mapping):
        values = list(cast("Mapping[Any, Any]", data).values())
        data = values[0] if len(values) == 1 else []
    for row in cast("list[Any]", data) if isinstance(data, list) else []:
        stances = _stances_in_order(row, texts)
        entry = _entry_of_row(row, texts) if stances is None else ClaimEntry(None, stances)
        if entry is None:
            return
        yield entry


def _entry_of_row(row: Any, texts: TextNumbers) -> ClaimEntry | None:
    cells = cast("list[Any]", row) if isinstance(row, list) else []
    if not 2 <= len(cells) <= 5:
        return None
    claim = as_number(cells[0])
    is_numbered = not isinstance(cells[0], list)
    if is_numbered and claim is None:
        return None
    lists = cells[1:] if is_numbered else cells
    if isinstance(lists[0], str) and VERDICTS.whole(lists[0]) is not None:
        fields = {"verdict": lists[0], "texts": lists[1] if len(lists) > 1 else None}
    elif len(lists) > 1 and all(isinstance(entry, list) for entry in lists[:2]):
        fields = {"supported_by": lists[0], "contradicted_by": lists[1]}
    else:
        return None
    return FieldReader(texts).entry(fields, claim)


def _groups(data: Any, texts: TextNumbers) -> Iterator[ClaimEntry]:
    """Yield the entries of an object such as `{"supported": {"1": [2, 3]}, "neutral": [2]}`."""
    if not isinstance(data, Mapping):
        return
    by_name = fields_by_name(_fields_of(cast("Mapping[Any, Any]", data)))
    supports = _lists_by_number(by_name.get("supports", []))
    contradicts = _lists_by_number(by_name.get("contradicts", []))
    if not supports and not contradicts:
        return
    for claim in supports.keys() | contradicts.keys():
        supporting = texts.of(supports.get(claim))
        contradicting = texts.of(contradicts.get(claim))
        if supporting is not None and contradicting is not None:
            yield ClaimEntry(claim, TextStances(supporting, contradicting))
    for value in by_name.get("silent", []):
        for item in cast("list[Any]", value) if isinstance(value, list) else []:
            claim = as_number(item)
            if claim is not None:
                yield ClaimEntry(claim, TextStances())


def _fields_of(data: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in data.items()}


def _stances_in_order(value: Any, texts: TextNumbers) -> TextStances | None:
    """Return what a list with a verdict for each text says."""
    words = cast("list[Any]", value) if isinstance(value, list) else []
    if len(words) != len(texts.shown):
        return None
    verdicts: list[tuple[int, JudgeVerdict | None]] = []
    for number, word in zip(texts.shown, words, strict=True):
        verdicts.append((number, VERDICTS.whole(word) if isinstance(word, str) else None))
    return TextStances.of_verdicts(verdicts)


def _lists_by_number(values: Sequence[Any]) -> dict[int, list[Any]]:
    """Return lists by the numbers of the claims that they are behind."""
    lists: dict[int, list[Any]] = {}
    for value in values:
        if not isinstance(value, Mapping):
            continue
        for key, texts in cast("Mapping[Any, Any]", value).items():
            number = as_number(key)
            if number is not None and isinstance(texts, list):
                lists[number] = cast("list[Any]", texts)
    return lists
