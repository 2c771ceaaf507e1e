"""Guess the language of a text from its most common words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

Language: TypeAlias = Literal["en", "de", "fr", "es", "it", "pt", "nl"]
"""The languages with rules and wordings of their own."""


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text that separates them by spaces."""
    return frozenset(words.split())


STOP_WORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "en": word_set(
            "a about after all also am an and any are as at be because been before being but by"
            " can could did do does for from had has have having he her his how i if in into is it"
            " its many may me more most much my no nor not of on only or other our out over she"
            " should so some such than that the their them then there these they this those to"
            " under until up was we were what when where which while who whom whose why will with"
            " would you your"
        ),
        "de": word_set(
            "aber als am an auch auf aus bei beim bis da dann das dass dem den der des die dies"
            " diese dieser durch ein eine einem einen einer eines er es für gegen hat hatte ich"
            " ihr ihre im in ist kann kein keine man mit nach nicht noch nur ob oder ohne sein"
            " seine sich sie sind so über um und unter viel vom von vor wann war waren warum was"
            " welche welcher wenn wer werden wie wird wo wurde wurden zu zum zur"
        ),
        "fr": word_set(
            "a au aux avec c ce ces cet cette comme comment combien d dans de des donc dont du elle"
            " elles en est et été étaient était fut il ils je l la le les leur leurs lors mais même"
            " ne nous on ont ou où par pas plus pour pourquoi qu quand que quel quelle qui quoi sa"
            " sans se ses si son sont sous sur tous tout très un une vous à"
        ),
        "es": word_set(
            "al como con cuál cuando cuándo cuánto cuántos cómo de del desde donde dónde e el ella"
            " ellas ellos en entre era eran es esa ese esta están está este esto fue fueron ha han"
            " hasta hay la las lo los más muy no para pero por porque que quien quién qué se ser si"
            " sin sobre son su sus también tiene un una unos y ya"
        ),
        "it": word_set(
            "ai al alla alle allo anche che chi ci come con cosa cui da dal dalla dalle dei del"
            " della delle dello di dopo dove e era erano fu gli ha hanno i il in io la le lo ma nei"
            " nel nella nelle non per perché più qual quale quando quanto questa questo se sei si"
            " sia sono stato su sua sul sulla suo tra un una uno è"
        ),
        "pt": word_set(
            "a ao aos as até com como da das de depois do dos e ela elas ele eles em entre era eram"
            " essa esse esta este eu foi foram há isso já mais mas muito na nas no nos num numa não"
            " o onde os ou para pela pelo por quais qual quando quanto que quem se sem ser seu seus"
            " sobre sua são também tem um uma você à às é"
        ),
        "nl": word_set(
            "aan al als bij dat de den der deze die dit door een en er geen had heeft het hij hoe"
            " hun ik in is je kan kost maar maken met naar niet nog of om onder ook op over te"
            " tegen tot uit van veel voor waar waarom wanneer waren was wat welke werd werden wie"
            " wordt worden ze zich zij zijn zonder"
        ),
    }
)
"""The most common words of each `Language`. They tell languages apart, and carry no subject."""

# Languages without rules, so that their texts are not taken for one that has them.
_OTHERS: Final = {
    "ca": word_set("el la els les i és amb del de que en un una per va dels a com al"),
    "cs": word_set("a v na je se z s že do byl byla jako který roce ve"),
    "da": word_set("og er en som på det i af at den til for med et fra var blev ble"),
    "eu": word_set("eta da zen izan ziren ere du baina"),
    "fi": word_set("ja on oli hän se että ovat joka sekä myös"),
    "hu": word_set("a az és egy is volt hogy nem meg"),
    "pl": word_set("i w na z się jest do był była jako który roku oraz"),
    "ro": word_set("și este în de la cu un o din pe a fost care al ale sunt prin mai"),
    "sv": word_set("och är en som på det i av att den till för med ett från var"),
}


def _languages_by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for language, words in {**STOP_WORDS, **_OTHERS}.items():
        for word in words:
            found.setdefault(word, []).append(language)
    return found


_LANGUAGES_BY_WORD: Final = _languages_by_word()
_WORDS: Final = re.compile(r"\w+")
# The weight of a word: the least common multiple of 1 to 10, so that its shares are whole numbers,
# whose sums are the same in any order.
_WEIGHT: Final = 2_520


def guess_language_of(text: str) -> Language | None:
    """Return the language that a text is most likely written in, as `guess_language` does."""
    return guess_language(_WORDS.findall(text.lower()))


def guess_language(
    words: Iterable[str], *, fewest: int = 1, unique: bool = False
) -> Language | None:
    """Return the language that a text is most likely written in.

    Each different common word counts once. A word that several languages share counts for each of
    them, divided by their number: "do" says little, "how" says English.

    Args:
        words: The words of the text, in lower case.
        fewest: How many different common words of the language the text must contain.
        unique: Whether to return None if several languages are equally likely; otherwise, the first
            of them in `STOP_WORDS`.

    Returns:
        The language, or None if the text has too few common words, or the most likely language is
        none of `STOP_WORDS`.
    """
    weights: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for word in _LANGUAGES_BY_WORD.keys() & words:
        languages = _LANGUAGES_BY_WORD[word]
        counts.update(languages)
        for language in languages:
            weights[language] += _WEIGHT // len(languages)
    most = max(weights.values(), default=0)
    likely = [language for language, weight in weights.items() if weight == most]
    if unique and len(likely) > 1:
        return None
    for language in get_args(Language):
        if language in likely and counts[language] >= fewest:
            return language
    return None
