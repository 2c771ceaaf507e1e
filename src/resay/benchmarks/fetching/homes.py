"""Where the data sets live. Every address is in this module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import httpx

from resay.errors import ConfigurationError

__all__ = ["HOMES", "PHD", "SHROOM", "WIKIBIO", "Homes", "Source"]

HOMES: Mapping[str, str] = MappingProxyType(
    {
        "huggingface": "https://huggingface.co",
        "github": "https://raw.githubusercontent.com",
        "google-drive": "https://drive.google.com",
    }
)


@dataclass(frozen=True, slots=True)
class Source:
    """The files a data set is made from.

    Attributes:
        home: Which of the homes they are in.
        paths: Where in that home, each beginning with a slash.
        page: What to read about them.
    """

    home: str
    paths: tuple[str, ...]
    page: str


# Revisions are pinned wherever the home has them, so that figures stay comparable.
WIKIBIO = Source(
    "huggingface",
    (
        "/datasets/potsawee/wiki_bio_gpt3_hallucination"
        "/resolve/c620633e6968e964594946a96b6cbc06e9defe55/dataset.json",
    ),
    "https://huggingface.co/datasets/potsawee/wiki_bio_gpt3_hallucination",
)
PHD = Source(
    "github",
    (
        "/maybenotime/PHD/7d271110648300c800a106226ba548a9dfc76879/PHD_benchmark.json",
        "/maybenotime/PHD/6bde37100dea1e93b45decb79c375338df27dc7b"
        "/SelfCheckBERTScore/sampled_phd_benchmark.json",
    ),
    "https://github.com/maybenotime/PHD",
)
SHROOM = Source(
    "google-drive",
    ("/uc?export=download&id=1gwanWbGl5s6VEDw2ZoRqx5M6WBmvWcGy",),
    "https://helsinki-nlp.github.io/shroom/2024",
)

# What h11 refuses in a header it quotes in its error, and a token is nobody's business.
_TOKEN = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Homes:
    """The homes as this run knows them.

    Attributes:
        addresses: The address of each, without a slash at the end.
        endpoint: The only one that sees the token.
        token: What Hugging Face knows the user by, if anything.
    """

    addresses: Mapping[str, str]
    endpoint: str
    token: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, overrides: Iterable[str], environ: Mapping[str, str]) -> Homes:
        """Read where the user wants the homes to be.

        Args:
            overrides: `NAME=URL` each; they win over the environment.
            environ: `HF_ENDPOINT` stands for the home `huggingface`; `HF_TOKEN` is shown to it.

        Returns:
            All homes.

        Raises:
            ConfigurationError: A name is unknown, or an address or the token cannot be one.
        """
        default = HOMES["huggingface"]
        endpoint = _address("HF_ENDPOINT", environ.get("HF_ENDPOINT") or default)
        replaced = dict(map(_override, overrides))
        addresses = {**HOMES, "huggingface": endpoint, **replaced}
        return cls(addresses, endpoint, _token(environ.get("HF_TOKEN", "")))

    def files(self, source: Source) -> tuple[str, ...]:
        """Return the addresses of a source's files."""
        return tuple(self.addresses[source.home] + path for path in source.paths)

    def headers(self, address: str) -> dict[str, str]:
        """Return what to send along to an address."""
        if self.token is None or _origin(address) != _origin(self.endpoint):
            return {}
        return {"Authorization": f"Bearer {self.token}"}


def _override(text: str) -> tuple[str, str]:
    name, equals, address = text.partition("=")
    if not equals or name not in HOMES:
        # What follows the name may hold a password.
        raise ConfigurationError(
            f"{name!r} is not a home; pass NAME=URL with one of {', '.join(HOMES)}"
        )
    return name, _address(name, address)


def _address(name: str, text: str) -> str:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL as error:
        raise ConfigurationError(f"{name} is not an address: {error}") from error
    if url.userinfo:
        raise ConfigurationError(f"{name} holds a user name or password; leave that out")
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise ConfigurationError(
            f"{name} is {text!r}; pass an address like {HOMES['huggingface']!r}"
        )
    return str(url).rstrip("/")


def _token(text: str) -> str | None:
    token = text.strip()
    if token and not _TOKEN.fullmatch(token):
        raise ConfigurationError("HF_TOKEN has characters no token has; set it again, or unset it")
    return token or None


def _origin(address: str) -> tuple[str, str, int | None]:
    url = httpx.URL(address)
    return url.scheme, url.host, url.port
