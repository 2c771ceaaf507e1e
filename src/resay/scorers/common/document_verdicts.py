"""Reads what a judge says about claims and documents: which support or contradict which.

The judge is asked for JSON, one object for each claim. Models write the objects in any wrapping,
and the numbers of claims and documents as numbers, as strings ("document 1"), in words around them,
or counted from 0; some answer in lines. What names a document that was not shown, or says two
different things about a claim, is undetermined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from resay.core.quotes import Span, find_quote
from resay.scorers.common.answers import as_number, json_values, number_of, numbered_lines
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict

_SUPPORTING = re.compile(r"support|confirm|entail|belegt|gestützt")
_CONTRADICTING = re.compile(r"contradict|refut|conflict|oppos|widerspr")
_QUOTE = re.compile(r"quot|excerpt|evidence|passage|span|zitat|citation|extrait|cita")
_WORDS = re.compile(r"words|wrong|unsupported|incorrect|error|falsch")
_DOCUMENTS = re.compile(
    r"documents?|docs?|references?|refs?|samples?|sources?|texts?|dokumente?|by"
)
_VERDICT = re.compile(r"verdict|label|status|result|judge?ment|decision|answer|urteil")
_NONE = re.compile(
    r"\W*(?:none|no|nothing|null|n/?a|keine?s?|aucun|ninguno|nessuno|nenhum)?\W*", re.I
)
_NAMED = re.compile(
    r"(?:\b(?:documents?|docs?|references?|refs?|samples?|sources?|texts?|dokument(?:e|en)?|no\.?)"
    r"\s*[#:]?\s*|[\[#(])"
    r"(\d{1,6}(?:\s*(?:,|;|&|and|und|et|y|e)\s*#?\d{1,6})*)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,6}")
_AROUND_NUMBERS = re.compile(
    r"\b(?:documents?|docs?|references?|refs?|samples?|sources?|texts?|and|und)\b|[\s,;&#\[\]()]",
    re.IGNORECASE,
)
_MOST_NESTED = 4


@dataclass(frozen=True, slots=True)
class DocumentVerdict:
    """A judge's verdict on one claim.

    Attributes:
        supports: Indexes of the documents that support it, each alone or all together.
        contradicts: Indexes of the documents that contradict it.
        quotes: Words of documents that the judge relies on.
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


@dataclass(frozen=True, slots=True)
class _Entry:
    """What an answer says about a claim, with the numbers as it writes them."""

    claim: int | None
    supports: tuple[int, ...]
    contradicts: tuple[int, ...]
    quotes: tuple[str, ...]
    words: tuple[str, ...]


def read_document_verdicts(
    text: str, count: int, documents: Sequence[int]
) -> list[DocumentVerdict | None]:
    """Read a judge's verdict on each of several numbered claims.

    Args:
        text: The judge's answer.
        count: Number of claims, numbered from 1.
        documents: The indexes of the documents it was shown; it knows each by its index plus 1.

    Returns:
        One entry per claim; None for what is missing, unclear or said in two ways.
    """
    values = json_values(text)
    entries = [entry for value in values for entry in _entries_in(value)]
    if not entries:
        entries = list(_entries_in_lines(text, count, documents))
    verdicts: list[DocumentVerdict | None] = [None] * count
    claims = _numbers_from_one(entries, count)
    if claims is None:
        return verdicts
    numbers = {n for entry in entries for n in (*entry.supports, *entry.contradicts)}
    known = {index + 1 for index in documents}
    # Counted from 0, unless the numbers fit neither way.
    shift = int(0 in numbers and max(known) not in numbers)
    by_claim: dict[int, list[_Entry]] = {}
    for claim, entry in zip(claims, entries, strict=True):
        by_claim.setdefault(claim, []).append(entry)
    for claim, of_claim in by_claim.items():
        if 1 <= claim <= count:
            verdicts[claim - 1] = _verdict_of(of_claim, known, shift)
    return verdicts


def _numbers_from_one(entries: Sequence[_Entry], count: int) -> list[int] | None:
    """Return the number of each entry's claim, from 1; None if they cannot be told."""
    numbers = [entry.claim for entry in entries]
    if all(number is None for number in numbers):
        return list(range(1, count + 1)) if len(entries) == count else None
    stated = [-1 if number is None else number for number in numbers]
    if 0 in stated and count not in stated:
        if set(stated) != set(range(count)):
            return None
        return [number + 1 for number in stated]
    return stated


def _verdict_of(entries: Sequence[_Entry], known: set[int], shift: int) -> DocumentVerdict | None:
    supports: list[int] = []
    contradicts: list[int] = []
    kinds: set[tuple[bool, bool]] = set()
    for entry in entries:
        numbers = [n + shift for n in (*entry.supports, *entry.contradicts)]
        if not known.issuperset(numbers):
            return None
        supports += (n + shift - 1 for n in entry.supports)
        contradicts += (n + shift - 1 for n in entry.contradicts)
        kinds.add((bool(entry.supports), bool(entry.contradicts)))
    # One object for each document that supports a claim is no contradiction.
    if len(kinds) > 1:
        return None
    return DocumentVerdict(
        supports=tuple(dict.fromkeys(supports)),
        contradicts=tuple(n for n in dict.fromkeys(contradicts) if n not in supports),
        quotes=tuple(dict.fromkeys(quote for entry in entries for quote in entry.quotes)),
        words=tuple(dict.fromkeys(words for entry in entries for words in entry.words)),
    )


def _entries_in(data: Any, depth: int = 0, claim: int | None = None) -> Iterator[_Entry]:
    if depth > _MOST_NESTED:
        return
    if isinstance(data, (list, tuple)):
        for item in cast("Sequence[Any]", data):
            yield from _entries_in(item, depth + 1)
        return
    if not isinstance(data, Mapping):
        return
    fields = {str(key).casefold(): value for key, value in cast("Mapping[Any, Any]", data).items()}
    entry = _entry_of(fields, claim)
    if entry is not None:
        yield entry
        return
    for key, value in fields.items():
        yield from _entries_in(value, depth + 1, as_number(key))


def _entry_of(fields: Mapping[str, Any], claim: int | None) -> _Entry | None:
    number = number_of(fields)
    number = claim if number is None else number
    quotes, words = _texts_under(fields, _QUOTE), _texts_under(fields, _WORDS)
    supports = _documents_under(fields, _SUPPORTING)
    contradicts = _documents_under(fields, _CONTRADICTING)
    if supports is not None or contradicts is not None:
        # A field that cannot be read makes the whole entry unreadable.
        if any(numbers == (-1,) for numbers in (supports, contradicts)):
            return None
        return _Entry(number, supports or (), contradicts or (), quotes, words)
    verdict = _verdict_in(fields)
    if verdict is None:
        return None
    if verdict == "not_mentioned":
        return _Entry(number, (), (), quotes, words)
    documents = _documents_under(fields, _DOCUMENTS)
    if not documents or documents == (-1,):
        return None
    is_support = verdict == "supported"
    supports, contradicts = (documents, ()) if is_support else ((), documents)
    return _Entry(number, supports, contradicts, quotes, words)


def _texts_under(fields: Mapping[str, Any], name: re.Pattern[str]) -> tuple[str, ...]:
    """Return the texts that fields contain, also behind the numbers of documents."""
    texts: list[str] = []
    pending: list[object] = [value for key, value in fields.items() if name.search(key)]
    while pending:
        value = pending.pop(0)
        if isinstance(value, Mapping):
            for key, inner in cast("Mapping[object, object]", value).items():
                if as_number(inner) is None or not _DOCUMENTS.match(str(key).casefold()):
                    pending.append(inner)
        elif isinstance(value, list):
            pending += cast("list[object]", value)
        elif isinstance(value, str) and any(map(str.isalnum, value)):
            texts.append(value)
    return tuple(texts)


def _verdict_in(fields: Mapping[str, Any]) -> JudgeVerdict | None:
    for key, value in fields.items():
        if _VERDICT.search(key) and isinstance(value, str):
            return VERDICTS.read(value)
    return None


def _documents_under(fields: Mapping[str, Any], name: re.Pattern[str]) -> tuple[int, ...] | None:
    """Return the documents that a field lists; None without the field, -1 if it is unreadable."""
    values = [value for key, value in fields.items() if name.match(key)]
    if not values:
        return None
    numbers = _documents_in(values[0])
    return (-1,) if numbers is None else numbers


def _documents_in(value: Any) -> tuple[int, ...] | None:
    if value is None or (isinstance(value, str) and _NONE.fullmatch(value)):
        return ()
    if isinstance(value, (list, tuple)):
        numbers: list[int] = []
        for item in cast("Sequence[Any]", value):
            inner = _documents_in(item)
            if inner is None:
                return None
            numbers += inner
        return tuple(numbers)
    if isinstance(value, Mapping):
        number = number_of({**cast("Mapping[Any, Any]", value), "claim": None})
        named = [
            as_number(v)
            for k, v in cast("Mapping[Any, Any]", value).items()
            if _DOCUMENTS.match(str(k).casefold())
        ]
        number = next((n for n in named if n is not None), number)
        return None if number is None else (number,)
    number = as_number(value)
    if number is not None:
        return (number,)
    if not isinstance(value, str):
        return None
    bare = _AROUND_NUMBERS.sub(" ", value)
    words = bare.split()
    if all(map(str.isdigit, words)) and all(len(word) <= 6 for word in words):
        return tuple(map(int, words))
    named_numbers = [int(n) for m in _NAMED.finditer(value) for n in _NUMBER.findall(m[1])]
    return tuple(named_numbers) or None


def _entries_in_lines(text: str, count: int, documents: Sequence[int]) -> Iterator[_Entry]:
    """Yield what an answer in lines says, such as `1: supported by document 2`."""
    for numbers, line in numbered_lines(text):
        verdict = VERDICTS.read(line)
        if verdict is None or (_SUPPORTING.search(line) and _CONTRADICTING.search(line)):
            continue
        named = [int(n) for m in _NAMED.finditer(line) for n in _NUMBER.findall(m[1])]
        if not named and len(documents) == 1:
            named = [documents[0] + 1]
        if not named and verdict != "not_mentioned":
            continue
        for number in numbers:
            if number <= count:
                supports = tuple(named) if verdict == "supported" else ()
                contradicts = tuple(named) if verdict == "contradicted" else ()
                yield _Entry(number, supports, contradicts, (), ())
