"""Requests for links of answers, which only public addresses get.

A model may write any link. So each host is resolved here, and the request goes to the address that
was examined; the same holds for every redirect.
"""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urljoin, urlsplit

import anyio
import httpx

_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# All others are local, of a translator (NAT64), or nobody's, which `is_global` does not say.
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
# Addresses in there that stand for others: 6to4 and Teredo.
_TRANSLATED = tuple(map(ipaddress.ip_network, ("2002::/16", "2001::/32")))


class NotPublicError(Exception):
    """A link leads to an address that is not public, or to none."""


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the public Internet."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return is_public(str(parsed.ipv4_mapped))
        if parsed not in _GLOBAL_UNICAST or any(parsed in network for network in _TRANSLATED):
            return False
    return parsed.is_global and not parsed.is_multicast


async def status_of_link(client: httpx.AsyncClient, url: str) -> int:
    """Return the status that a link's last redirect leads to.

    Args:
        client: The client, which follows no redirects and uses no proxy.
        url: The link.

    Raises:
        NotPublicError: It, or a redirect, leads to an address that is not public.
        httpx.HTTPError: There is no answer.
    """
    status = await _follow(client, "HEAD", url)
    # Some servers do not know HEAD.
    return await _follow(client, "GET", url) if status == 404 else status


async def _follow(client: httpx.AsyncClient, method: str, url: str) -> int:
    for _ in range(_MAX_REDIRECTS + 1):
        request = await _request(client, method, url)
        response = await client.send(request, stream=True)
        await response.aclose()
        location = response.headers.get("location")
        if response.status_code not in _REDIRECTS or not location:
            return response.status_code
        url = urljoin(url, location)
    raise NotPublicError("too many redirects")


async def _request(client: httpx.AsyncClient, method: str, url: str) -> httpx.Request:
    """Return a request that goes to an address which was examined."""
    parts = urlsplit(url)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise NotPublicError("a redirect that is no link")
    address = await _public_address(parts.hostname, parts.port or 0)
    target = httpx.URL(url).copy_with(host=address)
    netloc = parts.netloc.rpartition("@")[2]
    return client.build_request(
        method,
        target,
        headers={"host": netloc.encode("idna").decode() if not netloc.isascii() else netloc},
        extensions={"sni_hostname": parts.hostname},
    )


async def _public_address(host: str, port: int) -> str:
    try:
        found = await anyio.getaddrinfo(host, port or None, type=socket.SOCK_STREAM)
    # `UnicodeError`: a host whose labels are too long.
    except (OSError, UnicodeError):
        raise NotPublicError("a host without an address") from None
    addresses = [str(entry[4][0]) for entry in found]
    if not addresses or not all(map(is_public, addresses)):
        raise NotPublicError("a host that is not public")
    return addresses[0]
