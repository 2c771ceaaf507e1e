"""Feedback on entries, and the entries sampled for labelling."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from resay.adapters import Decision
from resay.adapters.terminal import counted
from resay.errors import ConfigurationError
from resay_server.journal.entry import Entry
from resay_server.journal.rows import Row, stored_name, stored_text

Rating = Literal["right", "wrong", "unsure"]
About = Literal["verdict", "answer"]
"""The subject of a rating: the check's verdict, or the model's answer."""
Source = Literal["dashboard", "api", "terminal", "csv", "code"]
SamplingMethod = Literal["random", "uncertainty"]
MAX_CLAIM = 999_999
"""The largest index of a claim; larger ones do not fit every database."""
_NOTE_CHARS = 2000
_WHOLE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One rater's feedback on an entry, or on one of its claims.

    Later feedback of the same rater on the same part replaces it. It is deleted with its entry.

    Attributes:
        entry_id: The entry.
        rating: `right`, `wrong` or `unsure`.
        about: Whether the verdict is rated, or the answer itself.
        claim: The index from 0 in the verdict's `claims`, or in its sentences if it has no
            claims. None for the whole.
        note: The rater's explanation, or None. At most 2,000 characters are stored.
        rater: The rater's name.
        source: The interface through which it was given.
        time: The time in seconds since the epoch (UTC).
    """

    entry_id: str
    rating: Rating
    about: About = "verdict"
    claim: int | None = None
    note: str | None = field(default=None, repr=False)
    rater: str = ""
    source: Source = "code"
    time: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        if self.rating not in ("right", "wrong", "unsure"):
            raise ValueError(f"a rating must be right, wrong or unsure, not {self.rating!r}")
        if self.about not in ("verdict", "answer"):
            raise ValueError(f"`about` must be verdict or answer, not {self.about!r}")
        if self.claim is not None and not 0 <= self.claim <= MAX_CLAIM:
            raise ValueError(f"a claim's index must be from 0 to {MAX_CLAIM}, not {self.claim!r}")
        if not (isfinite(self.time) and self.time >= 0):
            raise ValueError(f"seconds must be finite and not negative, not {self.time!r}")

    @property
    def is_thumb(self) -> bool:
        """Whether it is an end user's on the answer, and not a reviewer's."""
        return self.source == "api" and self.about == "answer"

    def hallucinated(self, decision: Decision, flagged: bool | None = None) -> bool | None:
        """Return whether the feedback implies a hallucination; None if that is unclear.

        Args:
            decision: The verdict's decision.
            flagged: Whether the claim is flagged, for feedback on a claim.
        """
        if self.rating == "unsure":
            return None
        if self.about == "answer":
            return self.rating == "wrong"
        if flagged is None:
            if decision not in ("consistent", "flagged"):
                return None
            flagged = decision == "flagged"
        return flagged is (self.rating == "right")


@dataclass(frozen=True, slots=True)
class SampledEntry:
    """An entry sampled for labelling.

    Attributes:
        entry_id: The entry.
        method: The sampling method.
        weight: The number of entries that it represents: the inverse of its sampling probability,
            summed over all of its draws.
        time: The time of the draw, in seconds since the epoch (UTC).
    """

    entry_id: str
    method: SamplingMethod
    weight: float
    time: float = field(default_factory=time.time)


_FEEDBACK = "entry_id, claim, rater, time, rating, about, source, note"
UPSERT_FEEDBACK = (
    f"INSERT INTO resay_journal_feedback ({_FEEDBACK})"  # noqa: S608 - our own names
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (entry_id, claim, rater) DO UPDATE SET"
    " time = excluded.time, rating = excluded.rating, about = excluded.about,"
    " source = excluded.source, note = excluded.note"
)
ALL_FEEDBACK = (
    f"SELECT {_FEEDBACK} FROM resay_journal_feedback ORDER BY time, entry_id, claim, rater"  # noqa: S608 - our own names
)
API_COUNT = (
    "SELECT count(*) FROM resay_journal_feedback WHERE entry_id = ? AND source = 'api'"
    " AND NOT (claim = ? AND rater = ?)"
)
# Every end user may be a separate rater, and any client can invent names.
MAX_BY_API = 1000
UPSERT_SAMPLED = (
    "INSERT INTO resay_journal_sampled (entry_id, time, method, weight) VALUES (?, ?, ?, ?)"
    # Random overrides uncertainty, so that every random draw stays complete.
    " ON CONFLICT (entry_id) DO UPDATE SET weight = resay_journal_sampled.weight + excluded.weight,"
    " time = CASE WHEN excluded.method = 'random' THEN excluded.time"
    " ELSE resay_journal_sampled.time END,"
    " method = CASE WHEN excluded.method = 'random' THEN excluded.method"
    " ELSE resay_journal_sampled.method END"
)
ALL_SAMPLED = (
    "SELECT entry_id, method, weight, time FROM resay_journal_sampled ORDER BY time, entry_id"
)
UNRATED_SAMPLED = (
    "SELECT entry_id, method, weight, time FROM resay_journal_sampled d WHERE NOT EXISTS"
    " (SELECT 1 FROM resay_journal_feedback f WHERE f.entry_id = d.entry_id AND f.claim = -1"
    " AND (f.rater = ? OR ? = '')) ORDER BY time, entry_id"
)


def feedback_query(entries: int) -> str:
    """Return the query for feedback on a number of entries; its last value limits that on each."""
    return (
        f"SELECT {_FEEDBACK} FROM (SELECT {_FEEDBACK}, row_number() OVER (PARTITION BY entry_id"  # noqa: S608 - our own names
        " ORDER BY time DESC, claim DESC, rater DESC) AS rank FROM resay_journal_feedback"
        f" WHERE entry_id IN ({', '.join('?' * entries) or 'NULL'})) f WHERE rank <= ?"
        " ORDER BY time, entry_id, claim, rater"
    )


def feedback_by_entry(feedback: Iterable[Feedback]) -> dict[str, list[Feedback]]:
    """Return feedback by the ids of its entries, in its order."""
    by_entry: dict[str, list[Feedback]] = {}
    for item in feedback:
        by_entry.setdefault(item.entry_id, []).append(item)
    return by_entry


def check_claim(feedback: Feedback, entry: Entry) -> None:
    """Check that the claim of some feedback exists.

    Raises:
        ConfigurationError: The verdict has no such claim.
    """
    claims = entry.verdict.get("claims") or entry.verdict.get("sentences") or ()
    if feedback.claim is not None and feedback.claim >= len(claims):
        raise ConfigurationError(
            f"claim: the verdict has {counted(len(claims), 'claim')}, numbered from 0, and no"
            f" {feedback.claim}"
        )


def feedback_row(feedback: Feedback) -> Row:
    """Return the values for `UPSERT_FEEDBACK`."""
    claim = _WHOLE if feedback.claim is None else feedback.claim
    note = None if feedback.note is None else stored_text(feedback.note)[:_NOTE_CHARS]
    rater = stored_name(feedback.rater) or ""
    return (
        stored_name(feedback.entry_id),
        claim,
        rater,
        feedback.time,
        feedback.rating,
        feedback.about,
        feedback.source,
        note,
    )


def feedback_of(rows: Iterable[Row]) -> list[Feedback]:
    """Return the feedback in rows of `ALL_FEEDBACK`."""
    return [
        Feedback(
            entry_id=entry_id,
            claim=None if claim == _WHOLE else claim,
            rater=rater,
            time=moment,
            rating=rating,
            about=about,
            source=source,
            note=note,
        )
        for entry_id, claim, rater, moment, rating, about, source, note in rows
    ]
