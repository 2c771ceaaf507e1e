"""The LLMs that litellm can call in place of LlamaIndex, by their public fields."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import LLM

from resay import Request
from resay.adapters.litellm_models import (
    LiteLLMModel,
    LiteLLMModels,
    is_of_class,
    litellm_request,
    model_source,
)
from resay.adapters.upstream import OPENAI_PARAMS, UnmappedError
from resay_llamaindex._requests import Chat, Completing, LLMRequest, Predicting, openai_message
from resay_llamaindex._samplers import too_cold

_OPENAI = ("llama_index.llms.openai", "OpenAI")
_OPENAI_LIKE = ("llama_index.llms.openai_like", "OpenAILike")
_AZURE = ("llama_index.llms.azure_openai", "AzureOpenAI")
_LITELLM = ("llama_index.llms.litellm", "LiteLLM")
# Fields that shape no request, or shape it before it is sent: prompts, tools, parsers.
# `rate_limiter` is not among them, because litellm would send requests past the user's limit.
_UNSENT = frozenset(
    {
        "callback_manager",
        "completion_to_prompt",
        "context_window",
        "is_chat_model",
        "is_function_calling_model",
        "logprobs",
        "max_retries",
        "messages_to_prompt",
        "output_parser",
        "pydantic_program_mode",
        "query_wrapper_prompt",
        "should_use_structured_outputs",
        "strict",
        "system_prompt",
        "timeout",
        "tokenizer",
        "top_logprobs",
    }
)
_FIELDS = {
    "additional_kwargs": None,
    "api_key": "api_key",
    "default_headers": "extra_headers",
    "max_tokens": "max_tokens",
    "reasoning_effort": "reasoning_effort",
    "temperature": "temperature",
}
_CALL_PARAMS = OPENAI_PARAMS | {"max_tokens"}
_OPENAI_ROW = LiteLLMModel(
    prefix="openai/",
    fields=_FIELDS | {"api_base": "api_base"},
    required=("api_key",),
    unsent=_UNSENT | {"api_version"},
    call_params=_CALL_PARAMS,
)
LITELLM_MODELS: LiteLLMModels = {
    _OPENAI: _OPENAI_ROW,
    _OPENAI_LIKE: _OPENAI_ROW,
    _AZURE: LiteLLMModel(
        prefix="azure/",
        name=("azure_deployment", "engine", "model"),
        fields=_FIELDS | {"api_version": "api_version", "azure_endpoint": "api_base"},
        required=("api_key", "api_version", "azure_endpoint"),
        unsent=_UNSENT | {"api_base"},
        call_params=_CALL_PARAMS,
    ),
    _LITELLM: LiteLLMModel(prefix="", fields=_FIELDS, unsent=_UNSENT, call_params=_CALL_PARAMS),
}
"""The classes, and how litellm calls them."""


def source_of_llm(llm: LLM) -> str:
    """Return what distinguishes an LLM's answers from those of others."""
    # The prompts of other LLMs are formatted by a function.
    is_described = llm.metadata.is_chat_model
    return f"llamaindex {model_source(LITELLM_MODELS if is_described else {}, llm)}"


def is_openai(llm: LLM) -> bool:
    """Return whether an LLM takes OpenAI's parameters in a call."""
    return any(is_of_class(llm, of_class) for of_class in (_OPENAI, _OPENAI_LIKE, _AZURE))


def mapped_request(llm: LLM, request: LLMRequest | None = None) -> Request:
    """Return a request to an LLM as one for litellm.

    Args:
        llm: The LLM.
        request: The request; None to describe the LLM alone.

    Raises:
        UnmappedError: litellm would not send the same conversation, to the same model, with the
            same settings.
    """
    if isinstance(request, Predicting):
        raise UnmappedError("structured output mode is left to the LLM")
    messages = _messages(request, llm) if request is not None else ()
    kwargs = request.kwargs if request is not None else None
    mapped = litellm_request(LITELLM_MODELS, llm, messages, kwargs)
    if not llm.metadata.is_chat_model:
        raise UnmappedError(f"{type(llm).__name__} is not a chat model")
    params = dict(mapped.params)
    if too_cold(params.get("temperature")):
        del params["temperature"]
    return Request(mapped.messages, mapped.model, params)


def _messages(request: Chat | Completing, llm: LLM) -> tuple[dict[str, Any], ...]:
    if isinstance(request, Chat):
        return tuple(map(openai_message, request.messages))
    prompt = request.prompt
    if is_of_class(llm, _OPENAI_LIKE) and not request.formatted and llm.completion_to_prompt:
        prompt = llm.completion_to_prompt(prompt)
    return ({"role": "user", "content": prompt},)
