"""LangChain's chat models and their requests as litellm takes them: faithfully or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage

from resay.adapters.upstream import UnmappedError
from resay.core.query import Query
from resay_langchain._litellm import models

__all__ = ["UnmappedError", "connection_of", "request_of"]

# By name, since their packages need not be installed.
_TO_QUERY: Mapping[str, Callable[..., Query]] = {
    "langchain_anthropic.ChatAnthropic": models.anthropic_request,
    "langchain_aws.ChatBedrockConverse": models.bedrock_request,
    "langchain_google_genai.ChatGoogleGenerativeAI": models.gemini_request,
    "langchain_litellm.ChatLiteLLM": models.passed_request,
    "langchain_ollama.ChatOllama": models.ollama_request,
    "langchain_openai.AzureChatOpenAI": models.openai_request,
    "langchain_openai.ChatOpenAI": models.openai_request,
}


def request_of(
    model: BaseLanguageModel[Any], messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]
) -> Query:
    """Translate a whole request.

    Args:
        model: The chat model.
        messages: The conversation.
        kwargs: The keyword arguments of the call, what was bound to the model among them.

    Returns:
        The request as litellm takes it. `n`, log-probabilities, the seed, streaming, retries, the
        time limit and caching are left out.

    Raises:
        UnmappedError: litellm would send something else than the model does.
    """
    to_query = _to_query(model)
    if to_query is not models.passed_request:
        models.check_settings()
    return to_query(model, messages, kwargs)


def connection_of(model: BaseLanguageModel[Any]) -> Query:
    """Translate a model: where requests go, who pays, and what is asked for.

    Args:
        model: The chat model.

    Returns:
        A query without messages.

    Raises:
        UnmappedError: litellm would send something else than the model does.
    """
    return request_of(model, (), {})


def _to_query(model: BaseLanguageModel[Any]) -> Callable[..., Query]:
    # A subclass may send what it likes.
    kind = type(model)
    named = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    if named not in _TO_QUERY:
        raise UnmappedError(f"{kind.__name__} is not known to be the same through litellm")
    return _TO_QUERY[named]
