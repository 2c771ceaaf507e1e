"""The provider of models for which the application passes none."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import cast

from resay._internal.construction import create
from resay._internal.entry_points import installed_by, installed_names, load_installed
from resay.core.request import Request
from resay.errors import ProviderError, ProviderRefusedError
from resay.providers.base import (
    Chunk,
    Completions,
    Provider,
    open_stream,
    prepare,
    supported_params,
)
from resay.providers.litellm import LiteLLMProvider
from resay.providers.litellm_names import LITELLM_NAMES
from resay.providers.litellm_problems import (
    litellm_source,
    problem_before_import,
    problem_if_not_installed,
    problem_with_name,
)
from resay.providers.openai_api import OpenAIProvider, is_openai
from resay.providers.openai_compatible import (
    OpenAICompatibleProvider,
    is_compatible,
    problem_before_sending,
)

_log = logging.getLogger(__name__)


class DefaultProvider:
    """Asks each model through the provider that its request names.

    A model whose name begins with the name of an installed provider and a slash, such as
    `acme/large` for `acme`, is asked through that provider; a request with an `api_base`, by the
    provider for servers with OpenAI's API; a request to OpenAI that litellm would send as it is, by
    OpenAI's API; and all others through litellm. None of litellm's own names can be taken: whoever
    writes `openai/gpt-4.1-mini` means OpenAI.

    Args:
        requests: The requests whose providers `prepare` prepares: that of the main call, and those
            to models that the policy names.
        timeout_s: Seconds without data before a request fails.
    """

    endpoint = "default"
    """The server is known from the request alone."""

    def __init__(self, requests: Iterable[Request] = (), *, timeout_s: float = 600.0) -> None:
        self._requests = tuple(requests)
        self._timeout_s = timeout_s

    @property
    def cache_source(self) -> str | None:
        """Requests and the environment say where all go, except those to installed providers."""
        return None if _names() else litellm_source()

    def provider_of(self, request: Request) -> Provider:
        """Return the provider of a request.

        Raises:
            ConfigurationError: The installed provider cannot be loaded.
            MissingDependencyError: It is litellm, which is not installed.
            ProviderRefusedError: litellm is not installed, and would not know the model.
        """
        name = _installed_name(request)
        if name is not None:
            return _installed(name)
        if is_compatible(request):
            return OpenAICompatibleProvider(timeout_s=self._timeout_s)
        if is_openai(request):
            return OpenAIProvider(timeout_s=self._timeout_s)
        problem = problem_if_not_installed(request)
        if problem is not None:
            raise problem
        return LiteLLMProvider(timeout_s=self._timeout_s)

    def needs_litellm(self, request: Request) -> bool:
        """Return whether a request goes through litellm, and not directly to its model's server."""
        is_installed = _installed_name(request) is not None
        return not (is_installed or is_compatible(request) or is_openai(request))

    def problem(self, request: Request) -> ProviderError | None:
        """Return why a request would be refused for sure, if that is known before it is sent."""
        if _installed_name(request) is not None:
            return None
        if is_compatible(request):
            return problem_before_sending(request)
        # Of OpenAI's models the same is known, whoever sends the request.
        return problem_before_import(request)

    def problem_with_name(self, request: Request) -> ProviderRefusedError | None:
        """Return why nobody knows a request's model by its name for sure; None if one may."""
        if _installed_name(request) is not None or is_compatible(request) or is_openai(request):
            return None
        return problem_with_name(request)

    async def prepare(self) -> None:
        """Let the providers load what they need; litellm takes seconds."""
        for request in self._requests:
            if request.model is not None and self.problem(request) is None:
                await prepare(self.provider_of(request))

    async def takes_n(self, request: Request) -> bool:
        """Return whether one request may ask the request's provider for several answers."""
        try:
            provider = self.provider_of(request)
        # It is refused again when it is sent, and then recorded.
        except ProviderRefusedError:
            return False
        return await provider.takes_n(request)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send one request to the request's provider."""
        return await self.provider_of(request).complete(request, n=n)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Stream the answer of the request's provider."""
        return open_stream(self.provider_of(request), request)

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return which optional parameters the request's provider takes."""
        try:
            provider = self.provider_of(request)
        except ProviderRefusedError:
            return frozenset()
        return await supported_params(provider, request)


def _installed_name(request: Request) -> str | None:
    """Return the installed provider that a request's model begins with; None if there is none."""
    name, slash, _ = (request.model or "").partition("/")
    return name if slash and name in _names() else None


@cache
def _names() -> frozenset[str]:
    """Return the names of the installed providers."""
    names = frozenset(installed_names("resay.providers"))
    for name in sorted(names & LITELLM_NAMES):
        distributions = installed_by("resay.providers", name)
        _log.warning(
            "provider plug-in %r of %s is left out: litellm has a provider of that name; install it"
            " under another, or pass it to the guard as `provider`",
            name,
            distributions,
        )
    return names - LITELLM_NAMES


@cache
def _installed(name: str) -> Provider:
    plugin = load_installed("resay.providers", name)
    return cast("Provider", create(plugin, {}, f"the provider {name!r}"))
