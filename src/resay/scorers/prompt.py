"""SelfCheckGPT with Prompt (`prompt`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 5.5, equation 11.

A judge is asked whether sample S^n, given as the context, supports sentence r_i. Yes counts 0, No
counts 1, anything else 0.5; the sentence score is the mean over the samples.

`mode: per_pair`, the published form, asks once for each sentence and sample: |R| x N calls.
`mode: per_sample` asks once for each sample about all sentences together: N calls, which read the
sample once instead of |R| times. It is not in the paper, and its scores are not those of the paper.

With `task` set it is another published method, which judges the whole passage with a context made
for the task; see `resay.scorers.task_prompt`.

Good at: paraphrase, and sentences whose words are all common. Bad at: cost, and judges that say
yes to everything.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import anyio
from pydantic import Field

from resay.evidence import Evidence, Judge, Sample
from resay.passage import Passage
from resay.scorers import task_prompt
from resay.scorers.answers import read_numbered_answers
from resay.scorers.base import Column, Need, SampleConfig, SampleScorer
from resay.scorers.judging import JudgedConfig, Reading, ask, judge_for
from resay.scorers.support import RESTATED, ask_support, read_support
from resay.verdict import Scores

__all__ = ["Prompt", "render"]

_PER_SAMPLE = (
    "Context: {context}\n\n"
    "Sentences:\n{sentences}\n\n"
    "For each numbered sentence, decide whether it is supported by the context above. "
    "Judge every sentence on its own. Answer with one line per sentence and nothing else: "
    "its number, a colon, and Yes or No."
)
_NUMBERED = (
    "Answer with exactly {count} lines, one for each sentence from 1 to {count}, and nothing else:"
    " the sentence's number, a colon, and Yes or No."
)


def render(sentence: str, sample: str) -> str:
    """Return the published question about one sentence and one sample."""
    return ask_support(_flat(sample), sentence)


class Prompt(SampleScorer):
    """Asks a judge whether the samples support each sentence."""

    name: ClassVar[str] = "prompt"

    class Config(SampleConfig, JudgedConfig):
        """Settings of `prompt`."""

        method: Literal["prompt"] = "prompt"
        mode: Literal["per_pair", "per_sample"] = Field(
            default="per_pair",
            description="One call per sentence and sample, as published, or one per sample.",
        )
        task: task_prompt.Task | None = Field(
            default=None,
            description="Judge the whole response to a definition, paraphrase or translation task"
            " against its source (the question) and target (the references) instead.",
        )
        votes: int = Field(
            default=5, ge=1, le=100, description="With `task`: how often the judge is asked."
        )
        term: str | None = Field(
            default=None,
            min_length=1,
            description="With `task: definition`: the term; null = find it in the question.",
        )

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self.needs: frozenset[Need] = frozenset({"samples", "judge"})
        if self.config.task is not None:
            self.needs = task_prompt.needs(self.config.task)

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with every sample as it lands, or judge by the task's own context.

        Args:
            passage: The passage; its `sentences` are scored.
            evidence: Samples and who answers for the judge; the query and references for a task.

        Returns:
            Sentence scores and the columns they are the means of; for a task a passage score.

        Raises:
            ScorerError: There is no judge to ask, or the task's source is not there.
        """
        config = self.config
        if config.task is None:
            return await super().score(passage, evidence)
        context = await task_prompt.context_of(config.task, evidence, config.term)
        judge = judge_for(config.judge, evidence)
        return await task_prompt.vote(judge, context, passage, config.votes, config.restate)

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
        ask_about = _ask_once if self.config.mode == "per_sample" else _ask_each
        readings = await ask_about(judge, passage, sample, self.config.restate)
        return Column(
            tuple(_value(reading, slot) for reading in readings for slot in reading.slots),
            tuple(failure for reading in readings for failure in reading.failures),
            sum(reading.undetermined for reading in readings),
        )


async def _ask_each(
    judge: Judge, passage: Passage, sample: Sample, restate: bool
) -> list[Reading[bool]]:
    readings: dict[int, Reading[bool]] = {}

    async def ask_about(i: int) -> None:
        prompt = render(passage.sentences[i].text, sample.text)
        readings[i] = await ask(judge, prompt, read_support, RESTATED if restate else None)

    async with anyio.create_task_group() as tasks:
        for i in range(len(passage.sentences)):
            tasks.start_soon(ask_about, i)
    return [readings[i] for i in sorted(readings)]


async def _ask_once(
    judge: Judge, passage: Passage, sample: Sample, restate: bool
) -> list[Reading[bool]]:
    count = len(passage.sentences)
    listed = "\n".join(f"{i}. {_flat(s.text)}" for i, s in enumerate(passage.sentences, 1))
    prompt = _PER_SAMPLE.format(context=_flat(sample.text), sentences=listed)
    return [
        await ask(
            judge,
            prompt,
            lambda answer: read_numbered_answers(answer.text, count),
            _NUMBERED.format(count=count) if restate else None,
        )
    ]


def _flat(text: str) -> str:
    # The released code flattens the context: with the blank lines of the template left as the
    # only ones, judges confuse context and sentence less.
    return " ".join(text.splitlines())


def _value(reading: Reading[bool], supported: bool | None) -> float | None:
    if not reading.answered:
        return None
    return 0.5 if supported is None else float(not supported)
