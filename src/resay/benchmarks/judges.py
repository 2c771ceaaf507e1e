"""Who answers for judges in a benchmark: a recording, or a live model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from resay.core.query import Query
from resay.providers.base import Provider
from resay.providers.layers import Limited, Retrying
from resay.providers.litellm import LiteLLMProvider
from resay.providers.replay import ReplayProvider, ScriptedProvider
from resay.scorers.common.judging import JudgeConfig
from resay.scorers.evidence import Judge

__all__ = ["RECORDED", "BenchJudge", "LiveJudge", "RecordedJudge", "Recording"]

RECORDED = "recorded:"
"""What a judge's name begins with when its answers come from a recording."""

Recording = Mapping[str, Sequence[str | None]]
"""For each prompt the answers given to it, in order; None for a call that failed."""

_RETRIES = 4
_TIMEOUT_S = 120.0


class BenchJudge(Protocol):
    """A judge as a benchmark needs it.

    Attributes:
        name: As named on the command line.
        settings: What a scorer's configuration is told of it.
        reports_tokens: Whether its calls say how many tokens they took.
    """

    name: str
    settings: Mapping[str, Any]
    reports_tokens: bool

    async def prepare(self) -> None:
        """Make sure that it can be asked, before a long run."""
        ...

    def answering(self, item: int) -> Provider:
        """Return who answers about one item of the benchmark, without limits or retries."""
        ...

    def guarded(self, provider: Provider, limiter: AbstractAsyncContextManager[object]) -> Provider:
        """Return a provider with the limits and retries this judge needs."""
        ...


class RecordedJudge:
    """Answers recorded earlier.

    Args:
        name: As named on the command line.
        recordings: One for each item of the benchmark: answers by prompt, or a list of answers in
            the order in which they were given.
    """

    reports_tokens = False

    def __init__(self, name: str, recordings: Mapping[int, Recording | Sequence[str]]) -> None:
        self.name = name
        # Nobody was asked again when the answers were recorded.
        self.settings: Mapping[str, Any] = {"judge": JudgeConfig(model=name), "restate": False}
        self._recordings = recordings

    async def prepare(self) -> None:
        """Do nothing: a recording is always there."""

    def answering(self, item: int) -> Provider:
        """Return a provider that gives this item's answers, each once."""
        recording = self._recordings[item]
        if isinstance(recording, Mapping):
            return ReplayProvider(recording)
        return ScriptedProvider(recording)

    def guarded(self, provider: Provider, limiter: AbstractAsyncContextManager[object]) -> Provider:
        """Return the provider itself: a failure that was recorded would fail again."""
        del limiter
        return provider


class LiveJudge:
    """A model that is asked now.

    Args:
        model: In litellm's notation.
        params: What the provider takes, such as `api_base`.

    Raises:
        MissingDependencyError: litellm is not installed.
    """

    reports_tokens = True

    def __init__(self, model: str, params: Mapping[str, str]) -> None:
        self.name = model
        self._query = Query((), model, dict(params))
        self.settings: Mapping[str, Any] = {"judge": JudgeConfig(model=model, params=dict(params))}
        self._provider = LiteLLMProvider(timeout_s=_TIMEOUT_S)

    async def prepare(self) -> None:
        """Ask one question.

        Scorers leave out calls that fail, so a wrong key would come to light only at the end.

        Raises:
            ProviderError: There was no answer.
        """
        judge = Judge(Retrying(self._provider, _RETRIES), self._query)
        await judge.ask("Answer Yes or No: is ice cold?")

    def answering(self, item: int) -> Provider:
        """Return the model, whichever item it is about."""
        del item
        return self._provider

    def guarded(self, provider: Provider, limiter: AbstractAsyncContextManager[object]) -> Provider:
        """Return the provider with retries, and with so many requests at once."""
        return Retrying(Limited(provider, limiter), _RETRIES)
