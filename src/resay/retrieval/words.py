"""How text and searches become the words of a full-text index.

The index divides text at whatever is no letter, mark or digit, which finds no words in scripts that
are written without spaces. Stretches of those are therefore also indexed as overlapping pieces of a
few characters, and searched for by such pieces: two characters where a character is about a
syllable, three where it is a letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["TOKENIZER", "match_expression", "pieces_of_unspaced"]

# Marks belong to words: without them, those of most Indic scripts fall apart at their vowels.
TOKENIZER = "unicode61 remove_diacritics 2 categories 'L* N* M* Co'"

_SYLLABIC = (
    r"\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\U0001b000-\U0001b16f\U00020000-\U000323af"
)
# Thai, Lao, Myanmar, Khmer.
_ALPHABETIC = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f"
# Wide letters and narrow kana, which have their usual forms by the side of the others.
_WIDTHS = r"\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f"
_UNSPACED = re.compile(rf"[{_SYLLABIC}{_ALPHABETIC}{_WIDTHS}]")
_TOKEN = re.compile(rf"(?:[^\W_]|[{_ALPHABETIC}])+")
_STRETCH = re.compile(
    rf"(?P<syllabic>[{_SYLLABIC}]+)|(?P<alphabetic>[{_ALPHABETIC}]+)"
    rf"|[^\W_{_SYLLABIC}{_ALPHABETIC}]+"
)
_LENGTHS = {"syllabic": 2, "alphabetic": 3}


def pieces_of_unspaced(text: str) -> str:
    """Return what to index beside a text, so that its parts without spaces can be found.

    Args:
        text: The text.

    Returns:
        The pieces, and what touches them, with spaces between; empty for text with spaces.
    """
    pieces: list[str] = []
    if _UNSPACED.search(text) is None:
        return ""
    for token in _TOKEN.findall(text):
        if _UNSPACED.search(token) is None:
            continue
        for stretch, length in _stretches(_usual_form(token)):
            # The last ones are shorter, so that every character begins one.
            begins = range(len(stretch)) if length else ()
            pieces += [stretch[i : i + length] for i in begins] or [stretch]
    return " ".join(pieces)


def match_expression(query: str) -> str:
    """Return the full-text expression for documents with any of the words of a search.

    Args:
        query: Any text; nothing in it is taken for an operator.

    Returns:
        The expression; empty where the search has no word.
    """
    terms: dict[str, None] = {}
    for word in _words(query):
        for form in (word, *_words(_usual_form(word))):
            terms.update(dict.fromkeys(_terms(form)))
    return " OR ".join(terms)


def _words(query: str) -> list[str]:
    """Divide a search as the tokenizer divides a text."""
    return "".join(c if _is_in_word(c) else " " for c in query).split()


def _is_in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] in "LNM"


def _usual_form(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _terms(word: str) -> Iterator[str]:
    if _UNSPACED.search(word) is None:
        yield f'"{word}"'
        return
    for stretch, length in _stretches(word):
        if not length:
            yield f'"{stretch}"'
        elif len(stretch) < length:
            yield f'"{stretch}"*'
        else:
            last = len(stretch) - length
            yield from (f'"{stretch[i : i + length]}"' for i in range(last + 1))


def _stretches(token: str) -> Iterator[tuple[str, int]]:
    """Divide a token by script; yield the parts and how long their pieces are, 0 if whole."""
    for match in _STRETCH.finditer(token):
        yield match.group(), _LENGTHS.get(match.lastgroup or "", 0)
