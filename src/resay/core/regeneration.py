"""The record of how a flagged answer was repaired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from resay.core.decision import Decision
from resay.core.documents import Document
from resay.core.usage import Usage

Mode = Literal["repair", "rewrite", "verify", "consistent"]
"""How an answer is regenerated: doubtful sentences are replaced, from documents or samples
(repair), the whole answer is rewritten (rewrite), sentences are replaced by short answers to
questions about them (verify), or they are dropped or hedged (consistent)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A sentence that was replaced or removed.

    Attributes:
        before: The sentence as the model first wrote it, exactly `draft[start:end]`.
        after: Its replacement; empty if it was removed.
        start: Code-point offset of its first character in the draft.
        end: Code-point offset after its last character.
        sources: The ids of the documents that support the replacement.
    """

    before: str
    after: str
    start: int
    end: int
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a better answer.

    Attributes:
        reason: The reason of the verdict that it tries to improve, in one line without content.
        queries: The search queries. Contain words of the answer.
        documents: The ids of the documents found, best first.
        score_before: The passage score of the answer to repair, measured with the documents as soon
            as there are any; None if it has none.
        score_after: The passage score of the new answer; None if it has none.
        decision: The decision on the new answer; None if there is no new answer.
        error: What failed or was left out, in one line without content, or None.
        usage: The cost of the attempt: writing and checking.
        elapsed_s: Wall-clock seconds.
    """

    reason: str
    queries: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    score_before: float | None = None
    score_after: float | None = None
    decision: Decision | None = None
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Regeneration:
    """The repair, or attempted repair, of a flagged answer.

    Attributes:
        mode: The mode of the regeneration.
        attempts: The attempts, in order.
        adopted: The attempt whose answer was returned, from 0; None if none was better than the
            first answer.
        reason: Why the first answer was flagged.
        score: The passage score of the first answer, according to the chain.
        draft: The first answer.
        edits: The changes to it, in order; empty if the answer was rewritten as a whole.
        sources: The documents that the new answer cites, in the order of their first mention; their
            metadata is reduced to texts and numbers.
        removed: The share of the first answer that was removed because no document mentions it, by
            characters, in [0, 1].
        abstains: Whether the new answer only says that the requested information is not known.
        conflicts: The ids of documents that contradict each other about a claim of the answer.
        by: The evidence that the repair uses.
    """

    mode: Mode
    attempts: tuple[Attempt, ...]
    adopted: int | None = None
    reason: str = ""
    score: float | None = None
    draft: str = field(default="", repr=False)
    edits: tuple[Edit, ...] = ()
    sources: tuple[Document, ...] = ()
    removed: float = 0.0
    abstains: bool = False
    conflicts: tuple[str, ...] = ()
    by: Literal["documents", "samples"] = "documents"

    def without_draft(self) -> Regeneration:
        """Return a copy without the words of the first answer."""
        return replace(
            self,
            # Search queries contain words of the answer.
            attempts=tuple(replace(attempt, queries=()) for attempt in self.attempts),
            draft="",
            edits=tuple(replace(edit, before="") for edit in self.edits),
        )

    def without_content(self) -> Regeneration:
        """Return a copy without the text of answers, searches and documents."""
        record = self.without_draft()
        return replace(
            record,
            edits=tuple(replace(edit, after="") for edit in record.edits),
            sources=tuple(replace(source, text="", metadata={}) for source in self.sources),
        )
