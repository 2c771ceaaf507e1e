"""What people say of entries, and which entries were drawn for them to look at."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from resay.core.verdict import Decision
from resay.errors import ConfigurationError
from resay.reporting.journal.database import Row, clean, named
from resay.reporting.journal.entry import Entry

Rating = Literal["right", "wrong", "unsure"]
About = Literal["verdict", "answer"]
"""What is rated: what the check said, or what the model said."""
Source = Literal["dashboard", "api", "terminal", "csv", "code"]
DrawnBy = Literal["random", "uncertainty"]
_NOTE_CHARS = 2000
_WHOLE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What one person says of one entry, or of one claim of it.

    Who says something else of the same later replaces it. It is deleted with its entry.

    Attributes:
        entry_id: The entry.
        rating: `right`, `wrong` or `unsure`.
        about: Whether the verdict is rated, or the answer itself.
        claim: The place of the claim among the verdict's `claims`, from 0; of a verdict without
            claims that of the sentence. None for the whole.
        note: Why, in the rater's words, or None. At most 2,000 characters are kept.
        rater: Who says it.
        source: How it came in.
        time: When, in seconds since the epoch (UTC).
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
        if self.claim is not None and not 0 <= self.claim < 1_000_000:
            raise ValueError(f"a claim's index must be at least 0, not {self.claim!r}")
        if not (isfinite(self.time) and self.time >= 0):
            raise ValueError(f"seconds must be finite and not negative, not {self.time!r}")

    def hallucinated(self, decision: Decision, flagged: bool | None = None) -> bool | None:
        """Return whether it says that something is hallucinated; None where it does not tell.

        Args:
            decision: What the check found.
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
class Draw:
    """An entry that was drawn to be labelled.

    Attributes:
        entry_id: The entry.
        method: How it was drawn.
        weight: How many entries it stands for: 1 over the probability with which it was drawn. Of
            one that was drawn several times, the sum.
        time: When, in seconds since the epoch (UTC).
    """

    entry_id: str
    method: DrawnBy
    weight: float
    time: float = field(default_factory=time.time)


_FEEDBACK = "entry_id, claim, rater, time, rating, about, source, note"
SAY = (
    f"INSERT INTO resay_journal_feedback ({_FEEDBACK})"  # noqa: S608 - our own names
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (entry_id, claim, rater) DO UPDATE SET"
    " time = excluded.time, rating = excluded.rating, about = excluded.about,"
    " source = excluded.source, note = excluded.note"
)
SAID = f"SELECT {_FEEDBACK} FROM resay_journal_feedback ORDER BY time, entry_id, claim, rater"  # noqa: S608 - our own names
OTHERS = (
    "SELECT count(*) FROM resay_journal_feedback WHERE entry_id = ? AND source = 'api'"
    " AND NOT (claim = ? AND rater = ?)"
)
# Each end user may be a rater of their own, and any client can make up names.
MOST_BY_API = 1000
DRAW = (
    "INSERT INTO resay_journal_draws (entry_id, time, method, weight) VALUES (?, ?, ?, ?)"
    # At random outranks by uncertainty, so that what was drawn at random is all of such a draw.
    " ON CONFLICT (entry_id) DO UPDATE SET weight = resay_journal_draws.weight + excluded.weight,"
    " time = CASE WHEN excluded.method = 'random' THEN excluded.time"
    " ELSE resay_journal_draws.time END,"
    " method = CASE WHEN excluded.method = 'random' THEN excluded.method"
    " ELSE resay_journal_draws.method END"
)
DRAWN = "SELECT entry_id, method, weight, time FROM resay_journal_draws ORDER BY time, entry_id"
WAITING = (
    "SELECT entry_id, method, weight, time FROM resay_journal_draws d WHERE NOT EXISTS"
    " (SELECT 1 FROM resay_journal_feedback f WHERE f.entry_id = d.entry_id AND f.claim = -1"
    " AND (f.rater = ? OR ? = '')) ORDER BY time, entry_id"
)


def said_of(entries: int) -> str:
    """Return the query for feedback on so many entries; the last value is how much of each."""
    return (
        f"SELECT {_FEEDBACK} FROM (SELECT {_FEEDBACK}, row_number() OVER (PARTITION BY entry_id"  # noqa: S608 - our own names
        " ORDER BY time DESC, claim DESC, rater DESC) AS place FROM resay_journal_feedback"
        f" WHERE entry_id IN ({', '.join('?' * entries) or 'NULL'})) f WHERE place <= ?"
        " ORDER BY time, entry_id, claim, rater"
    )


def check_claim(said: Feedback, entry: Entry) -> None:
    """See that feedback on a claim is on one that there is.

    Raises:
        ConfigurationError: The verdict has no such claim.
    """
    claims = entry.verdict.get("claims") or entry.verdict.get("sentences") or ()
    if said.claim is not None and said.claim >= len(claims):
        raise ConfigurationError(
            f"claim: the verdict has {len(claims)} claims, counted from 0, not {said.claim}"
        )


def feedback_row(said: Feedback) -> Row:
    """Return the values of `SAY`."""
    claim = _WHOLE if said.claim is None else said.claim
    note = None if said.note is None else clean(said.note)[:_NOTE_CHARS]
    rater = named(said.rater) or ""
    return (
        *(named(said.entry_id), claim, rater, said.time),
        *(said.rating, said.about, said.source, note),
    )


def feedback_of(rows: Iterable[Row]) -> list[Feedback]:
    """Return what rows of `SAID` say."""
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
