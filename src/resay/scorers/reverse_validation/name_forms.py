"""Collects the ways to write an entity's name.

The paper compares strings, and names that as its main source of false alarms (Yang, Sun and Wan,
"A New Benchmark and Reverse Validation Method for Passage-level Hallucination Detection", 2023,
section 7.1). Here a name may also differ in spelling, length, word order or title, but its numbers
and every word that distinguishes it from similar names must agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.scorers.reverse_validation.persons import is_person, name_parts
from resay.scorers.reverse_validation.word_lists import (
    ARTICLES,
    GIVEN_NAMES,
    OFFICES,
    OPENERS,
    ORDINARY,
    PARTICLES,
    ROMANCE_PARTICLES,
    TITLES,
)
from resay.scorers.reverse_validation.words import Word, join, respell, split_words

_PARENTHESES = lazy_pattern(r"\([^()]*\)")
# A mention may have so many words more than the name: a title, "of the", initials.
_EXTRA_WORDS = 4


@dataclass(frozen=True, slots=True)
class NameForm:
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
class EntityName:
    """Every way to write the name of one entity.

    Attributes:
        forms: Forms by key.
        respelled: Forms by respelled key, if long enough for that.
        persons: For a person: given names, initials and the family name.
        beginnings: The letters and digits that a mention can begin with.
        max_words: Maximum number of words in a mention.
    """

    forms: dict[str, NameForm]
    respelled: dict[str, NameForm]
    persons: tuple[tuple[str, ...], ...]
    beginnings: frozenset[str]
    max_words: int

    @classmethod
    def of(cls, entity: str, aliases: Sequence[str]) -> EntityName:
        """Collect the ways to write an entity's name and its aliases."""
        forms: dict[str, NameForm] = {}
        persons: list[tuple[str, ...]] = []
        longest = 0
        for written in (entity, *aliases):
            words = split_words(written)
            longest = max(longest, len(words))
            for form in _forms(written, words):
                forms.setdefault(form.key, form)
            core = _outside_parentheses(written, words)
            if is_person(core):
                persons.append(name_parts(core))
        # Of forms that are respelled alike, the most specific one counts, which comes first.
        respelled: dict[str, NameForm] = {}
        for form in forms.values():
            if len(form.key) > 4:
                respelled.setdefault(respell(form.key), form)
        family_names = [respell(person[-1]) for person in persons]
        return cls(
            forms=forms,
            respelled=respelled,
            persons=tuple(persons),
            beginnings=frozenset(key[0] for key in (*forms, *respelled, *family_names)),
            max_words=longest + _EXTRA_WORDS,
        )


def _outside_parentheses(written: str, words: Sequence[Word]) -> Sequence[Word]:
    """Return the words of a name outside parentheses; all of them if there are none."""
    remarks = [range(*match.span()) for match in _PARENTHESES.finditer(written)]
    outside = [word for word in words if not any(word.start in remark for remark in remarks)]
    return outside or words


def _forms(written: str, words: Sequence[Word]) -> Iterator[NameForm]:
    """Yield the forms of a name as written, the most specific first."""
    if not words:
        return
    core = _outside_parentheses(written, words)
    is_initialism = len(written) <= 4 and written.isupper()
    yield NameForm(join(words), capitals=is_initialism)
    remark = frozenset(word.key for word in words if word not in core)
    yield from _variants(core, remark)
    for comma in range(1, len(core)):
        if "," in written[core[comma - 1].end : core[comma].start]:
            head, tail = core[:comma], core[comma:]
            dropped = remark | {word.key for word in tail}
            yield NameForm(join([*tail, *head]))
            yield NameForm(join(head), alone=len(head) == 1, dropped=dropped)
            return


def _variants(
    core: Sequence[Word], dropped: frozenset[str], *, headless: bool = False
) -> Iterator[NameForm]:
    """Yield the forms of a name without parentheses, the most specific first."""
    yield NameForm(join(core), headless=headless, dropped=dropped)
    if core[0].key in ARTICLES and _needs_no_article(core[1:]):
        yield from _variants(core[1:], dropped, headless=True)
        return
    yield from _inflected(core, dropped, headless=headless)
    yield from _rotated(core, dropped)
    if core[-1].key == "junior" and len(core) > 2:
        yield from _variants(core[:-1], dropped)
    yield from _shortened(core, dropped)


def _needs_no_article(words: Sequence[Word]) -> bool:
    content = [word for word in words if not word.small]
    return len(content) > 1 or (len(content) == 1 and content[0].key not in ORDINARY)


def _inflected(
    core: Sequence[Word], dropped: frozenset[str], *, headless: bool
) -> Iterator[NameForm]:
    """Yield the plural of a singular name and vice versa; persons have neither."""
    last, key = core[-1], join(core)
    if is_person(core) or not last.key.isalpha() or len(last.key) < 3 or last.key in GIVEN_NAMES:
        return
    inflections = [f"{key[:-1]}ies" if re.search("[^aeiou]y$", key) else f"{key}s", f"{key}es"]
    if len(core) > 1 and not last.capital:
        inflections.append(f"{key.removesuffix('e')}ing")
    singular = _singular(core, key)
    if singular is not None:
        inflections.append(singular)
    for inflected in inflections:
        yield NameForm(inflected, headless=headless, inflected=True, dropped=dropped)


def _singular(core: Sequence[Word], key: str) -> str | None:
    last = core[-1]
    # Not of peoples, whose singular is an adjective ("Norwegian"), nor of everyday words.
    if (len(core) == 1 and last.key in ORDINARY) or re.search("(an|ese|ish)s$", last.key):
        return None
    if last.key[:-1] in GIVEN_NAMES or not re.search("[^sui]s$", last.key) or len(last.key) < 6:
        return None
    return f"{key[:-3]}y" if key.endswith("ies") else key[:-1]


def _rotated(core: Sequence[Word], dropped: frozenset[str]) -> Iterator[NameForm]:
    """Yield rotated forms: "Doe, John" for John Doe, "Dover Castle" for Castle of Dover."""
    content = [word for word in core if not word.small]
    if not 2 <= len(content) <= 4 or any(word.key == "v" for word in content):
        return
    # Without a comma, "Lewis James" is not James Lewis.
    inverted = all(word.key in GIVEN_NAMES for word in content)
    for cut in range(1, len(content)):
        key = join([*content[cut:], *content[:cut]])
        yield NameForm(key, inverted=inverted, dropped=dropped)


def _shortened(core: Sequence[Word], dropped: frozenset[str]) -> Iterator[NameForm]:
    """Yield a name without its title or its bearer's realm, or a person's family name."""
    keys = [word.key for word in core]
    yield from _without_realm(core, dropped)
    if keys[0] in OPENERS and keys[1:2] == ["of"]:
        hero = core[3:] if keys[2:3] == ["the"] else core[2:]
        if hero and _needs_no_article(hero):
            yield NameForm(join(hero), alone=True)
    if keys[0] in TITLES:
        yield from _untitled(core, dropped)
    if len(core) > 2 and keys[1] in ROMANCE_PARTICLES and keys[0] not in ORDINARY | TITLES:
        yield NameForm(keys[0], alone=True, dropped=dropped | frozenset(keys[2:]))
    if is_person(core):
        if keys[-2] not in ROMANCE_PARTICLES or keys[0] in GIVEN_NAMES:
            yield NameForm(keys[-1], alone=True)
        if keys[-2] in PARTICLES:
            yield NameForm(join(core[-2:]), alone=True)


def _without_realm(core: Sequence[Word], dropped: frozenset[str]) -> Iterator[NameForm]:
    """Yield "Charles V" for Charles V of France."""
    numeral = next((i for i in range(1, len(core) - 2) if core[i].number), None)
    if numeral is not None and core[numeral + 1].key == "of":
        realm = frozenset(word.key for word in core[numeral + 2 :])
        yield from _variants(core[: numeral + 1], dropped | realm)


def _untitled(core: Sequence[Word], dropped: frozenset[str]) -> Iterator[NameForm]:
    """Yield a name without the titles it begins with."""
    titles = 0
    while titles < len(core) and core[titles].key in TITLES:
        titles += 1
    bare = core[titles:]
    if not bare or bare[0].small:
        return
    if len(bare) > 1 and (is_person(bare) or any(word.number for word in bare)):
        yield from _variants(bare, dropped)
    elif len(bare) == 1 and core[titles - 1].key in OFFICES and bare[0].key not in ORDINARY:
        yield NameForm(bare[0].key, alone=True)
