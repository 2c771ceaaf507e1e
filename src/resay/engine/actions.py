"""What the policy does with a response once there is a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from resay.core.references import Document
from resay.core.usage import Usage
from resay.core.verdict import HallucinationBlocked, Verdict
from resay.policy import Annotate, Block, Policy, Regenerate
from resay.providers.base import Completion

Action = Literal["allow", "annotate", "block", "regenerate"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the guard gives in place of the plain response.

    Attributes:
        text: What to show: the response, with marks and a list of sources where the policy wants
            them, or the policy's message when it was withheld.
        response: The model's own words, whatever was done with them; those of the best answer,
            where it was written again. The verdict is about them.
        action: What was done. `allow` never changes the text. `annotate` gives the best answer
            there is, which may have been written again, with something to say about it: it is
            flagged, or not all of it was scored.
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
    def regenerated(self) -> bool:
        """Whether the text is an answer that was written again, from documents."""
        return self.verdict.regenerated and not self.blocked

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

    def cited(self) -> str:
        """Return the response with marks such as [1] behind its sentences, and its sources.

        Returns:
            The marked text; the bare text when it was withheld, or cites nothing.
        """
        return self.text if self.blocked else cited(self.response, self.verdict)

    def annotated(self, marker: str = " [unsupported]", unscored: str = " [not checked]") -> str:
        """Return the response with marks behind what is flagged or was not scored.

        Args:
            marker: What to put behind each flagged sentence, in a table behind each flagged cell,
                and below code behind each name in it that is flagged.
            unscored: What to put behind each stretch that was not scored, unless the policy allows
                those (`unscored: allow`) or skips the response; behind tables, code and the like as
                a paragraph of its own.

        Returns:
            The marked text; the bare text when the response was withheld, or is an object.
        """
        if self.blocked or self.verdict.structured:
            return self.text
        cells = [claim for claim in self.verdict.flagged_claims if claim.unit == "row"]
        rows = {claim.sentence for claim in cells}
        marks = [(claim.end, marker) for claim in cells]
        marks += [
            (sentence.end, marker)
            for i, sentence in enumerate(self.verdict.sentences)
            if sentence.flagged and i not in rows
        ]
        marks += self._marked_names(marker)
        if self.action != "allow" and unscored:
            apart = f"\n\n{unscored.strip()}"
            marks += [
                (stretch.end, unscored if stretch.kind in {"sentence", "prose"} else apart)
                for stretch in self.verdict.unscored
            ]
        parts: list[str] = []
        position = 0
        for end, mark in sorted(marks):
            parts += [self.response[position:end], mark]
            position = end
        return "".join(parts) + self.response[position:]

    def _marked_names(self, marker: str) -> list[tuple[int, str]]:
        """Return marks behind blocks of code for the flagged names in them."""
        names = [name for name in self.verdict.flagged_names if name.sentence < 0]
        return [
            (stretch.end, f"\n\n`{self.response[name.start : name.end]}`{marker}")
            for stretch in self.verdict.unscored
            for name in names
            if stretch.start <= name.start < stretch.end
        ]


@dataclass(frozen=True, slots=True)
class Regenerated:
    """The best answer there is.

    Attributes:
        text: The answer.
        verdict: What is known of it, and how it came about.
    """

    text: str
    verdict: Verdict


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

    What is to be regenerated is not, here: nobody can be asked. A verdict on an answer that was
    written again says so itself.

    Returns:
        The answer to give.

    Raises:
        HallucinationBlocked: The answer is to be withheld, with an exception.
    """
    action = "block" if withheld else _choose(policy, verdict)
    text = response
    if action == "block":
        block = _last_resort(policy)
        if not isinstance(block, Block):
            block = Block()
        if block.exit == "raise":
            raise HallucinationBlocked(verdict, usage)
        text = block.message
    elif isinstance(policy.action, Regenerate) and policy.action.citations == "marks":
        text = cited(response, verdict)
    return Answer(text, response, action, verdict, usage or verdict.usage, completion)


def _choose(policy: Policy, verdict: Verdict) -> Action:
    unscored = _unscored_kinds(verdict)
    if unscored and policy.unscored == "block":
        return "block"
    if verdict.flagged or (verdict.regenerated and verdict.inconclusive):
        return _last_resort(policy).do
    if verdict.inconclusive:
        return policy.on_error
    if verdict.regenerated:
        return "regenerate"
    # Nothing speaks against what is consistent; what is skipped is left alone on purpose.
    annotates = unscored and policy.unscored == "annotate" and not verdict.skipped
    return "annotate" if annotates else "allow"


def _unscored_kinds(verdict: Verdict) -> frozenset[str]:
    """Return the kinds of what was not scored, without what the policy says to leave alone.

    That are the fields it does not compare, and the sentences of an answer it skips; but no answer
    gets past a check because of its form.
    """
    meant = {"field", "sentence"} if verdict.skipped else {"field"}
    return frozenset(stretch.kind for stretch in verdict.unscored) - meant


def withheld_stops(policy: Policy) -> bool:
    """Return whether a withheld answer is to end as a completed one."""
    block = _last_resort(policy)
    return isinstance(block, Block) and block.finish == "stop"


def _last_resort(policy: Policy) -> Annotate | Block:
    action = policy.action
    return action.otherwise if isinstance(action, Regenerate) else action


def cited(response: str, verdict: Verdict) -> str:
    """Return a response with marks such as [1] behind its sentences, and a list of its sources.

    Args:
        response: The response.
        verdict: What is known of it.

    Returns:
        The marked text; the bare text where it cites nothing.
    """
    sources = verdict.regeneration.sources if verdict.regeneration else ()
    if not sources:
        return response
    numbers = {source.id: number for number, source in enumerate(sources, 1)}
    parts: list[str] = []
    position = 0
    for sentence in verdict.sentences:
        marks = "".join(f"[{numbers[name]}]" for name in sentence.citations if name in numbers)
        if marks:
            parts += [response[position : sentence.end], " ", marks]
            position = sentence.end
    parts += [response[position:].rstrip(), "\n\nSources:\n"]
    return "".join(parts) + "\n".join(f"[{numbers[s.id]}] {_described(s)}" for s in sources)


def _described(source: Document) -> str:
    url = source.metadata.get("url")
    where = url if isinstance(url, str) and url.strip() else source.id
    return " ".join(
        (source.title if source.title == where else f"{source.title} ({where})").split()
    )
