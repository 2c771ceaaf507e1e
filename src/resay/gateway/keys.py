"""The keys that clients come with."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence

from resay.errors import ConfigurationError
from resay.gateway.config import ClientKey

__all__ = ["Keyring"]


class Keyring:
    """Knows keys by their hashes.

    Args:
        keys: The keys.
        env: The environment variables; None for the process's.

    Raises:
        ConfigurationError: A variable that is to hold a key holds none.
    """

    def __init__(self, keys: Sequence[ClientKey], env: Mapping[str, str] | None = None) -> None:
        known = os.environ if env is None else env
        self._hashes = [(key.name, _hash_of(key, known)) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def owner(self, presented: str | None) -> str | None:
        """Return whose key this is; None for nobody's.

        How long it takes does not depend on the key, nor on which of them it is like.
        """
        digest = _hash(presented or "")
        owner = None
        for name, known in self._hashes:
            if hmac.compare_digest(digest, known) and presented:
                owner = name
        return owner


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _hash_of(key: ClientKey, env: Mapping[str, str]) -> str:
    if key.sha256 is not None:
        return key.sha256
    value = env.get(key.env or "")
    if not value:
        raise ConfigurationError(
            f"the key {key.name!r} is to be in the environment variable {key.env!r}, which is not"
            " set; set it, or give the key's `sha256`"
        )
    return _hash(value)
