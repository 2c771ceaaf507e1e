"""The host names of requests, checked against DNS rebinding."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from functools import lru_cache


def is_trusted_host(host: str, names: Collection[str]) -> bool:
    """Return whether a `Host` header is safe from DNS rebinding.

    An attack needs a name that the attacker controls; IP addresses are always safe.

    Args:
        host: The name or address in the header, in lower case and without a port.
        names: The accepted names.
    """
    return host == "localhost" or host in names or _is_address(host)


# Most requests name few hosts.
@lru_cache(maxsize=64)
def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
