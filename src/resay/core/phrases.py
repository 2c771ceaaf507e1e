"""How greetings, refusals and questions to the user are worded, by language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from resay.core.phrases_germanic import DUTCH, ENGLISH, GERMAN
from resay.core.phrases_romance import FRENCH, ITALIAN, PORTUGUESE, SPANISH

CONTRACTIONS = {
    "i'm": "i am",
    "i've": "i have",
    "i'd": "i would",
    "i'll": "i will",
    "you're": "you are",
    "what's": "what is",
    "here's": "here is",
    "that's": "that is",
    "it's": "it is",
    "there's": "there is",
    "don't": "do not",
    "doesn't": "does not",
    "isn't": "is not",
    "aren't": "are not",
    "wouldn't": "would not",
    "didn't": "did not",
    "can't": "can not",
    "cannot": "can not",
    "couldn't": "could not",
    "won't": "will not",
    "wasn't": "was not",
    "weren't": "were not",
    "haven't": "have not",
    "hasn't": "has not",
    "shouldn't": "should not",
    "let's": "let us",
    "you'd": "you would",
    "you'll": "you will",
    "they're": "they are",
}


@dataclass(frozen=True, slots=True)
class Language:
    """One language's phrases.

    Attributes:
        polite: Greetings, thanks, farewells, offers of help.
        excuse: What goes with a refusal and is none.
        refusal: Not knowing, not having, not being able or willing.
        referral: Where else to ask or to look, such as a doctor or a website.
        question: What a question to the user begins with.
        claims: Words with which a rest claims something.
        has_capitals: Whether common nouns are capitalised.
    """

    polite: re.Pattern[str]
    excuse: re.Pattern[str]
    refusal: re.Pattern[str]
    referral: re.Pattern[str]
    question: re.Pattern[str]
    claims: frozenset[str]
    has_capitals: bool = False


@cache
def languages() -> tuple[Language, ...]:
    """The languages there are phrases for."""
    known = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH)
    return tuple(_compile(*phrases, has_capitals=phrases is GERMAN) for phrases in known)


def _compile(
    polite: str,
    excuse: str,
    refusal: str,
    referral: tuple[str, str, str, str, str, str],
    question: str,
    claims: str,
    *,
    has_capitals: bool,
) -> Language:
    return Language(
        polite=_clause(polite),
        excuse=_clause(excuse),
        refusal=_clause(refusal),
        referral=_clause(_referring(*referral)),
        question=re.compile(question, re.VERBOSE),
        claims=frozenset(claims.split()),
        has_capitals=has_capitals,
    )


def _referring(lead: str, ask: str, whom: str, look: str, where: str, other: str) -> str:
    people, places = rf"(?=.*\b(?:{whom})\b)", rf"(?=.*\b(?:{where})\b)"
    asked = rf"(?:(?:{ask})\ {people}|(?:{look})\ {places}){{rest}}"
    return rf"(?:(?:{lead})\ )*(?:{asked}|{other})"


def _clause(pattern: str) -> re.Pattern[str]:
    # Clauses are case-folded.
    return re.compile(pattern.replace("ß", "ss").replace("{rest}", r"(\S.*)"), re.VERBOSE)
