"""Reads the commands of a shell: packages that are installed, and flags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resay._internal.event_loops import stop_if_abandoned
from resay.core.clauses import words_of
from resay.core.code_names.code import MOST_CHARS, Code, CodeName, Language

# A command that installs packages, by its words; what the packages are of.
_INSTALLS = re.compile(
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
    [ \t]+(?P<rest>[^\n;&|`)]*)
    """,
    re.VERBOSE | re.MULTILINE,
)
_COMMAND = re.compile(
    r"(?:^|&&|\|\|?|;)[ \t]*(?:[$%>!#][ \t]+)?(?:sudo[ \t]+)?"
    r"(?P<command>[a-z][\w.-]{1,30})(?P<rest>(?:[ \t][^\n;&|]*)?)",
    re.MULTILINE,
)
_INSTALLED: list[Language] = ["python", "javascript", "rust", "go", "ruby", "csharp"]
_WORD = re.compile(r"\S+")
_PACKAGE = re.compile(r"[@A-Za-z][\w./@-]*[\w]|[A-Za-z]")
_FLAG = re.compile(r"--[a-z][\w-]{1,40}(?==|\Z)")
# Behind these flags stands no package.
_TAKES_VALUE = words_of(
    "-r --requirement -c --constraint -e --editable -i --index-url --extra-index-url -f -t --target"
    " --registry --version --features -F --group --source"
)


def commands(code: Code) -> Iterator[CodeName]:
    """Find packages that are installed, and long flags of commands."""
    text = code.text[:MOST_CHARS]
    for match in _INSTALLS.finditer(text):
        stop_if_abandoned()
        language: Language = next(one for one in _INSTALLED if match[one])
        skips = False
        for word in _WORD.finditer(match["rest"]):
            token = word.group().strip("\"'")
            if token.startswith("#"):
                break
            if skips or token.startswith("-"):
                skips = not skips and token in _TAKES_VALUE
                continue
            name = _PACKAGE.match(_without_version(token))
            if name is None or "://" in token or token.startswith((".", "/")):
                continue
            at = code.start + match.start("rest") + word.start() + word.group().index(name.group())
            yield CodeName("install", language, (name.group(),), at, at + len(name.group()))
    for match in _COMMAND.finditer(text):
        stop_if_abandoned()
        for word in _WORD.finditer(match["rest"]):
            flag = _FLAG.match(word.group())
            if flag is not None:
                at = code.start + match.start("rest") + word.start()
                path = (match["command"], flag.group())
                yield CodeName("flag", "shell", path, at, at + len(flag.group()))


def _without_version(word: str) -> str:
    """Return the name of "requests[socks]>=2", "react@18" and "@types/node@20"."""
    name = re.split(r"[\[=<>~!^;]", word, maxsplit=1)[0]
    at = name.find("@", 1)
    return name if at < 0 else name[:at]
