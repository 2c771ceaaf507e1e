"""What the policy does with a response once there is a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from resay.errors import HallucinationBlocked
from resay.policy import Block, Policy
from resay.providers.base import Completion
from resay.verdict import Usage, Verdict

__all__ = ["Action", "Answer", "act"]

Action = Literal["allow", "annotate", "block"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the guard gives in place of the plain response.

    Attributes:
        text: What to show: the response, or the policy's message when it was withheld.
        response: The model's own words, whatever was done with them.
        action: What was done. `allow` and `annotate` never change the text.
        verdict: Why.
        usage: What everything cost, main call and check together.
        completion: The provider's answer to the main call; None when there was no main call.
    """

    text: str
    response: str = field(repr=False)
    action: Action
    verdict: Verdict
    usage: Usage = field(default_factory=Usage)
    completion: Completion | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.text

    @property
    def blocked(self) -> bool:
        """Whether the response was withheld."""
        return self.action == "block"

    @property
    def flagged(self) -> bool:
        """Whether the response looks hallucinated."""
        return self.verdict.flagged

    def to_dict(self) -> dict[str, Any]:
        """Return what happened as JSON-ready values, without the words of a withheld response."""
        return {
            "text": self.text,
            "action": self.action,
            "verdict": self.verdict.to_dict(content=not self.blocked),
            "usage": asdict(self.usage),
        }

    def annotated(self, marker: str = " [unsupported]") -> str:
        """Return the text with a marker behind each flagged sentence.

        Args:
            marker: What to put there.

        Returns:
            The marked text; the bare text when the response was withheld, or is an object.
        """
        if self.blocked or self.verdict.structured:
            return self.text
        parts: list[str] = []
        position = 0
        for sentence in self.verdict.flagged_sentences:
            parts += [self.response[position : sentence.end], marker]
            position = sentence.end
        return "".join(parts) + self.response[position:]


def act(
    policy: Policy,
    response: str,
    verdict: Verdict,
    *,
    usage: Usage | None = None,
    completion: Completion | None = None,
    withheld: bool = False,
) -> Answer:
    """Do what the policy says.

    Args:
        policy: The policy.
        response: The model's words.
        verdict: What the check found.
        usage: What everything cost; by default what the check cost.
        completion: The provider's answer to the main call.
        withheld: Whether some of a stream was withheld, so that the rest is not there to give.

    Returns:
        The answer to give.

    Raises:
        HallucinationBlocked: The answer is to be withheld, with an exception.
    """
    action = "block" if withheld else _choose(policy, verdict)
    text = response
    if action == "block":
        block = policy.action if isinstance(policy.action, Block) else Block()
        if block.exit == "raise":
            raise HallucinationBlocked(verdict)
        text = block.message
    return Answer(text, response, action, verdict, usage or verdict.usage, completion)


def _choose(policy: Policy, verdict: Verdict) -> Action:
    if verdict.flagged:
        return policy.action.do
    # Nothing speaks against what is consistent; in what is skipped there is nothing to withhold.
    return policy.on_error if verdict.inconclusive else "allow"
