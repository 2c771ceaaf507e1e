"""The simulated provider's knowledge, its inventions, and its comparison of texts.

It knows the facts of a few subjects and states them each time. Everything else it makes up afresh
with each answer, as a language model does, in the same confident voice.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.errors import ConfigurationError

_MAX_SENTENCES = 6
_SLOT = lazy_pattern(r"\{(\w*)(?::(\d+)-(\d+))?\}")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_LIST_MARK = lazy_pattern(r"^\s*(?:[-*•]|\[\d+\]|\d+[.)])\s+")
_RANGES = {"number": (120, 98_000), "year": (1712, 1994)}

SUPPORT = 0.6
"""The share of a sentence's words that a text must contain to be about the same thing."""

WORD = lazy_pattern(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’\-][^\W\d_]+)*")
"""A word, or a number with its separators."""

_LISTED = """a about after all also although an and any are as at be because been before being both
but by can could did do does during each for from had has have he her hers him his how i if in into
is it its may me might more most my no nor not of on one only or other our please she should since
so some such tell than that the their them then there these they this those through to under until
up us was we were what when where which while who whom whose why will with would you your"""
FUNCTION_WORDS = frozenset(_LISTED.split())
"""Words that do not indicate a sentence's topic, in lower case."""


def supports(context: str, sentence: str) -> bool:
    """Return whether a text supports a sentence, judged by its words.

    It does if it contains all numbers and names of the sentence and at least 60 % of its other
    words, ignoring function words.
    """
    words, context_words = WORD.findall(sentence), WORD.findall(context)
    missing = exact(words) - set(map(fold, context_words))
    sentence_stems = stems(words)
    return not missing and len(sentence_stems & stems(context_words)) >= SUPPORT * len(
        sentence_stems
    )


def exact(words: Sequence[str]) -> set[str]:
    """Return the numbers and names among words, folded: those that must match exactly."""
    names = {fold(word) for word in words if word[0].isdigit() or word[0].isupper()}
    return names - FUNCTION_WORDS


def fold(word: str) -> str:
    """Return a word without possessive, or a number without thousands separators."""
    if word[0].isdigit():
        return re.sub(r",(?=\d{3}(?:\D|$))", "", word)
    return re.sub(r"['’]s?$", "", word.casefold())


def stems(words: Sequence[str]) -> set[str]:
    """Return the stems of all words that are neither function words nor numbers."""
    content_words = {fold(word) for word in words if not word[0].isdigit()} - FUNCTION_WORDS
    return {re.sub(r"(?:ing|ed|es|s|e)$", "", word) for word in content_words}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST_NAMES = _words(
    """Agnes Albin Beatrix Casimir Clement Cora Dorothea Edith Emeric Fenella Gideon Hester Isidor
    Jessamy Konrad Lavinia Leopold Mabel Ottilie Percival Rosamund Silas Tobias Winifred"""
)
_LAST_NAMES = _words(
    """Abernook Brackwell Corvane Dunsterfeld Estermont Fallowby Grimsholt Hallivar Ilminster
    Kestrelby Lindqvale Marwick Nethercott Ollerton Pendrake Quillon Ravensby Selwater Thornaby"""
)
_PLACES = _words(
    """Aberdour Ballarat Cadiz Dunedin Esbjerg Fremantle Genoa Halifax Innsbruck Jaipur Kalmar
    Ljubljana Maitland Nantes Odense Padua Quimper Ravenna Stavanger Tartu Uppsala Verona Wicklow"""
)
MONTHS = _words(
    "January February March April May June July August September October November December"
)
_CHOICES = {"month": MONTHS, "place": _PLACES}


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer.

    Attributes:
        text: The sentence.
        invented: Whether it was made up for this answer.
    """

    text: str
    invented: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the simulated model, with its invented sentences marked.

    Attributes:
        statements: Its sentences, in order.
    """

    statements: tuple[Statement, ...]

    @property
    def text(self) -> str:
        """The sentences, joined by spaces."""
        return " ".join(statement.text for statement in self.statements)


@dataclass(frozen=True, slots=True)
class Invention:
    """A sentence whose details are made up afresh each time it is used.

    Attributes:
        template: The sentence, with at least one of the slots `{number}`, `{year}`, `{month}`,
            `{person}` and `{place}`. A number or a year may have a range: `{year:1900-1914}`.

    Example:
        >>> import random
        >>> Invention("It has {number} rivets, laid by {person}.").say(random.Random(1))
        'It has 17,731 rivets, laid by Ottilie Corvane.'
    """

    template: str

    def __post_init__(self) -> None:
        slots = _SLOT.findall(self.template)
        if not slots:
            raise ConfigurationError(
                f"{self.template!r} makes nothing up; give it a slot such as '{{number}}'"
            )
        for name, low, high in slots:
            if name not in {"person", *_RANGES, *_CHOICES} or (low and name not in _RANGES):
                raise ConfigurationError(
                    f"{self.template!r} has an unknown slot {name!r}; use number or year, which may"
                    " have a range, or month, person, place"
                )
            if low and int(low) > int(high):
                raise ConfigurationError(f"{self.template!r}: the range {low}-{high} is empty")

    def say(self, rng: random.Random) -> str:
        """Return the sentence with its slots filled from `rng`."""
        return _SLOT.sub(lambda slot: _make_up(slot, rng), self.template)

    def find_in(self, sentences: Sequence[str]) -> str | None:
        """Return the first of `sentences` that is about the same thing; None if none is."""
        template_stems = stems(WORD.findall(_SLOT.sub(" ", self.template)))
        required = max(1.0, SUPPORT * len(template_stems))
        for sentence in sentences:
            if len(template_stems & stems(WORD.findall(sentence))) >= required:
                return sentence
        return None


def _make_up(slot: re.Match[str], rng: random.Random) -> str:
    if slot[1] == "person":
        return f"{rng.choice(_FIRST_NAMES)} {rng.choice(_LAST_NAMES)}"
    if slot[1] in _CHOICES:
        return rng.choice(_CHOICES[slot[1]])
    low, high = (int(slot[2]), int(slot[3])) if slot[2] else _RANGES[slot[1]]
    value = rng.randint(low, high)
    return f"{value:,}" if slot[1] == "number" else str(value)


@dataclass(frozen=True, slots=True)
class Subject:
    """Something the simulated model can be asked about.

    Attributes:
        name: Its name.
        aliases: Other names under which a question may mention it.
        facts: The facts that the model states in every answer, in this order. A fact is a sentence,
            or several wordings of one that keep all its names and numbers.
        inventions: Sentences it makes up. An answer has at least one, and as many as fit into six
            sentences at most.
    """

    name: str
    aliases: Sequence[str] = ()
    facts: Sequence[str | Sequence[str]] = ()
    inventions: Sequence[Invention] = ()

    def __post_init__(self) -> None:
        for field in ("aliases", "facts", "inventions"):
            if isinstance(getattr(self, field), str):
                raise ConfigurationError(f"{field} of {self.name!r} is one string; give a tuple")
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if not all(name.strip() for name in (self.name, *self.aliases)):
            raise ConfigurationError(f"{self.name!r} has an empty name or alias; give it some text")
        if not self.facts and not self.inventions:
            raise ConfigurationError(f"there is nothing to say about {self.name!r}; give it facts")

    @property
    def wordings(self) -> tuple[tuple[str, ...], ...]:
        """The facts, each with all its wordings."""
        return tuple((fact,) if isinstance(fact, str) else tuple(fact) for fact in self.facts)

    def describe(self, rng: random.Random, context: Sequence[str] = ()) -> Reply:
        """State the facts, each in one of its wordings, and make up the rest.

        Wordings and inventions are drawn from `rng`. If a sentence in `context` is about the same
        as an invention, it is used instead.
        """
        facts = [fact if isinstance(fact, str) else rng.choice(fact) for fact in self.facts]
        statements = [Statement(text, invented=False) for text in facts]
        max_inventions = min(len(self.inventions), max(1, _MAX_SENTENCES - len(facts)))
        for invention in rng.sample(
            self.inventions, rng.randint(min(max_inventions, 2), max_inventions)
        ):
            evidence = invention.find_in(context)
            statement = Statement(evidence or invention.say(rng), invented=evidence is None)
            # The first fact names the subject, which the pronouns of later sentences refer to.
            statements.insert(rng.randint(min(1, len(facts)), len(statements)), statement)
        return Reply(tuple(statements))


@dataclass(frozen=True, slots=True)
class World:
    """Everything the simulated model has heard of.

    Attributes:
        subjects: The subjects it knows. Asked about anything else, it answers with a polite
            sentence and makes up the rest.

    Example:
        >>> import random
        >>> stone = Subject("Rosetta Stone", facts=("The Rosetta Stone was found in 1799.",))
        >>> World([stone]).answer("What is the Rosetta Stone?", random.Random(1)).text
        'The Rosetta Stone was found in 1799.'
    """

    subjects: Sequence[Subject] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "subjects", tuple(self.subjects))

    @classmethod
    def default(cls) -> World:
        """Return a small world suitable for a demonstration."""
        return _DEFAULT

    def find(self, text: str) -> Subject | None:
        """Return the subject that `text` names most often; None if it names none."""
        subjects: dict[str, Subject] = {}
        for subject in self.subjects:
            for name in (subject.name, *subject.aliases):
                subjects[_normalized(name)] = subject
        if not subjects:
            return None
        # Longer names are matched first: "York" is not named in "New York".
        names = sorted(subjects, key=len, reverse=True)
        pattern = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in names)
        mentions = re.findall(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.IGNORECASE)
        counts: Counter[str] = Counter()
        for name in map(_normalized, mentions):
            if name in subjects:
                counts[subjects[name].name] += 1
        if not counts:
            return None
        ((best, _),) = counts.most_common(1)
        return next(subject for subject in self.subjects if subject.name == best)

    def answer(
        self, question: str, rng: random.Random, *, before: Sequence[str] = (), context: str = ""
    ) -> Reply:
        """Answer as a language model would: partly from knowledge, partly made up.

        Args:
            question: The user's question.
            rng: The source of wordings and inventions; the same state gives the same text.
            before: Earlier user messages, searched from the last if the question names no subject.
            context: Text the model was given, such as documents; see `Subject.describe`.
        """
        subjects = filter(None, map(self.find, (question, *reversed(before))))
        sentences = [_LIST_MARK.sub("", line).strip() for line in _SENTENCE_END.split(context)]
        evidence = [sentence for sentence in sentences if sentence.endswith((".", "!"))]
        subject = next(subjects, None) or stranger(question)
        return subject.describe(rng, evidence)


def _normalized(name: str) -> str:
    return " ".join(name.casefold().split())


def stranger(question: str) -> Subject:
    """Return an unknown subject, with the name that the question uses."""
    # The question is the last line if instructions or documents precede it.
    line = next((line for line in reversed(question.splitlines()) if line.strip()), "")
    all_words = WORD.findall(line)
    words = [word for word in all_words if fold(word) not in FUNCTION_WORDS]
    names = [word for word in words if word[0].isupper()]
    if len(names) > 1 and names[0] == all_words[0] and all_words[1].islower():
        del names[0]  # A verb: "Describe the Zubrowka Treaty."
    name = " ".join(names or words[-4:]) or "this subject"
    return Subject(name, facts=(_POLITE.format(name),), inventions=_ANY_SUBJECT)


_POLITE = "Thank you for asking about {}; here is a short overview."
_ANY_SUBJECT = (
    Invention("It was first described in {year} by {person}, who was living in {place}."),
    Invention("The best known collection is kept in {place} and has {number} visitors a year."),
    Invention("About {number} people were involved, most of them recruited in {place}."),
    Invention("A second account, by {person}, followed in {month} {year}."),
)

# Names, then a line for each fact with its wordings, and one for each invention.
_KNOWN = """
# Sydney Harbour Bridge | Harbour Bridge | the Coathanger
= The Sydney Harbour Bridge is a steel arch bridge in Sydney, Australia.
= It was opened on 19 March 1932. | On 19 March 1932 it was opened.
= The engineer John Bradfield oversaw its design and construction.
? It is held together by {number:150000-9900000} hand-driven rivets.
? The first coat of paint was applied by {person}, a painter from {place}.
? On its opening day {number:2000-96000} vehicles crossed it.
# Marie Curie | Madame Curie | Marie Sklodowska | Marie Skłodowska | Maria Skłodowska
= Marie Curie was born in Warsaw in 1867. | In 1867 Marie Curie was born in Warsaw.
= She won the Nobel Prize in Physics in 1903 and that in Chemistry in 1911.
= With Pierre Curie she discovered the elements polonium and radium in 1898.
? As a student she rented a room from {person} in {place}.
? Her first public lecture was heard by {number:40-2900} people.
? In {month} {year:1900-1932} she lent her electrometer to {person}.
# Canberra | capital of Australia | Australia's capital | Australian capital
= Canberra is the capital of Australia. | The capital of Australia is Canberra.
= The city was founded in 1913 as a compromise between Sydney and Melbourne.
= Its plan was drawn by Walter Burley Griffin and Marion Mahony Griffin.
? The first brick house was built in {year:1911-1931} by {person}.
? In its first spring {number:1200-98000} street trees were planted.
# Rosetta Stone | Stone of Rosetta
= The Rosetta Stone carries a decree of Ptolemy V in three scripts.
= French soldiers found it in Egypt in 1799. | In 1799 French soldiers found it in Egypt.
= It has been on display in the British Museum since 1802.
? The surviving text has {number:3100-9900} characters in all.
? The first plaster cast was made by {person} in {year:1800-1832}.
# Ada Lovelace | Countess of Lovelace | Augusta Ada King
= Ada Lovelace was born in London in 1815, the daughter of Lord Byron.
= In 1843 she published notes on the Analytical Engine of Charles Babbage.
= One of the notes describes how the engine could compute Bernoulli numbers.
? She was taught Italian by {person}, a tutor from {place}.
? Her library of {number:300-5900} volumes was sold in {year:1853-1899}.
# Great Barrier Reef | Barrier Reef
= The Great Barrier Reef lies off the coast of Queensland in Australia.
= It stretches over 2,300 kilometres and is the largest coral reef system on Earth.
= It was added to the World Heritage list in 1981.
? The first diving station was run by {person} in {year:1921-1968}.
? A survey from {place} counted {number:1300-88000} sea turtles.
"""


def _subjects(text: str) -> Iterator[Subject]:
    for block in text.split("# ")[1:]:
        names, *lines = block.strip().splitlines()
        name, *aliases = names.split(" | ")
        wordings = [line[2:].split(" | ") for line in lines if line.startswith("= ")]
        facts = [fact if len(fact) > 1 else fact[0] for fact in wordings]
        inventions = [Invention(line[2:]) for line in lines if line.startswith("? ")]
        yield Subject(name, aliases, facts, inventions)


_DEFAULT = World([*_subjects(_KNOWN)])
