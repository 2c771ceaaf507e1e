"""The policies of a gateway, reloaded when their files change."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from resay import Guard
from resay.adapters import GuardRuntime
from resay.adapters.policies import check_client_policy, guard_of
from resay.errors import ResayError
from resay_server.gateway.config import DEFAULT_POLICY, GatewayConfig
from resay_server.gateway.errors import RefusedError
from resay_server.journal.export import timestamp

logger = logging.getLogger("resay.gateway")

_SHOWN = 64
_Signature = tuple[int, int, int] | None


class Policies:
    """The guards of a gateway, by name.

    A reload replaces all of them at once, and only if all new ones are usable. Requests in flight
    keep the guard that they started with.

    Args:
        config: The gateway's configuration.

    Attributes:
        succeeded: Whether the last load succeeded.
        withheld: Whether any of them could withhold answers since the gateway started.
        version: A hash of this set of policies; empty before they are loaded.
        reloaded_at: The time of the last successful load, in seconds since the epoch (UTC).
        refused_since: Since when changed files cannot be used, in the same seconds; None if they
            are in use.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self.succeeded = False
        self.reloaded_at = 0.0
        self.refused_since: float | None = None
        self.withheld = False
        self.version = ""
        self._files = config.policy_files
        self._selectable = config.selectable_policies
        self._journal = config.journal
        self._guards: Mapping[str, Guard] = {}
        self._signatures: Mapping[str, _Signature] = {}
        self._loading = asyncio.Lock()

    @property
    def guards(self) -> Mapping[str, Guard]:
        """The guards by name, always those in use."""
        return _InUse(lambda: self._guards)

    @property
    def loaded(self) -> bool:
        """Whether the policies are loaded."""
        return bool(self._guards)

    def get(self, name: str | None) -> tuple[str, Guard]:
        """Return a policy's name and its guard.

        Args:
            name: The name; None for the default.

        Raises:
            RefusedError: There is no policy of that name.
        """
        if name is None:
            name = DEFAULT_POLICY
        guard = self._guards.get(name)
        if guard is None:
            names = ", ".join(map(repr, sorted(self._guards)))
            message = f"unknown policy {name[:_SHOWN]!r} (x-resay-policy); known: {names}"
            raise RefusedError(400, "unknown_policy", message)
        return name, guard

    def choose(self, name: str | None, *, brings_answer: bool) -> tuple[str, Guard]:
        """Return the policy that a client chooses, and its guard.

        Args:
            name: The name; None for the default.
            brings_answer: Whether the client brings the answer to check, so that nothing is kept
                from it.

        Raises:
            RefusedError: There is no policy of that name, or clients may not choose it.
        """
        chosen, guard = self.get(name)
        if chosen == DEFAULT_POLICY:
            return chosen, guard
        selectable = self._selectable
        if selectable is None:
            default_withholds = self._guards[DEFAULT_POLICY].policy.can_withhold
            selectable = () if default_withholds and not brings_answer else (chosen,)
        if chosen not in selectable:
            names = ", ".join(map(repr, sorted({DEFAULT_POLICY, *selectable})))
            raise RefusedError(
                403,
                "policy_not_selectable",
                f"clients may not choose policy {chosen[:_SHOWN]!r} (x-resay-policy), only {names};"
                " the operator can allow it with `selectable_policies` in the gateway file",
            )
        return chosen, guard

    async def load(self) -> None:
        """Load all policies and their models.

        Raises:
            ConfigurationError: One of them is not valid or cannot be used here.
            ScorerError: A model's server does not respond.
        """
        async with self._loading:
            self._signatures = self._file_signatures()
            await self._replace()

    async def _replace(self) -> None:
        self.succeeded = False
        self._guards = await self._load_guards()
        dumps = [(name, guard.policy.model_dump_json()) for name, guard in self._guards.items()]
        self.version = hashlib.sha256(json.dumps(sorted(dumps)).encode()).hexdigest()[:12]
        self.withheld |= any(guard.policy.can_withhold for guard in self._guards.values())
        self.succeeded, self.reloaded_at = True, time.time()
        self.refused_since = None

    async def reload(self) -> bool:
        """Load all policies again; keep the old ones if any new one cannot be used.

        Returns:
            Whether the new ones are in use.
        """
        async with self._loading:
            # Look before reading: a file that changes meanwhile is loaded again.
            self._signatures = self._file_signatures()
            try:
                await self._replace()
            except ResayError as error:
                self._refuse(str(error))
                return False
            # A third-party scorer may fail in any way.
            except Exception as error:
                self._refuse(type(error).__name__)
                return False
        logger.info("the policies were reloaded")
        return True

    def _refuse(self, reason: str) -> None:
        """Keep the policies in use, and say why."""
        self.refused_since = self.refused_since or time.time()
        logger.error("the policies were not reloaded: %s", reason)

    def reload_status(self) -> dict[str, str]:
        """Return what `/readyz` says of the last reload; the reason is in the log alone."""
        if self.refused_since is None:
            return {"status": "ok"}
        return {"status": "refused", "since": timestamp(self.refused_since)}

    async def watch_files(self, every_s: float) -> None:
        """Reload all policies whenever a file changes. Does not return.

        Args:
            every_s: The interval between checks, in seconds.
        """
        while True:
            await asyncio.sleep(every_s)
            if self._file_signatures() != self._signatures:
                await self.reload()

    async def _load_guards(self) -> Mapping[str, Guard]:
        guards = {
            name: await asyncio.to_thread(partial(_guard, name, file))
            for name, file in list(self._files.items())
        }
        # The gateway writes each verdict to the journal itself, with details only it knows.
        if self._journal is not None:
            guards = {
                name: _for_journal(guard, self._journal.stores_evidence)
                for name, guard in guards.items()
            }
        for guard in guards.values():
            await GuardRuntime(guard).aprepare()
        return guards

    def _file_signatures(self) -> Mapping[str, _Signature]:
        return {name: _signature(file) for name, file in self._files.items() if file is not None}


def _guard(name: str, file: str | None) -> Guard:
    guard = guard_of(file)
    # Steps that compare with documents are for checks of answers that come with some.
    gives_references = name != DEFAULT_POLICY
    check_client_policy(guard, "a gateway's upstream", gives_references=gives_references)
    return guard


class _InUse(Mapping[str, Guard]):
    """A view of the guards that are in use when it is read."""

    def __init__(self, current: Callable[[], Mapping[str, Guard]]) -> None:
        self._current = current

    def __getitem__(self, name: str) -> Guard:
        return self._current()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())


def _for_journal(guard: Guard, stores_evidence: bool) -> Guard:
    """Return a guard whose verdicts somebody else writes to a journal."""
    guard = guard.with_options(policy=guard.policy.model_copy(update={"journal": None}))
    return GuardRuntime(guard).with_evidence() if stores_evidence else guard


def _signature(file: str) -> _Signature:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
