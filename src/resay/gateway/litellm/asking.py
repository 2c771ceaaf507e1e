"""litellm, as it was loaded, and what it is asked with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from resay._internal.optional import load_optional
from resay.adapters import litellm_provider, marked
from resay.core.query import Query
from resay.errors import ConfigurationError
from resay.gateway.litellm.errors import refusal_of
from resay.gateway.models import ModelConfig
from resay.providers.apis import Body, Event, encoded
from resay.providers.apis.reading import mapping, number

__all__ = ["LiteLLM", "close_pieces", "written"]

# A cached answer is no sample, and asking again is for the guard and the client. All of it goes
# with the call: litellm's module globals belong to the application.
_PER_CALL: Mapping[str, Any] = {
    "num_retries": 0,
    "max_retries": 0,
    "caching": False,
    "cache": {"no-cache": True, "no-store": True},
}
# Where litellm keeps what reads Anthropic's own streams. It wants some of its proxy's packages.
_STREAMS = (
    "litellm.llms.anthropic.pass_through.messages.streaming_iterator",
    "litellm.llms.anthropic.experimental_pass_through.messages.streaming_iterator",
)


class LiteLLM:
    """Asks models.

    Args:
        timeout_s: How long one may be silent that says nothing of it, in seconds.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._litellm: Any = None
        self._streams_messages = False

    async def load(self, models: Mapping[str, ModelConfig]) -> Mapping[str, bool]:
        """Load litellm, which takes seconds, and see whether it knows the models.

        Args:
            models: The models.

        Returns:
            Whether one request may ask for several answers, for each of them.

        Raises:
            MissingDependencyError: litellm is not installed.
            ConfigurationError: It cannot tell whose model one of them is.
        """
        provider, takes_n = litellm_provider(), dict[str, bool]()
        for name, config in models.items():
            # It loads litellm quietly, and off the event loop.
            takes_n[name] = await provider.takes_n(Query((), config.model, config.params))
        self._litellm = load_optional(
            "litellm", package="litellm", extra="litellm", purpose="the gateway's `models`"
        )
        for name, config in models.items():
            self._check(name, config)
        if any(self._speaks_messages(config) for config in models.values()):
            self._streams_messages = await asyncio.to_thread(_has_streams)
        return takes_n

    def replays(self, config: ModelConfig) -> bool:
        """Return whether a stream of messages is made of a whole one.

        litellm asks some providers by Anthropic's own API, and reads the streams of that only where
        packages of its proxy are installed.
        """
        return not self._streams_messages and self._speaks_messages(config)

    async def send(self, config: ModelConfig, path: str, asked: Mapping[str, Any]) -> Any:
        """Ask a model.

        Args:
            config: The model.
            path: The API's path.
            asked: What to ask.

        Raises:
            Exception: What litellm raises.
        """
        key = None if config.api_key is None else config.api_key.get_secret_value()
        where = {"api_key": key, "api_base": config.api_base}
        kwargs = {
            **config.params,
            **asked,
            **_PER_CALL,
            **{k: v for k, v in where.items() if v is not None},
            "model": config.model,
            "timeout": config.timeout_s or self._timeout_s,
        }
        if asked.get("tools") and find_spec("mcp") is None:
            # litellm 1.106 looks for MCP in every tool, with a package that it does not install.
            kwargs["_skip_mcp_handler"] = True
        # Should a callback of litellm's be a guard too.
        with marked():
            return await self._function(path)(**kwargs)

    def price(self, config: ModelConfig, message: Body) -> float | None:
        """Return what a message of Anthropic's API cost, in US dollars; None where not known."""
        usage = mapping(message.get("usage"))
        made = number(usage.get("cache_creation_input_tokens"))
        found = number(usage.get("cache_read_input_tokens"))
        # It raises for models whose price it does not know.
        with suppress(Exception):
            read, said = self._litellm.cost_per_token(
                model=config.model,
                prompt_tokens=number(usage.get("input_tokens")) + made + found,
                completion_tokens=number(usage.get("output_tokens")),
                cache_creation_input_tokens=made,
                cache_read_input_tokens=found,
            )
            return read + said
        return None

    def _check(self, name: str, config: ModelConfig) -> None:
        # litellm raises bare exceptions for models it cannot place.
        with suppress(Exception):
            self._placed(config)
            return
        raise ConfigurationError(
            f"models.{name}: litellm cannot tell whose model {config.model!r} is; name its"
            " provider, as in 'openai/gpt-4.1-mini'"
        )

    def _placed(self, config: ModelConfig) -> tuple[str, str]:
        """Return a model's own name, and its provider's."""
        model, provider, _, _ = self._litellm.get_llm_provider(
            model=config.model,
            custom_llm_provider=config.params.get("custom_llm_provider"),
            api_base=config.api_base,
        )
        return model, provider

    def _speaks_messages(self, config: ModelConfig) -> bool:
        """Return whether litellm asks for a model's messages by Anthropic's own API."""
        model, provider = self._placed(config)
        with suppress(Exception):
            known = self._litellm.LlmProviders(provider)
            configs = self._litellm.ProviderConfigManager
            return configs.get_provider_anthropic_messages_config(model, known) is not None
        return True

    def _function(self, path: str) -> Any:
        litellm = self._litellm
        return {
            "/chat/completions": litellm.acompletion,
            "/completions": litellm.atext_completion,
            "/responses": litellm.aresponses,
            "/messages": litellm.anthropic.messages.acreate,
        }[path]


def _has_streams() -> bool:
    """Return whether litellm can read Anthropic's own streams here."""
    for name in _STREAMS:
        with suppress(ImportError):
            import_module(name)
            return True
    return False


async def written(
    events: AsyncGenerator[Event], pieces: Any, asked: Body, name: str
) -> AsyncGenerator[bytes]:
    """Write events as they are sent, and close litellm's stream in the end.

    Args:
        events: The events.
        pieces: litellm's stream, of which they are made.
        asked: The client's request.
        name: What the client calls the model.

    Raises:
        RefusedError: The stream broke off.
    """
    ended = False
    try:
        async with aclosing(events):
            async for event in events:
                yield encoded(event)
        ended = True
    # litellm maps errors to some twenty types of its own, and lets others slip through.
    except Exception as error:
        ended = True
        raise refusal_of(error, name, asked) from None
    finally:
        if not ended:
            await close_pieces(pieces)


async def close_pieces(pieces: Any) -> None:
    """Close a stream of litellm's.

    What some of its streams call closing leaves the connection open. All of them let go of it when
    they are cancelled while they wait for more.
    """
    if pieces is None:
        return
    while await _reads_on(pieces):
        pass
    close = getattr(pieces, "aclose", None)
    if close is not None:
        await close()


async def _reads_on(pieces: Any) -> bool:
    """Return whether there was another piece, for which a stream did not have to wait."""
    reading = asyncio.ensure_future(anext(aiter(pieces)))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})
    return not reading.cancelled() and reading.exception() is None
