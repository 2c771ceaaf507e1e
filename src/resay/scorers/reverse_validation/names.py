"""The ways to write a name, and where a text has one of them.

A name may be spelled, shortened, turned round or titled otherwise. Its numbers stay, and so does
every word that tells it from its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from resay.scorers.reverse_validation.words import (
    COMPANY,
    DIRECTIONS,
    GIVEN_NAMES,
    HEADS,
    OFFICES,
    OPENERS,
    ORDINARY,
    PARTICLES,
    ROMANCE_PARTICLES,
    TITLES,
    Word,
    join,
    read_words,
    respell,
)

__all__ = ["ARTICLES", "Form", "Mention", "Name", "adjoin", "mentions", "name_of", "written_as"]

ARTICLES = frozenset({"the", "a", "an"})
_PARENTHESES = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write a name.

    Attributes:
        key: The joined key of its words.
        alone: It is so short that it names the entity only where no other name stands beside it.
        headless: Its article is left out, so that it may be the end of another name.
        capitals: It is an initialism, whose small letters may be an everyday word.
        inverted: It must stand with a comma.
        inflected: It is the plural of the name, or the singular; "'s" makes neither.
        dropped: Keys of the words that the whole name has and this form leaves out.
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
        forms: By their keys.
        spelled: By their levelled keys, where they are long enough for that.
        persons: Where it is a person: given names, initials and the family name.
        beginnings: The letters and digits that a mention can begin with.
        reach: How many words a mention can have.
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
    """Gather the ways to write an entity's name and its aliases."""
    forms: dict[str, Form] = {}
    persons: list[tuple[str, ...]] = []
    longest = 0
    for written in (entity, *aliases):
        words = read_words(written)
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
    """The words of a name that do not stand in parentheses."""
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
    """Ways to write a name without parentheses, those that say most first."""
    yield Form(join(core), headless=headless, dropped=dropped)
    if core[0].key in ARTICLES and _stands_without_article(core[1:]):
        yield from _variants(core[1:], dropped, headless=True)
        return
    yield from _inflected(core, dropped, headless=headless)
    yield from _rotated(core, dropped)
    if core[-1].key == "junior" and len(core) > 2:
        yield from _variants(core[:-1], dropped)
    yield from _shortened(core, dropped)


def _stands_without_article(rest: list[Word]) -> bool:
    content = [w for w in rest if not w.small]
    return len(content) > 1 or (len(content) == 1 and content[0].key not in ORDINARY)


def _inflected(core: list[Word], dropped: frozenset[str], *, headless: bool) -> Iterator[Form]:
    """The plural of a singular name and the other way round; persons have neither."""
    last, key = core[-1], join(core)
    if _is_person(core) or not last.key.isalpha() or len(last.key) < 3 or last.key in GIVEN_NAMES:
        return
    plural = f"{key[:-1]}ies" if re.search("[^aeiou]y$", key) else f"{key}s"
    gerund = (f"{key.removesuffix('e')}ing",) if len(core) > 1 and not last.capital else ()
    for inflected in (plural, f"{key}es", *gerund, *_singular(core, key)):
        yield Form(inflected, headless=headless, inflected=True, dropped=dropped)


def _singular(core: list[Word], key: str) -> Iterator[str]:
    last = core[-1]
    # In the singular a people's name is an adjective ("Norwegian"), and a word an everyday one.
    if (len(core) == 1 and last.key in ORDINARY) or re.search("(an|ese|ish)s$", last.key):
        return
    if last.key[:-1] in GIVEN_NAMES or not re.search("[^sui]s$", last.key) or len(last.key) < 6:
        return
    yield f"{key[:-3]}y" if key.endswith("ies") else key[:-1]


def _rotated(core: list[Word], dropped: frozenset[str]) -> Iterator[Form]:
    """The parts in turned order: "Doe, John" for John Doe, "Dover Castle" for Castle of Dover."""
    content = [w for w in core if not w.small]
    if not 2 <= len(content) <= 4 or any(w.key == "v" for w in content):
        return
    either = all(w.key in GIVEN_NAMES for w in content)
    for cut in range(1, len(content)):
        yield Form(join([*content[cut:], *content[:cut]]), inverted=either, dropped=dropped)


def _shortened(core: list[Word], dropped: frozenset[str]) -> Iterator[Form]:
    """A name without its title, without where its bearer reigns, or a person's family name."""
    keys = [w.key for w in core]
    numeral = next((i for i in range(1, len(core) - 2) if core[i].number), 0)
    if numeral and keys[numeral + 1] == "of":
        rest = frozenset(keys[numeral + 2 :])
        yield from _variants(core[: numeral + 1], dropped | rest)
    if keys[0] in OPENERS and keys[1:2] == ["of"]:
        hero = core[3:] if keys[2:3] == ["the"] else core[2:]
        if hero and _stands_without_article(hero):
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
    # Nothing speaks for a person: everyday words and names of peoples speak against one.
    return not any(w.key in ORDINARY or re.search("(?:ian|ese|ish)$", w.key) for w in named)


_GAP = re.compile(r"[\s'’,:!?/·\-‐‑–\"“”]{0,4}")


def adjoin(text: str, a: Word, b: Word) -> bool:
    """Whether two words can belong to one name: no sentence and no paragraph ends between them."""
    gap = text[a.end : b.start]
    if gap.startswith(".") and a.capital and len(a.text) <= 4:
        gap = gap[1:]
    return _GAP.fullmatch(gap) is not None and gap.count("\n") < 2


def mentions(text: str, words: list[Word], name: Name) -> list[Mention]:
    """The longest mention that begins at each word, in order."""
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
    """The form of a name that some words of a text are, all of them together."""
    key = join(window)
    form = name.forms.get(key) or name.spelled.get(respell(key)) or _person_in(window, key, name)
    return form if form is not None and _stands_right(text, window, form) else None


def _person_in(window: list[Word], key: str, name: Name) -> Form | None:
    if window[0].small or window[-1].small:
        return None
    parts = _parts(window)
    if len(parts) == 1:
        families = [person[-1] for person in name.persons if person[-1] in name.forms]
        return Form(key, alone=True) if any(_spelled_alike(key, f) for f in families) else None
    return Form(key) if any(_same_person(parts, person) for person in name.persons) else None


def _stands_right(text: str, window: list[Word], form: Form) -> bool:
    if form.alone and len(window) == 1 and window[0].key in ORDINARY and not window[0].capital:
        return False
    if form.inflected and window[-1].text == "s":
        return False
    return not form.inverted or "," in text[window[0].end : window[-1].start]


def _parts(words: list[Word]) -> tuple[str, ...]:
    """Given names, initials and the family name; small words are left out."""
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
    # Initials come and go; another name in the middle makes another person.
    return not middle and all(len(given) == 1 for given in other)


def _same_given(a: str, b: str) -> bool:
    if 1 in (len(a), len(b)):
        return a[0] == b[0]
    return _spelled_alike(a, b)


def _spelled_alike(a: str, b: str) -> bool:
    """Whether two parts differ by spelling only: a letter more inside a long one at most."""
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
