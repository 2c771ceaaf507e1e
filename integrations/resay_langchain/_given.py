"""What a guarded chat model is given, and what that says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import convert_to_openai_messages
from langchain_core.prompt_values import PromptValue

from resay.core.query import Message
from resay.errors import ConfigurationError
from resay_langchain._asking import Reads

__all__ = ["asked_for", "question_in", "with_standard"]

# Of LangChain's standard parameters those that go with each request. The others (`timeout`,
# `max_retries`, keys) are for the client, which is there already.
_STANDARD = ("temperature", "max_tokens", "stop", "streaming")


def with_standard(
    model: BaseChatModel, fields: dict[str, Any], known: Collection[str]
) -> BaseChatModel:
    """Take what belongs to the model inside out of the fields, and set it on a copy.

    Args:
        model: The model inside.
        fields: What is given; changed.
        known: What may be left of it.

    Raises:
        ConfigurationError: The model is none, or a field is unknown.
    """
    if not isinstance(model, BaseChatModel):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigurationError(
            f"GuardedChatModel takes a chat model, not {type(model).__name__!r}; guard() takes"
            " other runnables"
        )
    names = {info.alias or name: name for name, info in type(model).model_fields.items()}
    names |= {name: name for name in type(model).model_fields}
    given = {names[key]: fields.pop(key) for key in _STANDARD if key in fields and key in names}
    if unknown := fields.keys() - set(known):
        raise ConfigurationError(
            f"{min(unknown)!r} is no field of GuardedChatModel; set it on the model inside"
        )
    return model.model_copy(update=given) if given else model


def question_in(value: object) -> tuple[Message, ...]:
    """Return what the input of a runnable asks; nothing where that cannot be told.

    Args:
        value: The input: a text, messages, a prompt, or a mapping that holds one of these.
    """
    if isinstance(value, str):
        return ({"role": "user", "content": value},)
    if isinstance(value, Mapping):
        held = map(question_in, cast("Mapping[Any, object]", value).values())
        asked = [messages for messages in held if messages]
        return asked[0] if len(asked) == 1 else ()
    found: Any = value.to_messages() if isinstance(value, PromptValue) else value
    # Content of an unknown kind is refused in many ways, and so is what is no message.
    with suppress(Exception):
        read = cast("list[Message] | Message", convert_to_openai_messages(found))
        return tuple(read) if isinstance(read, list) else (read,)
    return ()


def asked_for(kwargs: Mapping[str, Any]) -> Reads | None:
    """Return what an answer is read as, by the note that `with_structured_output` leaves."""
    noted: Any = kwargs.get("ls_structured_output_format")
    if not isinstance(noted, dict):
        return None
    method = cast("dict[str, Any]", noted).get("kwargs", {}).get("method")
    return "tools" if method == "function_calling" else "json"
