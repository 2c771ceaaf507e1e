"""Providers that other distributions install, chosen by the beginning of a model's name."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import cast

from resay._internal.construction import create
from resay._internal.entry_points import installed_by, installed_names, load_installed
from resay.core.request import Request
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

_log = logging.getLogger(__name__)


def default_provider(model: str | None) -> Provider:
    """Return the provider of models for which the application passes none.

    It is litellm. A model whose name begins with the name of an installed provider and a slash,
    such as `acme/large` for `acme`, is asked through that provider. None of litellm's own names can
    be taken: whoever writes `openai/gpt-4.1-mini` means OpenAI.

    Args:
        model: The model that writes the response, which is prepared first; None if unknown.
    """
    return InstalledProviders(model) if _names() else LiteLLMProvider()


class InstalledProviders:
    """Asks each model through the installed provider that its name begins with, or litellm.

    Args:
        model: The model that writes the response, whose provider `prepare` prepares.
    """

    def __init__(self, model: str | None) -> None:
        self._model = model

    def provider_of(self, model: str | None) -> Provider:
        """Return the provider of a model.

        Raises:
            ConfigurationError: The installed provider cannot be loaded or created.
            MissingDependencyError: It is litellm, which is not installed.
        """
        name, slash, _ = (model or "").partition("/")
        if slash and name in _names():
            return _installed(name)
        return LiteLLMProvider()

    async def prepare(self) -> None:
        """Let the response's provider load what it needs; litellm takes seconds."""
        await prepare(self.provider_of(self._model))

    async def takes_n(self, request: Request) -> bool:
        """Return whether one request may ask the request's provider for several answers."""
        return await self.provider_of(request.model).takes_n(request)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send one request to the request's provider."""
        return await self.provider_of(request.model).complete(request, n=n)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Stream the answer of the request's provider."""
        return open_stream(self.provider_of(request.model), request)

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return which optional parameters the request's provider takes."""
        return await supported_params(self.provider_of(request.model), request)


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
