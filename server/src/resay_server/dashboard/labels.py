"""The queue of answers to label: what its page shows, and what its forms send."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import anyio.to_thread

from resay.adapters import Threshold
from resay_server.dashboard.query import BadQueryError, DashboardQuery
from resay_server.journal import Entry, Feedback, Journal, Rating
from resay_server.journal.export import answer_of
from resay_server.labelling import (
    ANSWERS,
    SamplingCandidate,
    claims_of,
    feedback_on,
    sample_entries,
)

_MAX_DRAWN = 1000
# A draw reads whole entries, of which a journal may have millions.
_MAX_CANDIDATES = 20_000
_PAGE_ENTRIES = 500
_MAX_PAGE_BYTES = 8_000_000
# A random draw does not depend on thresholds.
_ANY_THRESHOLD = Threshold()


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer that the reader has just labelled.

    Attributes:
        entry: The entry.
        claims: The texts of its claims, with the reader's label and whether it is flagged.
        label: The reader's label of the whole.
    """

    entry: Entry
    claims: Sequence[tuple[str, str, bool]]
    label: str


@dataclass(frozen=True, slots=True)
class LabelQueue:
    """What the page shows.

    Attributes:
        entry: The answer to label; None if nothing is left.
        claims: The texts of its claims.
        position: Its number in the queue, from 1.
        drawn: The number of answers that were drawn.
        without_text: The number of those left whose text was not stored.
        labelled: The answer that the reader labelled before; None for the first.
        rater: The reader's name.
    """

    entry: Entry | None
    claims: Sequence[str]
    position: int
    drawn: int
    without_text: int
    labelled: LabelledAnswer | None
    rater: str

    @property
    def answer(self) -> str:
        """The text of the answer."""
        return (self.entry and answer_of(self.entry)) or ""


async def read_queue(
    journal: Journal,
    rater: str,
    *,
    entry_id: str | None = None,
    after: str | None = None,
    labelled: str | None = None,
) -> LabelQueue:
    """Read the queue of a rater.

    Args:
        journal: The journal.
        rater: The rater's name.
        entry_id: The answer to show, labelled or not; None for the next one.
        after: Begin after this entry, which the rater skipped.
        labelled: The entry that the rater labelled before.
    """
    drawn = [sampled.entry_id for sampled in await journal.sampled()]
    waiting = [sampled.entry_id for sampled in await journal.sampled(unrated_by=rater)]
    candidates = waiting
    if entry_id is not None:
        candidates = [entry_id]
    elif after in waiting:
        start = waiting.index(after) + 1
        candidates = waiting[start:] + waiting[:start]
    without_text = 0
    shown: Entry | None = None
    for candidate in candidates:
        entry = await journal.get(candidate)
        if entry is not None and answer_of(entry):
            shown = entry
            break
        without_text += 1
    position = len(drawn) - len(waiting) + 1
    if shown is not None and shown.id in drawn:
        position = drawn.index(shown.id) + 1
    return LabelQueue(
        entry=shown,
        claims=[] if shown is None else [claim["text"] for claim in claims_of(shown)],
        position=position,
        drawn=len(drawn),
        without_text=without_text,
        labelled=None if labelled is None else await _labelled(journal, labelled, rater),
        rater=rater,
    )


async def _labelled(journal: Journal, entry_id: str, rater: str) -> LabelledAnswer | None:
    entry = await journal.get(entry_id)
    if entry is None:
        return None
    labels: dict[int | None, str] = {}
    for feedback in await journal.feedback(entry_id):
        if feedback.rater == rater and feedback.about == "answer":
            labels[feedback.claim] = ANSWERS[feedback.rating]
    # Whoever has not labelled it must not see the verdict here.
    if None not in labels:
        return None
    claims: list[tuple[str, str, bool]] = []
    for index, claim in enumerate(claims_of(entry)):
        if index in labels:
            claims.append((claim["text"], labels[index], bool(claim.get("flagged"))))
    return LabelledAnswer(entry=entry, claims=claims, label=labels[None])


async def labels_of_form(journal: Journal, form: Mapping[str, str]) -> list[Feedback]:
    """Return the feedback that a form sends.

    Args:
        journal: The journal.
        form: The form's fields: `entry`, `rater`, `note`, and `claim-0`, `claim-1` and so on.

    Raises:
        BadQueryError: The journal has no such entry, or a claim has no valid label.
    """
    entry = await journal.get(form.get("entry", ""))
    if entry is None:
        raise BadQueryError("the journal has no such entry")
    ratings: list[Rating] = []
    for index in range(max(1, len(claims_of(entry)))):
        rating = form.get(f"claim-{index}", "")
        if rating not in ANSWERS:
            raise BadQueryError(f"claim {index + 1} needs a label: true, made up, or can't tell")
        ratings.append(cast("Rating", rating))
    feedback = feedback_on(entry, ratings, rater=form.get("rater", ""), source="dashboard")
    if note := form.get("note"):
        feedback[-1] = replace(feedback[-1], note=note)
    return feedback


async def draw(journal: Journal, count: str, query: DashboardQuery) -> int:
    """Draw answers to label at random, and record them in the journal.

    Args:
        journal: The journal.
        count: How many, as text.
        query: Its model, policy, tenant and times restrict the draw; other filters would bias it.

    Returns:
        The number of answers that were drawn.

    Raises:
        BadQueryError: The count is invalid, or answers have no text to label.
        ConfigurationError: There is nothing to draw from.
    """
    if not (count.isascii() and count.isdecimal() and 1 <= int(count[:9]) <= _MAX_DRAWN):
        raise BadQueryError(f"draw from 1 to {_MAX_DRAWN} answers, not {count[:20]!r}")
    filters: dict[str, Any] = {
        "model": query.model,
        "policy": query.policy,
        "tenant": query.tenant,
    }
    now = time.time()
    if query.since or query.until:
        filters["since"], filters["until"] = query.times(now)
    candidates: list[SamplingCandidate] = []
    without_text = 0
    last: Entry | None = None
    read = 0
    while read < _MAX_CANDIDATES:
        page = await journal.recent(_PAGE_ENTRIES, last, max_bytes=_MAX_PAGE_BYTES, **filters)
        if not page:
            break
        for entry in page:
            candidate = SamplingCandidate.of(entry, _ANY_THRESHOLD)
            if candidate is not None:
                candidates.append(candidate)
                without_text += answer_of(entry) is None
        read += len(page)
        last = page[-1]
    if without_text:
        # Leaving them out would make the draw say nothing about them.
        raise BadQueryError(
            f"the journal has no text for {without_text} of the {len(candidates)} answers to draw"
            " from; set `journal: {content: all}`, and draw from answers since then (From)"
        )
    sampled = await journal.sampled()
    entries = await anyio.to_thread.run_sync(
        lambda: sample_entries(candidates, int(count), "random", sampled=sampled, now=now)
    )
    return await journal.add_sampled(entries)
