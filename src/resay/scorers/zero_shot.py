"""Zero-shot detection (`zero_shot`).

Yang, Sun and Wan, "A New Benchmark and Reverse Validation Method for Passage-level Hallucination
Detection", Findings of EMNLP 2023, section 5 (a baseline, after Li et al. and Cohen et al. 2023).

The judge is asked once whether the whole response contains non-factual information. Non-factual
scores 1, factual 0.

Cost: 1 call. Good at: cost. Bad at: everything else; in the paper ChatGPT called all 300 passages
factual, including the 78 wrong ones. It serves as a baseline.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.answers import read_items
from resay.scorers.common.choices import Choices
from resay.scorers.common.judge_calls import ask, scores_of
from resay.scorers.common.judge_config import JudgedConfig, judge_for
from resay.scorers.common.judge_words import TRUTH
from resay.scorers.evidence import Evidence

_PROMPT = (
    "I want you to act as a claim judge. Given a claim about an entity, decide whether it contains"
    " non-factual or hallucinated information. Judge by your knowledge of the world, and answer"
    " with one word: factual or non-factual.\n\n"
    "Claim: {claim}\n\n"
    "Answer factual or non-factual:"
)
_RESTATED = "Answer with one word and nothing else: factual or non-factual."
_CHOICES: Choices[bool] = Choices(
    words={
        **{word: not true for word, true in TRUTH.words.items()},
        "unfactual": True,
        "inaccurate": True,
        "hallucination": True,
        "contains non-factual": True,
        "contains hallucinated": True,
    },
    alone={word: not true for word, true in TRUTH.alone.items()},
    unclear=TRUTH.unclear,
    order=("factual", "non-factual"),
)


def render(claim: str) -> str:
    """Return the prompt about a response."""
    return _PROMPT.format(claim=claim)


class ZeroShot:
    """Asks a judge whether the response as a whole is factual."""

    name: ClassVar[str] = "zero_shot"
    traits: ClassVar[ScorerTraits] = ScorerTraits(by_text=True)
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})

    class Config(JudgedConfig):
        """Settings of `zero_shot`."""

        method: Literal["zero_shot"] = "zero_shot"

    def __init__(self, config: ZeroShot.Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Ask about the response.

        Args:
            passage: The passage, judged as a whole.
            evidence: The judge's provider.

        Returns:
            A passage score of 0 or 1.

        Raises:
            ScorerError: No judge is available.
        """
        parsed = await ask(
            judge_for(self.config.judge, evidence),
            render(passage.text),
            lambda answer: read_items(answer.text, 1, _CHOICES),
            _RESTATED if self.config.restate else None,
        )
        return scores_of(
            parsed,
            right="the judge called the response factual",
            wrong="the judge called the response non-factual",
            unreadable="the judge's answer was neither factual nor non-factual",
            unanswered="the judge did not answer",
        )
