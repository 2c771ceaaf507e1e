"""Requests of a framework's own models as litellm takes them: faithfully or not at all."""

from __future__ import annotations

import re
from functools import cache

from resay.core.query import MAIN_CALL_ONLY
from resay.errors import ResayError
from resay.providers.litellm import LiteLLMProvider

__all__ = [
    "LEFT_OUT",
    "OPENAI_PARAMS",
    "UnmappedError",
    "check_chat_completions",
    "litellm_provider",
]

OPENAI_PARAMS = frozenset(
    {
        "extra_body",
        "extra_headers",
        "frequency_penalty",
        "logit_bias",
        "max_completion_tokens",
        "parallel_tool_calls",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "service_tier",
        "stop",
        "temperature",
        "tool_choice",
        "tools",
        "top_p",
        "user",
        "verbosity",
    }
)
"""Parameters of OpenAI's chat completions that litellm sends as they are."""

LEFT_OUT = MAIN_CALL_ONLY | {"messages", "model", "timeout"}
"""What a request holds that a sample, one fresh answer in one piece, is asked without."""

# litellm sends these models, or these models with tools, to the Responses API.
_RESPONSES = re.compile(r"^responses/|codex|deep-research|daybreak")
_HAS_PRO = re.compile(r"gpt-[5-9]|o\d")
_RESPONSES_WITH_TOOLS = re.compile(r"gpt-(5\.|[6-9]|\d\d)")


class UnmappedError(ResayError):
    """litellm would not send quite what the framework's own model sends.

    The message is a short reason. It holds no content and no key.
    """


def check_chat_completions(model: str, *, tools: bool) -> None:
    """See whether litellm sends what is asked of one of OpenAI's models to chat completions.

    Args:
        model: The model's name, or that of its deployment.
        tools: Whether tools are offered.

    Raises:
        UnmappedError: It does not.
    """
    pro = _HAS_PRO.search(model)
    is_pro = pro is not None and "-pro" in model[pro.end() :]
    if _RESPONSES.search(model) or is_pro or (tools and _RESPONSES_WITH_TOOLS.search(model)):
        raise UnmappedError("litellm sends this model's requests to the Responses API")


@cache
def litellm_provider() -> LiteLLMProvider:
    """Return the one provider that all adapters share."""
    return LiteLLMProvider()
