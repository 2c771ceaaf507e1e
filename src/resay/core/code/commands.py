"""Packages that commands install, and the long flags of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resay._internal.event_loops import stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.code.blocks import Code
from resay.core.code.names import CodeLanguage, CodeName
from resay.core.code.tokens import MAX_CHARS
from resay.lang.tables import word_set

# Commands that install packages, by the language of the packages.
_INSTALLS = lazy_pattern(
    r"""
    (?:^|&&|\|\||;|\$\(|`)[ \t]*(?:[$%>!#][ \t]*)?(?:sudo[ \t]+)?
    (?:(?:python3?|py)[ \t]+-m[ \t]+)?
    (?: (?P<python>(?:uv[ \t]+)?pip[23]?[ \t]+install
        |(?:uv|poetry|pdm)[ \t]+add|pipenv[ \t]+install)
      | (?P<javascript>(?:npm|pnpm)[ \t]+(?:install|i|add)|(?:yarn|bun)[ \t]+add)
      | (?P<rust>cargo[ \t]+(?:add|install))
      | (?P<go>go[ \t]+(?:get|install))
      | (?P<ruby>gem[ \t]+install|bundle[ \t]+add)
      | (?P<csharp>dotnet[ \t]+add[ \t]+package)
    )
    [ \t]+(?P<arguments>[^\n;&|`)]*)
    """,
    re.VERBOSE | re.MULTILINE,
)
_COMMAND = lazy_pattern(
    r"(?:^|&&|\|\|?|;)[ \t]*(?:[$%>!#][ \t]+)?(?:sudo[ \t]+)?"
    r"(?P<command>[a-z][\w.-]{1,30})(?P<arguments>(?:[ \t][^\n;&|]*)?)",
    re.MULTILINE,
)
_INSTALLED: list[CodeLanguage] = ["python", "javascript", "rust", "go", "ruby", "csharp"]
_WORD = lazy_pattern(r"\S+")
_PACKAGE = lazy_pattern(r"[@A-Za-z][\w./@-]*[\w]|[A-Za-z]")
_VERSION_MARK = lazy_pattern(r"[\[=<>~!^;]")
_FLAG = lazy_pattern(r"--[a-z][\w-]{1,40}(?==|\Z)")
# The word after one of these flags is not a package.
_FLAGS_WITH_VALUES = word_set(
    "-r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -f -t --target"
    " --registry --version --features -F --group --source"
)


def names_in_commands(code: Code) -> Iterator[CodeName]:
    """Yield installed packages, then long flags of commands.

    Args:
        code: The code of a shell.
    """
    text = code.text[:MAX_CHARS]
    for command in _INSTALLS.finditer(text):
        stop_if_abandoned()
        yield from _installed_packages(command, code.start)
    for command in _COMMAND.finditer(text):
        stop_if_abandoned()
        yield from _flags(command, code.start)


def _installed_packages(command: re.Match[str], offset: int) -> Iterator[CodeName]:
    """Yield the packages that a command installs.

    Args:
        command: A match of `_INSTALLS`.
        offset: The start of the code in the response.
    """
    language: CodeLanguage = next(name for name in _INSTALLED if command[name])
    follows_flag = False
    for word in _WORD.finditer(command["arguments"]):
        argument = word.group().strip("\"'")
        if argument.startswith("#"):
            break
        if follows_flag or argument.startswith("-"):
            follows_flag = not follows_flag and argument in _FLAGS_WITH_VALUES
            continue
        package = _PACKAGE.match(_without_version(argument))
        is_address = "://" in argument or argument.startswith((".", "/"))
        if package is None or is_address:
            continue
        name = package.group()
        start = command.start("arguments") + word.start() + word.group().index(name)
        yield CodeName(
            kind="install",
            language=language,
            path=(name,),
            start=offset + start,
            end=offset + start + len(name),
        )


def _flags(command: re.Match[str], offset: int) -> Iterator[CodeName]:
    """Yield the long flags of a command.

    Args:
        command: A match of `_COMMAND`.
        offset: The start of the code in the response.
    """
    for word in _WORD.finditer(command["arguments"]):
        flag = _FLAG.match(word.group())
        if flag is None:
            continue
        start = command.start("arguments") + word.start()
        yield CodeName(
            kind="flag",
            language="shell",
            path=(command["command"], flag.group()),
            start=offset + start,
            end=offset + start + len(flag.group()),
        )


def _without_version(argument: str) -> str:
    """Return the package name of "requests[socks]>=2", "react@18" and "@types/node@20"."""
    name = _VERSION_MARK.split(argument, maxsplit=1)[0]
    # An at sign at the beginning is part of the name.
    version = name.find("@", 1)
    return name if version < 0 else name[:version]
