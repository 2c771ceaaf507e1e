"""What can go wrong with a journal."""

from resay.errors import ResayError


class JournalError(ResayError):
    """The journal cannot be read or written. The message holds neither content nor a password."""


class UnknownEntryError(JournalError):
    """The journal has no entry with the id, or no longer has it."""


class TooManyError(JournalError):
    """An entry has the maximum amount of feedback from the API."""


class RefusedError(JournalError):
    """The database works but rejects these rows; a retry would not help."""
