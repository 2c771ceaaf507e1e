"""The parts of a language that tell talk about the conversation from claims about the world."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Act = Literal["polite", "disclaimer", "refusal", "silence", "lacks", "referral"]
"""What one does with a clause that claims nothing; the name of a field of `Phrases`."""
_NEVER: Final = r"(?!)"
_WORD = re.compile(r"\w+")
# Between the lines of a pattern; see `Phrases`.
_LINES = re.compile(r"\s*\n\s*(\| )?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """Patterns for whole clauses of one language.

    They are regular expressions for text in lower case, between commas or other punctuation, with
    contractions expanded. A line that starts with a bar and a space is the next alternative; other
    lines go on where the one before ended. `{rest}` stands for some words that say what a clause is
    about, `{docs}` and `{info}` for the fields `documents` and `information`.

    Attributes:
        polite: Greetings, thanks, farewells, offers of help.
        disclaimer: What an answer is based on or is not meant for, apologies, and other clauses
            that accompany a refusal without being one.
        refusal: What the writer does not know, cannot do or will not do.
        silence: What documents do not say.
        lacks: Silence in words that may also be about the world, as in "No price is given". They
            count if an open question asked for what is lacking.
        referral: Whom else to ask, or where to look.
        question: The beginning of a question to the user.
        opener: Words before a clause that say nothing, as in "please note that".
        documents: A noun phrase for documents that an answer is based on.
        information: Nouns for what documents contain.
        definites: Articles that take for granted that something exists.
        attributes: Nouns for what everything of its kind has, such as a price: "the price" takes
            nothing for granted.
        others: Words for others than the writer and the user, and words that ask why: what follows
            is said of somebody, or taken for granted.
        things: Pronouns for things: to ask who made it takes for granted only that it was made.
        interrogatives: Words that begin indirect questions, which take most of the asked for
            granted.
        claims: Words that make the rest of a clause claim something.
        letters: A character class of its script.
        has_capitals: Whether common nouns are capitalised.
    """

    polite: str
    disclaimer: str
    refusal: str
    silence: str = _NEVER
    lacks: str = _NEVER
    referral: str = _NEVER
    question: str
    opener: str = _NEVER
    documents: str = _NEVER
    information: str = _NEVER
    definites: str = ""
    attributes: str = ""
    others: str = ""
    things: str = ""
    interrogatives: str = ""
    claims: str
    letters: str = "A-Za-zÀ-ɏ"
    has_capitals: bool = False


class Language:
    """The compiled phrases of a language, with the other attributes of `Phrases`.

    Attributes:
        acts: The patterns of clauses that claim nothing, by what one does with them.
        vocabulary: The words of its phrases, which say nothing about the world.
    """

    def __init__(self, phrases: Phrases) -> None:
        self._macros = {
            "{docs}": f"(?:{phrases.documents.strip()})",
            "{info}": f"(?:{phrases.information.strip()})",
            "{rest}": r"(\S.*)",
            # Clauses are case-folded.
            "ß": "ss",
        }
        self.acts: Mapping[Act, re.Pattern[str]] = {
            "polite": self._clause(phrases.polite),
            "silence": self._clause(phrases.silence),
            "lacks": self._clause(phrases.lacks),
            "refusal": self._clause(phrases.refusal),
            "disclaimer": self._clause(phrases.disclaimer),
            "referral": self._clause(phrases.referral),
        }
        self.question = self._clause(phrases.question)
        self.opener = self._clause(rf"\A(?:(?:{phrases.opener.strip()}) )+(?=\S+ \S)")
        self.claims = frozenset(phrases.claims.split())
        self.definites = frozenset(phrases.definites.split())
        self.attributes = frozenset(phrases.attributes.split())
        self.others = frozenset(phrases.others.split())
        self.things = frozenset(phrases.things.split())
        self.interrogatives = frozenset(phrases.interrogatives.split())
        self.letters = re.compile(f"[{phrases.letters}]")
        self.has_capitals = phrases.has_capitals
        abstract = _words(f"{phrases.documents} {phrases.information}")
        acts = (phrases.polite, phrases.disclaimer, phrases.refusal, phrases.silence, phrases.lacks)
        self.vocabulary = (
            abstract
            | self.attributes
            | _words(" ".join([*acts, phrases.referral, phrases.question, phrases.opener]))
        )
        self._abstract = frozenset(word[:_STEM] for word in abstract)
        self._stems = frozenset(word[:_STEM] for word in self.vocabulary)

    def says(self, word: str) -> bool:
        """Return whether a word is in the vocabulary in any of its forms."""
        if word[:_STEM] in self._stems:
            return True
        return any(word.removesuffix(ending) in self.vocabulary for ending in _ENDINGS)

    def is_abstract(self, word: str) -> bool:
        """Return whether a word stands for documents or for what they contain."""
        return word[:_STEM] in self._abstract

    def _clause(self, pattern: str) -> re.Pattern[str]:
        for macro, meaning in self._macros.items():
            pattern = pattern.replace(macro, meaning)
        return re.compile(_LINES.sub(lambda line: "|" if line[1] else "", pattern.strip()))


# The patterns contain words with several endings.
_STEM: Final = 5
_ENDINGS: Final = ("s", "es", "d", "ed", "ing", "e", "en", "n")
_OPTIONAL: Final = re.compile(r"\w\?")


def _words(pattern: str) -> frozenset[str]:
    pattern = pattern.replace("ß", "ss")
    return frozenset(_WORD.findall(pattern) + _WORD.findall(_OPTIONAL.sub("", pattern)))
