"""The verdict on a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from resay.core.contradiction import Contradiction
from resay.core.decision import Band


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """The verdict on a sentence of the passage.

    Attributes:
        text: The sentence, exactly `response[start:end]`.
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        score: From 0, supported, to 1; None if no scorer had an opinion.
        flagged: Whether the score is above `threshold.sentence`.
        by: The method that gave the score.
        reason: That method's reason for the score, in one line.
        contradicted_by: For a flagged sentence, the nearest statement that says something else;
            None if there is none, or if the method found that nobody speaks of it.
        citations: The ids of the supporting documents; only for sentences written from documents.
        scores: The score of each method, in [0, 1], in the order in which they ran; for a method
            that occurs twice in the chain, the last one. `probe` is the share of the short answers
            to a question about the sentence that contradict it.
        band: If flagged, `contradicted` where a text that it was compared with says something
            else, and `unsupported` where none says it. Else `doubtful` if the score is above
            `threshold.doubtful`, or `supported`. None if nothing was decided; the score is then
            what was found so far.
    """

    text: str
    start: int
    end: int
    score: float | None = None
    flagged: bool = False
    by: str | None = None
    reason: str | None = None
    contradicted_by: Contradiction | None = None
    citations: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    band: Band | None = None

    @property
    def has_text(self) -> bool:
        """Whether the verdict has the text of the sentence."""
        return len(self.text) == self.end - self.start

    def moved(self, by: int) -> SentenceVerdict:
        """Return the verdict on the same sentence after `by` more code points."""
        return replace(
            self,
            start=self.start + by,
            end=self.end + by,
            contradicted_by=self.contradicted_by and self.contradicted_by.moved(by),
        )

    def without_content(self) -> SentenceVerdict:
        """Return a copy without text of the response, the samples and the judge."""
        return replace(self, text="", reason=None, contradicted_by=None)
