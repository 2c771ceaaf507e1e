"""The keys of clients."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence

from resay.errors import ConfigurationError
from resay_server.gateway.config import ClientKey


class Keyring:
    """Recognizes keys by their hashes.

    Args:
        keys: The keys.
        env: The environment variables; None for the process's.

    Raises:
        ConfigurationError: A variable that should contain a key is not set.
    """

    def __init__(self, keys: Sequence[ClientKey], env: Mapping[str, str] | None = None) -> None:
        variables = os.environ if env is None else env
        self._hashes = [(key.name, _hash_of(key, variables)) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def owner(self, presented: str | None) -> str | None:
        """Return the owner of a key; None if it is unknown.

        Its duration depends neither on the key nor on its similarity to known ones.
        """
        digest = _hex_of(presented or "")
        owner = None
        for name, key_digest in self._hashes:
            if hmac.compare_digest(digest, key_digest) and presented:
                owner = name
        return owner


def _hex_of(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _hash_of(key: ClientKey, env: Mapping[str, str]) -> str:
    if key.sha256 is not None:
        return key.sha256
    value = env.get(key.env or "")
    if not value:
        raise ConfigurationError(
            f"the key {key.name!r} must be in the environment variable {key.env!r}, which is not"
            " set; set it, or give the key's `sha256`"
        )
    return _hex_of(value)
