"""Settings of litellm that change what it sends, or where."""

from __future__ import annotations

import os
import sys

from resay.adapters import UnmappedError

__all__ = ["check_settings"]

# Without effect unless they are set. litellm's `headers` go with requests that bring none.
_CHANGING = (
    "add_function_to_prompt",
    "drop_params",
    "headers",
    "model_alias_map",
    "modify_params",
    "route_all_chat_openai_to_responses",
    "use_litellm_proxy",
)
_VARIABLES = (
    "LITELLM_DROP_PARAMS",
    "LITELLM_MODIFY_PARAMS",
    "LITELLM_ROUTE_ALL_CHAT_OPENAI_TO_RESPONSES",
    "USE_LITELLM_PROXY",
)


def check_settings() -> None:
    """See that the application has not told litellm to change requests.

    What it says to litellm is not meant for requests that LangChain sends by other ways; a proxy
    would be given the provider's key.

    Raises:
        UnmappedError: It has.
    """
    litellm = sys.modules.get("litellm")
    told = [name for name in _CHANGING if getattr(litellm, name, None)]
    told += [name for name in _VARIABLES if os.environ.get(name)]
    if told:
        raise UnmappedError(f"litellm is told {told[0]!r}")
