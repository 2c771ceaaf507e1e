"""Matches an entity's name in answers and texts, and parses the share of requirements met.

The matching stage of Reverse Validation (Yang, Sun and Wan, "A New Benchmark and Reverse Validation
Method for Passage-level Hallucination Detection", 2023, section 4.1, stage 3). The paper compares
strings; section 7.1 names that as its main source of false alarms. Here a name may also differ in
spelling, length, word order or title, but its numbers and every word that distinguishes it from
similar names must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from resay.core.segmentation.sentences import sentence_ends
from resay.scorers.reverse_validation.words import (
    CLASSES,
    COMPANY,
    DIRECTIONS,
    GIVEN_NAMES,
    HEADS,
    OFFICES,
    OPENERS,
    ORDINARY,
    PARTICLES,
    PREPOSITIONS,
    ROMANCE_PARTICLES,
    TITLES,
    Word,
    join,
    respell,
    split_words,
)

# Aliases come with the definition; "known as" further down is about other things.
_DEFINITION_CHARS = 500
_WORD = r"[\w'’.-]+"
_NAME = (
    # A proper name may be long and contain small words; a common name ends with its clause, or
    # where a statement about it begins.
    rf"(?:[A-Z]{_WORD}(?:[ -](?:of|the|de|and|la|[A-Z]{_WORD})){{0,5}}"
    rf"|[a-z][\w-]+(?:\s[a-z][\w-]+){{0,2}}?(?=[,.;)]|\s+(?:is|was|and|or)\b))"
)
_STATED = re.compile(
    r"\b(?:also|commonly|sometimes|often|formerly|better|otherwise|popularly|previously|originally"
    r"|widely|informally|colloquially|generally)\s+"
    r"(?:(?:more|simply|commonly|widely|formerly)\s+)*"
    r"(?:(?:known|referred\s+to)\s+(?:simply\s+)?as"
    r"|(?:spelled|written|abbreviated)(?:\s+(?:as|to))?|called|nicknamed|titled|named)\s+"
    rf"[\"“'‘]?(?:the\s+)?[\"“'‘]?({_NAME})"
)


def stated_aliases(response: str) -> tuple[str, ...]:
    """Return the names a response gives with words like "also known as".

    Args:
        response: The response; only its opening is searched, where things are defined.

    Returns:
        The names in order, each once.
    """
    found = (match[1].rstrip(".") for match in _STATED.finditer(response[:_DEFINITION_CHARS]))
    return tuple(dict.fromkeys(found))


ARTICLES = frozenset({"the", "a", "an"})
_PARENTHESES = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a name.

    Attributes:
        key: The joined key of its words.
        alone: It is so short that it names the entity only without another name next to it.
        headless: It lacks its article, so that it may be the end of another name.
        capitals: It is an initialism, which in lower case may be an everyday word.
        inverted: It needs a comma.
        inflected: It is the plural of the name, or the singular; "'s" makes neither.
        dropped: Keys of the words that the whole name has and this form lacks.
    """

    key: str
    alone: bool = False
    headless: bool = False
    capitals: bool = False
    inverted: bool = False
    inflected: bool = False
    dropped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Name:
    """Every way to write the name of one entity.

    Attributes:
        forms: Forms by key.
        spelled: Forms by respelled key, if long enough for that.
        persons: For a person: given names, initials and the family name.
        beginnings: The letters and digits that a mention can begin with.
        reach: Maximum number of words in a mention.
    """

    forms: dict[str, Form]
    spelled: dict[str, Form]
    persons: tuple[tuple[str, ...], ...]
    beginnings: frozenset[str]
    reach: int


@dataclass(frozen=True, slots=True)
class Mention:
    """The words from `first` to `last` (inclusive) name the entity."""

    first: int
    last: int
    form: Form


def name_of(entity: str, aliases: Sequence[str]) -> Name:
    """Collect the ways to write an entity's name and its aliases."""
    forms: dict[str, Form] = {}
    persons: list[tuple[str, ...]] = []
    longest = 0
    for written in (entity, *aliases):
        words = split_words(written)
        longest = max(longest, len(words))
        for form in _forms(written, words):
            forms.setdefault(form.key, form)
        core = _outside(written, words)
        if _is_person(core):
            persons.append(_parts(core))
    spelled = {respell(form.key): form for form in reversed(forms.values()) if len(form.key) > 4}
    families = [respell(person[-1]) for person in persons]
    begin = frozenset(key[0] for key in (*forms, *spelled, *families))
    return Name(forms, spelled, tuple(persons), begin, longest + 4)


def _outside(written: str, words: list[Word]) -> list[Word]:
    """Return the words of a name outside parentheses."""
    spans = [match.span() for match in _PARENTHESES.finditer(written)]
    outside = [w for w in words if not any(a <= w.start < b for a, b in spans)]
    return outside or words


def _forms(written: str, words: list[Word]) -> Iterator[Form]:
    if not words:
        return
    core = _outside(written, words)
    yield Form(join(words), capitals=len(written) <= 4 and written.isupper())
    dropped = frozenset(w.key for w in words if w not in core)
    cut = next(
        (i for i in range(1, len(core)) if "," in written[core[i - 1].end : core[i].start]), 0
    )
    yield from _variants(core, dropped)
    if not cut:
        return
    head, tail = core[:cut], core[cut:]
    yield Form(join([*tail, *head]))
    yield Form(join(head), alone=len(head) == 1, dropped=dropped | {w.key for w in tail})


def _variants(
    core: list[Word], dropped: frozenset[str], *, headless: bool = False
) -> Iterator[Form]:
    """Yield the forms of a name without parentheses, the most specific first."""
    yield Form(join(core), headless=headless, dropped=dropped)
    if core[0].key in ARTICLES and _needs_no_article(core[1:]):
        yield from _variants(core[1:], dropped, headless=True)
        return
    yield from _inflected(core, dropped, headless=headless)
    yield from _rotated(core, dropped)
    if core[-1].key == "junior" and len(core) > 2:
        yield from _variants(core[:-1], dropped)
    yield from _shortened(core, dropped)


def _needs_no_article(rest: list[Word]) -> bool:
    content = [w for w in rest if not w.small]
    return len(content) > 1 or (len(content) == 1 and content[0].key not in ORDINARY)


def _inflected(core: list[Word], dropped: frozenset[str], *, headless: bool) -> Iterator[Form]:
    """Yield the plural of a singular name and vice versa; persons have neither."""
    last, key = core[-1], join(core)
    if _is_person(core) or not last.key.isalpha() or len(last.key) < 3 or last.key in GIVEN_NAMES:
        return
    plural = f"{key[:-1]}ies" if re.search("[^aeiou]y$", key) else f"{key}s"
    gerund = (f"{key.removesuffix('e')}ing",) if len(core) > 1 and not last.capital else ()
    for inflected in (plural, f"{key}es", *gerund, *_singular(core, key)):
        yield Form(inflected, headless=headless, inflected=True, dropped=dropped)


def _singular(core: list[Word], key: str) -> Iterator[str]:
    last = core[-1]
    # Not of peoples, whose singular is an adjective ("Norwegian"), nor of everyday words.
    if (len(core) == 1 and last.key in ORDINARY) or re.search("(an|ese|ish)s$", last.key):
        return
    if last.key[:-1] in GIVEN_NAMES or not re.search("[^sui]s$", last.key) or len(last.key) < 6:
        return
    yield f"{key[:-3]}y" if key.endswith("ies") else key[:-1]


def _rotated(core: list[Word], dropped: frozenset[str]) -> Iterator[Form]:
    """Yield rotated forms: "Doe, John" for John Doe, "Dover Castle" for Castle of Dover."""
    content = [w for w in core if not w.small]
    if not 2 <= len(content) <= 4 or any(w.key == "v" for w in content):
        return
    either = all(w.key in GIVEN_NAMES for w in content)
    for cut in range(1, len(content)):
        yield Form(join([*content[cut:], *content[:cut]]), inverted=either, dropped=dropped)


def _shortened(core: list[Word], dropped: frozenset[str]) -> Iterator[Form]:
    """Yield a name without its title or its bearer's realm, or a person's family name."""
    keys = [w.key for w in core]
    numeral = next((i for i in range(1, len(core) - 2) if core[i].number), 0)
    if numeral and keys[numeral + 1] == "of":
        rest = frozenset(keys[numeral + 2 :])
        yield from _variants(core[: numeral + 1], dropped | rest)
    if keys[0] in OPENERS and keys[1:2] == ["of"]:
        hero = core[3:] if keys[2:3] == ["the"] else core[2:]
        if hero and _needs_no_article(hero):
            yield Form(join(hero), alone=True)
    if keys[0] in TITLES:
        yield from _untitled(core, dropped)
    if len(core) > 2 and keys[1] in ROMANCE_PARTICLES and keys[0] not in ORDINARY | TITLES:
        yield Form(keys[0], alone=True, dropped=dropped | frozenset(keys[2:]))
    if _is_person(core):
        if keys[-2] not in ROMANCE_PARTICLES or keys[0] in GIVEN_NAMES:
            yield Form(keys[-1], alone=True)
        if keys[-2] in PARTICLES:
            yield Form(join(core[-2:]), alone=True)


def _untitled(core: list[Word], dropped: frozenset[str]) -> Iterator[Form]:
    held = next((i for i, w in enumerate(core) if w.key not in TITLES), len(core))
    rest = core[held:]
    if not rest or rest[0].small:
        return
    if len(rest) > 1 and (_is_person(rest) or any(w.number for w in rest)):
        yield from _variants(rest, dropped)
    elif len(rest) == 1 and core[held - 1].key in OFFICES and rest[0].key not in ORDINARY:
        yield Form(rest[0].key, alone=True)


_SURNAME = re.compile(
    r"(?:ova?|eva?|enko|sk[iy]|skaya|ska|sen|sson|stein|berg|mann|ini|elli|ides|poulos|shvili|vich|wicz)$"
)


def _is_person(core: list[Word]) -> bool:
    """Whether a name looks like a given name with a family name."""
    named = [w for w in core if w.key not in PARTICLES]
    if not 2 <= len(named) <= 4 or named[-1] is not core[-1] or len(core[-1].key) < 3:
        return False
    if not all(w.capital and not w.small and not w.number for w in named):
        return False
    first, last = named[0].key, named[-1].key
    if any(w.key in HEADS or w.key in COMPANY for w in named) or first in DIRECTIONS | TITLES:
        return False
    if first in GIVEN_NAMES or len(first) == 1 or _SURNAME.search(last):
        return True
    # Without evidence for a person, everyday words and names of peoples are evidence against one.
    return not any(w.key in ORDINARY or re.search("(?:ian|ese|ish)$", w.key) for w in named)


_GAP = re.compile(r"[\s'’,:!?/·\-‐‑–\"“”]{0,4}")


def adjoin(text: str, a: Word, b: Word) -> bool:
    """Whether two words can belong to one name: no sentence or paragraph ends between them."""
    gap = text[a.end : b.start]
    if gap.startswith(".") and a.capital and len(a.text) <= 4:
        gap = gap[1:]
    return _GAP.fullmatch(gap) is not None and gap.count("\n") < 2


def mentions(text: str, words: list[Word], name: Name) -> list[Mention]:
    """Return the longest mention that begins at each word, in order."""
    found = (_longest(text, words, first, name) for first in range(len(words)))
    return [mention for mention in found if mention is not None]


def _longest(text: str, words: list[Word], first: int, name: Name) -> Mention | None:
    longest: Mention | None = None
    if name.beginnings.isdisjoint((words[first].key[0], respell(words[first].key)[0])):
        return None
    for last in range(first, min(len(words), first + name.reach)):
        if last > first and not adjoin(text, words[last - 1], words[last]):
            break
        form = written_as(text, words[first : last + 1], name)
        if form is not None:
            longest = Mention(first, last, form)
    return longest


def written_as(text: str, window: list[Word], name: Name) -> Form | None:
    """Return the form of a name that a window of words as a whole matches, if any."""
    key = join(window)
    form = name.forms.get(key) or name.spelled.get(respell(key)) or _person_in(window, key, name)
    return form if form is not None and _fits(text, window, form) else None


def _person_in(window: list[Word], key: str, name: Name) -> Form | None:
    if window[0].small or window[-1].small:
        return None
    parts = _parts(window)
    if len(parts) == 1:
        families = [person[-1] for person in name.persons if person[-1] in name.forms]
        return Form(key, alone=True) if any(_spelled_alike(key, f) for f in families) else None
    return Form(key) if any(_same_person(parts, person) for person in name.persons) else None


def _fits(text: str, window: list[Word], form: Form) -> bool:
    if form.alone and len(window) == 1 and window[0].key in ORDINARY and not window[0].capital:
        return False
    if form.inflected and window[-1].text == "s":
        return False
    return not form.inverted or "," in text[window[0].end : window[-1].start]


def _parts(words: list[Word]) -> tuple[str, ...]:
    """Return given names, initials and the family name, without small words."""
    parts: list[str] = []
    for word in words:
        letters = [c for c in word.text.lower() if c.isalpha()]
        if len(letters) == 1 or "." in word.text:
            parts.extend(letters)
        elif not word.small:
            parts.append(word.key)
    return tuple(parts)


def _same_person(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if not _spelled_alike(a[-1], b[-1]) or not _same_given(a[0], b[0]):
        return False
    middle, other = sorted((a[1:-1], b[1:-1]), key=len)
    if len(middle) == len(other):
        return all(map(_same_given, middle, other))
    # Initials come and go, but a different middle name means another person.
    return not middle and all(len(given) == 1 for given in other)


def _same_given(a: str, b: str) -> bool:
    if 1 in (len(a), len(b)):
        return a[0] == b[0]
    return _spelled_alike(a, b)


def _spelled_alike(a: str, b: str) -> bool:
    """Whether two parts differ only in spelling: by at most one inner letter if they are long."""
    if a == b:
        return True
    if min(len(a), len(b)) < 4:
        return False
    a, b = respell(a), respell(b)
    if a == b:
        return True
    if min(len(a), len(b)) < 6 or a[0] != b[0] or a[-1] != b[-1]:
        return False
    return Levenshtein.distance(a, b, weights=(1, 1, 2), score_cutoff=1) <= 1


def names_exactly(answer: str, entity: str) -> bool:
    """Match as the paper's released code does: the name occurs anywhere in the answer.

    The name is the part before the first parenthesis. Case matters only for names of fewer than
    five characters, which in lower case would be found inside other words.

    Args:
        answer: The model's answer.
        entity: The entity's name.

    Returns:
        Whether the answer contains the name.
    """
    name = entity.split("(")[0].strip() or entity.strip()
    return bool(name) and (name in answer or (len(name) >= 5 and name.lower() in answer.lower()))


def names_entity(answer: str, entity: str, aliases: Sequence[str] = ()) -> bool:
    """Return whether an answer names the entity, by this name or another way to write it.

    Only the first name that an answer gives counts: not those that later sentences mention, that
    belong to something else ("the brother of ...") or that it denies.

    Args:
        answer: A bare name or prose.
        entity: The entity's name, with or without a remark in parentheses.
        aliases: Its other names.

    Returns:
        Whether the answer names it; False for an answer that is empty or names nothing.
    """
    name = name_of(entity, aliases)
    if not name.forms:  # a name of marks only: "!!!"
        return names_exactly(answer, entity)
    bare = split_words(answer)
    if bare and written_as(answer, bare, name):
        return True
    for clause in _clauses(answer):
        words = split_words(clause)
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
        aliases: Its other names.

    Returns:
        Disjoint spans of code points, in order. Replacing each by a mark that is neither white
        space nor a word leaves no mention.
    """
    name = name_of(entity, aliases)
    if not name.forms and entity.strip():
        return tuple(found.span() for found in re.finditer(re.escape(entity.strip()), text))
    words = split_words(text)
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
    # A name may contain a denial: "The Unknown Soldier".
    return any(not any(a <= start and end <= b for a, b in named) for start, end in denials)


_GIVES = re.compile(r"\b(?:match(?:es)?|meets?|satisf(?:y|ies)|fits?|fulfil?ls?|conforms?)\b", re.I)
# Number of characters examined around a name or a number.
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
# The first of these separates the given name from statements about it.
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
        _is_answer(clause, named[0].start, slot)
        and _free_before(clause, words, mention)
        and _free_after(clause, words, mention)
    )


class _Slot(NamedTuple):
    """The span of a clause that holds the name it gives: after an opening, before a remark."""

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


def _is_answer(clause: str, start: int, slot: _Slot) -> bool:
    """Whether a clause gives the name at `start`, rather than saying something about it."""
    return (
        slot.first <= start < slot.last
        or any(_NOTHING.fullmatch(clause, begin, start) for begin in (0, slot.lead))
        or _INTRODUCTION.search(clause, max(0, start - _NEAR), start) is not None
    )


def _free_before(clause: str, words: list[Word], mention: Mention) -> bool:
    """Whether the text before a mention neither possesses it nor makes it another name."""
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
    """Whether the text after a mention neither belongs to it nor makes it another name."""
    at = mention.last + 1
    if at >= len(words):
        return True
    gap = clause[words[at - 1].end : words[at].start]
    if gap in ("'", "’", "-", "‐", "‑"):
        return False
    if gap in ("' ", "’ ") and words[at - 1].key.endswith("s"):
        return False
    if gap.isspace() and _continues(clause, words, at):
        return False
    return not mention.form.dropped or _same_bearer(clause, words, mention)


def _continues(clause: str, words: list[Word], at: int) -> bool:
    """Whether a name continues with the word at `at`."""
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
    """Whether a remark in the place of the dropped one agrees with it."""
    remark = _REMARK.match(clause, words[mention.last].end)
    if remark is None:
        return True
    remark_words = [w for w in words if remark.start(1) <= w.start < remark.end(1)]
    numbers = {w.key for w in remark_words if w.number}
    expected = {key for key in mention.form.dropped if key.isdecimal()}
    if numbers and expected:
        return not numbers.isdisjoint(expected)
    other = bool(remark_words) and remark_words[0].capital and remark_words[0].key not in TITLES
    return not other or remark_words[0].key in mention.form.dropped


def parse_percentage_exactly(answer: str) -> int | None:
    """Parse a percentage as the paper's released code does: the first digits directly before "%".

    Returns:
        The number, or None if there is none.
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


def parse_percentage(answer: str) -> float | None:
    """Parse what share of the requirements an answer says its entity meets.

    A percentage takes precedence over a share ("7 out of 8 criteria"), and a share over "all
    requirements". Of a range, the lower end counts. Percentages of something else are ignored.

    Args:
        answer: The model's answer to a list of requirements.

    Returns:
        The share in percent, from 0 to 100; None if the answer states none or an impossible one.
    """
    clauses = tuple(_clauses(answer))
    for parse in (_stated_percentage, _stated_share, _stated_all):
        for clause in clauses:
            stated = parse(clause)
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
    met, total = (int(word.key) for group in found.groups() if group for word in split_words(group))
    return 100 * met / total if total else None


def _stated_all(clause: str) -> float | None:
    return 100.0 if _ALL.search(clause) and not _SHORT_OF_ALL.search(clause) else None
