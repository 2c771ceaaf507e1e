"""Stems for comparing words, and detection of yes-or-no questions, languages and order.

Common words are dropped, and only the part that the forms of a word share is compared.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise
from typing import Final

from resay.lang.tables import word_set

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    # Korean has spaces, but attaches particles to its words.
    r"\uac00-\ud7af"
)
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
# The quick pattern; \w does not match the vowel signs of Indic scripts, _ANY_WORD does.
WORD = re.compile(r"[^\W_]+(?:[.&_-][^\W_]+)*")
_SIGNS = r"\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_HAS_SIGNS = re.compile(rf"[{_SIGNS}{_UNSPACED}]")
_ANY_WORD = re.compile(
    rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}](?:[^\W{_UNSPACED}]|[.&-](?=[^\W_])|[{_SIGNS}])*"
)
STOP: Final = word_set(
    """
    a an the and or but of in on at to for from by with as is was were are be been being he she it
    they his her its their him them this that these those which who whom whose where when while
    after before during into over under also had has have having not no nor so than then there here
    such most more other some any all both each few many much i you we my your our me us about
    around between through until against would could should may might can cannot will did do does
    done very just only own same up out off again further once how what why because if s t d ll re
    ve one ones get got am yes
    der die das den dem des ein eine einer eines einem einen und oder aber in im am an auf aus bei
    mit nach von vom zu zum zur für über unter ist war sind waren wird wurde wurden werden worden
    hat haben hatte hatten sein seine seiner seinem seinen ihr ihre ihrer ihrem ihren er sie es wir
    ich du man nicht kein keine auch als wie so noch nur schon sich dass daß weil wenn was wer wo
    wann hier dort diese dieser dieses diesem diesen jahr jahre um ja nein doch etwa
    le la les l un une des du de d et ou mais en dans par pour avec sur sous chez est sont était
    étaient fut furent a ont avait être été il elle ils elles on nous vous je tu son sa ses leur
    leurs ce cet cette ces c qui que qu quoi où au aux ne n pas plus se s y oui non agit
    el los las lo un una unos unas del al y o u pero con por para sin sobre entre es son era eran
    fue fueron ha han había ser su sus se que quien cual donde cuando este esta estos estas ese esa
    eso no sí muy más también
    il lo gli i uno di da dal dalla della dello dei delle degli nel nella nei nelle al alla allo ai
    alle sul sulla che e ed o ma con per tra fra è era erano fu furono sono stato stata ha hanno
    suo sua suoi sue si non sì anche come chi dove quando questo questa questi queste
    os as um uma uns umas do dos das no na nos nas ao aos à às em pelo pela com por para sem e ou
    mas são foi foram tem têm seu sua seus suas se que quem onde este esta esse essa isso não sim
    também mais
    het een van voor met op te aan uit door naar over bij is zijn was waren wordt werd werden heeft
    hebben had zijn haar hun hij zij ze wij we ik je u er dit dat deze die niet geen ook als en maar
    of om toen ja nee
    isn aren wasn weren don doesn didn hasn haven hadn couldn wouldn shouldn won neither m qu j
    think believe guess sure certain probably possibly perhaps maybe likely apparently seems
    mistaken remember recall correctly verify know glaube denke meine vermutlich wahrscheinlich
    vielleicht möglicherweise wohl sicher crois pense peut-être probablement sûr creo pienso quizás
    probablemente tal vez seguro credo penso forse probabilmente sicuro acho talvez provavelmente
    exactly roughly nearly almost approximately circa ca fairly quite genau ungefähr etwa rund fast
    environ presque exactement aproximadamente casi unos unas circa quasi esattamente quase cerca
    ongeveer bijna precies however therefore namely called named
    answer result antwort réponse respuesta risposta resposta antwoord mr mrs ms dr
    denk misschien waarschijnlijk vermoedelijk zeker well
    في من على إلى عن هو هي هذا هذه التي الذي كان كانت عام سنة تم قد و ما
    है हैं था थी थे का की के को में से ने पर और यह वह एक भी
    в и на с по из был была было были это он она они не как
    """
)
_ENDINGS: Final = (
    "ungen", "ings", "ung", "ing", "edly", "ers", "est", "ed", "er", "en", "em", "es", "ly", "s",
    "e",
)  # fmt: skip
_STEM_CHARS = 6


@lru_cache(16_384)
def _stem(word: str) -> str:
    """Reduce a lower-case word of any language to the part that its forms share."""
    if len(word) <= 3:
        return word
    if word.startswith("ال") and len(word) > 4:
        word = word[2:]
    if word.endswith(_ENDINGS):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                word = word[: -len(ending)]
                break
    return word[:_STEM_CHARS] if word.isalpha() else word


class Stems(dict[str, tuple[str, ...]]):
    """The stems of lower-case words, computed on first access.

    Common words have none; scripts without spaces yield pairs of characters.
    """

    def __missing__(self, word: str) -> tuple[str, ...]:
        if word in STOP:
            stems: tuple[str, ...] = ()
        elif not word.isascii() and _IS_UNSPACED.match(word):
            pairs = (word[i : i + 2] for i in range(max(len(word) - 1, 1)))
            stems = tuple(pair for pair in pairs if pair not in STOP)
        else:
            stems = (_stem(word),)
        self[word] = stems
        return stems


def words_of(text: str) -> re.Pattern[str]:
    """Return the pattern that matches a text's words; the fast one suffices for most texts."""
    return WORD if text.isascii() or not _HAS_SIGNS.search(text) else _ANY_WORD


def stems_of(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    stems = Stems()
    return [s for word in words_of(text).findall(text.lower()) for s in stems[word]]


_YES: Final = word_set(
    "yes yeah yep correct true ja jawohl doch oui si sí sì sim はい 是 是的 对 네 예 да نعم हाँ"
)
_NO: Final = word_set("no nope nein non não nee nej いいえ 不 不是 否 没有 아니요 нет لا नहीं false")
# "No. 3" is a number, but "No. 1932 was the year" answers.
_NUMBER = re.compile(r"\.\s{0,2}[*_]{0,2}\d{1,3}(?![\w.,]?\d)")
_RESTRICTS: Final = word_set(
    "only hardly barely scarcely partly partially nur kaum teilweise seulement guère partiellement"
    " solo solamente apenas parcialmente soltanto parzialmente somente slechts alleen nauwelijks"
    " deels"
)
_POLAR = re.compile(
    r"""
    (?:[^?\n]{0,120}[,;:.]\s)?
    (?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|may|might|must
      |isn't|aren't|wasn't|doesn't|didn't|don't|can't
      |ist|sind|war|waren|hat|haben|hatte|kann|können|wird|wurde|wurden|gibt|darf|muss|soll
      |est-ce|est-il|est-elle|est|sont|était|a-t-il|a-t-elle|peut-on|y\sa-t-il
      |es|son|fue|era|hay|tiene|tienen|puede|está|están|existe
      |è|sono|era|fu|ha|hanno|può|esiste|c'è
      |é|são|foi|tem|têm|pode|há
      |zijn|heeft|hebben|kan|kunnen|wordt|werd|bestaat)\s
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "Was" means "what" in German.
_WHAT = re.compile(
    r"was\s+(?:ist|sind|war|waren|wei(?:ß|ss)t|wissen|kann|kannst|können|macht|machen|bedeutet|hat"
    r"|haben|für|sagt|passiert|kostet|kosten|gibt|versteht|heißt|soll|wird|wurde|wurden|du|man|sie"
    r"|er|es|ich|die|der|das)\b",
    re.IGNORECASE,
)
_POLAR_SIGN = re.compile(r"吗|嗎|ですか|ますか|是否|\bهل\b|\bली\b|^क्या\b|\bли\b")


_ORDER = re.compile(
    r"\b(?:order|sequence|steps?|rank\w*|reihenfolge|schritte?|ordre|étapes?|orden|pasos?|ordine"
    r"|passi|ordem|passos|volgorde|stappen|порядк\w*|kolejno\w*)\b|順|顺序",
    re.IGNORECASE,
)
_INVERTS = re.compile(
    r"\b(?:after|before|behind|nach|nachdem|vor|bevor|après|avant|antes|dopo|prima\sdi|na|voordat)\b",
    re.IGNORECASE,
)
# Texts differ in order if at least one in this many adjacent pairs is reversed.
_OUT_OF_ORDER = 3


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question asks for yes or no."""
    asked = question.lstrip()
    begins = _POLAR.match(asked) is not None and _WHAT.match(asked) is None
    return begins or _POLAR_SIGN.search(question) is not None


def stance(text: str) -> str | None:
    """Return the "yes" or "no" that a text begins with as an answer, or None."""
    match = WORD.search(text)
    if match is None:
        return None
    word, following = match.group().lower(), text[match.end() :].rstrip()
    if word == "no" and _NUMBER.match(following):
        return None
    # "No" may abbreviate "number", and "si" may mean "if"; as answers they precede a mark.
    if following and following[0] not in ",.!;:，。、\n" and following.lstrip(" ")[0] not in "–—-":
        return None
    return "yes" if word in _YES else "no" if word in _NO else None


def restricts(text: str) -> bool:
    """Return whether a text says that something holds only in part."""
    return not _RESTRICTS.isdisjoint(match.group().lower() for match in WORD.finditer(text))


def share(wanted: Collection[str], words: Collection[str]) -> float:
    """Return the share of wanted words that are among others; 0 if none are wanted."""
    return sum(word in words for word in wanted) / len(wanted) if wanted else 0.0


def asks_for_order(question: str) -> bool:
    """Return whether a question asks for the order of steps or items."""
    return _ORDER.search(question) is not None


def out_of_order(text: str, other: str) -> bool | None:
    """Return whether two texts mention the same things in a different order.

    Returns:
        None if they share fewer than two, or one has a word such as "before" or "after".
    """
    if _INVERTS.search(text) or _INVERTS.search(other):
        return None
    mine, theirs = list(dict.fromkeys(stems_of(text))), list(dict.fromkeys(stems_of(other)))
    places = [theirs.index(stem) for stem in mine if stem in theirs and not stem[0].isdigit()]
    if len(places) < 2:
        return None
    return _OUT_OF_ORDER * sum(a > b for a, b in pairwise(places)) >= len(places) - 1
