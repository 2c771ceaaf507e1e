"""Questions for yes or no, and what answers to them say."""

from __future__ import annotations

import re
from typing import Final

from resay.core.quantities import word_set
from resay.scorers.common.stems import WORD

_YES: Final = word_set(
    "yes yeah yep correct true ja jawohl doch oui si sí sì sim はい 是 是的 对 네 예 да نعم हाँ"
)
_NO: Final = word_set("no nope nein non não nee nej いいえ 不 不是 否 没有 아니요 нет لا नहीं false")
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
# "Was" asks what in German.
_WHAT = re.compile(
    r"was\s+(?:ist|sind|war|waren|wei(?:ß|ss)t|wissen|kann|kannst|können|macht|machen|bedeutet|hat"
    r"|haben|für|sagt|passiert|kostet|kosten|gibt|versteht|heißt|soll|wird|wurde|wurden|du|man|sie"
    r"|er|es|ich|die|der|das)\b",
    re.IGNORECASE,
)
_POLAR_SIGN = re.compile(r"吗|嗎|ですか|ますか|是否|\bهل\b|\bली\b|^क्या\b|\bли\b")


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question is one for yes or no."""
    asked = question.lstrip()
    begins = _POLAR.match(asked) is not None and _WHAT.match(asked) is None
    return begins or _POLAR_SIGN.search(question) is not None


def stance(text: str) -> str | None:
    """Return "yes" or "no" where a text begins with that as an answer; None where it does not."""
    match = WORD.search(text)
    word = match.group().lower() if match else ""
    # "No" may be short for "number", and "si" mean "if": an answer's is followed by a mark.
    if match is None or text[match.end() : match.end() + 1].strip(" \n"):
        following = text[match.end() : match.end() + 1] if match else ""
        if following not in ",.!;:，。、–—-":
            return None
    elif text[match.end() :].strip():
        return None
    return "yes" if word in _YES else "no" if word in _NO else None


def restricts(text: str) -> bool:
    """Return whether a text says that something holds in part only."""
    return not _RESTRICTS.isdisjoint(match.group().lower() for match in WORD.finditer(text))
