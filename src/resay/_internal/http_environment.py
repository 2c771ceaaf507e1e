"""The environment variables that HTTP clients read, and which of them none can be created with."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from urllib.request import getproxies

from resay.errors import ConfigurationError

_PROXIES = ("http", "https", "all")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@contextmanager
def naming_variables() -> Generator[None]:
    """Name the variable to blame if no client can be created inside the `with` block.

    Raises:
        ConfigurationError: A variable is malformed. Its value is not shown: that of a proxy may
            hold a password.
    """
    try:
        yield
    except Exception as error:
        problem = environment_problem(error)
        if problem is None:
            raise
        raise ConfigurationError(problem) from None


def environment_problem(error: BaseException | None = None) -> str | None:
    """Return which variable is malformed and what to do about it; None if none is.

    Args:
        error: The error of a client that could not be created; None if that is unknown.
    """
    for scheme in _PROXIES:
        address = getproxies().get(scheme)
        problem = _problem_with_proxy(address) if address else None
        if problem is not None:
            return f"{_variable(scheme)} {problem}"
    certificates = next((name for name in _CERTIFICATES if os.environ.get(name)), None)
    if isinstance(error, OSError) and certificates is not None:
        path = os.environ[certificates]
        return f"`{certificates}` is {path!r}, which has no certificates; correct or unset it"
    if isinstance(error, _errors_of_addresses()) and getproxies().get("no"):
        return f"{_variable('no')} has an entry that is no host; correct or unset it"
    return None


def _problem_with_proxy(address: str) -> str | None:
    import httpx

    try:
        # As httpx reads it.
        proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
    except _errors_of_addresses():
        return "is not the address of a proxy; write it as `http://host:port`, or unset it"
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        return (
            "is the address of a SOCKS proxy, which needs 'socksio'; install it with: pip install"
            " 'httpx[socks]'"
        )
    return None


def _errors_of_addresses() -> tuple[type[Exception], ...]:
    import httpx

    return (ValueError, httpx.InvalidURL)


def _variable(scheme: str) -> str:
    """Return the name of the variable with a proxy, of which the one in small letters counts."""
    lower = f"{scheme}_proxy"
    for name in (lower, lower.upper()):
        if os.environ.get(name):
            return f"`{name}`"
    # On macOS and Windows.
    return f"the system's setting for the {scheme} proxy"
