"""The addresses of models' APIs, as users write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from resay._internal.patterns import lazy_pattern

CHAT_PATH = "/chat/completions"
"""The path of chat completions, after the address of an API."""
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")
_LOCAL = lazy_pattern(r"(localhost|[\d.]+|\[[\da-fA-F:]+\])(:\d+)?", re.IGNORECASE)


def base_url_in(params: Mapping[str, Any]) -> str | None:
    """Return the address of the API that a request's parameters name; None for the provider's."""
    value = params.get("api_base") or params.get("base_url")
    return None if value is None else str(value)


def problem_with_url(url: str) -> str | None:
    """Return why an address is none, with the one that was probably meant; None if it is fine.

    Args:
        url: The address of an API, such as `http://127.0.0.1:8000/v1`.
    """
    text = url.strip()
    if not _SCHEME.match(text):
        host = text.partition("/")[0]
        scheme = "http" if _LOCAL.fullmatch(host) else "https"
        return f"{text!r} is not a URL; did you mean {with_version(f'{scheme}://{text}')!r}?"
    parts = _split(text)
    if parts is None:
        return f"{text!r} is not a URL; write one such as 'http://127.0.0.1:8000/v1'"
    if parts.scheme.lower() not in ("http", "https"):
        return f"{text!r} must begin with http:// or https://"
    return None


def with_version(url: str) -> str:
    """Return an address that ends in a version, as those of most APIs do."""
    base = url.rstrip("/")
    return base if re.search(r"/v\d+\w*$", base) else f"{base}/v1"


def url_at(base_url: str, path: str) -> str:
    """Return an address of an API.

    Args:
        base_url: The API's address, perhaps with the path of chat completions, or a query.
        path: The path after it.
    """
    base, mark, query = base_url.strip().partition("?")
    base = base.rstrip("/").removesuffix(CHAT_PATH)
    return f"{base}{path}{mark}{query}"


def shown(url: str) -> str:
    """Return an address without what may be secret: a user's name, a password, a query."""
    parts = _split(url)
    if parts is None:
        return "the address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


def host_of(url: str) -> str:
    """Return the host of an address; empty if it has none."""
    parts = _split(url)
    return "" if parts is None else (parts.hostname or "")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        # Reading the port checks it.
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_whole else None
