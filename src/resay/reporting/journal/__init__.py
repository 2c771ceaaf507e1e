"""The journal: a persistent record of verdicts and the feedback on them."""

from resay._internal.event_loops import run_sync
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
from resay.reporting.journal.errors import JournalError, TooManyError, UnknownEntryError
from resay.reporting.journal.feedback import (
    About,
    Feedback,
    Rating,
    SampledEntry,
    SamplingMethod,
    Source,
)
from resay.reporting.journal.journal import Journal, open_journal
from resay.reporting.journal.statements import Sort

__all__ = [
    "About",
    "Action",
    "Api",
    "By",
    "Content",
    "Entry",
    "Feedback",
    "Journal",
    "JournalConfig",
    "JournalError",
    "Rating",
    "SampledEntry",
    "SamplingMethod",
    "Slice",
    "Sort",
    "Source",
    "TooManyError",
    "UnknownEntryError",
    "new_id",
    "open_journal",
    "run_sync",
]
