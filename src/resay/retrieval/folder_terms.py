"""The terms of texts and queries in the full-text index of a folder.

The tokenizer splits text at anything but letters, marks and digits, which finds no words in scripts
without spaces. Text in those scripts is therefore also indexed as overlapping n-grams, and searched
by them: two characters if a character is about a syllable, three if it is a letter.

Stems are indexed in a column of their own, so that a query with one form of a word finds the
others. The form in the query also counts itself, and therefore ranks first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from resay._internal.patterns import lazy_pattern
from resay.retrieval.folder_stems import STEM, stemmer, words_of

_SYLLABIC = (
    r"\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    r"\U0001b000-\U0001b16f\U00020000-\U000323af"
)
# Thai, Lao, Myanmar, Khmer.
_ALPHABETIC = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f"
# Full-width letters and half-width kana, whose usual forms are indexed as well.
_WIDTHS = r"\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f"
_UNSPACED = lazy_pattern(rf"[{_SYLLABIC}{_ALPHABETIC}{_WIDTHS}]")
_TOKEN = lazy_pattern(rf"(?:[^\W_]|[{_ALPHABETIC}])+")
_SCRIPT_RUN = lazy_pattern(
    rf"(?P<syllabic>[{_SYLLABIC}]+)|(?P<alphabetic>[{_ALPHABETIC}]+)"
    rf"|[^\W_{_SYLLABIC}{_ALPHABETIC}]+"
)
_NGRAM_LENGTHS = {"syllabic": 2, "alphabetic": 3}


def unspaced_ngrams(text: str) -> str:
    """Return the n-grams to index beside a text, so that its parts without spaces can be found.

    Args:
        text: The text.

    Returns:
        The n-grams, and words adjacent to them, separated by spaces; empty if there are none.
    """
    if text.isascii() or _UNSPACED.search(text) is None:
        return ""
    terms: list[str] = []
    for token in _TOKEN.findall(text):
        if _UNSPACED.search(token) is None:
            continue
        for run, length in _script_runs(_usual_form(token)):
            if length:
                # Every character begins an n-gram; the last ones are shorter.
                terms += [run[start : start + length] for start in range(len(run))]
            else:
                terms.append(run)
    return " ".join(terms)


def phrases_of(query: str, languages: Sequence[str] = ()) -> dict[str, str]:
    """Return the phrases to look up in the index for a query.

    Args:
        query: Any text, without operators.
        languages: The languages whose stems to look up as well.

    Returns:
        The phrases for full-text expressions, each with the word among the frequent ones.
    """
    phrases: dict[str, str] = {}
    for word in _tokens(query):
        for form in (word, *_tokens(_usual_form(word))):
            for phrase in _phrases(form):
                phrases[f"- stems : {phrase}"] = _folded(phrase.strip('"*'))
    words = words_of(query)
    for language in languages:
        for stem in stemmer(language).stems([words])[0].split():
            phrases[f'stems : "{stem}"'] = f"{STEM}{_folded(stem)}"
    return phrases


def _folded(word: str) -> str:
    """Return about the tokenizer's form of a word; it only serves to look up its frequency."""
    letters = unicodedata.normalize("NFKD", word.lower())
    return "".join(char for char in letters if not unicodedata.combining(char))


def _tokens(query: str) -> list[str]:
    """Split a query as the tokenizer splits a text."""
    return "".join(char if _is_in_word(char) else " " for char in query).split()


def _is_in_word(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] in "LNM"


def _usual_form(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _phrases(word: str) -> Iterator[str]:
    if _UNSPACED.search(word) is None:
        yield f'"{word}"'
        return
    for run, length in _script_runs(word):
        if not length:
            yield f'"{run}"'
        elif len(run) < length:
            yield f'"{run}"*'
        else:
            for start in range(len(run) - length + 1):
                yield f'"{run[start : start + length]}"'


def _script_runs(token: str) -> Iterator[tuple[str, int]]:
    """Split a token by script; yield the parts, each with the length of its n-grams or 0."""
    for match in _SCRIPT_RUN.finditer(token):
        yield match.group(), _NGRAM_LENGTHS.get(match.lastgroup or "", 0)
