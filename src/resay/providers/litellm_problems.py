"""Why litellm would refuse a request, found without importing it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from resay._internal.patterns import lazy_pattern
from resay.core.request import Request
from resay.errors import MissingDependencyError, ProviderRefusedError
from resay.providers.apis.values import mapping, text
from resay.providers.base_urls import base_url_in, problem_with_url
from resay.providers.litellm_names import LITELLM_NAMES, is_openai_model
from resay.providers.prices import litellm_entries

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": (
        "FIREWORKS_API_KEY",
        "FIREWORKS_AI_API_KEY",
        "FIREWORKSAI_API_KEY",
        "FIREWORKS_AI_TOKEN",
    ),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY", "MISTRAL_AZURE_API_KEY"),
    "openai": ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "together_ai": (
        "TOGETHERAI_API_KEY",
        "TOGETHER_API_KEY",
        "TOGETHER_AI_API_KEY",
        "TOGETHER_AI_TOKEN",
    ),
    "xai": ("XAI_API_KEY",),
}
"""The environment variables in which litellm looks for the key of a provider that needs one."""
_ADDRESS_ENDINGS = ("_API_BASE", "_BASE_URL")
_URL_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
# A request with one of these has another key, or needs none.
_CREDENTIALS = ("api_key", "azure_ad_token", "client", "extra_headers", "headers", "mock_response")
# Names that need no provider: OpenAI's fine-tuned models, and versions on Replicate.
_UNPREFIXED = lazy_pattern(r"ft:.+|.+:[^:]{64}")
_ENUM_VALUE = lazy_pattern(r'^    [A-Z0-9_]+ = "([^"]+)"', re.MULTILINE)
_ENUM = lazy_pattern(r"^class LlmProviders\(.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def openai_url_variable() -> str | None:
    """Return the environment variable with the address of OpenAI's API; None if there is none."""
    return next((name for name in _URL_VARIABLES if os.environ.get(name)), None)


def litellm_source() -> str:
    """Return what distinguishes answers through litellm from others, besides the request.

    The same model name means something else at another address, and litellm takes those of its
    providers from the environment: `OPENAI_BASE_URL`, `OLLAMA_API_BASE`.
    """
    addresses = {
        name: url for name, url in os.environ.items() if url and name.endswith(_ADDRESS_ENDINGS)
    }
    return f"litellm {sorted(addresses.items())}" if addresses else "litellm"


def is_litellm_provider(name: str) -> bool:
    """Return whether models whose names begin with this have an API of their own in litellm."""
    return name in LITELLM_NAMES or name in (_installed_names() or ())


def key_variable(provider: str) -> str | None:
    """Return the environment variable for a provider's key; None if unknown."""
    return KEY_VARIABLES.get(provider, (None,))[0]


def problem_if_not_installed(
    request: Request,
) -> ProviderRefusedError | MissingDependencyError | None:
    """Return why a request cannot be sent through litellm: it is not installed; None if it is.

    litellm is not worth installing for a model that it would not know: the error then says how to
    name the model.

    Args:
        request: The request.
    """
    if _is_installed():
        return None
    model = request.model
    if not model:
        return MissingDependencyError("litellm", "litellm", "calling a model without `api_base`")
    provider = request.params.get("custom_llm_provider") or _provider_of(model)
    if provider is None:
        return _no_provider(model)
    # Plain requests to OpenAI need no litellm.
    purpose = f"this request to {model!r}" if provider == "openai" else f"the model {model!r}"
    return MissingDependencyError("litellm", "litellm", purpose)


def problem_before_import(request: Request) -> ProviderRefusedError | None:
    """Return why litellm would refuse a request for sure, if it is not imported yet.

    Its import takes seconds, and is too much for an error. Once it is imported, the application may
    have set keys and providers in it, so it is asked itself.

    Args:
        request: The request.
    """
    model = request.model
    is_imported = sys.modules.get("litellm") is not None
    if not model or is_imported or (is_configured_elsewhere() and _is_installed()):
        return None
    provider = request.params.get("custom_llm_provider") or _provider_of(model)
    if provider is None:
        return _no_provider(model)
    return _bad_url(provider, request) or missing_key(model, provider, request.params)


def problem_with_name(request: Request) -> ProviderRefusedError | None:
    """Return why litellm would not know a request's model by its name for sure, or None.

    Args:
        request: The request.
    """
    model = request.model
    if not model or request.params.get("custom_llm_provider") or _may_be_set_up(model):
        return None
    return _no_provider(model) if _provider_of(model) is None else None


def _may_be_set_up(model: str) -> bool:
    """Return whether the application may have told litellm of a model."""
    litellm: Any = sys.modules.get("litellm")
    if litellm is None:
        return is_configured_elsewhere() and _is_installed()
    # Providers and names of its own, and models that it registered.
    names = ("custom_provider_map", "model_alias_map")
    if any(getattr(litellm, name, None) for name in names):
        return True
    return model in getattr(litellm, "model_cost", ())


def missing_key(
    model: str, provider: str, params: Mapping[str, Any]
) -> ProviderRefusedError | None:
    """Return an error if there is no key for a provider that needs one.

    Args:
        model: The model as the user named it.
        provider: Its provider.
        params: The request's parameters.
    """
    variables = KEY_VARIABLES.get(provider, ())
    is_set = any(os.environ.get(variable) for variable in variables)
    if not variables or is_set or any(params.get(name) for name in _CREDENTIALS):
        return None
    return needs_key(model, key_variable(provider))


def needs_key(model: str, variable: str | None) -> ProviderRefusedError:
    """Return the error of a request without a key.

    Args:
        model: The model as the user named it.
        variable: The environment variable for the key; None if unknown.
    """
    variable = variable or "its environment variable"
    return ProviderRefusedError(
        f"{model!r} needs an API key; set {variable} or pass `api_key`", status=401, unusable=True
    )


def provider_named(model: str) -> str | None:
    """Return the provider that a model's name begins with; None if it begins with none."""
    name, slash, _ = model.partition("/")
    return name if slash and is_litellm_provider(name) else None


def no_provider_message(model: str) -> str:
    """Return the message about a model whose provider litellm does not know."""
    name, slash, model_name = model.partition("/")
    reason = f"{name!r} is not a known provider" if slash else "it names no provider"
    message = f"the model {model!r} cannot be called because {reason}"
    names = LITELLM_NAMES | (_installed_names() or frozenset())
    similar = get_close_matches(name.lower(), sorted(names), n=1, cutoff=0.75) if slash else []
    if similar:
        return (
            f"{message}; did you mean '{similar[0]}/{model_name}'? For a server of your own, pass"
            " its address as `api_base`"
        )
    return (
        f"{message}; pass the address of a server of your own as `api_base`, such as"
        " 'http://127.0.0.1:11434/v1', or write a provider before it, as in 'openai/gpt-4.1-mini'"
    )


def _no_provider(model: str) -> ProviderRefusedError:
    return ProviderRefusedError(no_provider_message(model), unusable=True)


def _bad_url(provider: str, request: Request) -> ProviderRefusedError | None:
    """Return an error if the address of the model's API is none."""
    base_url, name = base_url_in(request.params), "`api_base`"
    variable = openai_url_variable()
    if base_url is None and provider == "openai" and variable is not None:
        base_url, name = os.environ[variable], variable
    problem = None if base_url is None else problem_with_url(base_url)
    if problem is None:
        return None
    return ProviderRefusedError(f"{name} {problem}", unusable=True)


def is_configured_elsewhere() -> bool:
    """Return whether litellm may read keys or models from elsewhere while it is imported."""
    mode = os.environ.get("LITELLM_MODE", "PRODUCTION")
    cost_map = os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    is_default = mode == "PRODUCTION" and cost_map.lower() == "true"
    return not is_default or bool(os.environ.get("USE_LITELLM_PROXY"))


def _provider_of(model: str) -> str | None:
    """Return a model's provider, "" if only litellm can tell; None if it has none."""
    name, slash, _ = model.partition("/")
    if slash and is_litellm_provider(name):
        return name
    if is_openai_model(model):
        return "openai"
    listed = mapping(litellm_entries().get(model))
    if listed:
        return text(listed.get("litellm_provider"))
    is_readable = _installed_names() is not None or not _is_installed()
    return "" if not is_readable or _UNPREFIXED.fullmatch(model) else None


def _is_installed() -> bool:
    try:
        return find_spec("litellm") is not None
    # A stand-in module registered as litellm.
    except ValueError:
        return True


@cache
def _installed_names() -> frozenset[str] | None:
    """Return the providers in the installed litellm; None if its files cannot be read."""
    try:
        spec = find_spec("litellm")
    # A stand-in module registered as litellm.
    except (ImportError, ValueError):
        return None
    folders = (spec.submodule_search_locations if spec else None) or []
    for folder in folders:
        try:
            source = Path(folder, "types", "utils.py").read_text(encoding="utf-8")
            listed = Path(folder, "llms", "openai_like", "providers.json").read_bytes()
            more_names = mapping(json.loads(listed)).keys()
        # Other versions may lack a file, or have another one.
        except (OSError, ValueError):
            continue
        enum = _ENUM.search(source)
        names = frozenset(_ENUM_VALUE.findall(enum[0])) if enum else frozenset[str]()
        if names >= {"openai", "anthropic"}:
            return names | more_names
    return None
