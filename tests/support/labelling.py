"""Journals with recorded verdicts and what raters say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resay import SentenceVerdict, StepRecord, Verdict
from resay.adapters import run_sync
from resay_server.journal import Entry, Feedback, JournalConfig, SampledEntry, open_journal
from support.claims import claim_verdict

__all__ = ["rated", "recorded", "write_journal"]


def recorded(score: float, *, claims: int = 0, method: str = "ngram", **more: Any) -> Verdict:
    """Return a verdict on one sentence that scores as given."""
    text = "It has 31 lamps."
    flagged = score > 0.5
    sentence = SentenceVerdict(text, 0, len(text), score, flagged, by=method)
    judged = [claim_verdict(text, 0, 16, score=score, flagged=flagged) for _ in range(claims)]
    return Verdict(
        more.pop("decision", "flagged" if flagged else "consistent"),
        score,
        "logged",
        (sentence,),
        samples=5,
        steps=(StepRecord(method, 1, score),),
        claims=tuple(judged),
        mean_score=score,
        **more,
    )


def write_journal(
    file: Path,
    verdicts: dict[str, Verdict],
    feedback: list[Feedback] = [],  # noqa: B006 - only read
    draws: list[SampledEntry] = [],  # noqa: B006
    policies: dict[str, str] = {},  # noqa: B006
) -> str:
    """Write a journal; return its file."""

    async def write() -> None:
        journal = open_journal(JournalConfig(url=f"sqlite:///{file}"))
        for i, (name, verdict) in enumerate(verdicts.items()):
            entry = Entry(
                id=name,
                time=1e9 + i,
                model="m",
                policy=policies.get(name, "default"),
                action="annotate",
                decision=verdict.decision,
                score=verdict.score,
                verdict=verdict.to_dict(),
            )
            await journal.append(entry)
        for rating in feedback:
            await journal.rate(rating)
        await journal.add_sampled(draws)
        await journal.aclose()

    run_sync(write)
    return str(file)


def rated(name: str, rating: Any, rater: str = "ann", **more: Any) -> Feedback:
    """Return feedback on an entry."""
    return Feedback(entry_id=name, rating=rating, rater=rater, **more)
