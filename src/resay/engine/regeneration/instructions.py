"""Instructions to a model in documents.

Sentences that address a model about its instructions are left out: of the prompt, so that they are
not obeyed, and of the evidence, so that an answer that obeyed them is not supported.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from resay._internal.patterns import lazy_pattern
from resay.core.documents import Document
from resay.core.quoting import LEFT_OUT, TEMPLATE_TOKENS

_END = lazy_pattern(r"(?<=[.!?…])[\"'”’»)]*\s+|\n\s*\n")
_OBJECT = (
    r"(?:instructions?|prompts?|rules|guidelines|directions|directives|commands|context|messages?"
    r"|conversation|training|anweisungen|instrucciones|consignes)"
)
_BEFORE = r"(?:previous|prior|above|earlier|preceding|foregoing|former|your|system|original|given)"
_COMMANDS = lazy_pattern(
    rf"""
    \b(?:ignore|disregard|forget|override|bypass|neglect|discard)\b
        [^.!?]{{0,40}} \b{_BEFORE}\b [^.!?]{{0,30}} \b{_OBJECT}\b
  | \b(?:ignore|disregard|forget|override)\b \s+ (?:all|any|every|everything)\b [^.!?]{{0,40}}
        \b(?:{_OBJECT}|above|before|said|told)\b
  | \b(?:ignoriere|vergiss|ignora|olvida|ignorez|oubliez)\b [^.!?]{{0,40}} \b{_OBJECT}\b
  | \b(?:ignore|disregard|forget|skip)\s+(?:the|this|that|your)\s+
        (?:question|sentence|claim|task|user|query|request|documents?)\b
  | (?:^|[.!?,;:]\s+|\b(?:please|and|then|just|now|must|should|always)\s+)
        (?:respond|reply|answer)\s+(?:(?:with|by\s+saying|as\s+follows)\s*(?::\s*)?)?["'“‘«]
  | \b(?:system|developer)\s+(?:prompt|message|instructions?)\b
  | \b(?:new|real|actual|updated|secret|hidden)\s+instructions?\b\s*(?::|are\b|follow)
  | \byou\s+are\s+(?:now|no\s+longer)\s+(?:an?|the|DAN|bound|in\s+\w+\s+mode)\b
  | \b(?:as|dear|attention,?|note\s+to(?:\s+the)?|to\s+(?:the|any|all))\s+
        (?:an?\s+)?(?:AI|LLMs?|language\s+models?|chat\s?bots?|(?:AI\s+)?assistants?)\b
        [^.!?]{{0,60}} \b(?:you|must|should|please|ignore|answer|reply|respond|say|write)\b
  | \b(?:respond|reply|answer|output|print|say|write|repeat)\s+
        (?:only|exactly|nothing\s+but|just|simply|verbatim)\b
        (?:\s+(?:with|by|the|this|that)){{0,2}} \s*
        (?:[:"'“«]|following\b|words?\b|phrase\b|text\b)
  | (?:^|(?<=[.!?…]\s))[^\S\n]*(?:\#+[^\S\n]*)?(?:system|assistant|developer|user|human)\s*:
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)


def without_instructions(document: Document) -> Document:
    """Return a document without instructions to a model.

    Args:
        document: A document from a retriever.

    Returns:
        The same document if it contains none; otherwise a copy with `[…]` in place of each sentence
        with an instruction.
    """
    text = TEMPLATE_TOKENS.sub(" ", document.text)
    commands = [match.span() for match in _COMMANDS.finditer(text)]
    if not commands:
        return document if text == document.text else replace(document, text=text)
    gaps = [match.span() for match in _END.finditer(text)]
    pieces: list[str] = []
    done = 0
    for command in commands:
        start, end = _sentences_around(gaps, *command, len(text))
        # One sentence may contain several.
        if start >= done:
            pieces += text[done:start], LEFT_OUT
        done = max(done, end)
    return replace(document, text="".join([*pieces, text[done:]]))


def _sentences_around(
    gaps: Sequence[tuple[int, int]], start: int, end: int, length: int
) -> tuple[int, int]:
    """Return the start and end of the sentences that a span is part of, across lines.

    Args:
        gaps: The spans of space between sentences.
        start: The start of the span.
        end: The end of the span.
        length: The length of the text.
    """
    before = bisect_left(gaps, (start, 0)) - 1
    after = bisect_left(gaps, (max(end - 1, start), 0))
    return (
        min(gaps[before][1], start) if before >= 0 else 0,
        gaps[after][0] if after < len(gaps) else length,
    )
