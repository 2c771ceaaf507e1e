"""The journal: what the guard found, written down for those who look later."""

from resay._internal.sync import run_sync
from resay.reporting.journal.config import Content, JournalConfig
from resay.reporting.journal.entry import Action, Api, Entry, new_id
from resay.reporting.journal.journal import Journal, open_journal
from resay.reporting.journal.session import JournalError
from resay.reporting.journal.summary import By, Slice

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
