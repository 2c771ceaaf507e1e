"""The input of OpenAI's Responses API, as the messages of a chat.

What the simulated model has no use for (reasoning, what hosted tools did) is taken and left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from simulation.body import InvalidRequestError, Location
from simulation.messages import is_readable

__all__ = ["messages_of", "param_of", "refused"]

Item = Mapping[str, Any]
Message = dict[str, Any]

_ROLES = ("user", "assistant", "system", "developer")
_TEXTS = ("input_text", "output_text", "text")
_PARTS = (*_TEXTS, "refusal", "input_image", "input_file", "input_audio")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_LISTED = """
additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction
compaction_trigger computer_call computer_call_output exec file_search_call
image_generation_call item_reference local_shell_call local_shell_call_output
mcp_approval_request mcp_approval_response mcp_call mcp_list_tools program program_output
reasoning shell_call shell_call_output tool_search_call tool_search_output web_search_call
"""
_LEFT_OUT = tuple(_LISTED.split())


def param_of(where: Location) -> str:
    """Return a place in a body as OpenAI's API writes it, such as `input[0].role`."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in where]
    return "".join(steps).lstrip(".")


def refused(where: Location, problem: str, message: str) -> InvalidRequestError:
    """Word a refusal; see `simulation.body.Refuse`."""
    param = param_of(where)
    if problem == "missing":
        return _missing(param)
    return InvalidRequestError(f"Invalid {param!r}: {message}.", param, "invalid_value")


def messages_of(given: object, earlier: Sequence[Item] = ()) -> list[Message]:
    """Return the messages that the items of an input stand for.

    Args:
        given: The request's `input`: a text, or a list of items.
        earlier: The items of the conversation before, which were read without complaint.

    Raises:
        InvalidRequestError: An item cannot be read, a result answers no call before it, or a call
            before it has no result.
    """
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise _invalid("input", "expected a string or a list of input items")
    items = [_item(item, ("input", i)) for i, item in enumerate(cast("list[object]", given))]
    _check_results([*earlier, *items])
    messages: list[Message] = []
    for index, item in enumerate([*earlier, *items]):
        _add(messages, item, ("input", index - len(earlier)))
    return messages


def _item(item: object, where: Location) -> Item:
    if not isinstance(item, dict):
        raise _invalid(param_of(where), "expected an object")
    fields = cast("Item", item)
    kind = fields.get("type", "message")
    if kind == "message":
        _check_one_of(fields.get("role"), _ROLES, (*where, "role"))
        return fields
    _check_one_of(kind, ("message", *_CALLS, *_RESULTS, *_LEFT_OUT), (*where, "type"))
    texts = ("call_id", "name", _CALLS[kind]) if kind in _CALLS else ()
    if kind in _RESULTS:
        texts = ("call_id",)
    for name in texts:
        if not isinstance(fields.get(name), str):
            raise _missing(param_of((*where, name)))
    return fields


def _add(messages: list[Message], item: Item, where: Location) -> None:
    """Add what an item stands for; calls beside each other are one message."""
    kind = item.get("type", "message")
    if kind == "message":
        content = _content(item.get("content"), (*where, "content"))
        messages.append({"role": item["role"], "content": content})
    elif kind in _CALLS:
        function = {"name": item["name"], "arguments": item[_CALLS[kind]]}
        call = {"id": item["call_id"], "type": "function", "function": function}
        if not messages or "tool_calls" not in messages[-1]:
            messages.append({"role": "assistant", "content": None, "tool_calls": []})
        messages[-1]["tool_calls"].append(call)
    elif kind in _RESULTS:
        content = _content(item.get("output"), (*where, "output"))
        messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": content})


def _content(content: object, where: Location) -> str | list[Message]:
    if isinstance(content, str):
        return content
    if content is None:
        raise _missing(param_of(where))
    if not isinstance(content, list):
        raise _invalid(param_of(where), "expected a string or a list of content parts")
    parts = cast("list[object]", content)
    return [_part(part, (*where, index)) for index, part in enumerate(parts)]


def _part(part: object, where: Location) -> Message:
    if not isinstance(part, dict):
        raise _invalid(param_of(where), "expected an object")
    fields = cast("Item", part)
    kind = fields.get("type")
    _check_one_of(kind, _PARTS, (*where, "type"))
    said = _as_in_chats(fields, str(kind))
    if not is_readable(said):
        raise _invalid(param_of(where), f"its {kind!r} is missing or cannot be read")
    return said


def _as_in_chats(part: Item, kind: str) -> Message:
    if kind in _TEXTS:
        return {"type": "text", "text": part.get("text")}
    if kind == "input_image" and part.get("image_url") is not None:
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    if kind == "input_file" and part.get("file_data") is not None:
        file = {"file_data": part["file_data"], "filename": part.get("filename")}
        return {"type": "file", "file": file}
    if kind in ("input_image", "input_file"):
        # Chats know no files at an address; nobody looks into either.
        return {"type": "file", "file": {"file_id": part.get("file_id") or part.get("file_url")}}
    return {"type": kind, kind: part.get(kind)}


def _check_results(items: Sequence[Item]) -> None:
    waiting: dict[str, None] = {}
    for item in items:
        kind, call_id = item.get("type"), item.get("call_id", "")
        if kind in _CALLS:
            waiting[call_id] = None
        elif kind in _RESULTS and call_id in waiting:
            del waiting[call_id]
        elif kind in _RESULTS:
            raise InvalidRequestError(
                f"No tool call found for function call output with call_id {call_id}.", "input"
            )
    if waiting:
        call_id = next(iter(waiting))
        raise InvalidRequestError(f"No tool output found for function call {call_id}.", "input")


def _check_one_of(value: object, known: Sequence[str], where: Location) -> None:
    if value is None:
        raise _missing(param_of(where))
    if value not in known:
        supported = ", ".join(map(repr, known))
        raise InvalidRequestError(
            f"Invalid value: {value!r}. Supported values are: {supported}.",
            param_of(where),
            "invalid_value",
        )


def _missing(param: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"Missing required parameter: {param!r}.", param, "missing_required_parameter"
    )


def _invalid(param: str, expected: str) -> InvalidRequestError:
    return InvalidRequestError(f"Invalid {param!r}: {expected}.", param, "invalid_value")
