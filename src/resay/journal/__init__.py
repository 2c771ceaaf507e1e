"""The journal: what the guard found, written down for those who look later."""

from resay.journal.config import Content, JournalConfig
from resay.journal.entry import Action, Api, Entry, new_id
from resay.journal.journal import Journal, open_journal
from resay.journal.session import JournalError
from resay.journal.summary import By, Slice

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
]
