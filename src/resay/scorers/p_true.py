"""P(True) (`p_true`): the probability that the model itself gives to its claims.

Kadavath et al., "Language Models (Mostly) Know What They Know", arXiv 2207.05221, 2022, sections 3
and 4. The model is shown the question and a possible answer, and asked whether that is (A) true or
(B) false. P(True) is the probability of (A), here relative to (A) and (B), since chat models may
write anything; the score is 1 - P(True).

`ideas` shows samples as brainstormed ideas before the possible answer, which helped in the paper.
`of: response` asks about the whole response, as published; by default each sentence or claim is the
possible answer.

If the provider returns no token probabilities, P(True) is the share of (A) among `votes` answers,
as Farquhar et al. (Nature 630, 2024) do for models without them.

Cost: one call for each sentence or claim, or `votes` without token probabilities (1 if the provider
supports `n`). Good at: short answers, large models. Bad at: errors the model firmly believes, and
small models, which call everything true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from resay._internal.plurals import counted
from resay.core.failures import tally
from resay.core.passage import Passage
from resay.core.quoting import quotable
from resay.core.scores import Scores
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.choices import Choices
from resay.scorers.common.judge_calls import ParsedAnswer, ask_each
from resay.scorers.common.judge_confidence import By, ask_probability
from resay.scorers.common.judge_config import JudgedConfig, judge_for
from resay.scorers.common.judge_words import TRUTH
from resay.scorers.evidence import Evidence

_PROMPT = """\
Question: {question}
{ideas}Possible Answer: {answer}
Is the possible answer:
 (A) True
 (B) False
The possible answer is:"""
_IDEAS = "Here are some brainstormed ideas: {ideas}\n"
_RESTATED = "Answer with (A) or (B) and nothing else. The possible answer is:"
_OPTIONS: Choices[bool] = Choices(
    words=TRUTH.words,
    letters={"A": True, "B": False},
    alone=TRUTH.alone,
    unclear=TRUTH.unclear,
    order=("true", "false"),
)


def render(question: str, answer: str, ideas: Sequence[str] = ()) -> str:
    """Return the prompt about a possible answer.

    Args:
        question: The question it answers.
        answer: The possible answer.
        ideas: Other answers, shown before it.
    """
    listed = "\n".join(" ".join(idea.split()) for idea in ideas)
    return _PROMPT.format(
        question=question,
        ideas=_IDEAS.format(ideas=listed) if ideas else "",
        answer=" ".join(answer.split()),
    )


def parse_option(text: str) -> bool | None:
    """Parse (A) or True as True, (B) or False as False, and anything else as None."""
    return _OPTIONS.read(text)


class PTrue:
    """Asks the model how probable its own claims are."""

    name: ClassVar[str] = "p_true"

    class Config(JudgedConfig):
        """Settings of `p_true`."""

        method: Literal["p_true"] = "p_true"
        of: Literal["claims", "response"] = Field(
            default="claims",
            description="What to present as the possible answer: each sentence or claim, or the"
            " response.",
        )
        ideas: int = Field(
            default=0,
            ge=0,
            le=20,
            description="The number of samples to show as brainstormed ideas, as in the paper's"
            " section 4; 0 = none, and no samples are drawn for this method.",
        )
        by: By = Field(
            default="auto",
            description="How to compute P(True): from the probabilities of the answer's tokens"
            " (logprobs), from the shares of several answers (votes), or from probabilities if the"
            " provider returns them, else from votes (auto).",
        )
        votes: int = Field(
            default=5, ge=1, le=100, description="The number of answers, if computed from votes."
        )

    def __init__(self, config: PTrue.Config | None = None) -> None:
        self.config = config or self.Config()
        self._asks_about_response = self.config.of == "response"
        self.traits = ScorerTraits(
            by_text=self._asks_about_response, by_sentence=not self._asks_about_response
        )
        needs: set[Need] = {"judge", "question"}
        if self.config.ideas:
            needs.add("samples")
        self.needs = frozenset(needs)

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Ask about each claim, or the response.

        Args:
            passage: The response; its `sentences` are asked about.
            evidence: The request, the judge's provider, and samples to show as ideas.

        Returns:
            Sentence scores, or a passage score; None if there was no readable answer.

        Raises:
            ScorerError: No judge is available.
        """
        config, judge = self.config, judge_for(self.config.judge, evidence)
        question = evidence.quoted_question
        ideas: list[str] = []
        if config.ideas:
            samples = evidence.samples.first(config.ideas)
            ideas = [sample.derived(quotable) async for sample in samples]
        about = (
            [passage.text]
            if self._asks_about_response
            else [s.standalone for s in passage.sentences]
        )

        async def ask_about(claim: str) -> ParsedAnswer[float]:
            return await ask_probability(
                judge if self._asks_about_response else judge.about([claim]),
                render(question, claim, ideas),
                _OPTIONS,
                _RESTATED if config.restate else None,
                by=config.by,
                votes=config.votes,
            )

        answers = await ask_each(about, ask_about)
        scores: list[float | None] = []
        reasons: list[str | None] = []
        for parsed in answers:
            (p_true,) = parsed.slots
            scores.append(None if p_true is None else 1.0 - p_true)
            reason = None if p_true is None else f"the judge finds it true with {p_true:.2f}"
            reasons.append(reason)
        failures = tuple(failure for parsed in answers for failure in parsed.failures)
        return Scores(
            sentences=() if self._asks_about_response else tuple(scores),
            passage=scores[0] if self._asks_about_response else None,
            reasons=() if self._asks_about_response else tuple(reasons),
            passage_reason=reasons[0] if self._asks_about_response else None,
            failures=failures,
            lost=tuple(i for i, s in enumerate(scores) if s is None)
            if not self._asks_about_response
            else None,
            undetermined=sum(parsed.undetermined for parsed in answers),
            error=_inconclusive_reason(answers, failures),
        )


def _inconclusive_reason(
    answers: Sequence[ParsedAnswer[float]], failures: Sequence[str]
) -> str | None:
    lost = sum(not parsed.answered for parsed in answers)
    if lost * 2 > len(answers):
        return f"{lost} of {counted(len(answers), 'question')} failed ({tally(failures)})"
    unread = sum(parsed.undetermined for parsed in answers)
    if (lost + unread) * 2 > len(answers):
        return f"{unread} of {len(answers)} judge answers were neither (A) nor (B)"
    return None
