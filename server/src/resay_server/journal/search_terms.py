"""The terms of the full-text search: those of an entry's text, and those of a reader's query."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from resay import Verdict
from resay.errors import ConfigurationError
from resay_server.journal.rows import (
    Row,
    has_content,
    names_and_numbers,
    verdict_and_question,
)
from resay_server.journal.verdict_texts import content_texts

# Scripts without spaces between words, such as Chinese, Japanese and Thai.
_UNSPACED = (
    "\u0e00-\u0edf\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(rf"[{_UNSPACED}]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_TERM_CHARS = 40
# Far more than answers have; PostgreSQL's limit is a megabyte.
_TERMS_BYTES = 400_000


def entry_terms(row: Row) -> str | None:
    """Return the index terms of an entry's stored text, without duplicates; None for none.

    Args:
        row: The entry, as returned by `row_of`.
    """
    if not has_content(row):
        return None
    verdict, question = verdict_and_question(row)
    terms: set[str] = set()
    for text in _texts(verdict, question):
        for word in _words(text):
            terms.update(_terms(word))
    if not terms:
        return None
    return " ".join([*row_name_terms(row), *sorted(terms)])[:_TERMS_BYTES]


def row_name_terms(row: Row) -> list[str]:
    """Return the index terms for the names that entries are filtered by."""
    return name_terms(names_and_numbers(row))


def name_terms(names: Mapping[str, str | None]) -> list[str]:
    """Return the index terms for names, by column; None for a name that is not filtered by."""
    terms: list[str] = []
    for column in ("model", "policy", "decision", "tenant"):
        name = names[column]
        if name is not None:
            digest = hashlib.blake2s(name.encode(), digest_size=6).hexdigest()
            terms.append(f"~~{column[0]}{digest}")
    return terms


def query_terms(query: str) -> list[str]:
    """Return the terms to search for; one that ends in `*` is a prefix."""
    terms: list[str] = []
    for part in query.split():
        words = list(_words(part))
        for word in words:
            if _UNSPACED_CHARACTER.match(word):
                pairs = _terms(word)[:-1]
                terms += pairs or [f"{_term(word)}*"]
            else:
                terms.append(_term(word))
        if part.endswith("*") and words and not _UNSPACED_CHARACTER.match(words[-1]):
            terms[-1] += "*"
    return list(dict.fromkeys(terms))


def _words(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return (match[0] for match in _WORD.finditer(folded))


def _terms(word: str) -> list[str]:
    """Return a word as its term; one in a script without spaces as its pairs of characters."""
    if _UNSPACED_CHARACTER.match(word):
        return [_term(word[i : i + 2]) for i in range(len(word))]
    return [_term(word)]


def _term(word: str) -> str:
    # ASCII only, which a database accepts in any encoding.
    return _NOT_ASCII.sub(lambda match: f"~{ord(match[0]):x}~", word[:_TERM_CHARS])


def _texts(verdict: Mapping[str, Any], question: str | None) -> Iterator[str]:
    if question:
        yield question
    try:
        parsed = Verdict.from_dict(verdict)
    # The verdict of a newer Resay, for example.
    except ConfigurationError:
        return
    # Not the JSON itself: an older Resay may have written it, with other keys.
    yield from content_texts(parsed.to_dict(), parsed.to_dict(content=False))
