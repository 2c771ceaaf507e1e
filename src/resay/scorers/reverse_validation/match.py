"""Whether an answer names an entity, where a text does, and what share of it an answer vouches for.

The matching stage of Reverse Validation (Yang, Sun and Wan, "A New Benchmark and Reverse Validation
Method for Passage-level Hallucination Detection", 2023, section 4.1, stage 3). The paper compares
strings; section 7.1 names that as its main source of false alarms. Here a name may also be spelled,
shortened, turned round or titled otherwise, while numbers and everything that makes a neighbour out
of a name must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from resay.core.segmentation import sentence_ends
from resay.scorers.reverse_validation.names import (
    ARTICLES,
    Mention,
    adjoin,
    mentions,
    name_of,
    written_as,
)
from resay.scorers.reverse_validation.words import (
    CLASSES,
    COMPANY,
    DIRECTIONS,
    PREPOSITIONS,
    TITLES,
    Word,
    read_words,
)

__all__ = [
    "find_mentions",
    "names_entity",
    "names_exactly",
    "read_percentage",
    "read_percentage_exactly",
]


def names_exactly(answer: str, entity: str) -> bool:
    """Match as the paper's released code does: the name occurs in the answer, anywhere.

    The name is what stands before the first parenthesis. Case counts only for names of fewer than
    five characters, which as small letters would be found inside other words.

    Args:
        answer: What the model answered.
        entity: The entity's name.

    Returns:
        Whether the answer contains the name.
    """
    name = entity.split("(")[0].strip() or entity.strip()
    return bool(name) and (name in answer or (len(name) >= 5 and name.lower() in answer.lower()))


def names_entity(answer: str, entity: str, aliases: Sequence[str] = ()) -> bool:
    """Whether an answer gives the entity, under this name or another way to write it.

    An answer gives what it says first: what its later sentences mention, what belongs to something
    else ("the brother of ...") and what it denies does not count.

    Args:
        answer: A bare name or prose.
        entity: The entity's name, with or without a remark in parentheses.
        aliases: Other names of it.

    Returns:
        Whether the answer gives it; False for an answer that is empty or gives nothing.
    """
    name = name_of(entity, aliases)
    if not name.forms:  # a name of marks only: "!!!"
        return names_exactly(answer, entity)
    bare = read_words(answer)
    if bare and written_as(answer, bare, name):
        return True
    for clause in _clauses(answer):
        words = read_words(clause)
        found = mentions(clause, words, name)
        if _denies(clause, words, found):
            continue
        if found or _GIVES.search(clause) or any(w.capital for w in words[1:]):
            slot = _slot(clause)
            return any(_is_given(clause, words, mention, slot) for mention in found)
    return False


def find_mentions(
    text: str, entity: str, aliases: Sequence[str] = ()
) -> tuple[tuple[int, int], ...]:
    """Find where a text names the entity, so that a question can be kept from giving it away.

    Args:
        text: Any text.
        entity: The entity's name.
        aliases: Other names of it.

    Returns:
        Spans of code points, in order and apart from one another. Where each is replaced by a mark
        that is neither white space nor a word, no mention is left.
    """
    name = name_of(entity, aliases)
    if not name.forms and entity.strip():
        return tuple(found.span() for found in re.finditer(re.escape(entity.strip()), text))
    words = read_words(text)
    spans: list[tuple[int, int]] = []
    for mention in mentions(text, words, name):
        start, end = words[mention.first].start, words[mention.last].end
        if spans and start < spans[-1][1]:
            start, last = spans.pop()
            end = max(end, last)
        spans.append((start, end))
    return tuple(spans)


_TURN = re.compile(r"[,;]\s+(?=(?:but|however|though|although|so|the (?:closest|nearest|best))\b)")


def _clauses(answer: str) -> Iterator[str]:
    for line in answer.splitlines():
        start = 0
        for end in (*sentence_ends(line), len(line)):
            yield from (clause for clause in _TURN.split(line[start:end]) if clause.strip())
            start = end


_DENIAL = re.compile(
    r"(?:\bnot|n['’]t|\bcannot|\bunable to)\s+(?:\w+\s+){0,2}?"
    r"(?:find|found|identify|identified|know|known|determine|determined|specified|mentioned|named"
    r"|clear|sure|provide|provided|aware|exist|possible|enough|any|an? entity)\b"
    r"|\bunable to\b|\bno (?:such|single|specific|perfect|exact|known|entity|match|information)\b"
    r"|\bunknown\b",
    re.IGNORECASE,
)


def _denies(clause: str, words: list[Word], found: list[Mention]) -> bool:
    named = [(words[m.first].start, words[m.last].end) for m in found]
    denials = (match.span() for match in _DENIAL.finditer(clause))
    # A name may hold a denial: "The Unknown Soldier".
    return any(not any(a <= start and end <= b for a, b in named) for start, end in denials)


_GIVES = re.compile(r"\b(?:match(?:es)?|meets?|satisf(?:y|ies)|fits?|fulfil?ls?|conforms?)\b", re.I)
# How many characters around a name or a number are looked at.
_NEAR = 100

_NOTHING = re.compile(r"\W*(?:(?:the|an?)\s\W*)?", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"\W*(?:in|based|according|from|given|as|for|with|after|on|at|by|yes|sure|therefore|thus|so"
    r"|hence|well)\b[^,]*,\s*",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\W*(?:(?:the|an?|one|my|this|best|closest|possible|likely|correct|most)\s+){0,4}"
    r"(?:entity|answer|name|term|match|option|candidate)\b[^.:]*?(?:\b(?:is|are|was|were|be)\b|:)",
    re.IGNORECASE,
)
# Behind the first of these stands what is said about the name that was given.
_BOUNDARY = re.compile(
    r"[,;:(]|\s[-–—]+\s"
    r"|\b(?:who|whose|which|that|where|when|while|because|since|as (?:it|he|she))\b"
)
_INTRODUCTION = re.compile(
    r"(?:\b(?:is|are|was|were|be|called|named|known as|aka|namely|i\.e\.|or|called|termed)|[:(=])"
    r"\s*(?:the\s+|an?\s+)?[\"“'‘*_]*$",
    re.IGNORECASE,
)


def _is_given(clause: str, words: list[Word], mention: Mention, slot: _Slot) -> bool:
    named = words[mention.first : mention.last + 1]
    if mention.form.capitals and named[0].text.islower() and len(words) > 1:
        return False
    return (
        _stands_as_given(clause, named[0].start, slot)
        and _free_before(clause, words, mention)
        and _free_after(clause, words, mention)
    )


class _Slot(NamedTuple):
    """Where a clause holds the name it gives: behind an opening, ahead of what it says about it."""

    lead: int
    first: int
    last: int


def _slot(clause: str) -> _Slot:
    lead_in = _LEAD_IN.match(clause)
    lead = lead_in.end() if lead_in else 0
    opening = _OPENING.match(clause, lead)
    first = opening.end() if opening else lead
    boundary = _BOUNDARY.search(clause, first)
    return _Slot(lead, first, boundary.start() if boundary else len(clause))


def _stands_as_given(clause: str, start: int, slot: _Slot) -> bool:
    """Whether a clause gives the name at `start`, rather than say something with it."""
    return (
        slot.first <= start < slot.last
        or any(_NOTHING.fullmatch(clause, begin, start) for begin in (0, slot.lead))
        or _INTRODUCTION.search(clause, max(0, start - _NEAR), start) is not None
    )


def _free_before(clause: str, words: list[Word], mention: Mention) -> bool:
    """Whether what stands before a mention neither owns it nor makes another name of it."""
    at = mention.first - 1
    direct = at >= 0 and adjoin(clause, words[at], words[mention.first])
    article = direct and words[at].key in ARTICLES
    if article:
        at -= 1
        direct = at >= 0 and adjoin(clause, words[at], words[at + 1])
    if not direct:
        return True
    before = words[at]
    gap = clause[before.end : words[at + 1].start]
    if before.key == "of":
        return at > 0 and words[at - 1].key.removesuffix("s") in CLASSES
    if before.key in PREPOSITIONS:
        return before.key == "to" and at > 0 and words[at - 1].key.startswith("refer")
    if before.key == "and" and at > 0:
        return not words[at - 1].capital
    if article or not (gap.isspace() or gap.startswith(".")):
        return "-" not in gap
    if before.number or (before.key in DIRECTIONS and before.capital):
        return False
    if mention.form.headless or mention.form.alone:
        return not before.capital or before.key in TITLES
    return True


def _free_after(clause: str, words: list[Word], mention: Mention) -> bool:
    """Whether what stands behind a mention neither is owned by it nor makes another name of it."""
    at = mention.last + 1
    if at >= len(words):
        return True
    gap = clause[words[at - 1].end : words[at].start]
    if gap in ("'", "’", "-", "‐", "‑"):
        return False
    if gap in ("' ", "’ ") and words[at - 1].key.endswith("s"):
        return False
    if gap.isspace() and _goes_on(clause, words, at):
        return False
    return not mention.form.dropped or _same_bearer(clause, words, mention)


def _goes_on(clause: str, words: list[Word], at: int) -> bool:
    """Whether a name goes on with the word at `at`."""
    after = words[at]
    if after.number and _PERCENTAGE.match(clause, after.start):
        return False
    if after.number or after.key in ("junior", "senior"):
        return True
    if after.key == "and" and at + 1 < len(words):
        return words[at + 1].capital
    return after.capital and after.key not in COMPANY


_REMARK = re.compile(r"\s*(?:,|\(|of\b)([^).;]*)")


def _same_bearer(clause: str, words: list[Word], mention: Mention) -> bool:
    """Whether a remark that stands where the dropped one would stand agrees with it."""
    remark = _REMARK.match(clause, words[mention.last].end)
    if remark is None:
        return True
    said = [w for w in words if remark.start(1) <= w.start < remark.end(1)]
    numbers = {w.key for w in said if w.number}
    expected = {key for key in mention.form.dropped if key.isdecimal()}
    if numbers and expected:
        return not numbers.isdisjoint(expected)
    other = bool(said) and said[0].capital and said[0].key not in TITLES
    return not other or said[0].key in mention.form.dropped


def read_percentage_exactly(answer: str) -> int | None:
    """Read a percentage as the paper's released code does: the first digits right before a "%".

    Returns:
        The number, or None where there is none.
    """
    stated = re.search(r"(\d{1,9})%", answer)
    return None if stated is None else int(stated[1])


_AMOUNT = r"(?<![\d.,])(\d+(?:[.,]\d+)?)"
_PERCENT = r"\s*(?:[%％]|percent\b|per\s?cent\b)"
_PERCENTAGE = re.compile(
    rf"{_AMOUNT}(?:{_PERCENT})?\s*(?:-|‐|‑|–|—|to|or)\s*(\d+(?:[.,]\d+)?){_PERCENT}"
    rf"|\bbetween\s+{_AMOUNT}(?:{_PERCENT})?\s+and\s+(\d+(?:[.,]\d+)?){_PERCENT}"
    rf"|{_AMOUNT}{_PERCENT}",
    re.IGNORECASE,
)
_REQUIREMENT = (
    r"(?:requirements?|criteri(?:a|on)|conditions?|features?|descriptions?|points?|characteristics)"
)
_ABOUT_BEFORE = re.compile(
    rf"\b(?:match\w*|meets?|met|satisf\w+|fits?|fulfil\w*|conform\w*|percentage|{_REQUIREMENT})\b"
    r"[^.!?\d]{0,60}$",
    re.IGNORECASE,
)
_ABOUT_AFTER = re.compile(
    rf"\W*(?:of\s+(?:\w+\s+){{0,4}}{_REQUIREMENT}"
    r"|(?:(?:perfect|full|exact)\s+)?(?:match|fit|accura|confiden|certain))",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(r"(?:\bnot|n['’]t)(?:\s+\w+){0,4}\s*$", re.IGNORECASE)
_COUNT = r"(\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_SHARE = re.compile(
    rf"\b{_COUNT}\s*(?:out\s+of|of|/)\s*(?:the\s+|all\s+)?(?:\w+\s+)?{_COUNT}\b"
    rf"(?=\W+(?:\w+\s+){{0,2}}{_REQUIREMENT}\b)"
    rf"|\b{_COUNT}\s+out\s+of\s+(?:the\s+|all\s+)?{_COUNT}\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    rf"\b(?:all|every|each)\b(?:\s+\w+){{0,5}}?\s+{_REQUIREMENT}\b"
    r"|\bperfect(?:ly)?\s+(?:match|fit)|\bmatch\w*\s+perfectly"
    r"|\b(?:fully|perfectly)\s+(?:meets?|match\w*|satisf\w+|fits?)",
    re.IGNORECASE,
)
_SHORT_OF_ALL = re.compile(
    r"\b(?:except|apart from|aside from|other than|all but|but (?:not|one|two)|not|nearly|almost"
    r"|most|no)\b|n['’]t\b",
    re.IGNORECASE,
)


def read_percentage(answer: str) -> float | None:
    """Read what share of the requirements an answer says its entity meets.

    A percentage counts before a share ("7 out of 8 criteria"), a share before "all requirements".
    Of a range its lower end is taken. Percentages of something else are passed over.

    Args:
        answer: The model's answer to a list of requirements.

    Returns:
        The share in percent, from 0 to 100; None where the answer states none or an impossible one.
    """
    clauses = tuple(_clauses(answer))
    for read in (_stated_percentage, _stated_share, _stated_all):
        for clause in clauses:
            stated = read(clause)
            if stated is not None:
                return stated if 0 <= stated <= 100 else None
    return None


def _stated_percentage(clause: str) -> float | None:
    for found in _PERCENTAGE.finditer(clause):
        before = clause[max(0, found.start() - _NEAR) : found.start()]
        after = clause[found.end() : found.end() + _NEAR]
        if _DENIED_BEFORE.search(before):
            continue
        about = _ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(after)
        if about or not re.search(r"\w", before) or re.search(r"[-–—:(,]\s*$", before):
            amounts = [float(amount.replace(",", ".")) for amount in found.groups() if amount]
            return min(amounts) if max(amounts) <= 100 else max(amounts)
    return None


def _stated_share(clause: str) -> float | None:
    found = _SHARE.search(clause)
    if found is None:
        return None
    met, total = (int(word.key) for group in found.groups() if group for word in read_words(group))
    return 100 * met / total if total else None


def _stated_all(clause: str) -> float | None:
    return 100.0 if _ALL.search(clause) and not _SHORT_OF_ALL.search(clause) else None
