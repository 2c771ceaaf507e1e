"""The verdict on a claim."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from resay.core.action_verdict import ActionVerdict
from resay.core.claims import Claim
from resay.core.contradiction import Contradiction
from resay.core.decision import FLAGGED, Band
from resay.core.grounds import Grounds

PartKind = Literal["number", "date", "name", "negation", "link", "other"]
"""What the words of a part are."""
PartError = Literal["contradiction", "addition", "invention"]
"""What is wrong with them: the evidence says something else; it does not say them; they name
something that does not exist in it, such as a section, a person or a function."""


@dataclass(frozen=True, slots=True)
class Part:
    """Words of a claim that the evidence speaks for or against.

    Attributes:
        start: Code-point offset of their first character in the response.
        end: Code-point offset after their last character.
        band: The verdict on them; what contradicts them is the claim's `contradicted_by`.
        kind: What they are.
        score: In [0, 1], 1 = surely unsupported; None if the method gives words no scores.
        verdict: Of words that claim an action, whether it was done (`actions`); else None.
        reason: Why, in one line; None if the method gives words no reasons.
        error: What is wrong with them; None if the method does not tell.
    """

    start: int
    end: int
    band: Band
    kind: PartKind = "other"
    score: float | None = None
    verdict: ActionVerdict | None = None
    reason: str | None = None
    error: PartError | None = None

    @property
    def flagged(self) -> bool:
        """Whether nobody says them, or somebody denies them."""
        return self.band in FLAGGED

    def moved(self, by: int) -> Part:
        """Return the same part after `by` more code points."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The verdict on a claim: a unit of the response, such as a sentence, an item or a cell.

    As JSON, the `text`, `start`, `end`, `unit`, `kind` and `sentence` of the claim are beside the
    other fields.

    Attributes:
        claim: The claim.
        score: From 0, supported, to 1; None if no scorer had an opinion.
        flagged: Whether the score is above `threshold.sentence`.
        by: The method that gave the score.
        reason: That method's reason for the score, in one line.
        contradicted_by: As for a sentence.
        scores: The score of each method, as for a sentence.
        band: As for a sentence.
        grounds: The references that mention it.
        parts: Of a flagged claim, the words for and against which there is evidence, in order;
            empty if all of it is in doubt. Of a claim of actions, each of them, flagged or not, and
            the values in them that are wrong.
    """

    claim: Claim
    score: float | None = None
    flagged: bool = False
    by: str | None = None
    reason: str | None = None
    contradicted_by: Contradiction | None = None
    scores: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    band: Band | None = None
    grounds: tuple[Grounds, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """The claim, completed with words from elsewhere in the response.

        These are the lead-in of its list, the heads of its row and column.
        """
        return self.claim.standalone

    @property
    def start(self) -> int:
        """Code-point offset of the first of its own words in the response."""
        return self.claim.start

    @property
    def end(self) -> int:
        """Code-point offset after the last of its own words."""
        return self.claim.end

    @property
    def unit(self) -> str:
        """The kind of its sentence.

        A `sentence`, an `item` of a list, a `heading`, the `head` or a `row` of a table; or `code`
        for a name in code.
        """
        return self.claim.unit

    @property
    def kind(self) -> str:
        """Whether it claims anything.

        A `fact`, or `hedged` if stated as uncertain; or a kind that claims nothing and is not
        scored: `filler`, `refusal`, `question`, `creative`, `label`,
        or `source` for what only names the documents of an answer.
        """
        return self.claim.kind

    @property
    def sentence(self) -> int:
        """The index of its sentence among the verdict's sentences; -1 in a block of code."""
        return self.claim.sentence

    @property
    def flagged_parts(self) -> tuple[Part, ...]:
        """The parts that are in doubt; none if the evidence does not tell them from the others."""
        return tuple(part for part in self.parts if part.flagged)

    @property
    def spans_in_doubt(self) -> tuple[tuple[int, int], ...]:
        """The spans of the response that are in doubt, in order.

        These are the flagged parts; without any, all of a flagged claim.
        """
        if not self.flagged:
            return ()
        parts = tuple((part.start, part.end) for part in self.flagged_parts)
        return parts or ((self.start, self.end),)

    def moved(self, by: int) -> ClaimVerdict:
        """Return the verdict on the same claim after `by` more code points."""
        claim = replace(self.claim, start=self.start + by, end=self.end + by)
        return replace(
            self,
            claim=claim,
            contradicted_by=self.contradicted_by and self.contradicted_by.moved(by),
            parts=tuple(part.moved(by) for part in self.parts),
        )

    def without_content(self) -> ClaimVerdict:
        """Return a copy without text of the response, the samples and the judge."""
        claim = replace(self.claim, text="", completed_text="")
        parts = tuple(replace(part, reason=None) for part in self.parts)
        return replace(self, claim=claim, reason=None, contradicted_by=None, parts=parts)
