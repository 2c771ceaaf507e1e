"""Checks many recorded answers again, and compares the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import anyio

from resay import Verdict
from resay.plugins import RecordedEvidence
from resay_server.journal import Entry, Journal
from resay_server.journal.feedback import feedback_by_entry
from resay_server.labelling.records import label_of
from resay_server.rechecks.comparison import ComparedAnswer, Comparison
from resay_server.rechecks.rechecker import (
    Rechecker,
    UncheckableEntryError,
    recorded_verdict,
)

RECORDED = "recorded"
"""The side of a comparison that is what was recorded then."""
# The number of answers checked at once, whose evidence is in memory.
_AT_ONCE = 16


async def compare_policies(
    journal: Journal, entries: Sequence[Entry], rechecks: Mapping[str, Rechecker]
) -> Comparison:
    """Check recorded answers again by two policies, or by one that is compared with the record.

    Args:
        journal: The journal that has them.
        entries: The entries.
        rechecks: The policies by name, one or two.

    Raises:
        JournalError: The journal cannot be read.
    """
    names = (RECORDED, *rechecks)[-2:]
    answers: list[ComparedAnswer] = []
    left_out: Counter[str] = Counter()
    for start in range(0, len(entries), _AT_ONCE):
        chunk = entries[start : start + _AT_ONCE]
        ids = [entry.id for entry in chunk]
        evidence = await journal.evidence(*ids)
        feedback = feedback_by_entry(await journal.feedback(ids))
        results = await _check_at_once(chunk, evidence, list(rechecks.values()))
        for entry in chunk:
            result = results[entry.id]
            if isinstance(result, str):
                left_out[result] += 1
                continue
            label = label_of(entry, feedback.get(entry.id, ()))
            answers.append(ComparedAnswer(entry, *result, hallucinated=label))
    return Comparison(names=(names[0], names[1]), answers=answers, left_out=left_out)


async def _check_at_once(
    entries: Sequence[Entry],
    evidence: Mapping[str, RecordedEvidence],
    rechecks: Sequence[Rechecker],
) -> dict[str, tuple[Verdict, Verdict] | str]:
    """Return the verdicts of both sides on each entry, or why there are none, by its id."""
    results: dict[str, tuple[Verdict, Verdict] | str] = {}

    async def check(entry: Entry) -> None:
        try:
            results[entry.id] = await _verdicts(entry, evidence.get(entry.id), rechecks)
        except UncheckableEntryError as error:
            results[entry.id] = str(error)

    async with anyio.create_task_group() as tasks:
        for entry in entries:
            tasks.start_soon(check, entry)
    return results


async def _verdicts(
    entry: Entry, evidence: RecordedEvidence | None, rechecks: Sequence[Rechecker]
) -> tuple[Verdict, Verdict]:
    """Return the verdicts of both sides.

    Raises:
        UncheckableEntryError: What is recorded of the answer does not suffice.
    """
    verdicts = [await recheck.check(entry, evidence) for recheck in rechecks]
    if len(verdicts) == 2:
        return verdicts[0], verdicts[1]
    return recorded_verdict(entry), verdicts[0]
