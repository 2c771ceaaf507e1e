"""Reads the verdicts and the labels of a journal for `resay calibrate`, as `resay.plugins` defines.

Reviewers outrank end users, whose thumbs (feedback on the answer by `POST /v1/feedback`) are never
labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from resay import Verdict
from resay.errors import ConfigurationError
from resay.plugins import RecordedLabels, RecordedVerdict
from resay_server.journal import Entry, Feedback, JournalConfig, SampledEntry, open_journal
from resay_server.journal.feedback import feedback_by_entry

_PAGE = 500


class JournalRecords:
    """The verdicts recorded in a journal.

    Args:
        address: A file, or the address of a database.

    Attributes:
        name: The name of the file; of a database only the kind, as its address may contain a
            password.

    Raises:
        ConfigurationError: There is no such file, or the address is invalid.
    """

    def __init__(self, address: str) -> None:
        self._config = _config_of(address)
        file = self._config.file
        name = "PostgreSQL journal" if file is None else Path(file).name
        self.name = "".join(c if c.isprintable() else "?" for c in name)

    async def labels(self, raters: Sequence[str] = ()) -> RecordedLabels:
        """Return the entries that reviewers rated or that were drawn for labelling.

        Args:
            raters: Use only the feedback of these raters; empty for that of all.

        Raises:
            JournalError: The journal cannot be read.
        """
        journal = open_journal(self._config)
        try:
            feedback = await journal.feedback()
            if raters:
                feedback = [item for item in feedback if item.rater in raters]
            by_entry = feedback_by_entry(feedback)
            sampled = {entry.entry_id: entry for entry in await journal.sampled()}
            # Do not load entries for thumbs: end users may have given very many.
            reviewed = [
                entry_id
                for entry_id, ratings in by_entry.items()
                if not all(rating.is_thumb for rating in ratings)
            ]
            verdicts: list[RecordedVerdict] = []
            for entry_id in dict.fromkeys([*reviewed, *sampled]):
                entry = await journal.get(entry_id)
                if entry is not None:
                    ratings = by_entry.get(entry_id, ())
                    verdicts.append(_labelled(entry, ratings, sampled.get(entry_id)))
        finally:
            await journal.aclose()
        return RecordedLabels(verdicts=tuple(verdicts), thumbs=len(by_entry) - len(reviewed))

    async def recent(self, limit: int) -> list[Verdict]:
        """Return the newest verdicts, newest first.

        Args:
            limit: The maximum number of verdicts.

        Raises:
            ConfigurationError: An entry contains no verdict.
            JournalError: The journal cannot be read.
        """
        journal = open_journal(self._config)
        verdicts: list[Verdict] = []
        last: Entry | None = None
        try:
            while len(verdicts) < limit:
                page = await journal.recent(min(_PAGE, limit - len(verdicts)), last)
                if not page:
                    break
                verdicts += [_verdict(entry) for entry in page]
                last = page[-1]
        finally:
            await journal.aclose()
        return verdicts


def label_of(entry: Entry, feedback: Sequence[Feedback]) -> bool | None:
    """Return whether reviewers say that an answer is hallucinated; None if it has no label.

    Args:
        entry: The entry.
        feedback: The feedback on it.

    Raises:
        ConfigurationError: The entry contains no verdict.
    """
    return _labelled(entry, feedback, None).hallucinated


def _config_of(address: str) -> JournalConfig:
    config = None
    with suppress(ValidationError):
        config = JournalConfig(url=address if "://" in address else f"sqlite:///{address}")
    # Raise outside of the handler, whose exception may contain a password.
    if config is None:
        raise ConfigurationError(
            "the address of a journal must be sqlite:///FILE or"
            " postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    if config.file is not None and not Path(config.file).expanduser().exists():
        raise ConfigurationError(f"no journal at {config.file!r}; pass its file or its address")
    return config


def _verdict(entry: Entry) -> Verdict:
    try:
        return Verdict.from_dict(entry.verdict)
    except ConfigurationError as error:
        raise ConfigurationError(f"entry {entry.id}: {error}") from None


def _labelled(
    entry: Entry, feedback: Sequence[Feedback], sampling: SampledEntry | None
) -> RecordedVerdict:
    """Return an entry's verdict with its label, or with the reason why it has none."""
    recorded = RecordedVerdict(
        id=entry.id,
        policy=entry.policy,
        verdict=_verdict(entry),
        drawn=None if sampling is None else sampling.method,
        weight=1.0 if sampling is None else sampling.weight,
    )
    reviews = [review for review in feedback if not review.is_thumb]
    if not reviews:
        return replace(recorded, unlabelled="waiting")
    labels: set[bool] = set()
    for review in reviews:
        label = review.hallucinated(entry.decision) if review.claim is None else None
        if label is not None:
            labels.add(label)
    claims = _claims(recorded.verdict, reviews)
    for claim_labels in claims.values():
        if {True, False} <= claim_labels:
            return replace(recorded, unlabelled="disagreed")
        # An entry with a hallucinated claim is hallucinated.
        if True in claim_labels:
            labels.add(True)
    if len(labels) > 1:
        return replace(recorded, unlabelled="disagreed")
    sentences = _sentences(recorded.verdict, claims)
    if not labels and not sentences:
        # Without a decision, a verdict cannot be right or wrong.
        decided = entry.decision in ("consistent", "flagged")
        return replace(recorded, unlabelled="unsure" if decided else "undecided")
    hallucinated = labels.pop() if labels else any(sentences)
    return replace(recorded, hallucinated=hallucinated, sentences=sentences)


def _claims(verdict: Verdict, reviews: Sequence[Feedback]) -> Mapping[int, set[bool | None]]:
    """Return the labels of claims, or of sentences if there are no claims, by their indices."""
    claims = verdict.claims or verdict.sentences
    labels: dict[int, set[bool | None]] = {}
    for review in reviews:
        if review.claim is not None and review.claim < len(claims):
            label = review.hallucinated(verdict.decision, claims[review.claim].flagged)
            labels.setdefault(review.claim, set()).add(label)
    return labels


def _sentences(verdict: Verdict, claims: Mapping[int, set[bool | None]]) -> tuple[bool, ...]:
    """Return the labels of all sentences; nothing if any sentence has none.

    Raters who rate only some claims choose which, and those do not represent the others.
    """
    labels: list[set[bool | None]] = [set() for _ in verdict.sentences]
    for index, claim in enumerate(verdict.claims or verdict.sentences):
        sentence = getattr(claim, "sentence", index)
        if 0 <= sentence < len(labels):
            labels[sentence] |= claims.get(index, {None})
    if not labels or any(True not in label and label != {False} for label in labels):
        return ()
    return tuple(True in label for label in labels)
