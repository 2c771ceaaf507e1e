"""The repair of one flagged answer: its attempts, and the best answer so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import anyio

from resay.core.documents import Document
from resay.core.regeneration import Attempt, Regeneration
from resay.core.verdict import Verdict
from resay.engine.actions import Regenerated
from resay.engine.check import Check
from resay.engine.regeneration.candidate import Candidate, in_doubt
from resay.engine.regeneration.record import final_verdict, share_of
from resay.errors import ConfigurationError, ScorerError
from resay.policy import Policy, Regenerate


class Repair:
    """The repair of one flagged answer: its attempts, and the best answer so far.

    Args:
        policy: The policy.
        action: Its action.
        check: The check, whose limits, deadline and metering continue.
        draft: The flagged answer.
        shown: The length of the text already shown, which cannot change, in code points.
    """

    by: ClassVar[Literal["documents", "samples"]] = "documents"
    unchanged: ClassVar[str] = "the model changed nothing"

    def __init__(
        self, policy: Policy, action: Regenerate, check: Check, draft: Candidate, shown: int
    ) -> None:
        self._policy = policy
        self._action = action
        self._check = check
        self._draft = self._best = draft
        self._shown = shown
        self._attempts: list[Attempt] = []
        self._errors: list[str] = []
        self._documents: dict[str, Document] = {}

    async def run(self) -> Regenerated:
        """Make up to `attempts` attempts; return the best answer despite any failure."""
        with anyio.CancelScope(deadline=self._check.deadline):
            for number in range(self._action.attempts):
                if not await self._attempt(number):
                    break
        first = self._draft.verdict
        record = Regeneration(
            mode=self._action.mode,
            attempts=tuple(self._attempts),
            reason=first.reason,
            score=first.score,
            draft=self._draft.passage.text,
            by=self.by,
        )
        verdict = final_verdict(self._best, self._draft, first, self._documents, record)
        return Regenerated(self._best.passage.text, self._check.with_totals(verdict))

    async def _attempt(self, number: int) -> bool:
        started, spent = anyio.current_time(), self._check.usage
        before = self._best.verdict
        self._attempts.append(Attempt(before.reason, score_before=before.score))
        self._errors.clear()
        try_again = finished = False
        try:
            try_again = await self._try(number)
            finished = True
        # An answer exists already, so no failure in here may lose it.
        except Exception as error:
            # Only our own messages are sure not to contain words of the answer.
            is_own = isinstance(error, (ConfigurationError, ScorerError))
            message = f": {error}" if is_own else ""
            self._errors.append(f"it failed with {type(error).__name__}{message}")
            finished = True
        finally:
            errors = self._errors if finished else [*self._errors, "there was no time left"]
            self._record(
                error="; ".join(errors) or None,
                usage=self._check.usage.since(spent),
                elapsed_s=anyio.current_time() - started,
            )
        return try_again

    async def _try(self, number: int) -> bool:
        """Try for a better answer; return whether to try again."""
        raise NotImplementedError

    def _record(self, **fields: Any) -> None:
        """Set fields of the current attempt's record."""
        self._attempts[-1] = replace(self._attempts[-1], **fields)

    def _unfit(self, candidate: Candidate) -> str | None:
        if not candidate.passage.sentences:
            return "nothing was left of the answer"
        removed = share_of(self._draft.passage, candidate.removed)
        if removed > self._action.max_removed and not candidate.is_abstention:
            return (
                f"{removed:.0%} of the answer would be removed,"
                f" more than {self._action.max_removed:.0%}"
            )
        if candidate.passage.text == self._best.passage.text:
            return self.unchanged
        return None

    def _is_better(self, candidate: Candidate) -> bool:
        """Return whether an answer is better than the best so far.

        A still flagged answer is better only if a strict subset is flagged in it: adding sentences
        lowers the passage score, whatever they say.
        """
        before, after = self._best.verdict, candidate.verdict
        if candidate.rank >= self._best.rank or not after.flagged:
            return candidate.rank < self._best.rank
        if before.flagged_sentences:
            return _flagged_in(after) < _flagged_in(before)
        return self._texts_in_doubt(after) < self._texts_in_doubt(before)

    def _texts_in_doubt(self, verdict: Verdict) -> set[str]:
        return {verdict.sentences[i].text for i in in_doubt(verdict, self._policy.threshold)}

    @property
    def _claiming(self) -> frozenset[int]:
        """The sentences of the draft that claim something."""
        claims = self._draft.verdict.claims
        claiming = frozenset(c.sentence for c in claims if c.kind in ("fact", "hedged"))
        return claiming or frozenset(range(len(self._draft.passage.sentences)))


def _flagged_in(verdict: Verdict) -> set[str]:
    """Return the flagged claims, and the flagged sentences without a flagged claim."""
    texts: set[str] = set()
    with_flagged_claim: set[int] = set()
    for claim in verdict.claims:
        if claim.flagged:
            texts.add(claim.text)
            with_flagged_claim.add(claim.sentence)
    for i, sentence in enumerate(verdict.sentences):
        if sentence.flagged and i not in with_flagged_claim:
            texts.add(sentence.text)
    return texts
