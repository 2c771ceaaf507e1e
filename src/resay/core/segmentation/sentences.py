"""Rules for sentence ends inside one block of prose.

A terminator is a candidate; its context decides. No rule looks further than a fixed number of
characters to either side, so the work is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from resay._internal.event_loops import stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.characters import after_space
from resay.core.segmentation.code_spans import hide_code_spans
from resay.core.segmentation.periods import ends_after_period, is_plain_end
from resay.core.segmentation.sentence_words import (
    ATTRIBUTIONS,
    BEFORE_NUMBER,
    COMPANIES,
    NEVER_FINAL,
    OPENERS,
    PRONOUNS,
    RARELY_FINAL,
    TITLES,
)
from resay.core.segmentation.terminators import (
    CITATION,
    HARD_STOPS,
    LEADING_MARKS,
    LOOK_BEHIND,
    TERMINATOR,
    TERMINATOR_OR_SPACE,
    Terminator,
)
from resay.core.segmentation.thai import ends_at_space, has_thai

_ALNUM = lazy_pattern(r"[^\W_]")
# A sentence goes on before these characters.
_CONTINUING = frozenset(",;:)]}&=/%+.!?…、，：；）」』】》")
_CAMEL = lazy_pattern(r"[a-z]{1,3}[A-Z]")
_YEAR = lazy_pattern(r"\((?:c(?:a|irca)?\.? ?)?\d{4}(?: ?[–-] ?\d{2,4})?\)")
_ATTRIBUTION = lazy_pattern(rf"(?:[A-Z][\w.'’-]{{0,30}}\s){{1,3}}?(?:{ATTRIBUTIONS})\b")
_RUN_ON = lazy_pattern(r"([^\W\d_]{1,24})(?=[\s,'’:;]|[.!?](?:\s|\Z))")
_NO_WORD = frozenset("/@_\\:=#.`")
_EXCLAMATIONS = frozenset("!?‽؟;\u037e")
_QUOTE_MARKS = frozenset("\"'”’»›“‘«")
_IDEOGRAPHIC = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Words after a Japanese or Chinese quotation that continue the sentence around it.
_JAPANESE_PARTICLE = lazy_pattern(
    r"と(?!ても|ころ|き|り)|って|を|が|の|は(?![いじ])|に|も(?![うし])"
)
_CHINESE_ATTRIBUTION = lazy_pattern(r"[^\s。！？，,]{0,6}[说說问問道喊叫答]")
# "And so on", between two terminators.
_KHMER_ETC = ("ល។", "បេ។")
_IDEOGRAPHIC_QUOTES = frozenset("」』”’")


def sentence_ends(text: str) -> Iterator[int]:
    """Yield the sentence ends in a block of prose.

    Args:
        text: One block, with everything that is not prose blanked out.

    Yields:
        The end of every sentence but the last, ascending: after the terminator, its closing quotes
        and brackets and any citation, before the white space. Every sentence delimited in this way
        has a letter or a digit, unless the text has none.
    """
    is_lower = text.islower()
    text = hide_code_spans(text)
    sentence_start = checked_end = 0
    has_letters = False
    stop_if_abandoned()
    pattern = TERMINATOR_OR_SPACE if has_thai(text) else TERMINATOR
    for match in pattern.finditer(text):
        stop_if_abandoned()
        if match[1] and is_plain_end(text, match):
            yield match.end()
            sentence_start = checked_end = match.end()
            has_letters = False
            continue
        end = _end_at(text, match, sentence_start, is_lower=is_lower)
        if end is None:
            continue
        has_letters = has_letters or _ALNUM.search(text, checked_end, end) is not None
        checked_end = end
        if not has_letters:
            continue
        if _ALNUM.search(text, end) is None:
            return
        yield end
        sentence_start = end
        has_letters = False


def _end_at(text: str, match: re.Match[str], sentence_start: int, *, is_lower: bool) -> int | None:
    """Return the end of the sentence that a terminator ends; None if it ends none.

    Args:
        text: The text.
        match: The match of the terminator or space.
        sentence_start: The start of the sentence.
        is_lower: Whether the text has no capitals.
    """
    mark, end = match[1], match.end()
    if not mark:
        return end if ends_at_space(text, match.start(), end, sentence_start) else None
    is_hard = mark[-1] in HARD_STOPS
    following = text[end : end + 1]
    if not is_hard and (following.isalpha() or following.isdecimal()):
        return end if _ends_without_space(text, match) else None
    citation = CITATION.match(text, end)
    if citation:
        end = citation.end()
        following = text[end : end + 1]
    if is_hard:
        return end if _ends_after_hard_stop(text, match, end) else None
    if following.isspace():
        terminator = Terminator.of(text, match, end)
        return end if _ends_before_space(text, terminator, sentence_start, is_lower) else None
    return end if citation and following.isupper() else None


def _ends_before_space(
    text: str, terminator: Terminator, sentence_start: int, is_lower: bool
) -> bool:
    next_character = terminator.next_character
    if not next_character or next_character in _CONTINUING:
        return False
    if _YEAR.match(text, terminator.next_start):
        return False
    if next_character.islower() and not is_lower and not _CAMEL.match(terminator.next_word):
        return False
    if terminator.closers and text[terminator.start - 1 : terminator.start] in {"(", "["}:
        return False
    if not _EXCLAMATIONS.isdisjoint(terminator.mark):
        return _ends_after_exclamation(text, terminator)
    if len(terminator.mark) > 1 or terminator.mark == "…":
        # "I", "I'm" after an ellipsis
        return terminator.next_word.partition("'")[0].partition("’")[0] != "I"
    return ends_after_period(text, terminator, sentence_start)


def _ends_after_exclamation(text: str, terminator: Terminator) -> bool:
    """Whether a question or an exclamation ends a sentence: not in '"Stop!" Ada said'."""
    next_word = terminator.next_word.lower()
    if next_word in COMPANIES:
        return False
    if _QUOTE_MARKS.isdisjoint(terminator.closers) or next_word in PRONOUNS:
        return True
    return not _ATTRIBUTION.match(text, terminator.next_start)


def _ends_without_space(text: str, match: re.Match[str]) -> bool:
    """Whether a sentence ends although no white space follows: "This is one.This is two."."""
    if match[2] or match[1][0] == "…" or match[1].startswith(".."):
        return False
    start, end = match.span(1)
    following = text[end]
    if _IDEOGRAPHIC.match(following):
        return start > 0 and _IDEOGRAPHIC.match(text, start - 1) is not None
    if not following.isupper():
        return False
    next_word = _RUN_ON.match(text, end)
    before = text[max(0, start - LOOK_BEHIND) : start]
    if next_word is None or not before or before[-1].isspace():
        return False
    word_before = before.rsplit(None, 1)[-1].lstrip(LEADING_MARKS)
    return _are_separate(word_before, next_word[1])


def _are_separate(before: str, after: str) -> bool:
    """Whether two words with only a terminator between them belong to different sentences."""
    if not _NO_WORD.isdisjoint(before) or not (after[1:].islower() or len(after) == 1):
        return False
    if after.lower() in OPENERS:
        ending = before[-2:]
        is_word = len(ending) == 2 and ending.islower()
        return is_word or ending[-1:].isdigit() or ending[-1:] == ")"
    key = before.lower()
    if key in TITLES or key in NEVER_FINAL or key in RARELY_FINAL or key in BEFORE_NUMBER:
        return False
    return len(before) > 2 and before.isalpha() and before.islower() and len(after) > 1


def _ends_after_hard_stop(text: str, match: re.Match[str], end: int) -> bool:
    mark, closers = match[1], match[2]
    next_start = after_space(text, end)
    next_character = text[next_start : next_start + 1]
    if next_character in _CONTINUING or (mark[-1] == "．" and next_character.isdigit()):
        return False
    if mark == "។" and text.startswith(_KHMER_ETC, end):
        return False
    if closers[-1:] not in _IDEOGRAPHIC_QUOTES:
        return True
    if _JAPANESE_PARTICLE.match(text, end):
        return False
    is_statement = mark[-1] in {"。", "｡"}
    return is_statement or _CHINESE_ATTRIBUTION.match(text, end) is None
