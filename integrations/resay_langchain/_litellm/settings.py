"""litellm's own settings that change requests."""

from __future__ import annotations

import os
import sys

from resay.adapters.upstream import UnmappedError

# Global settings that change requests. litellm adds its `headers` to requests without any.
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
    """Check that the application has not configured litellm to change requests.

    Such settings are not meant for requests that LangChain sends itself; a proxy would receive the
    provider's key.

    Raises:
        UnmappedError: A setting would change requests.
    """
    litellm = sys.modules.get("litellm")
    names = [name for name in _CHANGING if getattr(litellm, name, None)]
    names += [name for name in _VARIABLES if os.environ.get(name)]
    if names:
        raise UnmappedError(f"litellm has {names[0]!r} set")
