"""litellm itself: its import, the clients that it creates, its settings and its errors."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from resay._internal.event_loops import PerLoop
from resay._internal.http_environment import environment_problem
from resay._internal.patterns import lazy_pattern
from resay._internal.retries import retry_after_s
from resay.core.usage import Usage
from resay.errors import (
    SEE_CAUSE,
    ProviderError,
    ProviderRefusedError,
    ProviderTimeoutError,
)
from resay.providers.litellm_problems import (
    key_variable,
    needs_key,
    no_provider_message,
    provider_named,
)
from resay.providers.statuses import UNUSABLE_STATUSES, detail_of, hint_of, is_final
from resay.providers.unreachable import unreachable_by

# `Retrying` does the retries, and a cached answer is no sample. All settings are per call, because
# litellm's module globals belong to the application.
PER_CALL: Mapping[str, Any] = {
    "num_retries": 0,
    "max_retries": 0,
    "caching": False,
    "cache": {"no-cache": True, "no-store": True},
    "stream": False,
}
# A call that is cancelled, or fails, while litellm makes its coroutine leaves that one behind.
_NEVER_AWAITED = r"coroutine '(OpenAI|Azure|Anthropic|BaseLLMHTTP)[\w.<>]*\.a\w+' was never awaited"
_NO_KEY = lazy_pattern(r"Missing credentials|api_key client option|(?i:missing .{0,40}api key)")


async def load_litellm() -> Any:
    """Return litellm, imported off the event loop if it was not before."""
    loaded = sys.modules.get("litellm")
    # A module is in sys.modules while it is still being imported by another thread.
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    # A request whose deadline comes does not wait for it; the thread finishes for the next one.
    return await anyio.to_thread.run_sync(_import_quietly, abandon_on_cancel=True)


def _import_quietly() -> Any:
    first = "litellm" not in sys.modules
    if first:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    litellm: Any = import_module("litellm")
    if first:
        # Nothing else uses it yet, so its advertisements on stdout can be turned off.
        litellm.suppress_debug_info = True
        warnings.filterwarnings("ignore", _NEVER_AWAITED, RuntimeWarning)
    return litellm


class _Clients:
    """The clients that litellm creates in the running event loop."""

    def __init__(self) -> None:
        self._litellm: Any = import_module("litellm")
        # What litellm appends to the keys of a loop's clients. Before 1.110 that is its address,
        # which an earlier loop may have had. Open clients are left alone: the application may have
        # created them in this loop.
        self._key_suffix: str = self._cache.update_cache_key_with_event_loop("")
        self._remove(_is_closed)

    @property
    def _cache(self) -> Any:
        return self._litellm.in_memory_llm_clients_cache

    def _remove(self, matches: Callable[[Any], bool] = lambda _: True) -> list[Any]:
        """Remove the matching clients from litellm's cache, and return them."""
        cache = self._cache
        removed: list[Any] = []
        for key, client in tuple(cache.cache_dict.items()):
            if key.endswith(self._key_suffix) and matches(client):
                cache.delete_cache(key)
                removed.append(client)
        return removed

    async def aclose(self) -> None:
        shared = (self._litellm.aclient_session, self._litellm.client_session)
        for client in self._remove():
            inner = getattr(client, "_client", client)
            close = getattr(client, "aclose", None) or getattr(client, "close", None)
            # The application may use its shared session in other loops too.
            if close is None or any(inner is session for session in shared):
                continue
            # A client that fails to close must not keep the others open.
            with suppress(Exception):
                result = close()
                if inspect.isawaitable(result):
                    await result
        # A connection releases its socket in the loop's next iteration.
        await anyio.lowlevel.checkpoint()


def _is_closed(client: Any) -> bool:
    # litellm's own clients wrap an httpx client; those of SDKs have a method.
    closed: Any = getattr(getattr(client, "client", client), "is_closed", False)
    return bool(closed() if callable(closed) else closed)


clients: PerLoop[_Clients] = PerLoop(_Clients, _Clients.aclose)


def translate(error: Exception, model: str, hint: str = SEE_CAUSE) -> ProviderError:
    """Translate litellm's error into one of ours, without the provider's words.

    Args:
        error: litellm's error.
        model: The model.
        hint: What to do about an error whose status says nothing.
    """
    has_timed_out = _has_timed_out(error)
    # An error that breaks a stream comes wrapped for litellm's own router.
    error = getattr(error, "original_exception", None) or error
    name = type(error).__name__
    status = getattr(error, "status_code", None)
    # The provider's message may repeat the prompt or the key; it stays in `cause`.
    if name == "Timeout" or isinstance(error, TimeoutError) or has_timed_out:
        return ProviderTimeoutError(f"{model!r} did not answer in time ({name})", status=status)
    if _NO_KEY.search(str(error)):
        return needs_key(model, key_variable(provider_named(model) or ""))
    if "LLM Provider NOT provided" in str(error):
        return ProviderRefusedError(no_provider_message(model), status=status, unusable=True)
    unreachable = unreachable_by(error)
    if unreachable is not None:
        return ProviderError(
            f"{model!r} cannot be reached: {unreachable.reason}; {unreachable.remedy}",
            retryable=True,
            unusable=True,
        )
    malformed = None if _is_answer(error) else environment_problem(error)
    if malformed is not None:
        return ProviderRefusedError(malformed, unusable=True)
    after = retry_after_s(getattr(error, "litellm_response_headers", None))
    hint = hint_of(status or 0, after, hint)
    message = f"{model!r} failed with {name} (HTTP {status}); {hint}"
    if status is not None and is_final(status):
        return ProviderRefusedError(message, status=status, unusable=status in UNUSABLE_STATUSES)
    return ProviderError(
        message,
        status=status,
        retry_after_s=after,
        retryable=status is not None,
        detail=detail_of(status, after) if status else name,
    )


def _is_answer(error: Exception) -> bool:
    """Return whether an error may be a provider's response.

    litellm gives its own failures to create a client the status 500.
    """
    return getattr(error, "status_code", None) not in (None, 500)


def _has_timed_out(error: Exception) -> bool:
    # Mid-stream, litellm reports a timeout as a lost connection; the original is in the context.
    cause = error.__context__ if hasattr(error, "original_exception") else None
    while cause is not None:
        # The same class since Python 3.11.
        if isinstance(cause, (TimeoutError, asyncio.TimeoutError)):
            return True
        cause = cause.__cause__
    return False


def usage_of(answer: Any, cost_usd: float | None) -> Usage:
    """Return the usage that an answer or a chunk of litellm's reports."""
    usage = getattr(answer, "usage", None)
    return Usage(
        calls=1,
        prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
        completion_tokens=getattr(usage, "completion_tokens", None) or 0,
        cost_usd=cost_usd,
    )
