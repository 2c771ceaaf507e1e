"""What the commands of a shell do, by their words: `git commit`, `npm ci`, `sed -i`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.lang.tables import phrase_set, table, word_set
from resay.scorers.actions.words import families_by_word

_MAX_CHARS: Final = 4_000
_MAX_COMMANDS: Final = 40
# What separates commands, outside of quotes.
_PIECE: Final = lazy_pattern(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|&&|\|\||[;|\n&]|[^'\"&|;\n]+|['\"]")
_SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "\n", "&"})
_WORD: Final = lazy_pattern(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\S+")
_SETTING: Final = lazy_pattern(r"[A-Za-z_]\w*=\S*")
_REDIRECTION: Final = lazy_pattern(r"(?<![<>2=-])>{1,2}\s*(?!/dev/null|&)[\w./~$\"'-]+")
_PARTS: Final = lazy_pattern(r"[^\W_]+")
_MAX_WORDS: Final = 4
# How programs that check something end: yamllint, typecheck.
_CHECKERS: Final = ("lint", "check", "test")


@dataclass(frozen=True, slots=True)
class ShellEffects:
    """What a line of a shell does.

    Attributes:
        families: What it does, as far as its words say.
        is_opaque: Whether it runs something whose words do not say all that it does: a script.
    """

    families: frozenset[str]
    is_opaque: bool


def shell_effects(text: str) -> ShellEffects:
    """Return what a line of a shell does.

    Args:
        text: The line, or several.
    """
    text = text[:_MAX_CHARS]
    families: set[str] = set()
    is_opaque = False
    for words in _commands(text):
        own = _families_of(words)
        families |= own
        is_opaque = is_opaque or not own or any(word.startswith("./") for word in words[:2])
    if _REDIRECTION.search(text):
        families |= {"create", "save", "update"}
    return ShellEffects(frozenset(families), is_opaque)


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a line."""
    command = ""
    count = 0
    for piece in _PIECE.finditer(text):
        if piece[0] not in _SEPARATORS:
            command += piece[0]
            continue
        if command.strip():
            yield _WORD.findall(command)
            count += 1
        command = ""
        if count >= _MAX_COMMANDS:
            return
    if command.strip():
        yield _WORD.findall(command)


def _families_of(words: list[str]) -> set[str]:
    """Return what one command does: by its program alone, or by the words after it."""
    vocabulary = _vocabulary()
    words = _without_wrappers(words)
    if not words:
        return {"read"}
    program = words[0].rsplit("/", 1)[-1].lower()
    if program in vocabulary.silent:
        return {"read"}
    if program in vocabulary.by_program:
        return set(vocabulary.by_program[program])
    families: set[str] = set()
    for word in words[1:_MAX_WORDS]:
        families |= vocabulary.by_flag.get(word, frozenset())
        is_name = not word.startswith(("-", "/", ".", "'", '"')) and "=" not in word
        for part in _PARTS.findall(word.lower()) if is_name else ():
            families |= vocabulary.by_word.get(part, frozenset())
    # "make" and "./deploy.sh" may have no other word that says what they do.
    if program.endswith(_CHECKERS):
        families.add("test")
    for part in _PARTS.findall(program):
        families |= vocabulary.by_word.get(part, frozenset())
    return families


def _without_wrappers(words: list[str]) -> list[str]:
    """Return a command without what only runs it: `sudo`, `uv run`, `python -m`, `A=1`."""
    wrappers = _vocabulary().wrappers
    index = 0
    while index < len(words):
        word = words[index].rsplit("/", 1)[-1].lower()
        after = words[index + 1].lower() if index + 1 < len(words) else ""
        if f"{word} {after}" in wrappers:
            index += 2
        elif word in wrappers or _SETTING.fullmatch(words[index]):
            index += 1
        else:
            break
    return words[index:]


@dataclass(frozen=True)
class _Vocabulary:
    silent: frozenset[str]
    wrappers: frozenset[str]
    by_program: Mapping[str, frozenset[str]]
    by_word: Mapping[str, frozenset[str]]
    by_flag: Mapping[str, frozenset[str]]


@cache
def _vocabulary() -> _Vocabulary:
    commands: Mapping[str, Mapping[str, str]] = table("en", "actions")["commands"]
    general: Mapping[str, str] = commands["general"]
    return _Vocabulary(
        silent=word_set(general["silent"]),
        wrappers=phrase_set(general["wrappers"]),
        by_program=families_by_word(commands["programs"]),
        by_word=families_by_word(commands["words"]),
        by_flag=families_by_word(commands["flags"]),
    )
