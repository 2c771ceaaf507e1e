"""Finds where a text mentions an entity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.scorers.reverse_validation.name_forms import EntityName, NameForm
from resay.scorers.reverse_validation.persons import is_same_person, is_spelled_alike, name_parts
from resay.scorers.reverse_validation.word_lists import ORDINARY
from resay.scorers.reverse_validation.words import Word, join, respell, split_words

_GAP = lazy_pattern(r"[\s'’,:!?/·\-‐‑–\"“”]{0,4}")


@dataclass(frozen=True, slots=True)
class Mention:
    """The words from `first` to `last` (inclusive) name the entity."""

    first: int
    last: int
    form: NameForm


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
    name = EntityName.of(entity, aliases)
    if not name.forms and entity.strip():
        return tuple(match.span() for match in re.finditer(re.escape(entity.strip()), text))
    words = split_words(text)
    spans: list[tuple[int, int]] = []
    for mention in mentions_of(name, text, words):
        start, end = words[mention.first].start, words[mention.last].end
        if spans and start < spans[-1][1]:
            start, previous_end = spans.pop()
            end = max(end, previous_end)
        spans.append((start, end))
    return tuple(spans)


def mentions_of(name: EntityName, text: str, words: Sequence[Word]) -> list[Mention]:
    """Return the longest mention that begins at each word of a text, in order.

    Args:
        name: The name.
        text: The text.
        words: Its words.
    """
    mentions: list[Mention] = []
    for first in range(len(words)):
        mention = _longest_mention(name, text, words, first)
        if mention is not None:
            mentions.append(mention)
    return mentions


def _longest_mention(
    name: EntityName, text: str, words: Sequence[Word], first: int
) -> Mention | None:
    key = words[first].key
    if name.beginnings.isdisjoint((key[0], respell(key)[0])):
        return None
    longest: Mention | None = None
    for last in range(first, min(len(words), first + name.max_words)):
        if last > first and not are_adjoined(text, words[last - 1], words[last]):
            break
        form = form_of(name, text, words[first : last + 1])
        if form is not None:
            longest = Mention(first, last, form)
    return longest


def are_adjoined(text: str, word: Word, following: Word) -> bool:
    """Return whether two words can belong to one name: no sentence or paragraph ends between."""
    gap = text[word.end : following.start]
    # "J. Moor", "St. Ives"
    if gap.startswith(".") and word.capital and len(word.text) <= 4:
        gap = gap[1:]
    return _GAP.fullmatch(gap) is not None and gap.count("\n") < 2


def form_of(name: EntityName, text: str, words: Sequence[Word]) -> NameForm | None:
    """Return the form of a name that adjacent words of a text have as a whole, if any.

    Args:
        name: The name.
        text: The text.
        words: The words.
    """
    key = join(words)
    form = name.forms.get(key) or name.respelled.get(respell(key))
    form = form or _form_of_person(name, words, key)
    if form is None:
        return None
    if form.alone and len(words) == 1 and words[0].key in ORDINARY and not words[0].capital:
        return None
    if form.inflected and words[-1].text == "s":
        return None
    if form.inverted and "," not in text[words[0].end : words[-1].start]:
        return None
    return form


def _form_of_person(name: EntityName, words: Sequence[Word], key: str) -> NameForm | None:
    if words[0].small or words[-1].small:
        return None
    parts = name_parts(words)
    if len(parts) > 1:
        is_named = any(is_same_person(parts, person) for person in name.persons)
        return NameForm(key) if is_named else None
    for person in name.persons:
        family_name = person[-1]
        if family_name in name.forms and is_spelled_alike(key, family_name):
            return NameForm(key, alone=True)
    return None
