"""The journal: what the guard found, written down for those who look later."""

from resay._internal.event_loops import run_sync
from resay.reporting.journal.database import JournalError
from resay.reporting.journal.entry import Action, Api, Content, Entry, JournalConfig, new_id
from resay.reporting.journal.journal import By, Journal, Slice, open_journal

__all__ = [
    "Action",
    "Api",
    "By",
    "Content",
    "Entry",
    "Journal",
    "JournalConfig",
    "JournalError",
    "Slice",
    "new_id",
    "open_journal",
    "run_sync",
]
