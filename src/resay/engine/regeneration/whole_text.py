"""Repairs answers in texts that contain reasoning: only the answer is repaired, at its place."""

from __future__ import annotations

from dataclasses import replace

from resay.core.reasoning import SplitText, split_reasoning
from resay.core.verdict import Verdict
from resay.engine.actions import Regenerated
from resay.engine.check import Check
from resay.engine.reasoning import placed, taken_out
from resay.engine.regeneration.base import Regenerator


async def regenerate(
    regenerator: Regenerator,
    text: str,
    verdict: Verdict,
    check: Check,
    *,
    shown: int = 0,
) -> Regenerated:
    """Repair a flagged answer, which may stand in a text with reasoning.

    Args:
        regenerator: Repairs it.
        text: The text.
        verdict: The verdict on it.
        check: The check, whose limits, deadline and metering continue.
        shown: The length of the text already shown, which cannot change, in code points.

    Returns:
        The best answer. A new one comes without the reasoning that led to the old one, unless that
        was shown already.
    """
    best = await _best(regenerator, text, verdict, check, shown)
    evidence = best.verdict.evidence
    if evidence is None:
        return best
    # The verdict is on this text.
    evidence = replace(evidence, response=best.text)
    return replace(best, verdict=replace(best.verdict, evidence=evidence))


async def _best(
    regenerator: Regenerator, text: str, verdict: Verdict, check: Check, shown: int
) -> Regenerated:
    split = split_reasoning(text)
    best = await regenerator.run(
        split.answer, taken_out(verdict, split), check, shown=max(shown - split.start, 0)
    )
    if not best.verdict.regenerated:
        return Regenerated(text, placed(best.verdict, split))
    if not (shown and split.reasoning):
        return best
    whole = text[: split.start] + best.text
    around = SplitText(whole, split.reasoning[:1], split.start, len(whole))
    return Regenerated(whole, placed(best.verdict, around))
