"""Leaves out of references what a conversation copies from its documents.

An application that retrieves documents writes them into its prompt. That prompt is no reference of
its own: the documents in it would count twice, and without their titles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.collapsed_text import CollapsedText
from resay.core.references import Origin, Reference
from resay.lang.language import all_words

_COPYING_ORIGINS: Final[frozenset[Origin]] = frozenset(("messages", "tools"))
_WORD: Final = lazy_pattern(r"[^\W\d_]+")
# What has fewer words of its own is the label of a document, or says nothing.
_MIN_WORDS: Final = 3


def without_copies(
    references: Sequence[Reference], *, scored: Sequence[Reference] = ()
) -> tuple[Reference, ...]:
    """Return the references without those of the conversation that are made of the others' texts.

    What else stands between the copied documents remains. A document that is copied alone gets the
    label of its copy.

    Args:
        references: The references.
        scored: Those that claims were compared with before the others were known. All of them
            remain, at the same positions.

    Returns:
        The rest, in the same order, each text once.
    """
    documents: dict[str, Reference] = {}
    for reference in references:
        if reference.origin not in _COPYING_ORIGINS:
            documents.setdefault(reference.text.strip(), reference)
    has_copies = len(documents) < len(references)
    finder = _DocumentFinder(tuple(documents.values())) if has_copies and documents else None
    keys_scored = {reference.text.strip() for reference in scored}
    remaining: dict[str, Reference] = {}
    for reference in references:
        key = reference.text.strip()
        is_copy = reference.origin in _COPYING_ORIGINS
        if finder is None or not is_copy or key in keys_scored:
            remaining.setdefault(key, reference)
            continue
        copied = finder.find(reference.text)
        if copied is None:
            remaining.setdefault(key, reference)
            continue
        if len(copied.documents) == 1 and reference.label is not None:
            document_key = copied.documents[0].text.strip()
            if documents[document_key].label is None:
                documents[document_key] = replace(documents[document_key], label=reference.label)
        for start, end in copied.rest:
            part = _part(reference, start, end)
            remaining.setdefault(part.text, part)
    return tuple(documents.get(key, reference) for key, reference in remaining.items())


def _part(reference: Reference, start: int, end: int) -> Reference:
    """Return the part of a reference between two positions in its text."""
    text = reference.text[start:end]
    if reference.start is None:
        return replace(reference, text=text)
    return replace(reference, text=text, start=reference.start + start, end=reference.start + end)


@dataclass(frozen=True, slots=True)
class _CopiedDocuments:
    """The documents that a text copies.

    Attributes:
        documents: The documents.
        rest: The spans of what else it says.
    """

    documents: tuple[Reference, ...]
    rest: tuple[tuple[int, int], ...]


class _DocumentFinder:
    """Finds documents in texts that were written from them.

    Args:
        documents: The documents.
    """

    def __init__(self, documents: Sequence[Reference]) -> None:
        self._documents: list[tuple[Reference, str]] = []
        names: list[str] = []
        for document in documents:
            text = " ".join(document.text.split())
            if len(_WORD.findall(text)) >= _MIN_WORDS:
                self._documents.append((document, text))
            named = (document.id, document.title, document.url, document.label)
            names += [name for name in named if name]
        self._names: set[str] = set(all_words("context", "nouns"))
        for name in names:
            self._names.update(_WORD.findall(name.casefold()))

    def find(self, text: str) -> _CopiedDocuments | None:
        """Return the documents that a text is made of; None if it is not made of any.

        It is not if a document stands within a sentence of it.

        Args:
            text: The text.
        """
        collapsed = CollapsedText(text)
        copied: list[Reference] = []
        spans: list[tuple[int, int]] = []
        for document, document_text in self._documents:
            occurrences = list(_occurrences(document_text, collapsed))
            if occurrences:
                copied.append(document)
                spans += occurrences
        if not spans:
            return None
        rest: list[tuple[int, int]] = []
        for start, end in _gaps(spans, len(text)):
            lines = list(_lines(text, start, end))
            # These share their lines with documents.
            ends = [lines[0]] if start > 0 else []
            if end < len(text):
                ends.append(lines[-1])
            if not all(self._is_label(text[first:last]) for first, last in ends):
                return None
            inner = [line for line in lines if line not in ends]
            if any(not self._is_label(text[first:last]) for first, last in inner):
                rest.append(_stripped(text, inner[0][0], inner[-1][1]))
        return _CopiedDocuments(documents=tuple(copied), rest=tuple(rest))

    def _is_label(self, line: str) -> bool:
        """Whether a line only names a document."""
        words = [word for word in _WORD.findall(line.casefold()) if word not in self._names]
        if line.rstrip().endswith((":", "：")):
            label_words = all_words("context", "label_words")
            words = [word for word in words if word not in label_words]
        return len(words) < _MIN_WORDS


def _occurrences(text: str, collapsed: CollapsedText) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text, whose white space is collapsed, in another before it was."""
    position = collapsed.text.find(text)
    while position >= 0:
        end = position + len(text)
        before, after = collapsed.text[position - 1 : position], collapsed.text[end : end + 1]
        if not (before.isalnum() or after.isalnum()):
            yield collapsed.span(position, end)
        position = collapsed.text.find(text, end)


def _gaps(spans: Iterable[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    """Yield what is in none of the spans."""
    position = 0
    for start, end in sorted(spans):
        if start > position:
            yield position, start
        position = max(position, end)
    if position < length:
        yield position, length


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lines of a part of a text, without their ends; at least one."""
    while True:
        line_end = text.find("\n", start, end)
        if line_end < 0:
            yield start, end
            return
        yield start, line_end
        start = line_end + 1


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without the white space around it."""
    content = text[start:end]
    stripped = content.strip()
    start += content.index(stripped)
    return start, start + len(stripped)
