"""Direct Question (`direct_question`).

"A Multiple-Fill-in-the-Blank Exam Approach for Enhancing Zero-Resource Hallucination Detection in
Large Language Models", section 3.2 and appendix E.4.

The judge is asked about one sentence at a time, from its prior knowledge alone and with the request
as the context, so that nothing earlier in the response can mislead it:

    H_D(i) = 1 - known(r_i, P)

known is 1 for Yes and 0 for No. With `logprobs: true` it is the probability p_1 of the first token
for Yes and 1 - p_1 for No. Anything else is neither: the sentence has no score. (As published, it
counts 0; but a judge that says nothing about a sentence has not denied it.)

Cost: |R| calls, all concurrent. Good at: sentences that are wrong by themselves, and errors that
caused later ones. Bad at: facts the judge never knew, and its own errors; it asks for no second
opinion.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import ClassVar, Literal

from pydantic import Field

from resay._internal.plurals import counted
from resay.core.failures import tally
from resay.core.passage import Passage, Sentence
from resay.core.scores import Scores
from resay.lang.language import load
from resay.providers.base import Completion
from resay.scorers.base import Need, ScorerTraits
from resay.scorers.common.answers import read_items
from resay.scorers.common.judge_calls import ParsedAnswer, ask, ask_each
from resay.scorers.common.judge_config import judge_for
from resay.scorers.common.judge_words import TRUTH
from resay.scorers.common.languages import AskedInConfig, language_for
from resay.scorers.evidence import Evidence

# Appendix E.4.
_PROMPT = (
    "You are a machine-learning model that responds using only your prior knowledge.\n\n"
    "{context}"
    "Claim: {claim}\n\n"
    "Is the above claim true?\n"
    "Answer only Yes or No:"
)
_RESTATED = "Answer with one word, Yes or No. Is the claim true?"


def render(claim: str, question: str = "", language: str = "en") -> str:
    """Return the prompt about one sentence, with the request's question as the context."""
    context = f"{question}\n" if question else ""
    translated = load(language).prompts.direct_question
    prompt = translated.question if translated else _PROMPT
    return prompt.format(context=context, claim=" ".join(claim.split()))


class DirectQuestion:
    """Asks a judge whether each sentence is true."""

    name: ClassVar[str] = "direct_question"
    traits: ClassVar[ScorerTraits] = ScorerTraits(by_sentence=True)
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})

    class Config(AskedInConfig):
        """Settings of `direct_question`."""

        method: Literal["direct_question"] = "direct_question"
        logprobs: bool = Field(
            default=False,
            description="Weigh each answer by the probability of its first token. Some providers"
            " refuse to return it.",
        )

    def __init__(self, config: DirectQuestion.Config | None = None) -> None:
        self.config = config or self.Config()

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Ask about every sentence.

        Args:
            passage: The passage; its `sentences` are asked about.
            evidence: The request, for its question, and the judge's provider.

        Returns:
            Sentence scores; None if the call failed or the answer was neither yes nor no.

        Raises:
            ScorerError: No judge is available.
        """
        judge = judge_for(self.config.judge, evidence)
        if self.config.logprobs:
            judge = judge.with_params(logprobs=True)
        question = evidence.quoted_question
        language = language_for(self.config.language, passage, question)
        prompts = load(language).prompts
        restated = prompts.direct_question.again if prompts.direct_question else _RESTATED
        own = {
            **dict.fromkeys(prompts.answers.yes, True),
            **dict.fromkeys(prompts.answers.no, False),
        }

        async def ask_about(sentence: Sentence) -> ParsedAnswer[float]:
            prompt = render(sentence.standalone, question, language)
            return await ask(
                judge.about([sentence.standalone]),
                prompt,
                lambda answer: _parse(answer, own),
                restated if self.config.restate else None,
            )

        return _scores(await ask_each(passage.sentences, ask_about))


def _parse(answer: Completion, own: Mapping[str, bool] | None) -> list[float | None]:
    (is_true,) = read_items(answer.text, 1, TRUTH.extended(own) if own else TRUTH)
    if is_true is None:
        return [None]
    logprob = answer.logprobs[0].logprob if answer.logprobs else None
    sure = 1.0 if logprob is None else min(exp(logprob), 1.0)
    return [1.0 - sure if is_true else sure]


def _scores(parsed_answers: list[ParsedAnswer[float]]) -> Scores:
    failures = tuple(failure for parsed in parsed_answers for failure in parsed.failures)
    undetermined = sum(parsed.undetermined for parsed in parsed_answers)
    return Scores(
        sentences=tuple(_score(parsed) for parsed in parsed_answers),
        reasons=tuple(_reason(parsed) for parsed in parsed_answers),
        failures=failures,
        lost=tuple(i for i, parsed in enumerate(parsed_answers) if _score(parsed) is None),
        undetermined=undetermined,
        error=_inconclusive_reason(parsed_answers, failures, undetermined),
    )


def _score(parsed: ParsedAnswer[float]) -> float | None:
    return parsed.slots[0] if parsed.answered else None


def _reason(parsed: ParsedAnswer[float]) -> str | None:
    if parsed.undetermined:
        return "the judge could not say whether it is so"
    score = _score(parsed)
    if score is None:
        return None
    return f"the judge, asked directly, {'denied' if score > 0.5 else 'affirmed'} it"


def _inconclusive_reason(
    parsed_answers: list[ParsedAnswer[float]], failures: tuple[str, ...], undetermined: int
) -> str | None:
    lost = sum(not parsed.answered for parsed in parsed_answers)
    if lost * 2 > len(parsed_answers):
        return f"{lost} of {counted(len(parsed_answers), 'question')} failed ({tally(failures)})"
    # A judge that refuses most of the questions has said nothing about the response.
    if undetermined * 2 > len(parsed_answers):
        return f"{undetermined} of {len(parsed_answers)} judge answers were neither yes nor no"
    return None
