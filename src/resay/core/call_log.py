"""The log of a conversation's tool calls, in whichever format its messages are.

It reads chat completions messages, Anthropic's content blocks, the items of OpenAI's Responses API
and the messages of LangChain and LlamaIndex as mappings, and calls that agents write as text, as in
ReAct (Yao et al. 2023): `Action:`, `Action Input:`, `Observation:`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, cast

from resay._internal.patterns import lazy_pattern
from resay.core.references import joined_text

_WRITTEN_CALL: Final = lazy_pattern(
    r"^[ \t*]*Action:[ \t*]*(?P<name>[^\n*]{1,120}?)[ \t*]*\n"
    r"[ \t*]*Action Input:[ \t*]*(?P<arguments>.*?)"
    r"(?=\n[ \t*]*(?:Observation|Thought|Action|Final Answer):|\Z)",
    re.DOTALL | re.MULTILINE,
)
_WRITTEN_RESULT: Final = lazy_pattern(
    r"\s*[*]*Observation:[ \t*]*(?P<result>.*?)(?=\n[ \t*]*(?:Thought|Action|Final Answer):|\Z)",
    re.DOTALL,
)
_USER_ROLES: Final = frozenset({"user", "human"})
_RESULT_ROLES: Final = frozenset({"tool", "function"})
# Content blocks and items that are calls, and where they have the arguments.
_CALL_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "tool_use": ("input",),
    "server_tool_use": ("input",),
    "mcp_tool_use": ("input",),
    "tool_call": ("args", "arguments"),
    "function_call": ("arguments",),
    "custom_tool_call": ("input",),
    "mcp_call": ("arguments",),
    "web_search_call": ("action",),
    "file_search_call": ("queries",),
    "code_interpreter_call": ("code",),
    "computer_call": ("action",),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "image_generation_call": ("revised_prompt",),
}
# What the items of calls that the provider ran itself have as their result.
_RESULT_FIELDS: Final = ("output", "outputs", "results", "result", "error")


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call of a tool in a conversation.

    Attributes:
        index: Its number among the calls of the conversation, from 0.
        name: The tool's name.
        arguments: Its arguments: a JSON value, or the text if it is none.
        result: The tool's result as text; None if there is none yet.
        is_error: Whether the result is marked as an error.
        turn: The number of user messages before it.
        id: The id by which its result refers to it; empty if it has none.
    """

    index: int
    name: str
    arguments: Any = field(default=None, repr=False, hash=False)
    result: str | None = field(default=None, repr=False)
    is_error: bool = False
    turn: int = 0
    id: str = ""


@dataclass(frozen=True)
class CallLog:
    """The tool calls of a conversation, in order.

    They are read when they are first asked for: an agent's conversation has thousands of them, and
    most checks need none.

    Attributes:
        messages: The messages of the conversation, content blocks and items, oldest first.
        is_whole: Whether these are all messages of the conversation, and not only those since a
            turn that the provider keeps.
    """

    messages: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, hash=False)
    is_whole: bool = True

    @classmethod
    def of(cls, messages: Iterable[Mapping[str, Any]], *, is_whole: bool = True) -> CallLog:
        """Return the log of a conversation.

        Args:
            messages: The messages, oldest first. Items without a role are read too.
            is_whole: Whether these are all messages of the conversation.
        """
        return cls(tuple(messages), is_whole)

    def extended(self, blocks: Iterable[Mapping[str, Any]]) -> CallLog:
        """Return the log with further calls and results of its last turn.

        Args:
            blocks: Content blocks or items of an answer.
        """
        of_turn = [
            {key: value for key, value in block.items() if key != "role"} for block in blocks
        ]
        return replace(self, messages=(*self.messages, *of_turn)) if of_turn else self

    @cached_property
    def _reader(self) -> _Reader:
        reader = _Reader()
        for message in self.messages:
            reader.read(message)
        return reader

    @cached_property
    def calls(self) -> tuple[LoggedCall, ...]:
        """The calls."""
        return tuple(self._reader.calls)

    @property
    def turn(self) -> int:
        """The number of the conversation's last turn, counted like those of the calls."""
        return self._reader.turn

    @property
    def of_turn(self) -> tuple[LoggedCall, ...]:
        """The calls of the last turn."""
        return tuple(call for call in self.calls if call.turn == self.turn)


class _Reader:
    """Reads messages one after the other."""

    def __init__(self) -> None:
        self.calls: list[LoggedCall] = []
        self.turn = 0
        # The calls that may have no result yet, by a field of theirs. Conversations of agents have
        # thousands of calls, so that none is searched through.
        self._waiting: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)

    def read(self, message: Mapping[str, Any]) -> None:
        role = message.get("role") or message.get("type")
        content = message.get("content")
        blocks: list[Mapping[str, Any]] = [
            part for part in _list(content) if isinstance(part, Mapping)
        ]
        if not isinstance(role, str):
            role = ""
        if role in _USER_ROLES and _is_of_user(message, blocks):
            self.turn += 1
        if isinstance(content, str) and role not in _RESULT_ROLES:
            self._read_written(content)
        if "role" not in message and isinstance(message.get("type"), str):
            self._read_block(message)
        ids = self._read_calls(message)
        if role in _RESULT_ROLES:
            call_id = message.get("tool_call_id") or message.get("id")
            is_error = message.get("is_error") is True or message.get("status") == "error"
            self._answer(call_id, message.get("name"), content, is_error=is_error)
        for block in blocks:
            if str(block.get("type")) not in _CALL_KINDS or _id_of(block) not in ids:
                self._read_block(block)

    def _read_calls(self, message: Mapping[str, Any]) -> set[str]:
        """Read the calls beside a message's text, and return their ids.

        LangChain's messages have the same calls among their blocks, if the provider has.
        """
        count = len(self.calls)
        for call in _list(message.get("tool_calls")):
            if isinstance(call, Mapping):
                self._add_nested(cast("Mapping[str, Any]", call))
        ids = {call.id for call in self.calls[count:] if call.id}
        legacy = message.get("function_call")
        if isinstance(legacy, Mapping):
            self._add_nested({"function": legacy})
        return ids

    def _read_written(self, text: str) -> None:
        """Read the calls and results that an agent's text has."""
        if "Action Input:" not in text and "Observation:" not in text:
            return
        start = 0
        while True:
            result = _WRITTEN_RESULT.match(text, start)
            if result is not None:
                self._answer(None, None, result["result"].strip(), is_error=False)
                start = result.end()
            call = _WRITTEN_CALL.search(text, start)
            if call is None:
                return
            self._add(call["name"].strip(" `"), call["arguments"].strip(" `\n"), None)
            start = call.end()

    def _read_block(self, block: Mapping[str, Any]) -> None:
        kind = str(block.get("type"))
        if kind in _CALL_KINDS:
            arguments = next((block[key] for key in _CALL_KINDS[kind] if key in block), None)
            # "web_search_call" is all there is of the tool's name.
            name = str(block.get("name") or kind.removesuffix("_call"))
            self._add(name, arguments, _id_of(block))
            results = [block[key] for key in _RESULT_FIELDS if block.get(key)]
            if results or kind not in ("tool_use", "tool_call", "function_call"):
                self._answer_hosted(block, results)
        elif kind == "tool_result" or kind.endswith(("_tool_result", "_call_output")):
            call_id = block.get("tool_use_id") or block.get("call_id") or block.get("tool_call_id")
            content = block.get("content", block.get("output"))
            is_error = block.get("is_error") is True
            self._answer(call_id, block.get("name"), content, is_error=is_error)

    def _answer_hosted(self, block: Mapping[str, Any], results: Sequence[Any]) -> None:
        """Set the result that a call which the provider ran has beside its arguments."""
        status = block.get("status")
        if not results and status is None:
            return
        is_error = bool(block.get("error")) or status in ("failed", "incomplete")
        text = _text(results[0]) if len(results) == 1 else _text(list(results) or status)
        self.calls[-1] = replace(self.calls[-1], result=text, is_error=is_error)

    def _add_nested(self, call: Mapping[str, Any]) -> None:
        inner = call.get("function") or call.get("custom") or call
        if not isinstance(inner, Mapping):
            return
        inner = cast("Mapping[str, Any]", inner)
        keys = ("arguments", "input", "args", "tool_kwargs")
        arguments = next((inner[key] for key in keys if key in inner), None)
        name = str(inner.get("name") or inner.get("tool_name") or "")
        self._add(name, arguments, call.get("id") or call.get("tool_id"))

    def _add(self, name: str, arguments: Any, call_id: object) -> None:
        call = LoggedCall(
            index=len(self.calls),
            name=name,
            arguments=_json(arguments),
            turn=self.turn,
            id=str(call_id or ""),
        )
        self.calls.append(call)
        for key in (("id", call.id), ("name", call.name), ("any", "")):
            self._waiting[key].append(call.index)

    def _first_waiting(self, field_name: str, value: str = "") -> LoggedCall | None:
        """Return the first call without a result that has a value in a field."""
        indexes = self._waiting[field_name, value]
        while indexes and self.calls[indexes[0]].result is not None:
            indexes.popleft()
        return self.calls[indexes[0]] if indexes else None

    def _answer(self, call_id: object, name: object, content: object, *, is_error: bool) -> None:
        """Set the result of a call: of that with its id, its name, or the first without one."""
        if call_id:
            call = self._first_waiting("id", str(call_id)) or self._first_waiting("id", "")
        else:
            call = self._first_waiting("name", str(name)) if name else None
            call = call or self._first_waiting("any")
        if call is not None:
            answered = replace(call, result=_text(content), is_error=is_error)
            self.calls[call.index] = answered


def is_observation(message: Mapping[str, Any]) -> bool:
    """Return whether a user's message is the result of a call that an agent wrote as text."""
    content = message.get("content")
    return isinstance(content, str) and content.lstrip(" \n*").startswith("Observation:")


def _id_of(block: Mapping[str, Any]) -> str:
    """Return the id of a block that is a call; empty if it has none."""
    return str(block.get("call_id") or block.get("id") or "")


def _is_of_user(message: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a user's message has words of the user, and not only results of tools."""
    return not is_observation(message) and (not blocks or any(map(_is_said, blocks)))


def _is_said(block: Mapping[str, Any]) -> bool:
    """Return whether a part of a user's message is the user's own, and not a tool's result."""
    return not str(block.get("type")).endswith("tool_result")


def _list(value: object) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()


def _json(value: Any) -> Any:
    """Return a text's JSON value, if it is one."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return value


def _text(content: object) -> str:
    """Return a result as text: the text of its parts, or its JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    text = joined_text(content)
    if text:
        return text
    try:
        return json.dumps(content, ensure_ascii=False, default=str)
    # Keys that are no texts, or an object that contains itself.
    except (TypeError, ValueError):
        return str(content)
