"""The words for actions of a language: who did what, and whether it is done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

from resay.lang.detection import detect_from_words
from resay.lang.language import load
from resay.lang.tables import codes, table, word_set

_NEVER: Final = re.compile(r"(?!)")
_WORD: Final = re.compile(r"[^\W\d_]+")
# Scripts whose words have no spaces between them.
_UNSPACED: Final = frozenset({"ja", "zh", "th", "lo", "ko"})
_SCRIPTS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("ja", re.compile(r"[\u3041-\u3096\u30a1-\u30fa]")),
    ("zh", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ko", re.compile(r"[\uac00-\ud7a3]")),
    ("ar", re.compile(r"[\u0621-\u064a]")),
    ("hi", re.compile(r"[\u0904-\u0939]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
# So many letters of a script make a text one of its languages: names may be in any script.
_MIN_SHARE: Final = 4


@dataclass(frozen=True, slots=True)
class Verb:
    """A completed action in a text.

    Attributes:
        start: Where its words start.
        end: Where they end.
        families: What is done: `send`, `book`, ...
    """

    start: int
    end: int
    families: frozenset[str]


@dataclass(frozen=True)
class ActionWords:
    """The patterns of one language; one that it lacks matches nothing.

    Attributes:
        code: The language's code.
        agent: Who speaks.
        passive: What makes a participle passive.
        others: Who else acts.
        by: By whom something was done.
        open: What is planned, possible or tried.
        denied: What is denied.
        joins: What joins clauses.
        first: The verb forms that say by themselves that the agent acted.
        itself: The verb forms that are passive by themselves.
        drafts: What is written for somebody else to use.
        shown: What points to work that the answer shows.
        again: What says that it was done once more.
        quantifiers: What says that all of something was done.
        numbered: What stands before an identifier.
        quotes: What stands before quoted words of a tool.
        begun: What is claimed to be begun, and not to be through.
        stop: The words that carry no subject.
        weekdays: The names of the days, from Monday.
        verb_last: Whether modal verbs may follow a participle.
        drops_subject: Whether every completed form without another subject is the agent's.
        done: The completed forms by family.
        things: What is acted on, by thing.
        areas: Where it is, by area.
    """

    code: str
    agent: re.Pattern[str]
    passive: re.Pattern[str]
    others: re.Pattern[str]
    by: re.Pattern[str]
    open: re.Pattern[str]
    denied: re.Pattern[str]
    joins: re.Pattern[str]
    first: re.Pattern[str]
    itself: re.Pattern[str]
    drafts: re.Pattern[str]
    shown: re.Pattern[str]
    again: re.Pattern[str]
    quantifiers: re.Pattern[str]
    numbered: re.Pattern[str]
    quotes: re.Pattern[str]
    begun: re.Pattern[str]
    stop: frozenset[str]
    weekdays: tuple[re.Pattern[str], ...]
    verb_last: bool
    drops_subject: bool
    done: Mapping[str, re.Pattern[str]]
    things: Mapping[str, re.Pattern[str]]
    areas: Mapping[str, re.Pattern[str]]

    def verbs(self, text: str) -> list[Verb]:
        """Return the completed actions that a text names, in order.

        Args:
            text: The text, in lower case.
        """
        families: dict[tuple[int, int], set[str]] = {}
        for family, pattern in self.done.items():
            for match in pattern.finditer(text):
                families.setdefault(match.span(), set()).add(family)
        verbs: list[Verb] = []
        for start, end in sorted(families, key=lambda span: (span[0], -span[1])):
            if verbs and start < verbs[-1].end:
                last = verbs[-1]
                joined = last.families | families[start, end]
                verbs[-1] = Verb(last.start, max(last.end, end), joined)
            else:
                verbs.append(Verb(start, end, frozenset(families[start, end])))
        return verbs

    def things_in(self, text: str) -> dict[str, tuple[int, int]]:
        """Return the things that a text in lower case names, with where it first does."""
        return dict(_first_matches(self.things, text))

    def areas_in(self, text: str) -> dict[str, tuple[int, int]]:
        """Return the areas that a text in lower case names, with where it first does."""
        return dict(_first_matches(self.areas, text))


def _first_matches(
    patterns: Mapping[str, re.Pattern[str]], text: str
) -> Iterator[tuple[str, tuple[int, int]]]:
    for name, pattern in patterns.items():
        match = pattern.search(text)
        if match is not None:
            yield name, match.span()


@cache
def action_words(code: str) -> ActionWords:
    """Return the words for actions of a language that has them."""
    fields = table(code, "actions")

    def pattern(name: str) -> re.Pattern[str]:
        return _pattern(code, fields.get(name, ""))

    def patterns(name: str) -> dict[str, re.Pattern[str]]:
        words: Mapping[str, str] = fields.get(name, {})
        return {key: _pattern(code, value) for key, value in words.items()}

    return ActionWords(
        code=code,
        agent=pattern("agent"),
        passive=pattern("passive"),
        others=pattern("others"),
        by=pattern("by"),
        open=pattern("open"),
        denied=pattern("denied"),
        joins=pattern("joins"),
        first=pattern("first"),
        itself=pattern("itself"),
        drafts=pattern("drafts"),
        shown=pattern("shown"),
        again=pattern("again"),
        quantifiers=pattern("quantifiers"),
        numbered=pattern("numbered"),
        quotes=pattern("quotes"),
        begun=pattern("begun"),
        stop=load(code).common_words,
        weekdays=tuple(_pattern(code, day) for day in fields.get("weekdays", "").split()),
        verb_last=fields.get("verb_last", False),
        drops_subject=fields.get("drops_subject", False),
        done=patterns("done"),
        things=patterns("things"),
        areas=patterns("areas"),
    )


def _pattern(code: str, alternatives: str) -> re.Pattern[str]:
    words = " ".join(alternatives.split())
    if not words:
        return _NEVER
    if code in _UNSPACED:
        return re.compile(f"(?:{words})")
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)")


@cache
def action_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have words for actions."""
    return tuple(code for code in codes() if table(code, "actions").get("done"))


def language_of(text: str, context: str) -> ActionWords:
    """Return the words for actions of the language of an answer.

    Args:
        text: The answer.
        context: What the user wrote, which decides where the answer is too short.
    """
    available = action_languages()
    letters = len(_WORD.findall(text)) and sum(map(len, _WORD.findall(text)))
    if not text.isascii():
        for code, script in _SCRIPTS:
            if code in available and _MIN_SHARE * len(script.findall(text)) > letters:
                return action_words(code)
    weights: Counter[str] = Counter()
    lowered = text.lower()
    words = set(_WORD.findall(lowered))
    for word in words:
        sharing = _languages_of_word().get(word, ())
        for code in sharing:
            weights[code] += 12 // len(sharing)
    for code, weight in weights.most_common(3):
        # Few words are common to verbs of two languages.
        weights[code] = weight + 6 * len(action_words(code).verbs(lowered))
    in_context = detect_from_words(_WORD.findall(context.lower()))
    if in_context in available:
        weights[in_context] += 8
    best = max(weights.items(), key=lambda item: item[1], default=("en", 0))
    return action_words(best[0])


@cache
def _languages_of_word() -> Mapping[str, tuple[str, ...]]:
    """The common words of the languages with words for actions, with these languages."""
    by_word: dict[str, list[str]] = {}
    for code in action_languages():
        fields: Mapping[str, Any] = table(code, "actions")
        common = load(code).common_words | frozenset(fields.get("common", "").split())
        for word in common:
            by_word.setdefault(word, []).append(code)
    return {word: tuple(languages) for word, languages in by_word.items()}


@cache
def tool_words() -> Mapping[str, frozenset[str]]:
    """The words of tools' names and fields, with the families of what they do."""
    families: dict[str, set[str]] = {}
    tools: Mapping[str, str] = table("en", "actions")["tools"]
    for family, words in tools.items():
        for word in words.split():
            families.setdefault(word, set()).add(family)
    return {word: frozenset(names) for word, names in families.items()}


@dataclass(frozen=True)
class Fields:
    """The names of fields in tools' arguments and results, and the words in their values.

    Attributes:
        errors: Fields that have what went wrong.
        successes: Fields that are true if all went well.
        statuses: Fields that say what came of it.
        of_records: Those of them that a record has which was only read.
        exits: Fields with an exit code.
        counts: Fields with the number of things that were changed or found.
        trials: Fields that are true if nothing was really done.
        texts: Fields with a message.
        lists: Fields with what was found.
        doing: Arguments that say what a tool of many uses is to do.
        flags: The first words of arguments that are true for what a tool does besides.
        recipients: Arguments with whom it is for.
        extensions: The endings of files' names.
        targets: Arguments with what it is done to.
        nouns: Words of tools' names that are things, unless they are all that a name has.
        making: Verbs that do what their noun says.
        besides: Words of tools that change nothing that a check vouches for.
        undoing: Words of tools that undo what was done.
        pending: A status before the end.
        soft: A status that is no more than was asked for, unless all was to be over.
        counting: Fields with a number of something.
        failures: Words that say that something failed.
    """

    errors: frozenset[str]
    successes: frozenset[str]
    statuses: frozenset[str]
    of_records: frozenset[str]
    exits: frozenset[str]
    counts: frozenset[str]
    trials: frozenset[str]
    texts: frozenset[str]
    lists: frozenset[str]
    doing: frozenset[str]
    flags: frozenset[str]
    recipients: frozenset[str]
    extensions: frozenset[str]
    targets: frozenset[str]
    nouns: frozenset[str]
    making: frozenset[str]
    besides: frozenset[str]
    undoing: frozenset[str]
    pending: re.Pattern[str]
    soft: re.Pattern[str]
    counting: re.Pattern[str]
    failures: re.Pattern[str]


@cache
def fields() -> Fields:
    """Return the names of tools' fields."""
    english = table("en", "actions")
    entries: Mapping[str, str] = english["fields"]
    patterns = {
        # "status_pending" has underscores where others have spaces.
        "pending": re.compile(rf"(?<![a-z])(?:{_joined(entries['pending'])})(?![a-z])", re.I),
        "soft": re.compile(entries["soft"]),
        "counting": re.compile(_joined(entries["counting"])),
        "failures": _pattern("en", english["failures"]),
    }
    words = {name: word_set(text) for name, text in entries.items() if name not in patterns}
    return Fields(**cast("dict[str, Any]", {**words, **patterns}))


def _joined(pattern: str) -> str:
    return pattern.replace("\n", "")
