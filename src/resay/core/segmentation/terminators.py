"""The marks that may end a sentence, with the words around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.characters import after_space
from resay.core.segmentation.sentence_words import OPENERS

LOOK_BEHIND = 48
"""As far as this, words are read before a terminator."""
HARD_STOPS = frozenset("。！？｡．।॥۔։።፧။។៕᠃")
"""These end a sentence even without white space after them; others need it."""
THAI = r"\u0e01-\u0e4f\u0e81-\u0ecf\u0edc-\u0edf"
"""The letters of Thai and Lao, for a character class."""
_EMOJI = r"\u2600-\u27bf\ufe0f\u200d\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
_CLOSERS = rf"""[\"'”’»«›‹)\]}}*_`´」』）】》〉〕＂＇{_EMOJI}]*"""
_GREEK = r"\u0370-\u037d\u037f-\u0386\u0388-\u03ff\u1f00-\u1fff"
_MARKS = rf".!?…‽؟{''.join(sorted(HARD_STOPS))}"
# Greek questions end with a semicolon. What precedes it is looked at last, because patterns that
# begin with a character class are found fastest.
_MARK = rf"[{_MARKS};\u037e](?:(?<=[{_MARKS}])[{_MARKS}]*|(?<=[{_GREEK}]{{2}}.)[;\u037e]*)"
_STOP = rf"({_MARK})({_CLOSERS}(?:[ \u00a0\u202f]»(?=[\s,.]|\Z))?)"
TERMINATOR = lazy_pattern(_STOP)
"""A mark that may end a sentence, and the quotes and brackets that close after it."""
TERMINATOR_OR_SPACE = lazy_pattern(rf"{_STOP}|(?<=[{THAI}\d]){_CLOSERS}(?=\s+[{THAI}])")
"""The same, or what stands before a space that may end a Thai or Lao sentence without a mark."""
CITATION = lazy_pattern(
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
"""A citation after a terminator, which belongs to the sentence."""
LEADING_MARKS = "\"'“”‘’«»„‚([{¿¡*_~`–—-#「『（【《"
"""Marks that may stand before a word."""
_OPENING = lazy_pattern(r"""(?:[\"'“”‘«»„‚(\[{¿¡*_~`–—\-#「『（【《] ?){0,16}""")
_WORD = lazy_pattern(r"[^\W\d_]{1,24}(?:['’][^\W\d_]{1,8})?")
# A dash or an opening bracket, with or without white space before it: "1932.(Doc. 3)".
_BEFORE_WORD = lazy_pattern(r"[—(\[（【]")


@dataclass(slots=True)
class Terminator:
    """A terminator followed by white space, and its context.

    Attributes:
        mark: The terminator.
        closers: The quotes and brackets that close after it.
        start: Its position.
        word_before: The word before it, without leading marks.
        earlier_word: The word before that.
        next_start: The position of what follows.
        next_character: The first character that follows, without opening quotes and brackets.
        next_word: The word that follows.
        next_opens: Whether that word often opens a sentence.
    """

    mark: str
    closers: str
    start: int
    word_before: str
    earlier_word: str
    next_start: int
    next_character: str
    next_word: str
    next_opens: bool

    @classmethod
    def of(cls, text: str, match: re.Match[str], end: int) -> Terminator:
        """Return a terminator with its context.

        Args:
            text: The text.
            match: The match of `TERMINATOR`.
            end: Its end, or that of the citation after it.
        """
        word_before, earlier_word = _words_before(text, match.start())
        next_start = after_space(text, end)
        opening = _OPENING.match(text, next_start)
        word_start = opening.end() if opening else next_start
        word = _WORD.match(text, word_start)
        next_word = word.group() if word else ""
        word_end = word_start + len(next_word)
        is_joined = text[word_end : word_end + 1] in {".", "-"}
        return cls(
            mark=match[1],
            closers=match[2],
            start=match.start(),
            word_before=word_before,
            earlier_word=earlier_word,
            next_start=next_start,
            next_character=text[word_start : word_start + 1],
            next_word=next_word,
            next_opens=next_word.lower() in OPENERS and not is_joined,
        )


def _words_before(text: str, position: int) -> tuple[str, str]:
    """Return the word before a position, without leading punctuation, and the previous one."""
    span = text[max(0, position - LOOK_BEHIND) : position]
    if not span or span[-1].isspace():
        return "", ""
    words = span.rsplit(None, 2)
    word_before = _BEFORE_WORD.split(words[-1])[-1].lstrip(LEADING_MARKS)
    return word_before, words[-2] if len(words) > 1 else ""
