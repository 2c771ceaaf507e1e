"""What was done to mend a flagged answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from resay.core.decision import Decision
from resay.core.documents import Document
from resay.core.usage import Usage

__all__ = ["Attempt", "Edit", "Mode", "Regeneration"]

Mode = Literal["repair", "rewrite"]
"""Whether only doubtful sentences are replaced, or the whole answer is written again."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One sentence that was replaced or removed.

    Attributes:
        before: The sentence as the model first wrote it, exactly `draft[start:end]`.
        after: What stands in its place; empty where it was removed.
        start: Code-point offset of its first character in the draft.
        end: Code-point offset after its last character.
        sources: The ids of the documents that support what stands there now.
    """

    before: str
    after: str
    start: int
    end: int
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a better answer.

    Attributes:
        why: What it was to mend, in one line without content: the reason of a verdict.
        queries: What was searched for. Holds words of the answer.
        documents: The ids of the documents that were found, best first.
        score_before: The passage score of what was to be mended, measured with the documents as
            soon as there are any; None where it has none.
        score_after: The passage score of the new answer; None where there is none.
        decision: What the check of the new answer found; None where there is no new answer.
        note: What went wrong or was left out, in one line without content, or None.
        usage: What the attempt cost: writing and checking.
        elapsed_s: Wall-clock seconds.
    """

    why: str
    queries: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    score_before: float | None = None
    score_after: float | None = None
    decision: Decision | None = None
    note: str | None = None
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Regeneration:
    """How a flagged answer was mended, or was to be.

    Attributes:
        mode: How the answer was to be written.
        attempts: What was tried, in order.
        adopted: Which attempt's answer was given, from 0; None where none was better than the
            model's first.
        reason: Why the first answer was flagged.
        score: The passage score of the first answer, as the chain gave it.
        draft: The first answer.
        edits: What was changed in it, in order; empty where the answer was written as a whole.
        sources: The documents the new answer cites, in the order of their first mention; of their
            metadata only texts and numbers.
    """

    mode: Mode
    attempts: tuple[Attempt, ...]
    adopted: int | None = None
    reason: str = ""
    score: float | None = None
    draft: str = field(default="", repr=False)
    edits: tuple[Edit, ...] = ()
    sources: tuple[Document, ...] = ()

    def without_content(self) -> Regeneration:
        """Return the same without the words of answers, searches and documents."""
        return replace(
            self,
            attempts=tuple(replace(attempt, queries=()) for attempt in self.attempts),
            draft="",
            edits=tuple(replace(edit, before="", after="") for edit in self.edits),
            sources=tuple(replace(source, text="", metadata={}) for source in self.sources),
        )
