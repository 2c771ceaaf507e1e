"""The languages of a folder's texts, and the stemmers that know them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeGuard, get_args

from resay.errors import MissingDependencyError

FolderLanguage: TypeAlias = Literal[
    "auto",
    "none",
    "ca",
    "da",
    "de",
    "el",
    "en",
    "es",
    "eu",
    "fi",
    "fr",
    "ga",
    "hu",
    "hy",
    "id",
    "it",
    "lt",
    "nl",
    "no",
    "pt",
    "ro",
    "ru",
    "sr",
    "sv",
    "tr",
]
"""The language of a folder's texts: detected for each, none, or this one."""

STEMMED_LANGUAGES: tuple[str, ...] = tuple(
    code for code in get_args(FolderLanguage) if len(code) == 2
)
"""The languages whose inflected words can be found."""


def is_folder_language(text: str) -> TypeGuard[FolderLanguage]:
    """Return whether a text is one of them, auto or none."""
    return text in get_args(FolderLanguage)


SNOWBALL: Mapping[str, str] = MappingProxyType(
    {
        "ca": "catalan",
        "da": "danish",
        "de": "german",
        "el": "greek",
        "es": "spanish",
        "eu": "basque",
        "fi": "finnish",
        "fr": "french",
        "ga": "irish",
        "hu": "hungarian",
        "hy": "armenian",
        "id": "indonesian",
        "it": "italian",
        "lt": "lithuanian",
        "nl": "dutch",
        "no": "norwegian",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sr": "serbian",
        "sv": "swedish",
        "tr": "turkish",
    }
)
"""The names of the languages except English in the package `snowballstemmer`."""

_PURPOSE = "finding inflected words of the language {!r}"


@cache
def has_stems(language: str) -> bool:
    """Return whether a language's stemmer is installed."""
    return language == "en" or find_spec("snowballstemmer") is not None


def require_stems(language: str) -> None:
    """Check that a language's stemmer is installed.

    Raises:
        MissingDependencyError: It is not installed.
    """
    if not has_stems(language):
        raise MissingDependencyError("snowballstemmer", "stemming", _PURPOSE.format(language))
