"""What a guarded chat model is given, and what that says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.language_models import BaseChatModel

from resay_langchain._asking import Reads

__all__ = ["asked_for", "with_standard"]

# Of LangChain's standard parameters those that go with each request. The others (`timeout`,
# `max_retries`, keys) are for the client, which is there already.
_STANDARD = ("temperature", "max_tokens", "stop", "streaming")


def with_standard(model: BaseChatModel, fields: dict[str, Any]) -> BaseChatModel:
    """Take what belongs to the model inside out of the fields, and set it on a copy."""
    names = {info.alias or name: name for name, info in type(model).model_fields.items()}
    names |= {name: name for name in type(model).model_fields}
    given = {names[key]: fields.pop(key) for key in _STANDARD if key in fields and key in names}
    return model.model_copy(update=given) if given else model


def asked_for(kwargs: Mapping[str, Any]) -> Reads | None:
    """Return what an answer is read as, by the note that `with_structured_output` leaves."""
    noted: Any = kwargs.get("ls_structured_output_format")
    if not isinstance(noted, dict):
        return None
    method = cast("dict[str, Any]", noted).get("kwargs", {}).get("method")
    return "tools" if method == "function_calling" else "json"
