"""Which words of a sentence negate it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from resay.core.quantities.words import guess_language, word_set

_NEGATIONS: Final = word_set(
    "not no never none neither nor cannot without nobody nothing nowhere"
    " nicht kein keine keiner keinen keinem keines nie niemals nichts ohne niemand weder"
    " pas jamais aucun aucune sans rien ni"
    " nunca jamás ningún ninguna ninguno tampoco sin nadie nada"
    " non mai nessun nessuno nessuna senza niente"
    " não nenhum nenhuma sem jamais ninguém"
    " niet geen nooit zonder niets niemand nee nein"
) | {
    f"{verb}n{mark}t"
    for verb in word_set(
        "is are was were do does did have has had ca could would should wo must need"
    )
    for mark in "'’"
}
# "isn't" may have been taken apart.
_MAYBE_NEGATIONS: Final = _NEGATIONS | {"t"}
_NOT_NEGATING: Final = word_set(
    "sure certain sicher sûr sûre certaine seguro segura sicuro sicura certeza zeker only just"
    " merely nur seulement solo solamente soltanto apenas alleen know verify mistaken doubt"
    " wrong sais weiß sé so"
)
_NEGATED = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def may_negate(words: Sequence[str]) -> bool:
    """Return whether one of a sentence's words, in small letters, may negate it: a quick look."""
    return not _MAYBE_NEGATIONS.isdisjoint(words)


def negations(text: str) -> tuple[tuple[int, int], ...]:
    """Find the words that negate, as offsets in code points.

    "Not sure", "not only" and the like negate no claim and are left out.

    Args:
        text: Any text.
    """
    if _NEGATIONS.isdisjoint(_NEGATED.findall(text.lower())):
        return ()
    words = [(m.group().lower(), m.start(), m.end()) for m in _NEGATED.finditer(text)]
    found: list[tuple[int, int]] = []
    portuguese: bool | None = None
    for i, (word, start, end) in enumerate(words):
        if word not in _NEGATIONS:
            continue
        following = {w for w, _, _ in words[i + 1 : i + 4]}
        if following & _NOT_NEGATING:
            continue
        if word == "no":
            # In Portuguese "in the"; and before a figure it is short for "number".
            if portuguese is None:
                portuguese = guess_language([w for w, _, _ in words]) == "pt"
            if portuguese or _IS_NUMBERED.match(text, end):
                continue
        found.append((start, end))
    return tuple(found)


_IS_NUMBERED = re.compile(r"\.? ?\d")
