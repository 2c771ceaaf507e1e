"""The sink that writes a guard's verdicts to a journal."""

from __future__ import annotations

from functools import partial

from resay import Guard
from resay.adapters import GuardRuntime, compute
from resay.adapters.event_loops import on_exit
from resay.adapters.settings import JournalConfig
from resay.adapters.verdicts import verdict_cost
from resay.plugins import VerdictRecord
from resay_server.journal.entry import Entry
from resay_server.journal.journal import Journal, open_journal


class JournalSink:
    """Writes records to a journal.

    Args:
        journal: The journal.

    Attributes:
        journal: The journal.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    @property
    def wants_evidence(self) -> bool:
        """Whether the journal stores the texts that answers were checked with."""
        return self.journal.stores_evidence

    async def on_verdict(self, record: VerdictRecord) -> None:
        """Queue a record as an entry of the journal.

        Args:
            record: The record.
        """
        entry = await compute(partial(Entry.of, record), chars=verdict_cost(record.verdict))
        await self.journal.append(entry)

    async def aflush(self) -> None:
        """Wait until all entries are written.

        Raises:
            JournalError: They cannot be written at the moment. It will be retried.
        """
        await self.journal.flush()


def journal_sink(config: JournalConfig) -> JournalSink:
    """Return the sink for the section `journal` of a policy. It stays open until the process ends.

    Args:
        config: The section.

    Raises:
        ConfigurationError: The address is invalid.
        MissingDependencyError: psycopg is needed and not installed.
    """
    journal = open_journal(config)
    on_exit(journal.aclose)
    return JournalSink(journal)


def journal_of(guard: Guard) -> Journal | None:
    """Return the journal that a guard writes to; None if it has none.

    Args:
        guard: The guard.
    """
    for sink in GuardRuntime(guard).sinks:
        if isinstance(sink, JournalSink):
            return sink.journal
    return None
