"""Calls models through litellm."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from resay import Request
from resay.adapters import marked, require_optional
from resay.adapters.apis import Body, mapping, number
from resay.adapters.upstream import litellm_provider
from resay.errors import ConfigurationError
from resay_server.gateway.config import ModelConfig

# A cached answer is not a sample, and retries are up to the guard and the client. These are passed
# with each call, because litellm's module globals belong to the application.
_PER_CALL: Mapping[str, Any] = {
    "num_retries": 0,
    "max_retries": 0,
    "caching": False,
    "cache": {"no-cache": True, "no-store": True},
}
# litellm's parsers of Anthropic's own streams, newest first. They need some packages of its proxy.
_PARSERS = (
    "litellm.llms.anthropic.messages.native.streaming_iterator",
    "litellm.llms.anthropic.pass_through.messages.streaming_iterator",
    "litellm.llms.anthropic.experimental_pass_through.messages.streaming_iterator",
)


class LiteLLM:
    """Calls models through litellm.

    Args:
        timeout_s: Seconds without data before a call fails, for models without their own setting.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._litellm: Any = None
        self._replayed: frozenset[str] = frozenset()

    async def load(self, models: Mapping[str, ModelConfig]) -> Mapping[str, bool]:
        """Load litellm, which takes seconds, and check that it knows the models.

        Args:
            models: The models.

        Returns:
            For each model, whether it accepts requests for several answers.

        Raises:
            MissingDependencyError: litellm is not installed.
            ConfigurationError: It does not know the provider of one of them.
        """
        require_optional(
            "litellm", package="litellm", extra="litellm", purpose="the gateway's `models`"
        )
        provider, takes_n = litellm_provider(), dict[str, bool]()
        # Off the event loop, and without litellm's output.
        await provider.prepare()
        for name, config in models.items():
            takes_n[name] = await provider.takes_n(Request((), config.model, config.params))
        self._litellm = import_module("litellm")
        for name, config in models.items():
            self._check(name, config)
        self._replayed = await asyncio.to_thread(self._without_parser, models)
        return takes_n

    def _without_parser(self, models: Mapping[str, ModelConfig]) -> frozenset[str]:
        """Return the models for which litellm needs a parser that it does not have here."""
        names = frozenset(name for name, config in models.items() if self._needs_parser(config))
        return frozenset() if names and _has_parser() else names

    def replays(self, name: str) -> bool:
        """Return whether a model's streams of messages have to be made from complete ones.

        Only with packages of its proxy can litellm parse Anthropic's own streams.
        """
        return name in self._replayed

    async def send(self, config: ModelConfig, path: str, request: Mapping[str, Any]) -> Any:
        """Call a model.

        Args:
            config: The model.
            path: The API's path.
            request: The parameters.

        Raises:
            Exception: The error that litellm raises.
        """
        kwargs = {
            **config.params,
            **request,
            **_PER_CALL,
            "model": config.model,
            "timeout": config.timeout_s or self._timeout_s,
        }
        if config.api_key is not None:
            kwargs["api_key"] = config.api_key.get_secret_value()
        if config.api_base is not None:
            kwargs["api_base"] = config.api_base
        if request.get("tools") and find_spec("mcp") is None:
            # litellm 1.106 looks for MCP in every tool, using a package that it does not install.
            kwargs["_skip_mcp_handler"] = True
        # In case one of litellm's callbacks is a guard too.
        with marked():
            return await self._function(path)(**kwargs)

    def price(self, config: ModelConfig, message: Body) -> float | None:
        """Return the cost of a message of Anthropic's API, in US dollars; None if unknown."""
        usage = mapping(message.get("usage"))
        cache_writes = number(usage.get("cache_creation_input_tokens"))
        cache_reads = number(usage.get("cache_read_input_tokens"))
        # litellm raises if it does not know the model's price.
        with suppress(Exception):
            prompt_usd, completion_usd = self._litellm.cost_per_token(
                model=config.model,
                prompt_tokens=number(usage.get("input_tokens")) + cache_writes + cache_reads,
                completion_tokens=number(usage.get("output_tokens")),
                cache_creation_input_tokens=cache_writes,
                cache_read_input_tokens=cache_reads,
            )
            return prompt_usd + completion_usd
        return None

    def _check(self, name: str, config: ModelConfig) -> None:
        # litellm raises bare exceptions for models whose provider it does not know.
        with suppress(Exception):
            self._provider_of(config)
            return
        raise ConfigurationError(
            f"models.{name}: litellm does not know the provider of {config.model!r}; name the"
            " provider, as in 'openai/gpt-4.1-mini'"
        )

    def _provider_of(self, config: ModelConfig) -> tuple[str, str]:
        """Return a model's own name and its provider's."""
        model, provider, _, _ = self._litellm.get_llm_provider(
            model=config.model,
            custom_llm_provider=config.params.get("custom_llm_provider"),
            api_base=config.api_base,
        )
        return model, provider

    def _needs_parser(self, config: ModelConfig) -> bool:
        """Return whether litellm needs its parser of Anthropic's own streams for a model."""
        model, provider = self._provider_of(config)
        # litellm 1.110 also needs it at the end of streams that it makes from OpenAI's responses.
        if provider == "openai" and _exists(_PARSERS[0]):
            return True
        with suppress(Exception):
            provider_kind = self._litellm.LlmProviders(provider)
            configs = self._litellm.ProviderConfigManager
            parser_config = configs.get_provider_anthropic_messages_config(model, provider_kind)
            return parser_config is not None
        return True

    def _function(self, path: str) -> Any:
        litellm = self._litellm
        return {
            "/chat/completions": litellm.acompletion,
            "/completions": litellm.atext_completion,
            "/responses": litellm.aresponses,
            "/messages": litellm.anthropic.messages.acreate,
        }[path]


def _has_parser() -> bool:
    """Return whether litellm can parse Anthropic's own streams here."""
    try:
        import_module(next(filter(_exists, _PARSERS)))
    except (ImportError, StopIteration):
        return False
    return True


def _exists(module: str) -> bool:
    # Importing a module by an old name warns, so it is tried under its newest one only.
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package does not exist either
        return False
