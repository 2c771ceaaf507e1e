"""The supported languages of folders, and the detection of a text's language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeGuard, get_args

Language: TypeAlias = Literal[
    "auto",
    "none",
    "ca",
    "da",
    "de",
    "el",
    "en",
    "es",
    "eu",
    "fi",
    "fr",
    "ga",
    "hu",
    "hy",
    "id",
    "it",
    "lt",
    "nl",
    "no",
    "pt",
    "ro",
    "ru",
    "sr",
    "sv",
    "tr",
]
"""The language of a folder's texts: detected for each text, ignored, or this one."""

LANGUAGES: tuple[str, ...] = tuple(one for one in get_args(Language) if len(one) == 2)
"""The languages whose inflected words can be found."""


def is_language(text: str) -> TypeGuard[Language]:
    """Return whether a text is the code of a supported language, auto or none."""
    return text in get_args(Language)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "en": _words(
            "about after all also an and any are as at be because been before being but by can"
            " could did do does for from had has have having he her his how if in into is it its"
            " may more most no nor not of on only or other our out over she should so some such"
            " than that the their them then there these they this those to under until up was we"
            " were what when where which while who whom whose why will with would you your"
        ),
        "de": _words(
            "aber als am an auch auf aus bei beim bis da dann das dass dem den der des die dies"
            " diese dieser durch ein eine einem einen einer eines er es für gegen hat hatte ihr"
            " ihre im in ist kann kein keine mit nach nicht noch nur ob oder ohne sein seine sich"
            " sie sind so über um und unter vom von vor war waren was wenn werden wie wird wo wurde"
            " wurden zu zum zur"
        ),
        "fr": _words(
            "au aux avec ce ces cet cette comme dans de des donc dont du elle elles en est et été"
            " étaient était il ils je la le les leur leurs lors mais même ne nous on ont ou où par"
            " pas plus pour qu quand que quel quelle qui sa sans se ses si son sont sous sur tous"
            " tout très un une vous"
        ),
        "es": _words(
            "al como con cuál cuando cuándo de del desde donde dónde el ella ellas ellos en entre"
            " era eran es esa ese esta está este esto fue fueron ha han hasta la las lo los"
            " más muy no o para pero por porque que qué quién se ser si sin sobre son su sus"
            " también un una unos y ya"
        ),
        "it": _words(
            "ai al alla alle allo anche che chi ci come con cui da dal dalla dalle dei del della"
            " delle dello di dopo dove era erano fu gli ha hanno i il in io la le lo ma nei nel"
            " nella nelle non o per perché più quale quando questa questo se sei si sia sono su"
            " sua sul sulla suo tra un una uno è"
        ),
        "nl": _words(
            "aan al als bij dat de den der deze die dit door een en er geen had heeft het hij hoe"
            " hun ik in is kan maar maken met naar niet nog of om onder ook op over te tegen tot"
            " uit van veel voor waar wanneer waren was wat welke werd werden wie wordt worden ze"
            " zich zij zijn zonder"
        ),
        "pt": _words(
            "ao aos as até com como da das de depois do dos e ela elas ele eles em entre era eram"
            " essa esse esta este eu foi foram há isso já mais mas muito na nas no nos num numa não"
            " o onde os ou para pela pelo por quais qual quando que quem se sem ser seu seus sobre"
            " sua são também um uma à às é"
        ),
    }
)
"""Short words that most texts of a language have: they identify it, and need no stems."""
_ANY = frozenset[str]().union(*STOP_WORDS.values())
_WORD = re.compile(r"[^\W_]+")
_NO_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
# The number of words by which a text's language is detected.
_LOOKED_AT = 200


def language_of(words: Sequence[str]) -> str | None:
    """Detect a text's language among those with stop words here.

    Args:
        words: The words of the text, in lower case.

    Returns:
        The language with the most of its stop words among them; None if there is a tie, or no stop
        word at all.
    """
    said = _ANY.intersection(words[:_LOOKED_AT])
    counts = [(len(said & known), language) for language, known in STOP_WORDS.items()]
    (second, _), (first, language) = sorted(counts)[-2:]
    return language if first > second else None


def words_of(text: str) -> list[str]:
    """Split a text into words in lower case, with composed accents (NFC)."""
    if text.isascii():
        return text.translate(_NO_WORDS).lower().split()
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())
