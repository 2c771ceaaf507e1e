"""The words for actions of a language: who did what, and whether it is done."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, cast

from resay._internal.patterns import lazy_pattern
from resay.lang.language import load, stop_words
from resay.lang.tables import codes, table, word_set

_LETTERS: Final = lazy_pattern(r"[^\W\d_]+")
# What participles have and infinitives do not, in German and Dutch.
_PARTICIPLE: Final = lazy_pattern(r"\A(\w{0,9}?)ge(?=\w{4})")
_MIN_TOOL_WORD: Final = 3
_NEVER: Final = lazy_pattern(r"(?!)")
_ALWAYS: Final = lazy_pattern("")
_WORD: Final = lazy_pattern(r"[^\W\d_]+")
# Vowel signs, which are parts of words.
_SIGNS: Final = r"\u064b-\u0652\u0900-\u0963"
# Scripts whose words have no spaces between them.
_UNSPACED: Final = frozenset({"ja", "zh", "th", "lo", "ko"})
_SCRIPTS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("ja", lazy_pattern(r"[\u3041-\u3096\u30a1-\u30fa]")),
    ("zh", lazy_pattern(r"[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ko", lazy_pattern(r"[\uac00-\ud7a3]")),
    ("ar", lazy_pattern(r"[\u0621-\u064a]")),
    ("hi", lazy_pattern(r"[\u0904-\u0939]")),
    ("ru", lazy_pattern(r"[\u0400-\u04ff]")),
)
_UKRAINIAN: Final = lazy_pattern(r"(?i)[іїєґ]")
# So many letters of a script make a text one of its languages: names may be in any script.
_MIN_SHARE: Final = 4
_WORD_WEIGHT: Final = 12
_VERB_WEIGHT: Final = 12
_OTHER_WEIGHT: Final = 8
_LIKELY_WITH_VERBS: Final = 4
_LIKELY: Final = 3
_SHORT_TEXT: Final = 160
_VERB_CHARS: Final = 600
_STEMMED: Final = lazy_pattern(r"[^\W_]{3,}")
_STEM: Final = 5
# Fields whose languages' entries are alternatives of one pattern.
_PATTERNS: Final = frozenset({"pending", "failures", "waiting", "trying"})
_UNSPACED_RUN: Final = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,}")


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

    def __len__(self) -> int:
        return self.end - self.start


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
        none: What says as an object that nothing was acted on.
        undergone: The agent, with what says that something is done to it: "I was".
        bare: Completed forms that are requests as well: "read".
        complements: What begins a clause that another one is about: "that".
        joins: What joins clauses.
        first: The verb forms that say by themselves that the agent acted.
        itself: The verb forms that are passive by themselves.
        drafts: What is written for somebody else to use.
        shown: What points to work that the answer shows.
        again: What says that it was done once more.
        also: What says that it was done besides.
        quantifiers: What says that all of something was done.
        numbered: What stands before an identifier.
        quotes: What stands before quoted words of a tool.
        begun: What is claimed to be begun, and not to be through.
        perfect: What says that something was done, as opposed to being so.
        weak: Verbs that say much else besides.
        finds: What says that something was found.
        states: What says how things are since something was done.
        prepositions: What ends the object of a verb.
        subjects: The subject of a verb that follows at once: "it checked".
        pronouns: What stands for the things of the sentence before.
        earlier: What says that something was before something else.
        later: What says that it was after it.
        habit: What says that something is done as a rule.
        stop: The words that carry no subject.
        weekdays: The names of the days, from Monday.
        verb_last: Whether modal verbs may follow a participle.
        drops_subject: Whether every completed form without another subject is the agent's.
        any_done: The completed forms of all families.
        done: The completed forms by family.
        any_verb: The completed forms of any verb, whatever it does.
        auxiliary: What `any_verb` is completed by, which may be anywhere in a clause.
        internal: The forms of verbs that need no tool: to notice, to compare, to summarize.
        things: What is acted on, by thing.
    """

    code: str
    agent: re.Pattern[str]
    passive: re.Pattern[str]
    others: re.Pattern[str]
    by: re.Pattern[str]
    open: re.Pattern[str]
    denied: re.Pattern[str]
    none: re.Pattern[str]
    undergone: re.Pattern[str]
    bare: re.Pattern[str]
    complements: re.Pattern[str]
    joins: re.Pattern[str]
    first: re.Pattern[str]
    itself: re.Pattern[str]
    drafts: re.Pattern[str]
    shown: re.Pattern[str]
    again: re.Pattern[str]
    also: re.Pattern[str]
    quantifiers: re.Pattern[str]
    numbered: re.Pattern[str]
    quotes: re.Pattern[str]
    begun: re.Pattern[str]
    finds: re.Pattern[str]
    states: re.Pattern[str]
    prepositions: re.Pattern[str]
    subjects: re.Pattern[str]
    pronouns: re.Pattern[str]
    earlier: re.Pattern[str]
    later: re.Pattern[str]
    habit: re.Pattern[str]
    weak: re.Pattern[str]
    perfect: re.Pattern[str]
    stop: frozenset[str]
    weekdays: tuple[re.Pattern[str], ...]
    verb_last: bool
    drops_subject: bool
    any_done: re.Pattern[str]
    done: Mapping[str, re.Pattern[str]]
    any_verb: re.Pattern[str]
    auxiliary: re.Pattern[str]
    internal: re.Pattern[str]
    things: Mapping[str, re.Pattern[str]]

    def verbs(self, text: str) -> list[Verb]:
        """Return the completed actions that a text names, in order.

        Args:
            text: The text, in lower case.
        """
        families: dict[tuple[int, int], set[str]] = {}
        if self.any_done.search(text) is None:
            return list(self._other_verbs(text))
        for family, pattern in self.done.items():
            for match in pattern.finditer(text):
                families.setdefault(match.span(), set()).add(family)
        verbs: list[Verb] = []
        for start, end in sorted(families, key=lambda span: (span[0], -span[1])):
            is_inside = bool(verbs) and end <= verbs[-1].end and end - start < len(verbs[-1])
            if is_inside and self.code not in _UNSPACED:
                # "set up" is no "set".
                continue
            if verbs and start < verbs[-1].end:
                last = verbs[-1]
                joined = last.families | families[start, end]
                verbs[-1] = Verb(last.start, max(last.end, end), joined)
            else:
                verbs.append(Verb(start, end, frozenset(families[start, end])))
        return verbs

    def _other_verbs(self, text: str) -> Iterator[Verb]:
        """Yield the completed actions of verbs that are in no family, but for internal ones."""
        if self.auxiliary.search(text) is None:
            return
        for match in self.any_verb.finditer(text):
            # "has been taken" claims more than "I took it as given".
            if " been " in match[0] or self.internal.search(match[0]) is None:
                yield Verb(match.start(), match.end(), frozenset({"other"}))

    def auxiliary_of(self, text: str) -> bool:
        """Return whether a text in lower case has what completes a participle."""
        return self.auxiliary is not _ALWAYS and self.auxiliary.search(text) is not None

    def things_in(self, text: str) -> dict[str, tuple[int, int]]:
        """Return the things that a text in lower case names, with where it first does."""
        return dict(_first_matches(self.things, text))

    @cached_property
    def right_before_number(self) -> re.Pattern[str]:
        """What stands right before an identifier: "ticket", "the ticket is"."""
        return re.compile(rf"(?:{self.numbered.pattern})\W*(?:is|ist|est|es|è|é|:)?\W*\Z")

    @cached_property
    def near_number(self) -> re.Pattern[str]:
        """What stands before an identifier, or a word before that: "ticket for"."""
        return re.compile(rf"(?:{self.numbered.pattern})\W*(?:\w+\W+)?\Z")

    def is_weekday(self, word: str) -> bool:
        """Return whether a word in lower case is the name of a day."""
        return any(day.fullmatch(word) for day in self.weekdays)


def stems(text: str, words: ActionWords) -> list[str]:
    """Return the beginnings of the words of a text that carry a subject."""
    lowered = text.lower()
    ignored = stop_words(words.code)
    result = [
        word[:_STEM] for word in _STEMMED.findall(lowered.replace("_", " ")) if word not in ignored
    ]
    for run in _UNSPACED_RUN.findall(lowered):
        result += (run[index : index + 2] for index in range(len(run) - 1))
    return result


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

    def whole(name: str) -> re.Pattern[str]:
        """Return a pattern that the language's file has as a whole, with its own edges."""
        return re.compile(fields.get(name) or _NEVER.pattern)

    def patterns(name: str) -> dict[str, re.Pattern[str]]:
        words: Mapping[str, str] = fields.get(name, {})
        return {key: _pattern(code, value) for key, value in words.items()}

    def things() -> dict[str, re.Pattern[str]]:
        """Return the things with their names, some of which English has for all languages."""
        own = patterns("things")
        for thing in table("en", "actions")["technical"]["things"].split():
            own.setdefault(thing, action_words("en").things[thing])
        return own

    def completed() -> dict[str, str]:
        """Return the forms of `done`; before two bars are stems, for the form of the language."""
        form = fields.get("completed", "{}")
        forms: dict[str, str] = {}
        words: Mapping[str, str] = fields.get("done", {})
        for family, alternatives in words.items():
            stems, _, others = alternatives.partition("||")
            inflected = [form.replace("{}", stems)] if stems else []
            forms[family] = "|".join([*inflected, *filter(None, [others])])
        return forms

    done = completed()

    return ActionWords(
        code=code,
        agent=pattern("agent"),
        passive=pattern("passive"),
        others=pattern("others"),
        by=pattern("by"),
        open=pattern("open"),
        denied=pattern("denied"),
        none=pattern("none"),
        undergone=pattern("undergone"),
        bare=pattern("bare"),
        complements=pattern("complements"),
        joins=pattern("joins"),
        first=whole("first"),
        itself=whole("itself"),
        drafts=pattern("drafts"),
        shown=pattern("shown"),
        again=pattern("again"),
        also=pattern("also"),
        quantifiers=pattern("quantifiers"),
        numbered=pattern("numbered"),
        quotes=pattern("quotes"),
        begun=pattern("begun"),
        finds=pattern("finds"),
        states=pattern("states"),
        prepositions=pattern("prepositions"),
        subjects=whole("subjects"),
        pronouns=pattern("pronouns"),
        earlier=pattern("earlier"),
        later=pattern("later"),
        habit=pattern("habit"),
        weak=pattern("weak"),
        perfect=pattern("perfect") if fields.get("perfect") else _ALWAYS,
        stop=load(code).common_words,
        weekdays=tuple(_pattern(code, day) for day in fields.get("weekdays", "").split()),
        verb_last=fields.get("verb_last", False),
        drops_subject=fields.get("drops_subject", False),
        any_done=_pattern(code, "|".join(done.values())),
        done={family: _pattern(code, forms) for family, forms in done.items()},
        any_verb=pattern("any_verb"),
        auxiliary=pattern("auxiliary") if fields.get("auxiliary") else _ALWAYS,
        internal=_pattern(code, fields.get("internal", ""), is_whole=False),
        things=patterns("things") if code == "en" else things(),
    )


def _pattern(code: str, alternatives: str, *, is_whole: bool = True) -> re.Pattern[str]:
    """Return a pattern for words, or for how words begin."""
    words = " ".join(alternatives.split())
    if not words:
        return _NEVER
    # Most positions begin with no letter that an alternative begins with.
    grouped = _by_first_letter(words)
    if code in _UNSPACED:
        return re.compile(f"(?:{grouped})")
    end = rf"(?![\w{_SIGNS}])" if is_whole else ""
    if code == "ar":
        # "and" and "so" are written as a part of the word, vowels may be written after it.
        return re.compile(rf"(?<![\w{_SIGNS}])[\u0648\u0641]?(?:{grouped})[\u064b-\u0652]*{end}")
    return re.compile(rf"(?<![\w{_SIGNS}])(?:{grouped}){end}")


def _by_first_letter(pattern: str) -> str:
    """Return alternatives of a pattern grouped by their first letters, which is faster."""
    groups: dict[str, list[str]] = {}
    for alternative in _alternatives(pattern):
        is_plain = alternative[:1].isalpha() and alternative[1:2] not in ("?", "*", "+", "{")
        groups.setdefault(alternative[0] if is_plain else "", []).append(alternative)
    parts: list[str] = []
    for letter, alternatives in groups.items():
        if not letter or len(alternatives) == 1:
            parts += alternatives
        else:
            parts.append(f"{letter}(?:{'|'.join(text[1:] for text in alternatives)})")
    return "|".join(parts)


def _alternatives(pattern: str) -> Iterator[str]:
    """Yield the alternatives of a pattern, split at bars outside of its groups and classes."""
    depth = start = index = 0
    while index < len(pattern):
        mark = pattern[index]
        if mark == "\\":
            index += 1
        elif mark in "([":
            depth += 1
        elif mark in ")]":
            depth -= 1
        elif mark == "|" and not depth:
            yield pattern[start:index]
            start = index + 1
        index += 1
    yield pattern[start:]


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
    likely = likely_languages(text)
    if len(likely) == 1:
        return action_words(likely[0])
    lowered = text.lower()
    weights = _weights(lowered)
    in_context = _weights(context.lower())
    for code in likely:
        weights[code] += in_context[code] // 2
    # Of few words, those for actions tell most: "Usunąłem plik" has no others.
    ranked = sorted(likely, key=lambda code: -weights[code])
    has_verbs = False
    for rank, code in enumerate(ranked):
        if rank >= _LIKELY_WITH_VERBS and has_verbs:
            break
        for verb in action_words(code).verbs(lowered[:_VERB_CHARS]):
            has_verbs = True
            is_other = "other" in verb.families
            count = len(lowered[verb.start : verb.end].split())
            weights[code] += _OTHER_WEIGHT * count if is_other else _VERB_WEIGHT
    return action_words(max(weights, key=lambda code: weights[code], default="en"))


def likely_languages(text: str) -> tuple[str, ...]:
    """Return the languages that a text may be in: those of its script, of a long one the likeliest.

    Args:
        text: The text.
    """
    if not text.isascii():
        letters = sum(map(len, _WORD.findall(text)))
        for code, script in _SCRIPTS:
            if _MIN_SHARE * len(script.findall(text)) > letters:
                return ("uk",) if code == "ru" and _UKRAINIAN.search(text) else (code,)
    if len(text) <= _SHORT_TEXT:
        return _of_latin_script()
    weights = _weights(text.lower())
    return tuple(code for code, _ in weights.most_common(_LIKELY)) or ("en",)


def _weights(lowered: str) -> Counter[str]:
    """Return how many words of a text are common in each language."""
    weights: Counter[str] = Counter()
    # In their order, because languages of equal weight are taken in theirs.
    for word in dict.fromkeys(_WORD.findall(lowered)):
        sharing = _languages_of_word().get(word, ())
        for code in sharing:
            weights[code] += _WORD_WEIGHT // len(sharing)
    return weights


@cache
def _of_latin_script() -> tuple[str, ...]:
    others = {code for code, _ in _SCRIPTS} | {"uk"}
    return tuple(code for code in action_languages() if code not in others)


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
    return families_by_word(table("en", "actions")["tools"])


@cache
def base_verbs() -> frozenset[str]:
    """The words of tools' names that are English verbs, and neither things nor completed forms."""
    verbs = tool_words().keys() - fields().nouns
    return frozenset(word for word in verbs if not word.endswith("ed"))


def families_by_word(words_by_family: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    """Return the words of a table with the families that have them.

    Args:
        words_by_family: The words of each family, separated by spaces.
    """
    families: dict[str, set[str]] = {}
    for family, words in words_by_family.items():
        for word in words.split():
            families.setdefault(word, set()).add(family)
    return {word: frozenset(names) for word, names in families.items()}


@cache
def local_tool_words(code: str) -> Mapping[str, frozenset[str]]:
    """The beginnings of words of tools' names in a language, with the families of what they do.

    They are those of its completed forms, without accents and the prefix of participles:
    "reservado" and `reservar`, "hochgeladen" and `hochladen`.
    """
    families: dict[str, set[str]] = {}
    done: Mapping[str, str] = table(code, "actions")["done"]
    for family, alternatives in done.items():
        for alternative in _alternatives(alternatives.replace("||", "|")):
            word = _LETTERS.match(without_accents(alternative))
            if word is None or len(word[0]) < _MIN_TOOL_WORD:
                continue
            for start in {word[0], _PARTICIPLE.sub(r"\1", word[0])}:
                for size in range(_MIN_TOOL_WORD, min(len(start), _STEM) + 1):
                    families.setdefault(start[:size], set()).add(family)
    return {word: frozenset(names) for word, names in families.items()}


def without_accents(text: str) -> str:
    """Return a text in lower case without accents: "réserver" as `reserver`."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in decomposed if not unicodedata.combining(char)).replace("ł", "l")


@dataclass(frozen=True)
class Fields:
    """The names of fields in tools' arguments and results, and the words in their values.

    Attributes:
        errors: Fields that have what went wrong.
        successes: Fields that are true if all went well.
        statuses: Fields that say what came of it.
        exits: Fields with an exit code.
        counts: Fields with the number of things that were changed or found.
        trials: Fields that are true if nothing was really done.
        texts: Fields with a message.
        lists: Fields with what was found.
        doing: Arguments that say what a tool of many uses is to do.
        flags: The first words of arguments that are true for what a tool does besides.
        recipients: Arguments with whom it is for.
        extensions: The endings of files' names.
        nouns: Words of tools' names that are things, unless they are all that a name has.
        making: Verbs that do what their noun says.
        reading: Words of tools that change nothing, in other languages.
        general: Words of tools of many uses.
        shells: Words of tools that give commands to a shell.
        agents: Words of tools that leave the work to another agent.
        editing: Words of tools that change a file.
        besides: Words of tools that change nothing that a check vouches for.
        undoing: Words of tools that undo what was done.
        restoring: Words of tools that undo that something was removed.
        reverting: Words of tools that undo what was done last.
        pending: A status before the end.
        waiting: A status of what was asked for and not given.
        trying: What says that something was only tried out.
        soft: A status that is no more than was asked for, unless all was to be over.
        counting: Fields with a number of something.
        failures: Words that say that something failed.
    """

    errors: frozenset[str]
    successes: frozenset[str]
    statuses: frozenset[str]
    exits: frozenset[str]
    counts: frozenset[str]
    trials: frozenset[str]
    texts: frozenset[str]
    lists: frozenset[str]
    doing: frozenset[str]
    flags: frozenset[str]
    recipients: frozenset[str]
    extensions: frozenset[str]
    nouns: frozenset[str]
    making: frozenset[str]
    reading: frozenset[str]
    general: frozenset[str]
    shells: frozenset[str]
    agents: frozenset[str]
    editing: frozenset[str]
    besides: frozenset[str]
    undoing: frozenset[str]
    restoring: frozenset[str]
    reverting: frozenset[str]
    pending: re.Pattern[str]
    waiting: re.Pattern[str]
    trying: re.Pattern[str]
    soft: re.Pattern[str]
    counting: re.Pattern[str]
    failures: re.Pattern[str]


@cache
def fields() -> Fields:
    """Return the names of tools' fields."""
    entries: dict[str, str] = {}
    for code in action_languages():
        own: Mapping[str, str] = table(code, "actions")["fields"]
        for name, text in own.items():
            separator = "|" if name in _PATTERNS else " "
            entries[name] = separator.join(filter(None, [entries.get(name), text]))
    # Who is on a waiting list waits.
    pending = f"{entries['pending']}|{entries['waiting']}"
    patterns = {
        # "status_pending" has underscores where others have spaces.
        "pending": re.compile(rf"(?<![a-z])(?:{_joined(pending)})(?![a-z])", re.I),
        "waiting": re.compile(entries["waiting"]),
        "trying": re.compile(entries["trying"]),
        "soft": re.compile(entries["soft"]),
        "counting": re.compile(_joined(entries["counting"])),
        "failures": _pattern("en", entries["failures"]),
    }
    words = {name: word_set(text) for name, text in entries.items() if name not in patterns}
    return Fields(**cast("dict[str, Any]", {**words, **patterns}))


def _joined(pattern: str) -> str:
    return pattern.replace("\n", "")
