"""Reads labels from the feedback in a journal.

Entries that raters picked themselves, without a draw, say nothing about the others; see
`resay label`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from resay._internal.event_loops import sync_version
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError
from resay.policy import Policy
from resay.reporting.journal import (
    Entry,
    Feedback,
    JournalConfig,
    SampledEntry,
    open_journal,
)
from resay_lab.calibration.labels import LabelledRow, LabelledSentence


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
        verdicts: The recorded verdict of each entry.
        sampled: How each entry was sampled.
        counts: The numbers of entries, by the use of their feedback.
    """

    name: str
    rows: tuple[LabelledRow, ...]
    verdicts: tuple[Verdict, ...]
    sampled: tuple[SampledEntry, ...]
    counts: FeedbackCounts


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
    """
    opened = open_journal(journal_config_of(journal))
    try:
        by_entry: dict[str, list[Feedback]] = {}
        for feedback in await opened.feedback():
            if not raters or feedback.rater in raters:
                by_entry.setdefault(feedback.entry_id, []).append(feedback)
        sampled = {entry.entry_id: entry for entry in await opened.sampled()}
        # Do not load entries for thumbs: end users may have given very many.
        reviewed = [
            name
            for name, ratings in by_entry.items()
            if not all(rating.is_thumb for rating in ratings)
        ]
        entries: list[Entry] = []
        for name in dict.fromkeys([*reviewed, *sampled]):
            entry = await opened.get(name)
            if entry is not None:
                entries.append(entry)
    finally:
        await opened.aclose()
    thumbs = len(by_entry) - len(reviewed)
    if not reviewed:
        by = f" by {', '.join(map(repr, raters))}" if raters else ""
        but = f" but {thumbs} end users' thumbs" if thumbs else ""
        raise ConfigurationError(
            f"the journal {_name(journal)!r} has no feedback{by}{but}; draw entries with `resay"
            " label --draw 60 --by random` and label them"
        )
    reviewed_ids = set(reviewed)
    names = sorted({entry.policy for entry in entries if entry.id in reviewed_ids})
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
    entries = [entry for entry in entries if entry.policy == recorded_as]
    return _labelled(_name(journal), entries, by_entry, sampled, policy, thumbs)


read_journal_labels = sync_version(aread_journal_labels)
"""The synchronous version of `aread_journal_labels`."""


def journal_config_of(journal: str) -> JournalConfig:
    """Return the configuration that opens a journal.

    Args:
        journal: A file, or the address of a database.

    Raises:
        ConfigurationError: There is no such file, or the address is invalid.
    """
    config = None
    with suppress(ValidationError):
        config = JournalConfig(url=journal if "://" in journal else f"sqlite:///{journal}")
    # Raise outside of the handler, whose exception may contain a password.
    if config is None:
        raise ConfigurationError(
            "the address of a journal must be sqlite:///FILE or"
            " postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    if config.file is not None and not Path(config.file).expanduser().exists():
        raise ConfigurationError(f"no journal at {config.file!r}; pass its file or its address")
    return config


def _name(journal: str) -> str:
    # An address may contain a password.
    file = journal_config_of(journal).file
    name = "PostgreSQL journal" if file is None else Path(file).name
    return "".join(c if c.isprintable() else "?" for c in name)


def methods_of(policy: Policy) -> list[str]:
    """Return the methods that a policy's verdicts may contain, in order."""
    second = ["cross_model"] if policy.second_opinion is not None else []
    return [*(step.method_name for step in policy.chain), *second]


def _labelled(
    name: str,
    entries: Sequence[Entry],
    feedback: Mapping[str, Sequence[Feedback]],
    sampled: Mapping[str, SampledEntry],
    policy: Policy,
    thumbs: int,
) -> LabelledEntries:
    methods = methods_of(policy)
    counts = Counter(thumbs=thumbs)
    rows: list[LabelledRow] = []
    verdicts: list[Verdict] = []
    row_samplings: list[SampledEntry] = []
    for entry in entries:
        verdict = Verdict.from_dict(entry.verdict)
        sampling = sampled.get(entry.id)
        row = _row(entry, verdict, feedback.get(entry.id, ()))
        if any(step.method not in methods for step in verdict.steps):
            counts["other_chain"] += 1
        elif isinstance(row, str):
            is_random = sampling is not None and sampling.method == "random"
            counts[row] += row != "waiting" or is_random
        elif entry.decision not in ("consistent", "flagged"):
            counts["undecided"] += 1
        elif sampling is None:
            counts["unsampled"] += 1
        else:
            counts["random" if sampling.method == "random" else "uncertain"] += 1
            rows.append(row)
            verdicts.append(verdict)
            row_samplings.append(sampling)
    return LabelledEntries(
        name=name,
        rows=tuple(rows),
        verdicts=tuple(verdicts),
        sampled=tuple(row_samplings),
        counts=FeedbackCounts(**counts),
    )


def _row(entry: Entry, verdict: Verdict, feedback: Sequence[Feedback]) -> LabelledRow | str:
    """Return the label of an entry, or the reason why it has none."""
    reviews = [review for review in feedback if not review.is_thumb]
    if not reviews:
        return "waiting"
    labels: set[bool] = set()
    for review in reviews:
        label = review.hallucinated(entry.decision) if review.claim is None else None
        if label is not None:
            labels.add(label)
    claims = _claims(entry, verdict, reviews)
    for claim_labels in claims.values():
        if {True, False} <= claim_labels:
            return "disagreed"
        # An entry with a hallucinated claim is hallucinated.
        if True in claim_labels:
            labels.add(True)
    if len(labels) > 1:
        return "disagreed"
    sentences = _sentences(verdict, claims)
    if not labels and not sentences:
        # Without a decision, a verdict cannot be right or wrong.
        decided = entry.decision in ("consistent", "flagged")
        return "unsure" if decided else "undecided"
    own = labels.pop() if labels else any(sentence.wrong for sentence in sentences)
    return LabelledRow(
        where=f"entry {entry.id}", id=entry.id, hallucinated=own, sentences=sentences
    )


def _claims(
    entry: Entry, verdict: Verdict, reviews: Sequence[Feedback]
) -> Mapping[int, set[bool | None]]:
    """Return the labels of claims, or of sentences if there are no claims, by their indices."""
    parts = verdict.claims or verdict.sentences
    labels: dict[int, set[bool | None]] = {}
    for review in reviews:
        if review.claim is not None and review.claim < len(parts):
            label = review.hallucinated(entry.decision, parts[review.claim].flagged)
            labels.setdefault(review.claim, set()).add(label)
    return labels


def _sentences(
    verdict: Verdict, claims: Mapping[int, set[bool | None]]
) -> tuple[LabelledSentence, ...]:
    """Return the labels of all sentences; nothing if any sentence has none.

    Raters who rate only some claims choose which, and those do not represent the others.
    """
    labels: list[set[bool | None]] = [set() for _ in verdict.sentences]
    parts = verdict.claims or verdict.sentences
    for index, part in enumerate(parts):
        sentence = getattr(part, "sentence", index)
        if 0 <= sentence < len(labels):
            labels[sentence] |= claims.get(index, {None})
    if not labels or any(True not in label and label != {False} for label in labels):
        return ()
    return tuple(LabelledSentence(None, True in label) for label in labels)
