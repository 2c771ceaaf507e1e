"""The chat models that litellm can call in place of LangChain, by their public fields."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseLanguageModel

from resay.adapters.litellm_models import LiteLLMModel, LiteLLMModels, model_source
from resay.adapters.upstream import OPENAI_PARAMS

# Fields of all chat models, and of most. `rate_limiter` is not among them, because litellm would
# send requests past the user's limit.
_UNSENT = frozenset(
    {
        "cache",
        "callbacks",
        "client",
        "custom_get_token_ids",
        "default_request_timeout",
        "disable_streaming",
        "logprobs",
        "max_retries",
        "metadata",
        "n",
        "name",
        "profile",
        "request_timeout",
        "seed",
        "stream_options",
        "stream_usage",
        "streaming",
        "tags",
        "timeout",
        "top_logprobs",
        "verbose",
    }
)
_OPENAI_PARAMS = OPENAI_PARAMS | {"max_tokens"}
# Other APIs have other formats of tools and objects, which each library translates in its own way.
_PLAIN_PARAMS = frozenset({"max_tokens", "stop", "temperature", "top_k", "top_p"})
_OPENAI_FIELDS = {
    "default_headers": "extra_headers",
    "extra_body": "extra_body",
    "frequency_penalty": "frequency_penalty",
    "logit_bias": "logit_bias",
    "max_tokens": "max_tokens",
    "model_kwargs": None,
    "openai_api_key": "api_key",
    "presence_penalty": "presence_penalty",
    "reasoning_effort": "reasoning_effort",
    "service_tier": "service_tier",
    "stop": "stop",
    "temperature": "temperature",
    "top_p": "top_p",
    "verbosity": "verbosity",
}
_OPENAI_UNSENT = _UNSENT | {
    "async_client",
    "disabled_params",  # only affects binding tools, which came earlier
    "http_socket_options",
    "include_response_headers",
    "model_version",
    "openai_api_type",
    "root_async_client",
    "root_client",
    "store",
    "stream_chunk_timeout",
    "tiktoken_model_name",
    "validate_base_url",
}

LITELLM_MODELS: LiteLLMModels = {
    ("langchain_openai", "ChatOpenAI"): LiteLLMModel(
        prefix="openai/",
        name=("model_name",),
        fields=_OPENAI_FIELDS
        | {"openai_api_base": "api_base", "openai_organization": "organization"},
        required=("openai_api_key",),
        unsent=_OPENAI_UNSENT,
        call_params=_OPENAI_PARAMS,
    ),
    ("langchain_openai", "AzureChatOpenAI"): LiteLLMModel(
        prefix="azure/",
        name=("deployment_name", "model_name"),
        fields=_OPENAI_FIELDS
        | {
            "azure_ad_token": "azure_ad_token",
            "azure_endpoint": "api_base",
            "openai_api_version": "api_version",
        },
        required=("azure_endpoint", "openai_api_version"),
        unsent=_OPENAI_UNSENT,
        call_params=_OPENAI_PARAMS,
    ),
    ("langchain_anthropic", "ChatAnthropic"): LiteLLMModel(
        prefix="anthropic/",
        fields={
            "anthropic_api_key": "api_key",
            "anthropic_api_url": "api_base",
            "default_headers": "extra_headers",
            "max_tokens": "max_tokens",
            "stop_sequences": "stop",
            "temperature": "temperature",
            "top_k": "top_k",
            "top_p": "top_p",
        },
        required=("anthropic_api_key",),
        unsent=_UNSENT,
        call_params=_PLAIN_PARAMS,
    ),
    ("langchain_google_genai", "ChatGoogleGenerativeAI"): LiteLLMModel(
        prefix="gemini/",
        fields={
            "additional_headers": "extra_headers",
            "google_api_key": "api_key",
            "max_output_tokens": "max_tokens",
            "temperature": "temperature",
            "top_k": "top_k",
            "top_p": "top_p",
        },
        # Without a key, requests go to Vertex AI.
        required=("google_api_key",),
        unsent=_UNSENT | {"async_client_running", "default_metadata", "transport"},
        call_params=frozenset({"stop"}),
    ),
    ("langchain_ollama", "ChatOllama"): LiteLLMModel(
        prefix="ollama_chat/",
        fields={
            "base_url": "api_base",
            "format": "format",
            "keep_alive": "keep_alive",
            "mirostat": "mirostat",
            "mirostat_eta": "mirostat_eta",
            "mirostat_tau": "mirostat_tau",
            "num_ctx": "num_ctx",
            "num_gpu": "num_gpu",
            "num_predict": "num_predict",
            "num_thread": "num_thread",
            "reasoning": "think",
            "repeat_last_n": "repeat_last_n",
            "repeat_penalty": "repeat_penalty",
            "stop": "stop",
            "temperature": "temperature",
            "tfs_z": "tfs_z",
            "top_k": "top_k",
            "top_p": "top_p",
        },
        # Each library looks for the server in a variable of its own.
        required=("base_url",),
        unsent=_UNSENT | {"validate_model_on_init"},
        call_params=frozenset({"stop"}),
    ),
    ("langchain_litellm", "ChatLiteLLM"): LiteLLMModel(
        prefix="",
        name=("model_name", "model"),
        fields={
            "api_base": "api_base",
            "api_key": "api_key",
            "base_model": "base_model",
            "custom_llm_provider": "custom_llm_provider",
            "extra_headers": "extra_headers",
            "max_tokens": "max_tokens",
            "model_kwargs": None,
            "num_ctx": "num_ctx",
            "organization": "organization",
            "temperature": "temperature",
            "top_k": "top_k",
            "top_p": "top_p",
        },
        unsent=_UNSENT,
        call_params=_OPENAI_PARAMS | {"top_k"},
    ),
}
"""The classes, and how litellm calls them."""


def source_of_model(model: BaseLanguageModel[Any]) -> str:
    """Return what distinguishes a model's answers from those of others."""
    return f"langchain {model_source(LITELLM_MODELS, model)}"


def is_openai(model: BaseLanguageModel[Any]) -> bool:
    """Return whether a model takes OpenAI's parameters in a call: LangChain's class, or a child."""
    modules = (kind.__module__.partition(".")[0] for kind in type(model).__mro__)
    return "langchain_openai" in modules
