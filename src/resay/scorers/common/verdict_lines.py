"""Reads what a judge says about claims in lines such as `1: supported by samples 2 and 3`."""

from __future__ import annotations

import re
from itertools import zip_longest

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.answers import NumberedBlock, numbered_blocks
from resay.scorers.common.claim_fields import (
    CONTRADICTION,
    SILENCE,
    SUPPORT,
    TEXT_LABEL,
    ClaimEntry,
    TextStances,
)
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict
from resay.scorers.common.text_numbers import NONE, TextNumbers

_LABEL = lazy_pattern(
    rf"(?<!\w){TEXT_LABEL.pattern}\s*[*_`]*\s*(?:[:：=→]|->|=>|[–—-]\s)", re.IGNORECASE
)
_UNDECIDED = lazy_pattern(
    r"\b(?:may|might|could|perhaps|possibly|maybe|unclear|cannot\s+tell|can['’]t\s+tell|whether"
    r"|partial(?:ly)?|partly|in\s+part|teilweise|en\s+partie|parcial\w*|parzial\w*|部分)\b"
    rf"|\b(?:or|oder|ou|o)\s+(?:is\s+)?(?:{SUPPORT}|{CONTRADICTION}|{SILENCE})|\?\s*$",
    re.IGNORECASE,
)
_NEITHER = lazy_pattern(
    rf"\b(?:none|no|neither)\b[^.;\d\n]{{0,30}}\b(?:{SUPPORT})\s+(?:it\s+)?n?or\s+(?:{CONTRADICTION})",
    re.IGNORECASE,
)
_MAX_LINE_CHARS = 2_000


def entries_in_lines(text: str, count: int, texts: TextNumbers) -> list[ClaimEntry]:
    """Return what numbered lines say about claims.

    Args:
        text: The answer, without its JSON.
        count: Number of claims.
        texts: Reads numbers of texts.
    """
    blocks = numbered_blocks(text, count)
    if not blocks and count == 1:
        blocks = [NumberedBlock((1,), text)]
    entries: list[ClaimEntry] = []
    for block in blocks:
        stances = _stances_in(block.text, texts)
        if stances is not None:
            entries += [ClaimEntry(number, stances) for number in block.numbers]
    return entries


def _stances_in(line: str, texts: TextNumbers) -> TextStances | None:
    """Return the texts that a line says to support and to contradict a claim."""
    if len(line) > _MAX_LINE_CHARS:
        return None
    if _NEITHER.search(line):
        return TextStances()
    if _UNDECIDED.search(line):
        return None
    labelled = _stances_by_label(line)
    if labelled is not None:
        return labelled
    supports = texts.named_with(line, SUPPORT)
    contradicts = texts.named_with(line, CONTRADICTION)
    if supports.numbers or contradicts.numbers:
        return TextStances.of(supports.numbers, contradicts.numbers)
    names_none = any(map(str.isalnum, line)) and texts.whole(line) == NONE
    verdict = VERDICTS.read(line)
    states_none = supports.is_stated or contradicts.is_stated or names_none
    if states_none or verdict == "not_mentioned":
        return TextStances()
    named = texts.named_in(line)
    if not named and texts.only is not None:
        named = (texts.only,)
    if verdict is None or not named:
        return None
    if verdict == "supported":
        return TextStances(supports=named)
    return TextStances(contradicts=named)


def _stances_by_label(line: str) -> TextStances | None:
    """Return what a line says about each text behind its label: `Sample 1: supported`."""
    labels = list(_LABEL.finditer(line))
    verdicts: list[tuple[int, JudgeVerdict | None]] = []
    for label, following in zip_longest(labels, labels[1:]):
        end = len(line) if following is None else following.start()
        statement = line[label.end() : end].strip(" ,;\n-*|")
        verdicts.append((int(label[1]), VERDICTS.first(statement)))
    return TextStances.of_verdicts(verdicts)
