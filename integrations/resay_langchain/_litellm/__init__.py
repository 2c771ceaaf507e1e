"""LangChain's chat models and their requests as litellm takes them: faithfully or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage

from resay.adapters import UnmappedError
from resay.core.query import Query
from resay_langchain._litellm import anthropic, bedrock, gemini, ollama, openai, passed
from resay_langchain._litellm.settings import check_settings

__all__ = ["UnmappedError", "connection_of", "request_of"]

# By name, since their packages need not be installed.
_FAMILIES: Mapping[str, ModuleType] = {
    "langchain_anthropic.ChatAnthropic": anthropic,
    "langchain_aws.ChatBedrockConverse": bedrock,
    "langchain_google_genai.ChatGoogleGenerativeAI": gemini,
    "langchain_litellm.ChatLiteLLM": passed,
    "langchain_ollama.ChatOllama": ollama,
    "langchain_openai.AzureChatOpenAI": openai,
    "langchain_openai.ChatOpenAI": openai,
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
    family = _family(model)
    if family is not passed:
        check_settings()
    return family.request(model, messages, kwargs)


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


def _family(model: BaseLanguageModel[Any]) -> Any:
    # A subclass may send what it likes.
    kind = type(model)
    named = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    if named not in _FAMILIES:
        raise UnmappedError(f"{kind.__name__} is not known to be the same through litellm")
    return _FAMILIES[named]
