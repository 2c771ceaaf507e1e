"""Looks names up, in limited time, and remembers what it learns."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from resay._internal._version import __version__
from resay._internal.event_loops import PerLoop
from resay._internal.http_environment import naming_variables
from resay.engine.lookups.mentions import Mention
from resay.engine.lookups.registries import ACCEPT, addresses_of, url_of
from resay.policy.lookups import LookupsConfig

if TYPE_CHECKING:
    from http.cookiejar import CookieJar

    import httpx

_MAX_REMEMBERED = 10_000
_MAX_REDIRECTS = 3
_AGENT = f"resay/{__version__}"


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a look-up has shown.

    Attributes:
        mention: The name.
        exists: Whether it exists; None if that was not to be learnt.
        problem: Why not, without content; None if it was.
    """

    mention: Mention
    exists: bool | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Connections:
    """The clients of one event loop."""

    registries: httpx.AsyncClient
    links: httpx.AsyncClient
    slots: anyio.Semaphore

    async def aclose(self) -> None:
        await self.registries.aclose()
        await self.links.aclose()


class Lookups:
    """Looks up what answers name.

    Args:
        config: The policy's section.

    Raises:
        ConfigurationError: The address of a registry is not known.
    """

    def __init__(self, config: LookupsConfig) -> None:
        self.config = config
        self._addresses = addresses_of(config)
        self._connections = PerLoop(self._connect, _Connections.aclose)
        self._lock = threading.Lock()
        # When what was learnt is forgotten, by where it is looked up and its name; oldest first.
        self._remembered: dict[tuple[str, str], tuple[bool, float]] = {}

    def _connect(self) -> _Connections:
        import httpx

        headers = {"user-agent": _AGENT}
        timeout = httpx.Timeout(self.config.timeout_s)
        return _Connections(
            registries=httpx.AsyncClient(
                headers=headers,
                cookies=_no_cookies(),
                timeout=timeout,
                follow_redirects=True,
                max_redirects=_MAX_REDIRECTS,
            ),
            links=httpx.AsyncClient(
                headers=headers, cookies=_no_cookies(), timeout=timeout, trust_env=False
            ),
            slots=anyio.Semaphore(self.config.concurrency),
        )

    async def look_up(self, mentions: Sequence[Mention], deadline: float) -> list[Lookup]:
        """Look up names, all at once.

        Args:
            mentions: The names.
            deadline: When to stop, on the event loop's clock.

        Returns:
            What was learnt, for each in order.
        """
        lookups: dict[int, Lookup] = {}
        allowed = mentions[: self.config.per_answer]

        async def look_up_one(index: int, mention: Mention) -> None:
            lookups[index] = await self._look_up(mention)

        with anyio.CancelScope(deadline=deadline):
            async with anyio.create_task_group() as tasks:
                for index, mention in enumerate(allowed):
                    tasks.start_soon(look_up_one, index, mention)
        results: list[Lookup] = []
        for index, mention in enumerate(mentions):
            problem = "no time was left" if index < len(allowed) else "too many of them"
            results.append(lookups.get(index) or Lookup(mention, None, problem))
        return results

    async def _look_up(self, mention: Mention) -> Lookup:
        key = (mention.source, mention.name)
        remembered = self._recall(key)
        if remembered is not None:
            return Lookup(mention, remembered)
        with naming_variables():
            connections = await self._connections.get()
        import httpx

        from resay.engine.lookups.public_links import NotPublicError

        try:
            async with connections.slots:
                with anyio.fail_after(self.config.timeout_s):
                    status = await self._status(mention, connections)
        except NotPublicError as error:
            return Lookup(mention, None, str(error))
        except (TimeoutError, httpx.TimeoutException):
            return Lookup(mention, None, f"no answer within {self.config.timeout_s:g} s")
        # A link may be anything, and so may what a client raises about it.
        except Exception as error:
            return Lookup(mention, None, type(error).__name__)
        if 200 <= status < 300:
            return self._learn(mention, key, exists=True)
        if status == 404:
            return self._learn(mention, key, exists=False)
        return Lookup(mention, None, f"status {status}")

    async def _status(self, mention: Mention, connections: _Connections) -> int:
        if mention.kind == "link":
            from resay.engine.lookups.public_links import status_of_link

            return await status_of_link(connections.links, mention.name)
        url = url_of(mention.source, self._addresses[mention.source], mention.name)
        headers = {"accept": ACCEPT[mention.source]}
        # The body is not read.
        async with connections.registries.stream("GET", url, headers=headers) as response:
            return response.status_code

    def _learn(self, mention: Mention, key: tuple[str, str], *, exists: bool) -> Lookup:
        with self._lock:
            self._remembered.pop(key, None)
            self._remembered[key] = exists, time.monotonic() + self.config.cache_s
            while len(self._remembered) > _MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
        return Lookup(mention, exists)

    def _recall(self, key: tuple[str, str]) -> bool | None:
        with self._lock:
            exists, until_s = self._remembered.get(key, (None, 0.0))
        return exists if time.monotonic() < until_s else None


def _no_cookies() -> CookieJar:
    """Return a jar that keeps no cookie, by which a site could tell what answers have in common."""
    # Slow to import, and needed only where the policy has look-ups.
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
