"""What a chain needs of those who ask for a check, refused early where it is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from resay.core.logprobs import TokenLogprob, tokens_of
from resay.core.query import Query
from resay.engine.chain import Chain
from resay.errors import ConfigurationError
from resay.policy import Policy, Regenerate, StreamMode
from resay.providers.base import Provider
from resay.providers.litellm import LiteLLMProvider
from resay.providers.routes import Sources

__all__ = ["Demands", "mode_of"]


class Demands:
    """Checks what is given against what a chain needs. All its methods raise ConfigurationError.

    Args:
        chain: The chain.
        provider: Who answers, whatever model a query names; None for litellm.
    """

    def __init__(self, chain: Chain, provider: Provider | None) -> None:
        self._chain = chain
        self._provider = provider

    def sources(self, query: Query | None, *, asks: bool = False) -> Sources:
        """Return who answers what; refuse a missing model, where it is to answer or to judge.

        Args:
            query: What is asked.
            asks: Whether the main call is made too.
        """
        if self._provider is not None:
            return Sources.all(self._provider)
        if query is None or query.model is None:
            self._refuse_without_model(asks=asks)
        return Sources.all(LiteLLMProvider(), via="litellm")

    def _refuse_without_model(self, *, asks: bool) -> None:
        if asks:
            raise ConfigurationError(
                "no model was named; pass `model`, such as 'openai/gpt-4.1-mini'"
            )
        asking = self._chain.asking_response_model
        if asking:
            raise ConfigurationError(
                f"method {asking!r} needs a judge; pass `model` to ask the model that wrote the"
                " response, or name another in the policy with `judge:`"
            )

    def check_request(self, query: Query, sources: Sources, references: Sequence[str]) -> None:
        """Refuse a request whose answer could not be checked, or is more than one whole answer."""
        if query.unchecked is None:
            self.check_question(query)
        if not sources.finds_references:
            self.check_references(references)
        _check_single(query)

    def check_question(self, query: Query | None) -> None:
        """Refuse a missing question."""
        asking = self._chain.needing("query")
        if asking and (query is None or not query.question):
            raise ConfigurationError(
                f"method {asking!r} compares with the question; pass `question`"
            )

    def check_references(self, references: Sequence[str]) -> None:
        """Refuse missing references, and such as nobody would look at."""
        if isinstance(references, str):
            raise ConfigurationError("references must be a list of texts, not one text")
        asking = self._chain.needing("references")
        if asking and not references:
            raise ConfigurationError(
                f"method {asking!r} compares with references; pass `references`"
            )
        if references and not asking:
            raise ConfigurationError(
                "no step of the chain compares with references; set `evidence: references` on one"
            )

    def check_samples(self, query: Query | None, samples: Sequence[str] | None) -> None:
        """Refuse missing samples that cannot be drawn."""
        if isinstance(samples, str):
            raise ConfigurationError("samples must be a list of texts, not one text")
        asking = self._chain.needing("samples")
        can_draw = query is not None and query.messages and (query.model or self._provider)
        if asking and samples is None and not can_draw:
            raise ConfigurationError(
                f"method {asking!r} needs samples; pass `samples`, or the question and the `model`"
                " to draw them from"
            )

    def tokens(self, logprobs: Sequence[object] | None) -> tuple[TokenLogprob, ...]:
        """Return the tokens given; refuse missing ones, and such as nobody would look at."""
        asking = self._chain.needing("logprobs")
        if asking and not logprobs:
            raise ConfigurationError(
                f"method {asking!r} looks at the probabilities of the response's tokens; pass them"
                " as `logprobs`, or have the guard ask the model (`ask`), which returns them"
            )
        if logprobs and not asking:
            raise ConfigurationError(
                "no step of the chain looks at the probabilities of tokens; add `method: logprobs`"
            )
        return tokens_of(logprobs or ())


def mode_of(policy: Policy, mode: StreamMode | None) -> StreamMode:
    """Return when a stream releases text; refuse what the policy cannot do.

    Args:
        policy: The policy.
        mode: What was asked for; None for what the policy says.
    """
    chosen = mode or policy.stream
    if chosen not in get_args(StreamMode):
        raise ConfigurationError(f"mode must be hold, after or buffer, not {mode!r}")
    if chosen == "after" and isinstance(policy.action, Regenerate):
        raise ConfigurationError(
            "mode 'after' shows an answer before it can be regenerated; use 'hold' or 'buffer'"
        )
    return chosen


def _check_single(query: Query) -> None:
    """Refuse to ask for anything but one whole answer.

    Raises:
        ConfigurationError: The query asks for several, or for a stream.
    """
    if query.params.get("stream") or query.params.get("n", 1) != 1:
        raise ConfigurationError(
            "the guard gives one whole answer; leave out `stream` (there is `astream`) and `n`"
        )
