"""Entries and verdicts for the journal's tests."""

from __future__ import annotations

from typing import Any

from resay import Contradiction, Document, SentenceVerdict, StepRecord, Usage, Verdict
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay_server.journal import Entry
from support.writers import run_two_writers

__all__ = ["NOW", "SECRETS", "entry", "make_verdict", "repaired", "write_from_two_processes"]

NOW = 1_700_000_000.0
# One for each place where a verdict contains words.
SECRETS = tuple(
    f"zq{word}zq"
    for word in (
        *("question", "sentence", "reason", "sample", "stepreason", "search", "draft", "before"),
        *("after", "document", "title", "extra"),
    )
)
(
    QUESTION,
    SENTENCE,
    REASON,
    SAMPLE,
    STEP_REASON,
    SEARCH,
    DRAFT,
    BEFORE,
    AFTER,
    DOCUMENT,
    TITLE,
    EXTRA,
) = SECRETS


def make_verdict(decision: Any = "flagged", regeneration: Regeneration | None = None) -> Verdict:
    """Return a verdict with words in every possible place."""
    said = Contradiction("sample", 0, SAMPLE)
    sentence = SentenceVerdict(SENTENCE, 0, 12, 0.75, decision == "flagged", "ngram", REASON, said)
    return Verdict(
        decision,
        0.75,
        "passage 0.75 > 0.50 with 5 samples",
        (sentence,),
        5,
        (StepRecord("ngram", 1, reason=STEP_REASON),),
        Usage(5, 50, 25, 0.25),
        0.5,
        regeneration=regeneration,
    )


def repaired(adopted: int | None) -> Regeneration:
    """Return the record of a regenerated answer."""
    return Regeneration(
        "repair",
        (Attempt("passage 0.75 > 0.50", (SEARCH,), ("guide.md#1",)),),
        adopted,
        draft=DRAFT,
        edits=(Edit(BEFORE, AFTER, 0, 12),),
        sources=(Document("guide.md#1", DOCUMENT, metadata={"title": TITLE}),),
    )


def entry(about: Verdict | None = None, **changes: Any) -> Entry:
    """Return an entry, by default of a flagged answer, with words in every possible place."""
    verdict = about or make_verdict()
    given = {
        "model": "openai/gpt-4.1-mini",
        "policy": "default",
        "action": "annotate",
        "decision": verdict.decision,
        "time": NOW,
        "verdict": verdict.to_dict(),
        "question": QUESTION,
    }
    return Entry(**given | changes)


_WRITER = """
import asyncio, sys
from support.journal import entry
from resay_server.journal import JournalConfig, open_journal

async def main(url, count, name):
    journal = open_journal(JournalConfig(url=url))
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(int(count)):
        assert await journal.append(entry(id=f"{name}.{i}"))
        assert await journal.append(entry(id=f"both.{i}"))
        await journal.flush()
    await journal.aclose()
    assert journal.lost == 0

asyncio.run(main(*sys.argv[1:]))
"""


def write_from_two_processes(url: str, count: int) -> None:
    """Write entries to a journal from two processes at once.

    Args:
        url: The journal.
        count: The number that each process writes alone, and of those that both write.
    """
    run_two_writers(_WRITER, url, str(count))
