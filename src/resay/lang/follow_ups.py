"""The words by which a question depends on the turns before it: "Who designed it?"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from resay.lang.tables import word_set

_NEVER: Final = r"(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUps:
    """The words of follow-up questions in one language: the table `[follow_ups]` of its file.

    All but the first and the last are regular expressions, which are matched in any case where
    nouns are not capitalised. Their line breaks do not count.

    Attributes:
        asks: Words that begin a complete question.
        person: Pronouns for people.
        thing: Pronouns for things, or for either.
        owner: Possessives.
        weak_owner: Words that are possessives at the beginning of a fragment.
        impersonal: Phrases in which a pronoun has no antecedent: "is it raining".
        human: Words that apply to people only.
        who: A question whose answer is a person.
        lead: The beginning of a follow-up: "And", "What about".
        bare: Question words alone: "Why", "How much".
        place: A preposition before a place or a time: "in Germany".
        more: "Tell me more".
        without_subject: A question without its subject, in a language that omits pronouns.
        no_question: A message that asks nothing: "Really?".
        clause_starts: The beginning of another clause.
        noun: A noun with its article.
        nouns_are_capital: Whether all nouns are capitalised.
    """

    asks: frozenset[str]
    thing: str
    owner: str
    human: str
    who: str
    lead: str
    bare: str
    place: str
    more: str
    no_question: str
    clause_starts: str
    noun: str
    person: str = _NEVER
    weak_owner: str = _NEVER
    impersonal: str = _NEVER
    without_subject: str = _NEVER
    nouns_are_capital: bool = False


def read_follow_ups(fields: Mapping[str, Any]) -> FollowUps:
    """Return the words of follow-up questions.

    Args:
        fields: The table `[follow_ups]` of a language.
    """
    values: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "asks":
            values[name] = word_set(value)
        elif name == "nouns_are_capital":
            values[name] = value
        else:
            values[name] = value.replace("\n", "")
    return FollowUps(**values)
