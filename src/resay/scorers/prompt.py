"""SelfCheckGPT with Prompt (`prompt`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.5, equation 11.

A judge is asked whether sample S^n, given as the context, supports sentence r_i. Yes counts 0, No
counts 1, anything else 0.5; the sentence score is the mean over the samples.

`mode: per_pair`, the published form, asks once for each sentence and sample: |R| x N calls.
`mode: per_sample` asks once for each sample about all sentences together: N calls, which read the
sample once instead of |R| times. It is not in the paper, and its scores are not those of the paper.

Good at: paraphrase, and sentences whose words are all common. Bad at: cost, and judges that say
yes to everything.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import anyio
from pydantic import Field

from resay.errors import ProviderError
from resay.evidence import Evidence, Judge, Sample
from resay.passage import Passage
from resay.scorers.base import Column, Need, SampleConfig, SampleScorer
from resay.scorers.judging import JudgeConfig, judge_for, read_numbered_answers, read_yes_no

__all__ = ["Prompt", "render"]

# Section 5.5, worded as published.
_PER_PAIR = (
    "Context: {context}\n\n"
    "Sentence: {sentence}\n\n"
    "Is the sentence supported by the context above?\n\n"
    "Answer Yes or No:"
)
_PER_SAMPLE = (
    "Context: {context}\n\n"
    "Sentences:\n{sentences}\n\n"
    "For each numbered sentence, decide whether it is supported by the context above. "
    "Judge every sentence on its own. Answer with one line per sentence and nothing else: "
    "its number, a colon, and Yes or No."
)


def render(sentence: str, sample: str) -> str:
    """Return the published question about one sentence and one sample."""
    return _PER_PAIR.format(context=_flat(sample), sentence=sentence)


class Prompt(SampleScorer):
    """Asks a judge whether the samples support each sentence."""

    name: ClassVar[str] = "prompt"
    needs: ClassVar[frozenset[Need]] = frozenset({"samples", "judge"})

    class Config(SampleConfig):
        """Settings of `prompt`."""

        method: Literal["prompt"] = "prompt"
        judge: str | JudgeConfig | None = Field(
            default=None, description="Who is asked; null = the model that wrote the response."
        )
        mode: Literal["per_pair", "per_sample"] = Field(
            default="per_pair",
            description="One call per sentence and sample, as published, or one per sample.",
        )

        @property
        def asks_response_model(self) -> bool:
            """Whether no other judge is named."""
            return self.judge is None or (
                isinstance(self.judge, JudgeConfig) and self.judge.model is None
            )

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Ask about every sentence with one sample as the context.

        Args:
            passage: The passage; its `sentences` are asked about.
            sample: The context.
            evidence: Holds the judge's provider.

        Returns:
            A column of 0 (supported), 1 (not supported), 0.5 (no readable answer), or None where
            the call failed.

        Raises:
            ScorerError: There is no judge to ask.
        """
        judge = judge_for(self.config.judge, evidence)
        if self.config.mode == "per_sample":
            return await _ask_once(judge, passage, sample)
        return await _ask_each(judge, passage, sample)


async def _ask_each(judge: Judge, passage: Passage, sample: Sample) -> Column:
    scores: list[float | None] = [None] * len(passage.sentences)
    failures: list[str] = []

    async def ask(i: int) -> None:
        prompt = render(passage.sentences[i].text, sample.text)
        try:
            scores[i] = _value(read_yes_no(await judge.ask(prompt)))
        except ProviderError as error:
            failures.append(type(error).__name__)

    async with anyio.create_task_group() as tasks:
        for i in range(len(scores)):
            tasks.start_soon(ask, i)
    return Column(tuple(scores), tuple(failures), scores.count(0.5))


async def _ask_once(judge: Judge, passage: Passage, sample: Sample) -> Column:
    count = len(passage.sentences)
    listed = "\n".join(f"{i}. {_flat(s.text)}" for i, s in enumerate(passage.sentences, 1))
    prompt = _PER_SAMPLE.format(context=_flat(sample.text), sentences=listed)
    try:
        answers = read_numbered_answers(await judge.ask(prompt), count)
    except ProviderError as error:
        return Column((None,) * count, (type(error).__name__,))
    return Column(tuple(map(_value, answers)), undetermined=answers.count(None))


def _flat(text: str) -> str:
    # The released code flattens the context: with the blank lines of the template left as the
    # only ones, judges confuse context and sentence less.
    return " ".join(text.splitlines())


def _value(supported: bool | None) -> float:
    return 0.5 if supported is None else float(not supported)
