"""The options of commands that read a journal: which journal, and which of its entries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import ValidationError

from resay import Policy
from resay.adapters.settings import SQLITE, JournalConfig, message_of
from resay.errors import ConfigurationError
from resay_server.journal import Entry, Journal, open_journal
from resay_server.journal.export import moment_of

T = TypeVar("T")
_PAGE = 500

JournalOption = Annotated[
    str | None,
    typer.Option(
        "--journal",
        "-j",
        help="The journal: a file, sqlite:///FILE or postgresql://…",
        show_default="the policy's, or resay-journal.db",
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        "-p",
        help="A policy file that names the journal.",
        show_default="the file that RESAY_POLICY names",
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        help="Only entries since this time: 24h, 7d, 2026-01-31 or 2026-01-31T12:00 (UTC)."
    ),
]
UntilOption = Annotated[
    str | None, typer.Option(help="Only entries before this time, in the same formats as --since.")
]
PolicyNameOption = Annotated[
    str | None, typer.Option(help="Only entries of the policy recorded under this name.")
]
ModelOption = Annotated[str | None, typer.Option(help="Only entries of this model.")]
TenantOption = Annotated[str | None, typer.Option(help="Only entries of this tenant.")]
WordsOption = Annotated[
    str | None,
    typer.Option(help="Only entries whose stored text contains each of these words."),
]
RequestOption = Annotated[
    str | None, typer.Option("--request", help="Only entries of the request with this id.")
]


class DecisionName(str, Enum):
    """A decision, as an option."""

    consistent = "consistent"
    flagged = "flagged"
    inconclusive = "inconclusive"
    skipped = "skipped"


DecisionOption = Annotated[
    DecisionName | None, typer.Option(help="Only entries with this decision.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected entries, as arguments for `Journal.recent`."""

    filters: dict[str, Any]

    async def each(self, journal: Journal, most: int | None = None) -> AsyncGenerator[Entry]:
        """Yield the selected entries, newest first."""
        count = 0
        last: Entry | None = None
        while most is None or count < most:
            size = _PAGE if most is None else min(_PAGE, most - count)
            page = await journal.recent(size, last, **self.filters)
            for entry in page:
                yield entry
            if len(page) < size:
                return
            count += size
            last = page[-1]

    async def entries(self, journal: Journal, most: int | None = None) -> list[Entry]:
        """Return the selected entries, newest first."""
        return [entry async for entry in self.each(journal, most)]


def select(
    since: str | None = None,
    until: str | None = None,
    decision: DecisionName | None = None,
    **equal: str | None,
) -> Selection:
    """Build the selection that a command's options describe.

    Raises:
        ConfigurationError: A time cannot be parsed.
    """
    now = time.time()
    return Selection(
        {
            "since": moment_of("--since", since, now),
            "until": moment_of("--until", until, now),
            "decision": None if decision is None else decision.value,
            **equal,
        }
    )


def journal_config(journal: str | None, policy: Path | None) -> JournalConfig:
    """Return the journal at an address, or the policy's journal, or the default file.

    Raises:
        ConfigurationError: The journal does not exist or is not configured.
    """
    if journal is not None:
        url = journal if "://" in journal else f"{SQLITE}{journal}"
        config = config_of(url=url)
    else:
        named = Policy.of(policy).journal
        if policy is not None and named is None:
            raise ConfigurationError(
                f"the policy {str(policy)!r} has no `journal:`; pass the journal with --journal"
            )
        config = named or JournalConfig()
    if config.file is not None and not Path(config.file).expanduser().exists():
        raise ConfigurationError(
            f"no journal at {config.file!r}; name the journal, or pass a policy that has one with"
            " --policy"
        )
    return config


async def find_entry(journal: Journal, some_id: str) -> Entry:
    """Return the entry with an id, or the newest of the request with that id.

    Raises:
        ConfigurationError: There is no such entry.
    """
    entry = await journal.find(some_id)
    if entry is None:
        raise ConfigurationError(f"the journal has no entry or request {some_id!r}")
    return entry


def config_of(**values: Any) -> JournalConfig:
    """Return the settings of a journal.

    Raises:
        ConfigurationError: A value is invalid.
    """
    try:
        return JournalConfig.model_validate(values)
    except ValidationError as error:
        problems: list[str] = []
        for detail in error.errors(include_input=False, include_url=False):
            key = ".".join(map(str, detail["loc"]))
            problems.append(f"{key}: {message_of(detail)}")
    # Raised outside the handler: the chained exception could reveal a password.
    raise ConfigurationError("; ".join(problems))


def with_journal(config: JournalConfig, work: Callable[[Journal], Awaitable[T]]) -> T:
    """Open a journal, run a coroutine function with it, and close it."""

    async def run() -> T:
        journal = open_journal(config)
        try:
            return await work(journal)
        finally:
            await journal.aclose()

    return asyncio.run(run())
