"""Where verdicts are recorded: the section `journal` of a policy or gateway."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from resay._internal.strict import Strict

_IMPORT_PATH = r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$"
JournalContent = Literal["none", "flagged", "all"]
"""The entries whose text is stored: none, those with findings, or all."""
SQLITE = "sqlite:///"


class JournalConfig(Strict):
    """Where the journal is stored, what it contains, and how long entries are kept."""

    url: str = Field(
        default="sqlite:///resay-journal.db",
        repr=False,  # may contain a password
        description="The database: sqlite:///FILE (four slashes for an absolute path; ~ is the home"
        " folder), or postgresql://…, which needs resay[postgres].",
    )
    content: JournalContent = Field(
        default="none",
        description="Which entries store text: none; those flagged, blocked or regenerated; or all."
        " Offsets and scores are always stored.",
    )
    evidence: bool = Field(
        default=True,
        description="Whether entries that store text also store the samples, the references and the"
        " judges' prompts and answers of the check, up to 300,000 characters.",
    )
    retention_days: float | None = Field(
        default=None, gt=0, le=36_500, description="Days to keep an entry; null = forever."
    )
    max_entries: int | None = Field(
        default=None, ge=1, description="The number of newest entries to keep; null = all."
    )
    max_waiting: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description="The number of entries per event loop that may wait to be written; further"
        " entries are dropped.",
    )

    redact: Annotated[str, Field(pattern=_IMPORT_PATH)] | None = Field(
        default=None,
        description="Your `package.module:function` that redacts text before it is stored: it"
        " takes a text and returns the redacted one. If it fails, the text is not stored.",
    )

    @field_validator("url")
    @classmethod
    def _must_be_an_address(cls, url: str) -> str:
        # The message omits the value, which may contain a password.
        if not _is_address(url):
            raise ValueError("must be sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE")
        return url

    @property
    def stores_evidence(self) -> bool:
        """Whether entries may be stored with the texts that answers were checked with."""
        return self.content != "none" and self.evidence

    @property
    def file(self) -> str | None:
        """The SQLite file; None if the journal is not in SQLite."""
        return self.url.removeprefix(SQLITE) if self.url.startswith(SQLITE) else None


def _is_address(url: str) -> bool:
    if "\0" in url:
        return False
    if url.startswith(SQLITE):
        # Each connection would get its own in-memory database.
        return url.removeprefix(SQLITE) not in {"", ":memory:"}
    try:
        return urlsplit(url).scheme in {"postgresql", "postgres"} and "://" in url
    except ValueError:
        return False
