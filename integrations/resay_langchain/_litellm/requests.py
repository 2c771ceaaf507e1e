"""The requests of LangChain's chat models, for litellm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage

from resay import Query
from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.anthropic import anthropic_request
from resay_langchain._litellm.bedrock import bedrock_request
from resay_langchain._litellm.gemini import gemini_request
from resay_langchain._litellm.litellm import passed_request
from resay_langchain._litellm.ollama import ollama_request
from resay_langchain._litellm.openai import openai_request
from resay_langchain._litellm.settings import check_settings

# By name, since these packages may not be installed.
_TO_QUERY: Mapping[str, Callable[..., Query]] = {
    "langchain_anthropic.ChatAnthropic": anthropic_request,
    "langchain_aws.ChatBedrockConverse": bedrock_request,
    "langchain_google_genai.ChatGoogleGenerativeAI": gemini_request,
    "langchain_litellm.ChatLiteLLM": passed_request,
    "langchain_ollama.ChatOllama": ollama_request,
    "langchain_openai.AzureChatOpenAI": openai_request,
    "langchain_openai.ChatOpenAI": openai_request,
}


def request_of(
    model: BaseLanguageModel[Any], messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]
) -> Query:
    """Translate a complete request.

    Args:
        model: The chat model.
        messages: The conversation.
        kwargs: The keyword arguments of the call, including those bound to the model.

    Returns:
        The query for litellm, without `n`, log-probabilities, the seed, streaming, retries, the
        timeout and caching.

    Raises:
        UnmappedError: litellm would send a different request than the model does.
    """
    to_query = _to_query(model)
    if to_query is not passed_request:
        check_settings()
    return to_query(model, messages, kwargs)


def connection_of(model: BaseLanguageModel[Any]) -> Query:
    """Translate a model: its endpoint, credentials and parameters.

    Args:
        model: The chat model.

    Returns:
        A query without messages.

    Raises:
        UnmappedError: litellm would send a different request than the model does.
    """
    return request_of(model, (), {})


def _to_query(model: BaseLanguageModel[Any]) -> Callable[..., Query]:
    # A subclass may send anything.
    kind = type(model)
    qualified_name = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    if qualified_name not in _TO_QUERY:
        raise UnmappedError(f"{kind.__name__} is not known to be the same through litellm")
    return _TO_QUERY[qualified_name]
