"""Applies the policy's action to a response that has a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from resay.core.blocked import HallucinationBlocked
from resay.core.decision import Action
from resay.core.display.html import html
from resay.core.display.spans import Label
from resay.core.marks import Mark, with_marks
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.engine.caveats import caveats_of
from resay.engine.marks import MarkWriter, cited, inline_marks, is_for_programs
from resay.policy import Block, Policy
from resay.providers.base import Completion


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """The guard's answer, returned in place of the plain response.

    Attributes:
        text: The text to show: the response, with marks and a list of sources if the policy asks
            for them, or the policy's message if the response was withheld. Of a stream it is all
            that was shown: what was released, and the message in place of the rest.
        response: The model's own words, whatever the action; the words of the best answer if it
            was regenerated. The verdict is about this text.
        action: The action taken. `allow` never changes the text. `annotate` returns the best answer
            available, possibly regenerated, with a caveat: it is flagged, or was not scored
            completely.
        verdict: The reason for the action.
        usage: Total usage, main call and check together.
        completion: The provider's answer to the main call; None if there was no main call.
        marks: The marks in the text, if the policy asks for them: the text is the response with
            these. Empty if the response was withheld or regenerated.
        message: The policy's message, if the response was withheld; empty otherwise.
    """

    text: str
    response: str = field(repr=False)
    action: Action
    verdict: Verdict
    usage: Usage = field(default_factory=Usage)
    completion: Completion | None = field(default=None, repr=False)
    marks: tuple[Mark, ...] = field(default=(), repr=False, kw_only=True)
    message: str = field(default="", repr=False, kw_only=True)

    def __repr__(self) -> str:
        return f"<Answer {self.action}: {self.verdict!r}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return self.to_html()

    def to_html(self) -> str:
        """Return the answer as an HTML fragment: see `Verdict.to_html`."""
        if self.blocked:
            return html(self.verdict, message=self.text)
        return self.verdict.to_html(self.response)

    def to_markdown(self) -> str:
        """Return the answer as Markdown: see `Verdict.to_markdown`."""
        if self.blocked:
            return f"{self.text}\n\n{self.verdict.without_content().to_markdown()}"
        return self.verdict.to_markdown(self.response)

    def spans(self) -> list[tuple[str, Label | None]]:
        """Return the text in pieces, each with what was decided about it: see `Verdict.spans`."""
        return [(self.text, None)] if self.blocked else self.verdict.spans(self.response)

    @property
    def blocked(self) -> bool:
        """Whether the response was withheld."""
        return self.action == "block"

    @property
    def regenerated(self) -> bool:
        """Whether the text is a regenerated answer."""
        return self.verdict.regenerated and not self.blocked

    @property
    def flagged(self) -> bool:
        """Whether the response looks hallucinated."""
        return self.verdict.flagged

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON-ready values, without the words of a withheld response.

        Returns:
            The outcome; with `response`, the text without marks, if there are any.
        """
        return {
            "text": self.text,
            **({"response": self.response} if self.marks else {}),
            "action": self.action,
            "verdict": self.verdict.to_dict(content=not self.blocked),
            "usage": asdict(self.usage),
        }

    def with_marks(self, piece: str, start: int = 0) -> str:
        """Return a piece of the response with the marks in it.

        Args:
            piece: The piece.
            start: Its offset in the response, in code points.
        """
        return with_marks(piece, self.marks, start)

    def cited(self) -> str:
        """Return the response with marks such as [1] after its sentences, and its sources.

        Returns:
            The marked text; the bare text if it was withheld or cites nothing.
        """
        return self.text if self.blocked else cited(self.response, self.verdict)

    def annotated(self, marker: str | None = None, unscored: str = " [not checked]") -> str:
        """Return the response with marks after everything that is flagged or was not scored.

        Args:
            marker: Mark after each flagged sentence; in a table, after each flagged cell; below
                code, after each flagged name in it. By default ` [contradicted]` where the evidence
                says something else, and ` [unsupported]` otherwise.
            unscored: Mark after each span that was not scored, unless the policy allows such text
                (`on_unscored: allow`) or skips the response. After tables, code and the like, it
                is a paragraph of its own.

        Returns:
            The marked text; the bare text if the response was withheld or is an object.
        """
        if self.blocked or self.verdict.structured:
            return self.text
        warns_of_unscored = bool(unscored) and self.action != "allow"
        caveats = caveats_of(self.response, self.verdict, unscored=warns_of_unscored)
        marks = inline_marks(caveats, self.response, marker=marker, unscored=unscored)
        return with_marks(self.response, marks)


@dataclass(frozen=True, slots=True)
class Regenerated:
    """The best answer available, regenerated or not.

    Attributes:
        text: The answer.
        verdict: The verdict on it, including how it came about.
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
    shown: int = 0,
    writer: MarkWriter | None = None,
) -> Answer:
    """Apply the policy's action to a response.

    A response to be regenerated gets the action's fallback: nothing is called here. The verdict on
    a regenerated answer says that it is one.

    Args:
        policy: The policy.
        response: The model's words.
        verdict: The result of the check.
        usage: Total usage; the check's usage by default.
        completion: The provider's answer to the main call.
        withheld: Whether part of a stream was withheld, so that the rest is unavailable.
        shown: How much of a streamed response was released before this, in code points.
        writer: Has the marks in what was released; None for a response that is marked as a whole.

    Returns:
        The answer to return to the caller.

    Raises:
        HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
    """
    action = "block" if withheld else _choose(policy, verdict)
    usage = usage or verdict.usage
    if action == "block":
        block = withholding(policy)
        if block.exit == "raise":
            raise HallucinationBlocked(verdict, usage)
        text = block.message_for_rest if shown else block.message
        return Answer(text, response, action, verdict, usage, completion, message=text)
    is_marked = (
        action == "annotate"
        and policy.mark_style != "none"
        and not verdict.structured
        and not (completion is not None and completion.calls)
        and not is_for_programs(response)
    )
    writer = writer or MarkWriter(policy.mark_style)
    if is_marked:
        caveats = caveats_of(response, verdict, unscored=policy.on_unscored != "allow")
        unmarked = [c for c in caveats if c.position > shown or c.is_about_all]
        writer.add(unmarked, response)
    writer.finish(response)
    marks = tuple(writer.marks)
    text = with_marks(response, marks)
    if policy.action.do == "regenerate" and policy.action.citations == "marks":
        text = cited(response, verdict, marks)
    if verdict.regenerated:
        marks = ()
    return Answer(text, response, action, verdict, usage, completion, marks=marks)


def _choose(policy: Policy, verdict: Verdict) -> Action:
    unscored = _unscored_kinds(verdict)
    if unscored and policy.on_unscored == "block":
        return "block"
    if verdict.flagged or (verdict.regenerated and verdict.inconclusive):
        return policy.last_resort.do
    if verdict.inconclusive:
        return policy.on_error
    if verdict.regenerated:
        return "regenerate"
    # A consistent answer has nothing against it; a skipped one is left alone on purpose.
    annotates = unscored and policy.on_unscored == "annotate" and not verdict.skipped
    return "annotate" if annotates else "allow"


def _unscored_kinds(verdict: Verdict) -> frozenset[str]:
    """Return the kinds of unscored text, without those that the policy leaves alone.

    These are the model's reasoning, the fields it does not compare and the sentences of an answer
    it skips. No answer escapes a check because of its form.
    """
    intended = {"reasoning", "field"}
    if verdict.skipped:
        intended.add("sentence")
    return frozenset(stretch.kind for stretch in verdict.unscored) - intended


def withholding(policy: Policy) -> Block:
    """Return how a policy withholds an answer."""
    block = policy.last_resort
    return block if isinstance(block, Block) else Block()


def withheld_stops(policy: Policy) -> bool:
    """Return whether a withheld answer finishes like a completed one."""
    return withholding(policy).finish_reason == "stop"
