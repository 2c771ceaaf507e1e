"""The journal: a persistent record of verdicts and the feedback on them."""

from resay.adapters import run_sync
from resay.adapters.settings import JournalConfig
from resay_server.journal.entry import By, Entry, Slice
from resay_server.journal.errors import JournalError, TooManyError, UnknownEntryError
from resay_server.journal.feedback import (
    About,
    Feedback,
    Rating,
    SampledEntry,
    SamplingMethod,
    Source,
)
from resay_server.journal.journal import Journal, open_journal
from resay_server.journal.sink import JournalSink, journal_of
from resay_server.journal.statements import Sort

__all__ = [
    "About",
    "By",
    "Entry",
    "Feedback",
    "Journal",
    "JournalConfig",
    "JournalError",
    "JournalSink",
    "Rating",
    "SampledEntry",
    "SamplingMethod",
    "Slice",
    "Sort",
    "Source",
    "TooManyError",
    "UnknownEntryError",
    "journal_of",
    "open_journal",
    "run_sync",
]
