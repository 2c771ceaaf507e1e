"""What a logged call did: by the words of its name and arguments, and by its result."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final, Literal, cast

from resay._internal.patterns import lazy_pattern
from resay.core.call_log import LoggedCall
from resay.core.quantities import Quantity, quantities
from resay.scorers.actions.commands import ShellEffects, shell_effects
from resay.scorers.actions.words import (
    ActionWords,
    action_words,
    fields,
    local_tool_words,
    stems,
    tool_words,
    without_accents,
)

Outcome = Literal["ok", "error", "pending", "dry_run", "nothing", "partial", "unknown"]
"""What a call came to. `nothing`: it changed or found nothing; `unknown`: it has no result yet."""
FINE: Final = frozenset({"ok", "partial", "unknown"})
"""The outcomes that are no failure."""

_TOKEN: Final = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_WORD: Final = lazy_pattern(r"[^\W_]+")
_ALNUM: Final = lazy_pattern(r"[\W_]+")
_SQL: Final = lazy_pattern(
    r"\s*(select|insert|update|delete|drop|create|alter|truncate|with)\b", re.I
)
_SQL_FAMILIES: Final[Mapping[str, str]] = {
    "select": "search read",
    "with": "search read",
    "insert": "create save order book schedule",
    "update": "update save set cancel move",
    "delete": "delete cancel",
    "truncate": "delete",
    "drop": "delete",
    "create": "create",
    "alter": "update",
}
_HTTP_FAMILIES: Final[Mapping[str, str]] = {
    "get": "search read",
    "post": "create send save order book pay",
    "put": "update save set",
    "patch": "update save set",
    "delete": "delete cancel",
}
_COMMAND_KEYS: Final = frozenset(
    {
        "args",
        "commande",
        "comando",
        "befehl",
        "opdracht",
        "",
        "command",
        "commands",
        "cmd",
        "script",
        "input",
        "code",
    }
)
_CODE_KEYS: Final = frozenset({"", "code", "script", "source", "python", "javascript"})
_CODE: Final = lazy_pattern(r"\w\(.*\)|^(?:import|from|const|let|var) ", re.DOTALL | re.MULTILINE)
# What a program does that has no names for it.
_OF_PROGRAMS: Final = frozenset(
    {"search", "read", "run", "test", "create", "save", "update", "other"}
)
CHANGES: Final = frozenset({"save", "create", "update", "delete", "move"})
"""Changes after which an earlier check vouches for nothing."""
PATHS: Final = lazy_pattern(r"(?<![\w~+-])[\w~+-]+\.[a-z]\w{1,4}(?!\w)|(?:/[\w.+-]+){2,}")
_IN_QUOTES: Final = lazy_pattern(r"'[^']*'|\"[^\"]*\"")
# "212/215"
_SHARE: Final = lazy_pattern(r"(?<![\w./-])(\d{1,6}) ?/ ?(\d{1,6})(?![\w./-])")
_ACCEPTED: Final = lazy_pattern(r"\s*2\d\d[ -][a-zA-Z]")
# Programs that some tools are called like.
_PROGRAMS: Final = frozenset(
    {"git", "terraform", "kubectl", "docker", "npm", "cargo", "helm", "gh", "make", "pip", "uv"}
)
_MAX_BRIEF: Final = 80
_MAX_LINES: Final = 60
_MAX_LINE_WORDS: Final = 6
_MIN_TOKEN: Final = 3
_STEM: Final = 5
_MAX_PATH: Final = 400
_MIN_ECHO: Final = 8
_MIN_NAME: Final = 3
_FEW_OBJECTS: Final = 3
_NAMING_WORD: Final = lazy_pattern(r"[\w.+@-]{3,}")
_COMMAND_WORDS: Final = 3
_COMMAND_CHARS: Final = 2_000
_SQL_KEYS: Final = frozenset({"", "sql", "query", "statement", "command", "code", "q"})
_READING: Final = frozenset({"search", "read", "test", "download"})
_PARTIAL: Final = lazy_pattern(r"(?<![a-z])partial\w*(?![a-z])", re.IGNORECASE)
_STATUS_PHRASES: Final = "|".join(status.phrase for status in HTTPStatus if status >= 400)
# "404 Not Found", "503", "500: no answer", "550 5.1.1 User unknown", but not "500 rows exported".
_STATUS: Final = rf"[45]\d\d(?=\s*$|\s*:|\s+(?:{_STATUS_PHRASES})\b|[ -][45]\.\d+\.\d)"
_TEXT_ERROR: Final = lazy_pattern(
    r"(?im)^[^\w\n]*(?!\S{1,80}\.[a-z]\w{0,4}(?:\s|$))(?!\w{1,40}(?:\W{1,3}0\b|\s{0,3}=))"
    r"(?:error|err!|failed|failure|fatal|traceback|exception|warning: no"
    r"|permission denied|access denied|not found|no such|could not|cannot|can't|unable|denied"
    r"|time(?:d)? ?out|timeout|usage:|rejected|refused|invalid|unauthori[sz]ed|forbidden|unknown"
    rf"|\w*(?:error|exception)\b:?|{_STATUS}|http/?\S* [45]\d\d"
    r"|fehler|erreur|errore|fout|erro|błąd|ошибка|hata|エラー|错误"
    r"|오류|خطأ)"
    r"|command not found|\bFAIL(?:ED)?\b|exit(?:ed)?(?: with)?(?: code| status)? [1-9]",
)
# "2 failing", "Failures: 2", and not "2 errors (2 fixed, 0 remaining)"
_FAILED_COUNT: Final = lazy_pattern(
    r"(?i)\b[1-9][\d,]{0,9} (?:tests? )?(?:fail(?:ed|ing|ures?)?|errors?)\b(?! \(\d+ fixed, 0\b)"
    r"|(?<!expected )\b(?:failures?|errors?|failed) ?[:=] *[1-9]"
)
# In a short text.
_TEXT_DENIAL: Final = lazy_pattern(
    r"(?i)\b(?:was|were|is|are|did|does|do|has|have|had|could|will|can)(?: not\b|n.t\b|not\b)"
    r"|\bno \w+ (?:was|were|is|are|has|have)\b|\bnothing (?:was|changed)"
)
# "error.log"
_FILES: Final = lazy_pattern(r"\S+\.[a-z]\w{0,4}(?!\w)")
_WITHOUT_ERRORS: Final = lazy_pattern(
    r"(?i:\b(?:no|0|none|nothing|without|zero) (?:\w+ )?(?:errors?|fail(?:ed|ing|s|ures?)?)\b)"
    r"|(?i:\b(?:errors?|failures?|failed|fail|rejected|skipped)(?: *[:=] *0\b| +0\b(?! *\w)))"
    # Lines about tests that passed: "✓ shows 2 errors", "ok 1 - fails early"
    r"|(?m:^[^\w\n]*(?:[✓✔√]|PASS |--- PASS|ok(?: \d+ - |[ \t]+\S+[ \t]+[\d(])).*$)"
    r"|(?m:^\S[^\n]* \.\.\. ok$|^\S+ PASSED\b.*$)"
)
_FAILS: Final = lazy_pattern(r"\b(?:fail(?:s|ed|ing|ures?)?|\w*(?:errors?|exceptions?))\b")
_SHORT_RESULT: Final = 300
# The ends of the keys of what identifies something.
_NAMING: Final = ("id", "key", "number", "path", "file", "name", "title", "ref")
_MAX_NAME_CHARS: Final = 80
_MAX_COUNT: Final = 999
_TEXT_NOTHING: Final = lazy_pattern(
    r"(?i)\b(?:update|delete|insert 0|select|copy) 0\b|\b0 rows?\b|\bno (?:changes|matches|results"
    r"|rows|match|records|files|entries|tests ran)\b|nothing to|\b0 (?:results|matches|files"
    r"|records|messages|items|tests)\b|no tests ran|collected 0"
)


# What is filed so that somebody acts on it, and how.
_FILED_THINGS: Final = frozenset({"ticket", "note", "message", "mail"})
_FILING: Final = frozenset({"create", "save", "send", "notify", "update"})
_SUCCEEDED: Final = frozenset({"success", "ok", "is_error", "iserror"})
_UNSET: Final = (None, False, "", 0, "none", "false", "no", "never", "null")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of a call's arguments or result.

    Attributes:
        key: The key that it is under, in lower case; empty in a text.
        value: The value.
        path: The keys above it.
    """

    key: str
    value: str | float | bool | None
    path: tuple[str, ...] = ()

    @property
    def number(self) -> float | None:
        """The value, if it is a number that can be reckoned with."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            return None
        try:
            number = float(self.value)
        # A key of cryptography, say.
        except OverflowError:
            return None
        return number if math.isfinite(number) else None


class CallFacts:
    """What a call did. What is asked for is worked out once.

    Args:
        call: The call.
        words: The words of the answer's language, which calls may have beside English ones.
    """

    def __init__(self, call: LoggedCall, words: ActionWords) -> None:
        self.call = call
        self._words = words

    @property
    def label(self) -> str:
        """What reasons call it: its number in the conversation, with its name."""
        return f"call {self.call.index + 1} ({self.call.name})"

    @property
    def arguments_text(self) -> str:
        """Its arguments as JSON, or as they are if they are a text."""
        arguments = self.call.arguments
        if isinstance(arguments, str):
            return arguments
        return json.dumps(arguments, ensure_ascii=False, default=str)

    @cached_property
    def result_value(self) -> Any:
        """The result's JSON value, or its text."""
        text = self.call.result
        if text is None:
            return None
        try:
            return json.loads(text)
        # Deep nesting is refused with a RecursionError.
        except (ValueError, RecursionError):
            return text

    @cached_property
    def argument_leaves(self) -> tuple[Leaf, ...]:
        """The values of the arguments."""
        return tuple(_leaves(self.call.arguments))

    @cached_property
    def result_leaves(self) -> tuple[Leaf, ...]:
        """The values of the result."""
        return tuple(_leaves(self.result_value))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """All values."""
        return self.argument_leaves + self.result_leaves

    @cached_property
    def text(self) -> str:
        """All its words in lower case."""
        result = self.call.result or ""
        if not isinstance(self.result_value, str):
            result = json.dumps(self.result_value, ensure_ascii=False, default=str)
        return f"{' '.join(self.name_tokens)} {self.arguments_text} {result}".lower()

    @cached_property
    def folded(self) -> str:
        """Its text without accents."""
        return without_accents(self.text)

    @cached_property
    def solid(self) -> str:
        """The letters and digits of its text, in which identifiers are searched."""
        return _ALNUM.sub("", self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its text, split as names are."""
        return frozenset(_WORD.findall(self.text.replace("_", " ")))

    @cached_property
    def name_tokens(self) -> tuple[str, ...]:
        """The words of its name: `mcp__desk__createTicket` has mcp, desk, create, ticket."""
        return tuple(split_name(self.call.name))

    @cached_property
    def families(self) -> frozenset[str]:
        """What it does, by its name and arguments; empty if they do not say."""
        if self.shell is not None:
            return self.shell.families
        if self.runs_code or self.delegates:
            return frozenset()
        # A tool of many uses does what its arguments say.
        own = tuple(token for token in self.name_tokens if token not in fields().general)
        families = set(_families_of_name(own))
        if not families and self._words.code != "en":
            families |= _families_in(self.name_tokens, self._words.code)
        is_told = any(leaf.key in fields().doing for leaf in self.argument_leaves)
        if not families and len(own) == 1 and own[0].endswith("s") and not is_told:
            # "seats", "orders": a list of them
            families |= {"search", "read"}
        if not families and "run" in self.name_tokens:
            families.add("run")
        if not families or not families <= _READING:
            for leaf in self.argument_leaves:
                families |= _families_of_argument(leaf)
        if not families <= _READING:
            for leaf in self.result_leaves:
                families |= _families_of_result(leaf)
        return frozenset(families)

    @cached_property
    def argument_numbers(self) -> frozenset[float]:
        """The numbers among its arguments."""
        return frozenset(leaf.number for leaf in self.argument_leaves if leaf.number is not None)

    def names(self, name: str) -> bool:
        """Return whether it names somebody: in another case, without accents, by the initial.

        Args:
            name: The name, in lower case.
        """
        lowered = beginning(name)
        folded = without_accents(lowered)
        if not folded.isascii() and any(map(str.isascii, self._recipients)):
            # Олег may be `oleg`.
            return True
        if lowered in self.text or (len(folded) >= _MIN_NAME and folded in self.folded):
            return True
        # `i.sousa@` is Ines.
        initial = without_accents(name[:1])
        return any(initial in re.split(r"[._-]", text.partition("@")[0]) for text in self.addresses)

    @cached_property
    def addresses(self) -> frozenset[str]:
        """The addresses among its arguments, in lower case."""
        return frozenset(text for text in self.argument_texts if "@" in text)

    @cached_property
    def argument_texts(self) -> frozenset[str]:
        """The values of its arguments as text, in lower case."""
        return frozenset(map(_value_text, self.argument_leaves)) - {""}

    @cached_property
    def given_stems(self) -> frozenset[str]:
        """The beginnings of the words of its name and its arguments."""
        given = f"{' '.join(self.name_tokens)} {self.arguments_text}"
        return frozenset(stems(given, self._words))

    def values_beside(self, name: str) -> Iterator[str]:
        """Yield what stands beside a name in its objects, or anywhere if it has few.

        Args:
            name: The beginning of the name, in lower case.
        """
        objects = [*_objects_in(self.call.arguments), *_objects_in(self.result_value)]
        if len(objects) <= _FEW_OBJECTS:
            yield from _NAMING_WORD.findall(self.text)
            yield from map(_value_text, self.leaves)
            return
        for entry in objects:
            values = [_value_text(Leaf(str(key).lower(), value)) for key, value in entry.items()]
            if any(name in value for value in values):
                yield from values

    @cached_property
    def _recipients(self) -> frozenset[str]:
        """The addresses and names of whom it is for, in lower case."""
        named = {
            leaf.value.lower()
            for leaf in self.argument_leaves
            if isinstance(leaf.value, str) and leaf.key in fields().recipients
        }
        return self.addresses | named

    @cached_property
    def doing_words(self) -> frozenset[str]:
        """The words of its name, and of the arguments that say what it is to do."""
        words = set(self.name_tokens)
        for leaf in self.argument_leaves:
            if isinstance(leaf.value, str) and (leaf.key in fields().doing or not leaf.key):
                words.update(split_name(leaf.value[:_COMMAND_CHARS]))
        return frozenset(words)

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return bool(self.families) and self.families <= _READING

    @cached_property
    def shell(self) -> ShellEffects | None:
        """What the commands do that it gives to a shell; None if it is no shell."""
        is_program = len(self.name_tokens) == 1 and self.name_tokens[0] in _PROGRAMS
        if not (is_program or fields().shells & set(self.name_tokens)):
            return None
        commands = [
            leaf.value
            for leaf in self.argument_leaves
            if leaf.key in _COMMAND_KEYS and isinstance(leaf.value, str)
        ]
        if not commands:
            return None
        command = " ".join(commands)
        return shell_effects(f"{self.call.name} {command}" if is_program else command)

    @cached_property
    def runs_code(self) -> bool:
        """Whether it runs a program, which may do anything."""
        return any(
            leaf.key in _CODE_KEYS and isinstance(leaf.value, str) and _CODE.search(leaf.value)
            for leaf in self.argument_leaves
        )

    @property
    def delegates(self) -> bool:
        """Whether another agent does what it says."""
        return self.name_tokens == ("task",) or bool(fields().agents & set(self.name_tokens))

    @property
    def is_unknown(self) -> bool:
        """Whether no word of its name and arguments is known."""
        return self.shell is None and not (self.families or self.runs_code or self.delegates)

    @property
    def is_broad(self) -> bool:
        """Whether it may do more than its words say."""
        says_little = self.families <= {"run"}
        return says_little or (self.shell is not None and self.shell.is_opaque)

    def may_do(self, families: Collection[str]) -> bool:
        """Return whether it may have done some things though no word of it says so.

        Args:
            families: What may have been done.
        """
        runs_any = self.runs_code or (self.shell is not None and self.shell.is_opaque)
        return self.delegates or (runs_any and _OF_PROGRAMS.issuperset(families))

    @cached_property
    def changes_file(self) -> bool:
        """Whether it changes a file, which a check vouches for."""
        if self.families & {"test", "search", "read"} or fields().besides & self.doing_words:
            return False
        if self.shell is not None:
            return bool(self.families & CHANGES)
        return bool(fields().editing & set(self.name_tokens)) or any(
            isinstance(leaf.value, str) and PATHS.search(leaf.value[:_MAX_PATH])
            for leaf in self.argument_leaves
        )

    @cached_property
    def stems(self) -> frozenset[str]:
        """The beginnings of its words."""
        return frozenset(stems(self.text, action_words("en")))

    @cached_property
    def brief_stems(self) -> frozenset[str]:
        """The beginnings of the words of its name, its fields and their short values."""
        texts = [*self.name_tokens]
        for leaf in self.leaves if self.shell is None else self.argument_leaves:
            if leaf.value in _UNSET:
                continue
            texts.append(leaf.key)
            if isinstance(leaf.value, str) and len(leaf.value) <= _MAX_BRIEF:
                # A message of a commit is no command.
                texts.append(leaf.value if self.shell is None else _IN_QUOTES.sub(" ", leaf.value))
        return frozenset(stems(" ".join(texts), action_words("en"))) - self._words.stop

    @cached_property
    def english_things(self) -> frozenset[str]:
        """What it acts on, in English words."""
        return frozenset(action_words("en").things_in(self._spaced_text))

    @cached_property
    def filed_things(self) -> frozenset[str]:
        """What its name says is filed or told: a ticket, a note, a message."""
        return frozenset(action_words("en").things_in(" ".join(self.name_tokens))) & _FILED_THINGS

    @property
    def is_filing(self) -> bool:
        """Whether it only notes something or hands it on: `create_ticket`, `add_note`."""
        return bool(self.filed_things) and self.families <= _FILING

    @cached_property
    def things(self) -> frozenset[str]:
        """What it acts on."""
        if self._words.code == "en":
            return self.english_things
        return self.english_things | self._words.things_in(self._spaced_text).keys()

    @property
    def _spaced_text(self) -> str:
        return self.text.replace("_", " ")

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The identifiers in it: texts with a digit, addresses, paths."""
        names: set[str] = set()
        for leaf in self.leaves:
            text = str(leaf.value)
            if isinstance(leaf.value, bool) or len(text) > _MAX_NAME_CHARS:
                continue
            is_named = leaf.key.endswith(_NAMING)
            is_mixed = re.search(r"\d", text) and re.search(r"[A-Za-z]", text)
            if is_named or is_mixed or (isinstance(leaf.value, int) and leaf.value > _MAX_COUNT):
                names.add(solid(text))
        names.discard("")
        return frozenset(names)

    @cached_property
    def result_families(self) -> frozenset[str]:
        """What its result says was done, by whomever."""
        verbs = action_words("en").verbs(self._result_words)
        if self._words.code != "en":
            verbs += self._words.verbs(self._result_words)
        return frozenset[str]().union(*(verb.families for verb in verbs))

    @cached_property
    def result_stems(self) -> frozenset[str]:
        """The beginnings of the words of its result."""
        return frozenset(stems(self._result_words, self._words))

    @property
    def _result_words(self) -> str:
        return (self.call.result or "").lower().replace("_", " ")

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The numbers and dates of its values."""
        found: list[Quantity] = []
        for leaf in self.leaves:
            if isinstance(leaf.value, str):
                found += quantities(_spaced_cells(leaf.value).replace("T", " "))
            elif isinstance(leaf.value, (int, float)) and not isinstance(leaf.value, bool):
                found += quantities(f"{leaf.value}")
        return tuple(found)

    @cached_property
    def numbers(self) -> tuple[tuple[str, float], ...]:
        """Its numbers with their keys, and the lengths of its lists."""
        numbers: list[tuple[str, float]] = []
        for leaf in self.leaves:
            if leaf.number is not None:
                numbers.append((leaf.key, leaf.number))
            elif isinstance(leaf.value, str):
                numbers += (
                    (leaf.key, q.plain)
                    for q in quantities(_spaced_cells(leaf.value))
                    if q.kind == "number"
                )
        return tuple(numbers)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The numbers of things in it: entries of lists, lines and items of texts."""
        counts: list[int] = []
        for value in (self.call.arguments, self.result_value):
            counts += _counts(value)
        return tuple(counts)

    @cached_property
    def outcome(self) -> tuple[Outcome, str]:
        """What it came to, with the words of the result that say so."""
        call = self.call
        if call.result is None:
            return "unknown", ""
        if call.is_error:
            return "error", excerpt(call.result)
        if isinstance(self.result_value, str):
            if self.failed_items:
                return "partial", excerpt(self.failed_items[0])
            result = self._without_echoes(call.result)
            share = _SHARE.search(result)
            if share is not None and 0 < int(share[1]) < int(share[2]) and not self.reads:
                return "partial", excerpt(call.result)
            # A file that was read may tell of errors; that reading failed, its first line says.
            is_content = self.reads and "test" not in self.families
            text = result.lstrip().split("\n", 1)[0] if is_content else result
            if not self.reads and len(text) < _SHORT_RESULT and _denies(text):
                return "error", excerpt(text)
            return _outcome_of_text(text)
        return self._outcome_of_value()

    def _without_echoes(self, result: str) -> str:
        """Return a result without the longer arguments that it repeats: the message of a commit."""
        for leaf in self.argument_leaves:
            if isinstance(leaf.value, str) and _MIN_ECHO <= len(leaf.value) <= _MAX_PATH:
                result = result.replace(leaf.value, " ")
        return result

    @cached_property
    def failed_items(self) -> tuple[str, ...]:
        """The entries or lines of its result that failed where others did not, as text."""
        failed: list[str] = []
        others = 0
        if isinstance(self.result_value, str) and not self.reads:
            lines = [line for line in self.result_value.splitlines() if line.strip()]
            if 1 < len(lines) <= _MAX_LINES and all(map(_is_of_item, lines)):
                failed = [line for line in lines if _denies(line)]
                others = sum(bool(fields().successes & set(line.lower().split())) for line in lines)
                return tuple(failed) if others else ()
        for items in _lists_of_objects(self.result_value):
            for item in items:
                outcomes = {_outcome_of_leaf(leaf) for leaf in _leaves(item)}
                if outcomes & {"error", "pending", "nothing"}:
                    failed.append(json.dumps(item, ensure_ascii=False, default=str))
                else:
                    others += 1
        return tuple(failed) if others else ()

    def _outcome_of_value(self) -> tuple[Outcome, str]:
        outcomes: list[tuple[Outcome, str]] = [
            *self._trials(),
            *self._outcomes_of_fields(),
            *self._empty_lists(),
        ]
        if any(
            leaf.key in fields().counts and _is_count(leaf.value) for leaf in self.result_leaves
        ):
            # "archived: 37, failed: 3"
            outcomes = [(_as_part(outcome), words) for outcome, words in outcomes]
        by_severity: tuple[Outcome, ...] = ("dry_run", "error", "pending", "nothing", "partial")
        for severity in by_severity:
            for outcome, words in outcomes:
                if outcome == severity:
                    return outcome, words
        return "ok", excerpt(self.call.result or "")

    def _trials(self) -> Iterator[tuple[Outcome, str]]:
        """Yield the arguments by which nothing is really done."""
        for leaf in self.argument_leaves:
            if leaf.key in fields().trials and leaf.value not in _UNSET:
                yield "dry_run", f"{leaf.key}: {leaf.value}"

    def _outcomes_of_fields(self) -> Iterator[tuple[Outcome, str]]:
        if self.failed_items:
            yield "partial", excerpt(self.failed_items[0])
        failed_lists = list(self._failed_lists())
        yield from failed_lists
        is_list = type(self.result_value) is list
        has_status = any(
            leaf.key in fields().statuses and len(leaf.path) == 1 for leaf in self.result_leaves
        )
        for leaf in self.result_leaves:
            # Those of an entry in a list of results.
            is_of_item = len(leaf.path) > 1 or is_list
            is_of_failed = bool(failed_lists) and not fields().errors.isdisjoint(leaf.path[:1])
            if is_of_failed or (self.failed_items and is_of_item):
                continue
            if self.reads and (len(leaf.path) != 1 or not _is_of_reading(leaf)):
                continue
            outcome = _outcome_of_leaf(leaf)
            if outcome in ("error", "pending") and has_status and len(leaf.path) > 1:
                # "cancelled", and the refund beside it pends
                outcome = "partial"
            if outcome is not None:
                yield outcome, f"{leaf.key}: {leaf.value}" if leaf.key else str(leaf.value)

    @cached_property
    def status(self) -> str | None:
        """The status in its result that says that something is not through, if there is one."""
        for leaf in self.result_leaves:
            if leaf.key in fields().statuses and isinstance(leaf.value, str):
                outcome = _outcome_of_status(leaf.value)
                if outcome in ("pending", "error") and len(leaf.path) == 1:
                    return f"{leaf.key}: {leaf.value}"
        return None

    def _failed_lists(self) -> Iterator[tuple[Outcome, str]]:
        """Yield the lists of what failed: `"invited": [...], "failed": [{"email": ...}]`."""
        value = self.result_value
        if not isinstance(value, Mapping):
            return
        for key, entries in cast("Mapping[str, Any]", value).items():
            if entries and isinstance(entries, list) and key.lower() in fields().errors:
                text = json.dumps(entries, ensure_ascii=False, default=str)
                yield "partial", excerpt(f"{key}: {text}")

    def _empty_lists(self) -> Iterator[tuple[Outcome, str]]:
        value = self.result_value
        if value == []:
            yield "nothing", "[]"
        if isinstance(value, Mapping):
            for key in fields().lists:
                if cast("Mapping[str, Any]", value).get(key) == []:
                    yield "nothing", f"{key}: []"


def excerpt(text: str, chars: int = 120) -> str:
    """Return the beginning of a result, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[: chars - 2]} …"


def beginning(name: str) -> str:
    """Return a name without what its case adds: "Jana" is "Jan"."""
    return name.lower()[: max(_MIN_NAME, len(name) - 2)] if len(name) > _MIN_NAME else name


def split_name(name: str) -> list[str]:
    """Return the words of a name in lower case, split at capitals and underscores."""
    return [token.lower() for token in _TOKEN.findall(name)]


def solid(text: str) -> str:
    """Return the letters and digits of a text in lower case."""
    return _ALNUM.sub("", text.lower())


def _leaves(value: Any, key: str = "", path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    if isinstance(value, Mapping):
        for name, inner in cast("Mapping[Any, Any]", value).items():
            yield from _leaves(inner, str(name).lower(), (*path, str(name).lower()))
    elif isinstance(value, (list, tuple)):
        for inner in cast("list[Any]", value):
            yield from _leaves(inner, key, path)
    else:
        yield Leaf(key, value, path)


def _lists_of_objects(value: Any) -> Iterator[list[Mapping[str, Any]]]:
    if isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _lists_of_objects(inner)
    elif isinstance(value, list):
        objects: list[Mapping[str, Any]] = [
            item for item in cast("list[Any]", value) if isinstance(item, Mapping)
        ]
        if len(objects) > 1:
            yield objects


def _objects_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in a result that have values of their own."""
    if isinstance(value, Mapping):
        yield cast("Mapping[str, Any]", value)
        value = list(cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _objects_in(inner)


def _value_text(leaf: Leaf) -> str:
    """Return a value as text in lower case, a short id with what it is; empty if it is none."""
    if isinstance(leaf.value, bool) or not isinstance(leaf.value, (str, int)):
        return ""
    return f"id {leaf.value}" if leaf.key == "id" else str(leaf.value).lower()


def _counts(value: Any) -> Iterator[int]:
    if isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _counts(inner)
    elif isinstance(value, (list, tuple)):
        yield len(cast("list[Any]", value))
        for inner in cast("list[Any]", value):
            yield from _counts(inner)
    elif isinstance(value, str):
        lines = [line for line in value.splitlines() if line.strip()]
        if len(lines) > 1:
            yield len(lines)
            yield len(lines) - 1
        items = [item for item in re.split(r"[,;、，]|\band\b", value) if item.strip()]
        if len(items) > 1:
            yield len(items)


def _families_of_name(tokens: tuple[str, ...]) -> frozenset[str]:
    table = tool_words()
    verbs = [token for token in tokens if token in table and token not in fields().nouns]
    nouns = [token for token in tokens if token in table and token in fields().nouns]
    # The first verb of a name is what it does: "mcp__desk__create_ticket", "turn_on".
    families: set[str] = set()
    for verb in verbs:
        families |= table[verb]
    makes = not verbs or any(verb in fields().making for verb in verbs)
    if makes:
        for noun in nouns:
            families |= table[noun]
    elif tokens and tokens[0] in nouns and not verbs:
        families |= table[tokens[0]]
    if "turn" in tokens or "switch" in tokens:
        families |= {"on", "off"} & set(tokens) or {"on", "off"}
    return frozenset(families)


def _families_in(tokens: tuple[str, ...], code: str) -> set[str]:
    """Return what the words of a name do in a language other than English."""
    local = local_tool_words(code)
    families: set[str] = set()
    for token in tokens:
        folded = without_accents(token)
        if token in fields().reading:
            return {"search", "read"}
        if len(folded) >= _MIN_TOKEN:
            families |= local.get(folded[:_STEM], frozenset())
    return families


def _families_of_argument(leaf: Leaf) -> set[str]:
    if leaf.value in _UNSET:
        return set()
    families = _families_of_flag(leaf)
    if not isinstance(leaf.value, str):
        return families
    sql = _SQL.match(leaf.value)
    if sql is not None and leaf.key in _SQL_KEYS:
        return families | set(_SQL_FAMILIES[sql[1].lower()].split())
    if leaf.key == "method" and leaf.value.lower() in _HTTP_FAMILIES:
        return families | set(_HTTP_FAMILIES[leaf.value.lower()].split())
    if leaf.key in fields().doing or not leaf.key:
        for token in split_name(" ".join(leaf.value[:_COMMAND_CHARS].split()[:_COMMAND_WORDS])):
            families |= tool_words().get(token, frozenset())
    return families


def _families_of_flag(leaf: Leaf) -> set[str]:
    """Return what a call does besides: `"send_updates": "all"`, `"notify": true`."""
    tokens, flags = split_name(leaf.key), fields().flags
    is_flag = bool(tokens) and tokens[0] in flags and leaf.key not in fields().doing
    is_on = leaf.value is True and leaf.key not in fields().trials
    families: set[str] = set()
    for token in tokens if is_on or is_flag else ():
        if token in flags or (is_on and token not in fields().nouns):
            families |= tool_words().get(token, frozenset())
    return families


def _families_of_result(leaf: Leaf) -> set[str]:
    """Return what a field of a result says was done besides: `"notified": ["ben@…"]`."""
    if leaf.value in (None, False, "", 0):
        return set()
    words = split_name(leaf.key)
    families: set[str] = set()
    if leaf.key in fields().statuses and isinstance(leaf.value, str):
        words = split_name(leaf.value)
    for word in words:
        if word.endswith(("ed", "sent", "paid", "written")) and word not in {"failed", "saved"}:
            families |= tool_words().get(word, frozenset())
    return families


def _is_of_reading(leaf: Leaf) -> bool:
    """Return whether a field says something about the reading, and not about what was read."""
    is_code = leaf.key in fields().statuses and isinstance(leaf.value, int)
    return is_code or leaf.key in fields().errors | fields().exits | _SUCCEEDED


def _as_part(outcome: Outcome) -> Outcome:
    return "partial" if outcome == "error" else outcome


def _is_of_item(line: str) -> bool:
    """Return whether a line names something and says what came of it: "n3 unreachable"."""
    return 1 < len(line.split()) <= _MAX_LINE_WORDS


def _spaced_cells(text: str) -> str:
    """Return a text with spaces between the cells of its rows, if it has comma-separated values."""
    lines = text.split("\n")[:_MAX_LINES]
    commas = {line.count(",") for line in lines if line.strip()}
    is_table = len(lines) > 1 and len(commas) == 1 and commas != {0} and ", " not in text
    return text.replace(",", " ; ") if is_table else text


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _outcome_of_leaf(leaf: Leaf) -> Outcome | None:
    key, value, names = leaf.key, leaf.value, fields()
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    is_set = value not in _UNSET
    if key in names.errors or key in ("is_error", "iserror") or key in names.exits:
        return "error" if is_set and value != "0" else None
    if key in names.successes and value is False:
        return "error"
    if key in names.trials and is_set:
        return "dry_run"
    if key in names.counts and (value == "0" or (is_number and value == 0)):
        return "nothing"
    if key in names.statuses:
        return _outcome_of_status(str(value)) if is_number or isinstance(value, str) else None
    if (key in names.texts or not key) and isinstance(value, str):
        outcome = _outcome_of_text(value)[0]
        return None if outcome == "ok" else outcome
    return None


def _outcome_of_status(value: str) -> Outcome | None:
    words = value.lower().replace("_", " ").replace("-", " ")
    if fields().failures.search(words):
        return "error"
    if words.isdecimal():
        return "error" if len(words) == 3 and int(words) >= 400 else None
    if _PARTIAL.search(words):
        return "partial"
    if fields().pending.search(value) or fields().pending.search(words):
        return "pending"
    return None


def _denies(text: str) -> bool:
    """Return whether a short result says that something was not done."""
    words = _FILES.sub(" ", _without_passes(text).lower())
    return bool(_TEXT_DENIAL.search(words) or fields().failures.search(words))


def _without_passes(text: str) -> str:
    """Return a text, as long as before, without what tells that nothing failed."""
    return _WITHOUT_ERRORS.sub(lambda match: "x" * len(match[0]), text)


def tells_failures(text: str) -> bool:
    """Return whether a text in lower case tells that a check failed: "2 fail", "one error"."""
    return _FAILS.search(_without_passes(text)) is not None


def _outcome_of_text(text: str) -> tuple[Outcome, str]:
    words = _without_passes(text[:20_000])
    failure = _FAILED_COUNT.search(words)
    # As mail servers answer: "250 queued as 11A".
    if failure is None and _ACCEPTED.match(text):
        return "ok", excerpt(text)
    failures = filter(None, (failure, _TEXT_ERROR.search(words)))
    failure = min(failures, key=lambda match: match.start(), default=None)
    if failure is not None:
        line_end = text.find("\n", failure.start())
        return "error", excerpt(text[failure.start() : line_end if line_end > 0 else None])
    nothing = _TEXT_NOTHING.search(words)
    if nothing is not None and len(text) < 400:
        return "nothing", excerpt(text)
    if re.search(r"(?i)dry[- ]run|would have|simulat", text[:2_000]):
        return "dry_run", excerpt(text)
    if len(text) < 400 and re.search(r"(?i)\b(?:queued|pending|awaiting|in progress)\b", text):
        return "pending", excerpt(text)
    return "ok", excerpt(text)
