"""Entailment between texts, by a classifier or a judge, for methods that are based on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

import anyio
from pydantic import Field

from resay.core.quoting import quotable
from resay.core.request import Request
from resay.models import ModelField
from resay.scorers.base import Need, Restate, ScorerConfig
from resay.scorers.common.answers import read_items
from resay.scorers.common.judge_calls import ParsedAnswer, ask
from resay.scorers.common.judge_config import JudgeConfig, judge_for, judge_model, judge_requests
from resay.scorers.common.judge_words import VERDICTS, JudgeVerdict
from resay.scorers.common.per_sample import ask_about
from resay.scorers.entailments import NEUTRAL, Entailed, Entailment, Pair
from resay.scorers.evidence import Evidence
from resay.scorers.nli import PUBLISHED, Nli

_PAIR = """\
We are evaluating answers to the question "{question}"
Here are two possible answers:
Possible Answer 1: {premise}
Possible Answer 2: {hypothesis}
Does Possible Answer 1 semantically entail Possible Answer 2? Respond with entailment, \
contradiction, or neutral."""
_PAIR_AGAIN = "Respond with one word: entailment, contradiction, or neutral."
_OF_VERDICT: Mapping[JudgeVerdict, Entailment] = {
    "supported": Entailment(1.0, 0.0, 0.0),
    "contradicted": Entailment(0.0, 0.0, 1.0),
    "not_mentioned": NEUTRAL,
}
# In one call of a judge.
_MAX_HYPOTHESES = 40


class EntailingConfig(ScorerConfig):
    """Base class of the settings of methods based on entailment between texts."""

    by: Literal["nli", "judge"] = Field(
        default="nli",
        description="How to determine whether a text entails another: with a classifier, or with an"
        " LLM.",
    )
    model: ModelField = Field(
        default=PUBLISHED,
        description="With `by: nli`: a classifier of premise and hypothesis with labels for"
        " entailment and contradiction: a folder or a model on the Hugging Face hub, or a mapping"
        " with settings.",
    )
    judge: str | JudgeConfig | None = Field(
        default=None,
        description="With `by: judge`: the model to ask; null = the model that wrote the response.",
    )
    form: Literal["together", "published"] = Field(
        default="together",
        description="With `by: judge`: one call for each premise, about all texts that are compared"
        " with it, with the prompt of the method `prompt`; or the published question about each"
        " pair.",
    )
    restate: Restate = True
    conversation_chars: int = Field(
        default=4000,
        ge=0,
        description="With `by: judge` and `form: together`: the number of characters that the judge"
        " reads from the end of the conversation; 0 = none.",
    )

    @property
    def asks_response_model(self) -> bool:
        """Whether the judge is the model that wrote the response."""
        # Not by `judge_requests`: a method that also asks another model names that one there.
        return self.by == "judge" and judge_model(self.judge) is None

    @property
    def judge_requests(self) -> tuple[Request, ...]:
        """A request without messages to the judge; none for the model that wrote the response."""
        return judge_requests(self.judge) if self.by == "judge" else ()


class Entailing:
    """Computes entries of a check's entailment matrix, each once.

    Args:
        config: The classifier or judge to use.

    Attributes:
        needs: The evidence this requires.
    """

    def __init__(self, config: EntailingConfig) -> None:
        self._config = config
        self._nli = Nli(Nli.Config(model=config.model)) if config.by == "nli" else None
        self.needs: frozenset[Need] = frozenset({"judge"} if config.by == "judge" else ())
        deciding = {"by", "model"} if self._nli else {"by", "judge", "form", "conversation_chars"}
        self._source = config.model_dump_json(include=deciding)

    async def prepare(self) -> None:
        """Load the classifier, if one is used."""
        if self._nli is not None:
            await self._nli.prepare()

    async def find(self, pairs: Iterable[Pair], evidence: Evidence) -> Entailed:
        """Return how premises relate to hypotheses; see `Entailments.find`.

        Raises:
            ConfigurationError: The model cannot be loaded, or has the wrong labels.
            ScorerError: The model failed, or no judge is available.
        """
        ask_for = self._nli.entailed if self._nli else partial(self._ask, evidence=evidence)
        return await evidence.entailments.find(self._source, pairs, ask_for)

    async def _ask(self, pairs: Sequence[Pair], evidence: Evidence) -> Entailed:
        config, judge = self._config, judge_for(self._config.judge, evidence)
        question = evidence.quoted_question
        conversation = evidence.conversation(config.conversation_chars)
        by_pair: dict[Pair, Entailment | None] = {}
        failures: list[str] = []
        is_published = config.form == "published"

        async def ask_of(premise: str, hypotheses: Sequence[str]) -> None:
            parsed: ParsedAnswer[JudgeVerdict]
            if is_published:
                parsed = await ask(
                    judge,
                    render_pair(quotable(premise), hypotheses[0], question),
                    lambda answer: read_items(answer.text, 1, VERDICTS),
                    _PAIR_AGAIN if config.restate else None,
                )
            else:
                parsed = await ask_about(
                    judge, hypotheses, quotable(premise), conversation, restate=config.restate
                )
            failures.extend(parsed.failures)
            if parsed.answered:
                for hypothesis, verdict in zip(hypotheses, parsed.slots, strict=True):
                    by_pair[premise, hypothesis] = None if verdict is None else _OF_VERDICT[verdict]

        by_premise: dict[str, list[str]] = {}
        for premise, hypothesis in pairs:
            by_premise.setdefault(premise, []).append(hypothesis)
        size = 1 if is_published else _MAX_HYPOTHESES
        async with anyio.create_task_group() as tasks:
            for premise, hypotheses in by_premise.items():
                for start in range(0, len(hypotheses), size):
                    tasks.start_soon(ask_of, premise, hypotheses[start : start + size])
        return Entailed(by_pair, tuple(failures))


class EntailingScorer:
    """Base class of scorers that are based on entailment between texts.

    Args:
        config: The classifier or judge to use.
    """

    def __init__(self, config: EntailingConfig) -> None:
        self._entailing = Entailing(config)

    async def prepare(self) -> None:
        """Load the classifier, if one is used.

        Raises:
            ConfigurationError: It cannot be loaded, or lacks labels for both classes.
            ScorerError: Its server does not respond.
        """
        await self._entailing.prepare()


def render_pair(premise: str, hypothesis: str, question: str = "") -> str:
    """Return the published question about two answers."""
    return _PAIR.format(question=question, premise=premise, hypothesis=hypothesis)
