"""Reads labels from the feedback in a journal.

Entries that raters picked themselves, without a draw, say nothing about the others; see
`resay label`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from resay import Policy, Verdict
from resay.adapters import sync_version
from resay.errors import ConfigurationError
from resay.plugins import RecordedVerdict, open_records
from resay_lab.calibration.labels import LabelledRow, LabelledSentence
from resay_lab.calibration.logs import methods_of


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Numbers of a journal's entries, by the use of their feedback.

    Attributes:
        random: Labelled entries that were drawn at random; thresholds rest on those.
        uncertain: Labelled entries that were drawn by uncertainty; they count in rates.
        waiting: Entries drawn at random that nobody has rated.
        unsampled: Labelled entries that were not drawn; they are left out.
        unsure: Entries whose raters are unsure, or did not rate the whole.
        disagreed: Entries whose raters disagree.
        thumbs: Entries that have end users' thumbs only, of any policy.
        undecided: Labelled entries whose check came to no decision.
        other_chain: Entries made by another chain.
    """

    random: int = 0
    uncertain: int = 0
    waiting: int = 0
    unsampled: int = 0
    unsure: int = 0
    disagreed: int = 0
    thumbs: int = 0
    undecided: int = 0
    other_chain: int = 0

    def lines(self) -> list[str]:
        """Return the counts as sentences for the user, one per line."""
        lines = [
            f"{self.random} labelled entries were drawn at random; thresholds and the guarantee"
            " rest on those alone"
        ]
        if self.uncertain:
            lines.append(
                f"{self.uncertain} more were drawn by uncertainty; they count in the rates, each"
                " entry with the weight of its draw, and for no guarantee"
            )
        if self.waiting:
            lines.append(
                f"{self.waiting} that were drawn at random are not rated yet; the guarantee"
                " assumes that they are like the others"
            )
        left_out = (
            (self.unsampled, "were not drawn"),
            (self.unsure, "raters are unsure of"),
            (self.disagreed, "raters disagree about"),
            (self.thumbs, "have end users' thumbs only"),
            (self.undecided, "have a check without a decision"),
            (self.other_chain, "were made by another chain"),
        )
        counted = [f"{count} that {reason}" for count, reason in left_out if count]
        if counted:
            lines.append(f"left out: {', '.join(counted)}")
        return lines


@dataclass(frozen=True, slots=True)
class LabelledEntries:
    """Drawn entries with their labels and verdicts.

    Attributes:
        name: The journal's name.
        rows: The labels.
        recorded: The recorded verdict of each, with its draw.
        counts: The numbers of entries, by the use of their feedback.
    """

    name: str
    rows: tuple[LabelledRow, ...]
    recorded: tuple[RecordedVerdict, ...]
    counts: FeedbackCounts

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts, in the order of the rows."""
        return tuple(entry.verdict for entry in self.recorded)


async def aread_journal_labels(
    journal: str,
    policy: Policy,
    *,
    recorded_as: str | None = None,
    raters: Sequence[str] = (),
) -> LabelledEntries:
    """Read the labels of a journal's entries.

    Reviewers outrank end users, whose thumbs (feedback on the answer by `POST /v1/feedback`) are
    never labels: end users choose themselves which answers to rate.

    Args:
        journal: A file, or the address of a database.
        policy: The policy that made the verdicts.
        recorded_as: Read only entries of the policy with this name.
        raters: Read only feedback of these raters; empty for all.

    Returns:
        The entries that were drawn and have a label.

    Raises:
        ConfigurationError: There is no such journal, it has no feedback, or the entries are of
            several policies.
        JournalError: The journal cannot be read.
        MissingDependencyError: resay-server is not installed.
    """
    records = open_records(journal)
    labels = await records.labels(raters)
    reviewed = [entry for entry in labels.verdicts if entry.unlabelled != "waiting"]
    if not reviewed:
        by = f" by {', '.join(map(repr, raters))}" if raters else ""
        but = f" but {labels.thumbs} end users' thumbs" if labels.thumbs else ""
        raise ConfigurationError(
            f"the journal {records.name!r} has no feedback{by}{but}; draw entries with `resay"
            " label --draw 60 --by random` and label them"
        )
    names = sorted({entry.policy for entry in reviewed})
    if recorded_as is None and len(names) > 1:
        raise ConfigurationError(
            f"feedback is on entries of several policies: {', '.join(map(repr, names))}; name the"
            " one to calibrate with --policy-name"
        )
    recorded_as = recorded_as or names[0]
    if recorded_as not in names:
        raise ConfigurationError(
            f"there is no feedback on entries of a policy {recorded_as!r}; the journal has feedback"
            f" on those of {', '.join(map(repr, names))}"
        )
    entries = [entry for entry in labels.verdicts if entry.policy == recorded_as]
    return _usable(records.name, entries, policy, labels.thumbs)


read_journal_labels = sync_version(aread_journal_labels)
"""The synchronous version of `aread_journal_labels`."""


def _usable(
    name: str, entries: Sequence[RecordedVerdict], policy: Policy, thumbs: int
) -> LabelledEntries:
    """Return the entries that a calibration can rest on, and count the others."""
    methods = methods_of(policy)
    counts = Counter(thumbs=thumbs)
    rows: list[LabelledRow] = []
    usable: list[RecordedVerdict] = []
    for entry in entries:
        verdict = entry.verdict
        if any(step.method not in methods for step in verdict.steps):
            counts["other_chain"] += 1
        elif entry.unlabelled is not None:
            counts[entry.unlabelled] += entry.unlabelled != "waiting" or entry.drawn == "random"
        elif verdict.decision not in ("consistent", "flagged"):
            counts["undecided"] += 1
        elif entry.drawn is None:
            counts["unsampled"] += 1
        else:
            counts["random" if entry.drawn == "random" else "uncertain"] += 1
            rows.append(_row(entry))
            usable.append(entry)
    return LabelledEntries(
        name=name, rows=tuple(rows), recorded=tuple(usable), counts=FeedbackCounts(**counts)
    )


def _row(entry: RecordedVerdict) -> LabelledRow:
    return LabelledRow(
        where=f"entry {entry.id}",
        id=entry.id,
        hallucinated=entry.hallucinated,
        sentences=tuple(LabelledSentence(None, wrong) for wrong in entry.sentences),
    )
