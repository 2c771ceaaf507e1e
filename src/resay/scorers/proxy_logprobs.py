"""Another model's token probabilities (`proxy_logprobs`).

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for
Generative Large Language Models", EMNLP 2023, section 4, "Proxy LLMs": if the model that wrote the
response does not return its token probabilities, another one reads the response and returns its
own. `resay.scorers.logprobs` has the equations, and how their values become scores.

The paper's proxies read the response alone (`context: none`). With `context: question` they read it
as the answer to the question, which is what the model that wrote it did.

Cost: one request to the proxy's server, or one pass of a local model. No provider bills it as an
LLM call, so it is not in the verdict's usage. Good at: texts whose model cannot be asked anything;
it needs neither samples nor a judge. Bad at: distinguishing errors from text that is merely unlike
the proxy's own style. In the paper it is the weakest method, and its entropies, which depend less
on the chosen words, do better than its probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Literal, Protocol

from pydantic import Field, field_validator

from resay._internal.event_loops import compute
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage
from resay.core.scores import Scores
from resay.models import ModelField, config_of, text_model
from resay.scorers.base import Need, Prepares, ScorerTraits
from resay.scorers.common.token_uncertainty import UncertaintyConfig, score_tokens
from resay.scorers.evidence import Evidence


class LanguageModel(Protocol):
    """A language model that returns the probability of each token of a given text."""

    async def score_text(self, prompt: str, text: str) -> Sequence[TokenLogprob]:
        """Return the tokens of a text that follows a prompt.

        Args:
            prompt: The text before it; may be empty.
            text: The text.

        Returns:
            The tokens of the text, in order, with or without those of the prompt before them. Each
            has its alternatives in `top`, or the entropy of the whole distribution in `entropy`, if
            known. A first token without a predecessor has no log-probability.

        Raises:
            ScorerError: The model failed.
        """
        ...


class ProxyLogprobs:
    """Scores sentences by the probabilities that another model gives their tokens.

    Args:
        config: The settings.
        proxy: The model that reads the response; None for the one in the settings.
    """

    name: ClassVar[str] = "proxy_logprobs"
    traits: ClassVar[ScorerTraits] = ScorerTraits()

    class Config(UncertaintyConfig):
        """Settings of `proxy_logprobs`."""

        method: Literal["proxy_logprobs"] = "proxy_logprobs"
        model: ModelField
        api: Literal["echo", "prompt_logprobs"] = Field(
            default="echo",
            description="For a model behind a `url`: how to request the probabilities of a prompt"
            " from its server, with OpenAI's `echo` or vLLM's `prompt_logprobs`.",
        )
        context: Literal["question", "none"] = Field(
            default="question",
            description="The text that the model reads before the response: the question, or"
            " nothing, as in the paper.",
        )
        template: str = Field(
            default="{question}\n\n",
            description="The text before the response; {question} stands for the question. For a"
            " chat model, write the text that its chat template would produce.",
        )

        @field_validator("template")
        @classmethod
        def _must_hold_the_question(cls, template: str) -> str:
            if "{question}" not in template:
                raise ValueError("must contain {question}; for no context, set `context: none`")
            return template

    def __init__(self, config: ProxyLogprobs.Config, proxy: LanguageModel | None = None) -> None:
        self.config = config
        self.needs: frozenset[Need] = frozenset(
            {"question"} if config.context == "question" else ()
        )
        self._proxy = proxy or _proxy(config)

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage.

        Args:
            passage: The response; its `sentences` are scored.
            evidence: The request, for its question.

        Returns:
            Scores in [0, 1] with the unbounded values in `raw` and `raw_passage`.

        Raises:
            ConfigurationError: The model cannot be loaded as configured.
            ScorerError: The model failed.
        """
        tokens = await self._proxy.score_text(self._prompt(evidence), passage.text)
        return await compute(partial(score_tokens, passage, tokens, self.config))

    async def prepare(self) -> None:
        """Load the model if it runs in this process.

        Raises:
            ConfigurationError: It cannot be loaded as configured.
        """
        if isinstance(self._proxy, Prepares):
            await self._proxy.prepare()

    def _prompt(self, evidence: Evidence) -> str:
        if self.config.context == "none":
            return ""
        question = evidence.request.question
        return self.config.template.replace("{question}", question)


def _proxy(config: ProxyLogprobs.Config) -> LanguageModel:
    model = config_of(config.model)
    if model.remote:
        from resay.models.language import RemoteLanguageModel

        return RemoteLanguageModel(model, api=config.api, top=config.alternatives)
    # Reports what to install before the next import fails for lack of numpy.
    text_model(model)
    from resay.models.language import LocalLanguageModel

    return LocalLanguageModel(model)
