"""Rules for sentence ends inside one block of prose.

A terminator is a candidate; its context decides. No rule looks further than a fixed number of
characters to either side, so the work is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from resay._internal.event_loops import stop_if_abandoned
from resay.core.segmentation.code_spans import hide_code_spans
from resay.core.segmentation.sentence_words import (
    ABBREVIATIONS,
    ATTRIBUTIONS,
    AWAITS,
    BEFORE_CLOCK,
    BEFORE_LABEL,
    BEFORE_NUMBER,
    BEFORE_ORDINAL,
    BEGINS,
    CLOCK,
    COMPANIES,
    CONTINUES,
    ERAS_AND_DEGREES,
    LABELLED,
    NEVER_FINAL,
    OPENERS,
    ORDINAL_MONTHS,
    POLITE_ENDS,
    PRONOUNS,
    RARELY_FINAL,
    ROLES,
    SUBORDINATES,
    TITLES,
)

_LOOK_BEHIND = 48
# These end a sentence even without white space after them; others need it.
_HARD_STOPS = "。！？｡．।॥۔։።፧။។៕᠃"
_EMOJI = r"\u2600-\u27bf\ufe0f\u200d\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
_CLOSERS = rf"""[\"'”’»«›‹)\]}}*_`´」』）】》〉〕＂＇{_EMOJI}]*"""
_GREEK = r"\u0370-\u037d\u037f-\u0386\u0388-\u03ff\u1f00-\u1fff"
# Greek questions end with a semicolon.
_MARKS = rf"(?<=[{_GREEK}]{{2}})[;\u037e]+|[.!?…‽؟{_HARD_STOPS}]+"
_STOP = rf"({_MARKS})({_CLOSERS}(?:[ \u00a0\u202f]»(?=[\s,.]|\Z))?)"
_TERMINATOR = re.compile(_STOP)
_THAI = r"\u0e01-\u0e4f\u0e81-\u0ecf\u0edc-\u0edf"
_HAS_THAI = re.compile(rf"[{_THAI}]\s")
# A space that may end a Thai or Lao sentence has no terminator.
_TERMINATOR_OR_SPACE = re.compile(rf"{_STOP}|(?<=[{_THAI}\d]){_CLOSERS}(?=\s+[{_THAI}])")
_SHORT, _LONG, _LOOK_AHEAD = 8, 20, 40
_CITATION = re.compile(
    rf"""
    (?: \[ \[? \^? [\w\ ,;.–-]{{1,24}} \]? \] (?: \( [^()\s]{{1,400}} \) )?
      | \s? 【 [^【】]{{1,60}} † [^【】]{{0,60}} 】
      | [ \t]{{1,2}} \[ \^? \d{{1,3}} (?: [,–-] \ ? \d{{1,3}} ){{0,9}} \] (?=\s|\[|\Z)
      | [⁰¹²³⁴-⁹]{{1,6}}
    )+
    {_CLOSERS}
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_OPENING = re.compile(r"""(?:[\"'“”‘«»„‚(\[{¿¡*_~`–—\-#「『（【《] ?){0,16}""")
_LEADING = "\"'“”‘’«»„‚([{¿¡*_~`–—-#「『（【《"
_WORD = re.compile(r"[^\W\d_]{1,24}(?:['’][^\W\d_]{1,8})?")
_ALNUM = re.compile(r"[^\W_]")
_CAPITAL_NEXT = re.compile(r"\s+[A-Z]")
_GOES_ON = frozenset(",;:)]}&=/%+.!?…、，；：）」』】》")
_LETTER_STOPS = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_SPACED_LETTER = re.compile(r"[^\W\d_]\.")
_ABJAD = re.compile(r"[\u05d0-\u05ea\u0620-\u06d3]")
_LONGEST_ROMAN = 5
_ENUMERATOR = re.compile(
    rf"\d{{1,3}}(?:\.\d{{1,3}}){{0,4}}|[^\W\d_]|[ivxIVX]{{1,{_LONGEST_ROMAN}}}"
)
_LABEL = re.compile(r"[IVXLCM]{1,6}|[A-Z]")
_ORDINAL_MONTH = re.compile(rf"(?:{ORDINAL_MONTHS})\b")
_CAMEL = re.compile(r"[a-z]{1,3}[A-Z]")
_YEAR = re.compile(r"\((?:c(?:a|irca)?\.? ?)?\d{4}(?: ?[–-] ?\d{2,4})?\)")
_ATTRIBUTION = re.compile(rf"(?:[A-Z][\w.'’-]{{0,30}}\s){{1,3}}?(?:{ATTRIBUTIONS})\b")
_RUN_ON = re.compile(r"([^\W\d_]{1,24})(?=[\s,'’:;]|[.!?](?:\s|\Z))")
_NO_WORD = frozenset("/@_\\:=#.`")
_QUOTE_MARKS = frozenset("\"'”’»›“‘«")
_IDEOGRAPHIC = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Words after a Japanese or Chinese quotation that continue the sentence around it.
_JAPANESE_PARTICLE = re.compile(r"と(?!ても|ころ|き|り)|って|を|が|の|は(?![いじ])|に|も(?![うし])")
_CHINESE_ATTRIBUTION = re.compile(r"[^\s。！？，,]{0,6}[说說问問道喊叫答]")
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
    lower_only = text.islower()
    text = hide_code_spans(text)
    sentence = checked = 0
    has_letters = False
    stop_if_abandoned()
    pattern = _TERMINATOR_OR_SPACE if _HAS_THAI.search(text) else _TERMINATOR
    for match in pattern.finditer(text):
        stop_if_abandoned()
        if match[1] and _is_plain_end(text, match):
            yield match.end()
            sentence = checked = match.end()
            has_letters = False
            continue
        end = _end_of_sentence(text, match, sentence, lower_only=lower_only)
        if end is None:
            continue
        has_letters = has_letters or _ALNUM.search(text, checked, end) is not None
        checked = end
        if not has_letters:
            continue
        if _ALNUM.search(text, end) is None:
            return
        yield end
        sentence = end
        has_letters = False


def is_abbreviation(text: str, period: int, sentence: int = 0) -> bool:
    """Return whether a period before white space ends no sentence: "No. 3", "St. John".

    Args:
        text: The text.
        period: The position of the period.
        sentence: The start of its sentence, at which an enumerator may stand: "1. Open the door."
    """
    match = _TERMINATOR.match(text, period)
    if match is None or match[1] != "." or _is_plain_end(text, match):
        return False
    context = _terminator_context(text, match, match.end())
    return not _ends_after_period(text, context, sentence)


def _is_plain_end(text: str, match: re.Match[str]) -> bool:
    """Whether a period lies between an ordinary word or a year and a capital: most do.

    A fast path that agrees with the rules below.
    """
    start, end = match.span()
    if end - start > 1 or text[start] != "." or not _CAPITAL_NEXT.match(text, end):
        return False
    words = text[max(0, start - _LOOK_BEHIND) : start].rsplit(None, 1)
    if not words or text[start - 1].isspace():
        return False
    before = words[-1]
    if not before.isascii() or not before.isalpha():
        return len(before) > 3 and before.isascii() and before.isdigit()
    key = before.lower()
    return (
        len(key) > 1
        and key not in ABBREVIATIONS
        and not key.endswith("str")
        and not (len(before) <= _LONGEST_ROMAN and _ENUMERATOR.fullmatch(before))
    )


@dataclass(slots=True)
class _TerminatorContext:
    """A terminator followed by white space, and its context.

    Attributes:
        mark: The terminator.
        closers: The quotes and brackets that close after it.
        start: Its position.
        before: The word before it.
        earlier: The word before that.
        next: The position of what follows.
        first: The first character that follows, without opening quotes and brackets.
        after: The word that follows.
        opens: Whether that word often opens a sentence.
    """

    mark: str
    closers: str
    start: int
    before: str
    earlier: str
    next: int
    first: str
    after: str
    opens: bool


def _end_of_sentence(
    text: str, match: re.Match[str], sentence: int, *, lower_only: bool
) -> int | None:
    end = match.end()
    if not match[1]:
        return end if _ends_at_space(text, match.start(), end, sentence) else None
    following = text[end : end + 1]
    if (following.isalpha() or following.isdecimal()) and match[1][-1] not in _HARD_STOPS:
        return end if _runs_on(text, match) else None
    citation = _CITATION.match(text, end)
    if citation:
        end = citation.end()
        following = text[end : end + 1]
    if match[1][-1] in _HARD_STOPS:
        return end if _ends_after_hard(text, match, end) else None
    if following.isspace():
        stop = _terminator_context(text, match, end)
        return end if _ends(text, stop, sentence, lower_only=lower_only) else None
    return end if citation and following.isupper() else None


def _terminator_context(text: str, match: re.Match[str], end: int) -> _TerminatorContext:
    start = match.start()
    before, earlier = _words_before(text, start)
    following = _after(_SPACE, text, end)
    word_start = _after(_OPENING, text, following)
    word = _WORD.match(text, word_start)
    after = word.group() if word else ""
    word_end = word_start + len(after)
    return _TerminatorContext(
        mark=match[1],
        closers=match[2],
        start=start,
        before=before,
        earlier=earlier,
        next=following,
        first=text[word_start : word_start + 1],
        after=after,
        opens=after.lower() in OPENERS and text[word_end : word_end + 1] not in {".", "-"},
    )


# A dash or an opening bracket, with or without white space before it: "1932.(Doc. 3)".
_BEFORE_WORD = re.compile(r"[—(\[（【]")


def _words_before(text: str, position: int) -> tuple[str, str]:
    """Return the word before a position, without leading punctuation, and the previous one."""
    span = text[max(0, position - _LOOK_BEHIND) : position]
    if not span or span[-1].isspace():
        return "", ""
    words = span.rsplit(None, 2)
    before = _BEFORE_WORD.split(words[-1])[-1].lstrip(_LEADING)
    return before, words[-2] if len(words) > 1 else ""


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _ends(text: str, stop: _TerminatorContext, sentence: int, *, lower_only: bool) -> bool:
    if not stop.first or stop.first in _GOES_ON or _YEAR.match(text, stop.next):
        return False
    if stop.first.islower() and not lower_only and not _CAMEL.match(stop.after):
        return False
    if stop.closers and text[stop.start - 1 : stop.start] in {"(", "["}:
        return False
    if not set(stop.mark).isdisjoint("!?‽؟;\u037e"):
        return _ends_after_exclamation(text, stop)
    if len(stop.mark) > 1 or stop.mark == "…":
        return stop.after.partition("'")[0].partition("’")[0] != "I"
    return _ends_after_period(text, stop, sentence)


def _ends_after_exclamation(text: str, stop: _TerminatorContext) -> bool:
    if stop.after.lower() in COMPANIES:
        return False
    quoted = not _QUOTE_MARKS.isdisjoint(stop.closers)
    named = quoted and stop.after.lower() not in PRONOUNS
    return not (named and _ATTRIBUTION.match(text, stop.next))


def _ends_after_period(text: str, stop: _TerminatorContext, sentence: int) -> bool:
    if not stop.before:
        return True
    if _is_enumerator(text, stop, sentence) or _is_ordinal(stop):
        return False
    key = stop.before.lower()
    finality = _finality(key, stop)
    if stop.first.isdigit():
        return finality == "usually" and key not in BEFORE_NUMBER
    return finality == "usually" or (finality == "rarely" and stop.opens)


def _is_enumerator(text: str, stop: _TerminatorContext, sentence: int) -> bool:
    """Whether the word is a number or letter before an enumerated item: "1. Open the door."."""
    if len(stop.before) > 20 or not _ENUMERATOR.fullmatch(stop.before):
        return False
    if stop.before.isdigit() and stop.earlier.endswith((":", ";")):
        return True
    start = stop.start - len(stop.before)
    return start - sentence <= _LOOK_BEHIND and _ALNUM.search(text, sentence, start) is None


def _is_ordinal(stop: _TerminatorContext) -> bool:
    if not (stop.before.isdigit() and len(stop.before) <= 3):
        return False
    return _ORDINAL_MONTH.match(stop.after) is not None or (
        stop.earlier.lower() in BEFORE_ORDINAL and not stop.opens
    )


def _finality(key: str, stop: _TerminatorContext) -> Literal["never", "rarely", "usually"]:
    """Return how often a sentence ends after a word with a period and before a capital."""
    if key in NEVER_FINAL:
        is_acronym = stop.before.isupper() and "." not in key
        return "usually" if is_acronym else "never"
    if key in TITLES:
        return "never" if stop.before.istitle() and not stop.closers else "rarely"
    if key in RARELY_FINAL or key.endswith("str"):  # Hauptstr. 5
        return "rarely"
    if len(key) == 1:
        return _finality_of_letter(stop)
    if key in BEFORE_LABEL and _LABEL.fullmatch(stop.after):
        is_label = stop.after not in {"I", "A"} or stop.before[0].isupper()
        return "never" if is_label else "usually"
    if key in COMPANIES:
        is_role = stop.after.isupper() and 2 <= len(stop.after) <= 5
        return "rarely" if is_role or stop.after.lower() in ROLES else "usually"
    if key in CLOCK:
        return "never" if stop.after.lower() in BEFORE_CLOCK else "usually"
    if _LETTER_STOPS.fullmatch(key) and key not in ERAS_AND_DEGREES:
        return "rarely"
    return "usually"


def _finality_of_letter(stop: _TerminatorContext) -> Literal["never", "rarely", "usually"]:
    letter = stop.before
    if letter.isdigit():
        return "usually"
    if _ABJAD.match(letter):
        # A title or an initial, unless it gives the era of a year.
        return "usually" if stop.earlier[-1:].isdigit() else "rarely"
    if _SPACED_LETTER.fullmatch(stop.earlier) and stop.earlier.islower():
        return "never"  # z. B., d. h., u. a.
    if letter.isupper():
        is_word = letter == "I" and stop.earlier[:1].islower()
        is_label = stop.earlier.lower().lstrip(_LEADING) in LABELLED
        return "usually" if is_word or is_label else "rarely"
    return "rarely" if letter.islower() and letter not in {"x", "y"} else "usually"


def _runs_on(text: str, match: re.Match[str]) -> bool:
    """Whether a sentence ends although no white space follows: "This is one.This is two."."""
    if match[2] or match[1][0] == "…" or match[1].startswith(".."):
        return False
    start, end = match.span(1)
    following = text[end]
    if _IDEOGRAPHIC.match(following):
        return _IDEOGRAPHIC.match(text, start - 1) is not None if start else False
    if not following.isupper():
        return False
    word = _RUN_ON.match(text, end)
    before = text[max(0, start - _LOOK_BEHIND) : start]
    if word is None or not before or before[-1].isspace():
        return False
    token = before.rsplit(None, 1)[-1].lstrip(_LEADING)
    return _are_separate(token, word[1])


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


def _ends_at_space(text: str, start: int, end: int, sentence: int) -> bool:
    """Whether a space ends a Thai or Lao sentence: between long phrases, or before an opener.

    If in doubt, it does not: a claim with two statements is still checked, but half a claim says
    nothing.
    """
    begin = max(sentence, start - 2 * _LOOK_BEHIND)
    so_far = text[begin:start].lstrip()
    before = so_far.rsplit(None, 1)[-1] if so_far else ""
    following = _after(_SPACE, text, end)
    after = text[following : following + _LOOK_AHEAD].split(None, 1)[0]
    if before.endswith(POLITE_ENDS):
        return True
    if before.endswith(AWAITS) or after.startswith(CONTINUES):
        return False
    if before.startswith(SUBORDINATES) or so_far.startswith(SUBORDINATES):
        return False
    if after.startswith(BEGINS):
        return len(so_far) > _SHORT and len(after) >= _SHORT
    return not before[-1:].isdigit() and min(len(before), len(after)) >= _LONG


def _ends_after_hard(text: str, match: re.Match[str], end: int) -> bool:
    first = text[end : end + 1]
    if first.isspace():
        following = _after(_SPACE, text, end)
        first = text[following : following + 1]
    if first in _GOES_ON or (match[1][-1] == "．" and first.isdigit()):
        return False
    if match[1] == "។" and text.startswith(_KHMER_ETC, end):
        return False
    if match[2][-1:] not in _IDEOGRAPHIC_QUOTES:
        return True
    if _JAPANESE_PARTICLE.match(text, end):
        return False
    is_statement = match[1][-1] in {"。", "｡"}
    return is_statement or _CHINESE_ATTRIBUTION.match(text, end) is None
