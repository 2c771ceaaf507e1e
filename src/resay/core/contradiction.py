"""Statements that differ from a flagged claim."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

EvidenceKind = Literal["sample", "reference", "second_opinion", "answer", "tool", "conversation"]
"""A sample of the model that wrote the response, a trusted text, another model's statement, a short
answer of the model to a question about a claim, a tool call of the conversation, or an earlier
answer of the model in it."""

ContraryKind = Literal["number", "date", "name", "negation", "other"]
"""The kind of difference between two sentences."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement of a sample, a reference or another model that differs from a flagged claim.

    Attributes:
        source: Its origin: a sample, a reference, the policy's second model, or a short answer to a
            question about the claim, a tool call, or an earlier turn of the conversation.
        index: The index of the sample, reference, tool call or earlier answer, from 0.
        text: The sentence nearest to the flagged claim.
        kind: The kind of difference: a `number`, a `date`, a `name`, the `negation`, or `other`.
        claim_span: The span of the disputed words in the response, in code points: "1923". None if
            no words can be singled out, or if the statement only says more.
        evidence_span: The span of the words in `text` that differ from them: "1932".
        model: The name of the policy's second model, if it made the statement.
        title: The title of the reference, if it has one.
    """

    source: EvidenceKind
    index: int
    text: str
    kind: ContraryKind = "other"
    claim_span: tuple[int, int] | None = None
    evidence_span: tuple[int, int] | None = None
    model: str | None = None
    title: str | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def speaker(self) -> str:
        """Where it comes from: `sample 2`, `reference 1`, `earlier answer 3`, or a model's name.

        A reference with a title is named by it too: `reference 1 (guide.md)`.
        """
        if self.source == "answer":
            return "the model, asked about it,"
        if self.source == "tool":
            return f"tool call {self.index + 1}"
        if self.source == "conversation":
            return f"earlier answer {self.index + 1}"
        name = self.model or f"{self.source} {self.index + 1}"
        return f"{name} ({self.title})" if self.title else name

    def moved(self, by: int) -> Contradiction:
        """Return the contradiction of the same words after `by` more code points."""
        if self.claim_span is None:
            return self
        start, end = self.claim_span
        return replace(self, claim_span=(start + by, end + by))
