"""The spans of a response that were not scored."""

from __future__ import annotations

from collections.abc import Iterable

from resay.core.passage import Passage
from resay.core.unscored import Unscored, UnscoredKind, counted
from resay.core.verdict import Verdict


def unscored_in(
    passage: Passage, silent: Iterable[int], kind: UnscoredKind = "sentence", *, start: int = 0
) -> tuple[Unscored, ...]:
    """Return the spans of a passage that were not scored, in order.

    Args:
        passage: The passage.
        silent: The indices of its sentences without a score.
        kind: The kind to give to those sentences.
        start: The offset to start at, in code points.
    """
    sentences = passage.only(silent).sentences
    unscored = [Unscored(s.text, s.start, s.end, kind) for s in sentences if s.start >= start]
    unscored += [Unscored(p.text, p.start, p.end, p.kind) for p in passage.unscored(start)]
    return tuple(sorted(unscored, key=lambda stretch: stretch.start))


def skipped_verdict(reason: str, passage: Passage) -> Verdict:
    """Return the verdict on a response that is skipped because of its content.

    Args:
        reason: Why it is skipped.
        passage: The response.
    """
    unscored = unscored_in(passage, range(len(passage.sentences)))
    others = (stretch for stretch in unscored if stretch.kind != "sentence")
    return Verdict("skipped", None, with_unscored(reason, others), unscored=unscored)


def with_unscored(reason: str, unscored: Iterable[Unscored]) -> str:
    """Return a reason that also says what was not scored."""
    explained = counted(unscored)
    return f"{reason}; not scored: {explained}" if explained else reason
