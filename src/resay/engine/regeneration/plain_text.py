"""Reduces Markdown to its words, on one line, as it is searched for."""

from __future__ import annotations

import re
from html import unescape

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.sentence_words import ORDINAL_MONTHS

_WORD = lazy_pattern(r"[^\W_]+")
# Including halves of surrogate pairs, which no index accepts.
_CONTROLS = lazy_pattern(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_MARKER = lazy_pattern(
    rf"""
    ^(?:\s{{0,3}}
        (?: > | \#{{1,6}}(?=\s) | [-*+•‣◦](?=\s) | \[[ xX]\](?=\s)
          | \d{{1,3}}[.)](?=\s)(?!\s+(?:{ORDINAL_MONTHS})\b)
        )
     )+
    """,
    re.MULTILINE | re.VERBOSE,
)
_NUMBERS = r"\d{1,3}(?:\s{0,2}[-–,;]\s{0,2}\d{1,3}){0,20}"
_CITATION = lazy_pattern(
    rf"""
    \s{{0,4}}\[\s?\^?{_NUMBERS}\s?\](?:\([^()\s]{{0,500}}\))?
  | \s{{0,4}}\[\^[^\[\]\s]{{1,40}}\]:?
  | \s{{0,4}}\[(?:citation\s+needed|sources?|refs?\.?|note\s\d{{1,3}})\](?!\()
  | \s{{0,4}}【\d{{1,3}}(?::\d{{1,3}})?(?:†[^【】]{{0,80}})?】
  | (?<=[.,;:!?)\]"”’»。，])[⁰¹²³⁴-⁹]{{1,4}}
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LINK = lazy_pattern(
    r"!?\[([^\[\]]{0,300})\]\((?:[^()\s]|\([^()\s]{0,100}\)){0,500}"
    r"(?:\s{1,4}[\"'][^\"']{0,200}[\"'])?\)"
)
_ADDRESS = lazy_pattern(r"<((?:https?|mailto):[^<>\s]{1,500})>")
_TAG = lazy_pattern(r"</?[A-Za-z][A-Za-z0-9]{0,12}(?:\s[^<>]{0,200})?/?>")
# In scripts without spaces, emphasis marks directly adjoin words.
_EMPHASIS = lazy_pattern(
    r"(?<![0-9A-Za-z*\\])\*{1,3}(?=\S)|(?<=[^\s*\\])\*{1,3}(?![0-9A-Za-z*])"
    r"|(?<![\w\\])_{1,3}(?=\S)|(?<=[^\s_\\])_{1,3}(?!\w)|~~|(?<!\\)`+"
)
_ESCAPED = lazy_pattern(r"\\([\\`*_{}\[\]()#+\-.!|>~])")


def has_words(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return _WORD.search(text) is not None


def plain(text: str) -> str:
    """Return a text without Markdown and citation marks, on one line.

    Args:
        text: Any text.

    Returns:
        The remaining text. A text of nothing but marks keeps their words, if these have letters.
    """
    cleaned = _CITATION.sub("", _MARKER.sub("", text))
    cleaned = _ADDRESS.sub(r"\1", _LINK.sub(r"\1", cleaned))
    cleaned = _EMPHASIS.sub("", _TAG.sub("", cleaned))
    cleaned = unescape(_ESCAPED.sub(r"\1", cleaned))
    cleaned = " ".join(_CONTROLS.sub(" ", cleaned).split())
    if not has_words(cleaned) and any(map(str.isalpha, text)):
        return " ".join(_WORD.findall(text))
    return cleaned


def shortened(text: str, chars: int) -> str:
    """Return the longest beginning of a text that fits, cut between words if possible.

    Args:
        text: A text on one line.
        chars: The maximum length in characters.
    """
    if len(text) <= chars:
        return text
    cut = text.rfind(" ", chars // 2, chars + 1)
    return text[: cut if cut > 0 else chars].rstrip()
