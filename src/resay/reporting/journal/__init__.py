"""The journal: a persistent record of verdicts and the feedback on them."""

from resay._internal.event_loops import run_sync
from resay.reporting.journal.database import JournalError, Sort, TooManyError, UnknownEntryError
from resay.reporting.journal.entry import (
    Action,
    Api,
    By,
    Content,
    Entry,
    JournalConfig,
    Slice,
    new_id,
)
from resay.reporting.journal.feedback import About, Draw, DrawnBy, Feedback, Rating, Source
from resay.reporting.journal.journal import Journal, open_journal

__all__ = [
    "About",
    "Action",
    "Api",
    "By",
    "Content",
    "Draw",
    "DrawnBy",
    "Entry",
    "Feedback",
    "Journal",
    "JournalConfig",
    "JournalError",
    "Rating",
    "Slice",
    "Sort",
    "Source",
    "TooManyError",
    "UnknownEntryError",
    "new_id",
    "open_journal",
    "run_sync",
]
