"""The body of a request to OpenAI's Responses API, and the chat it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field

from simulation.body import MODEL, Body, InvalidRequestError, read
from simulation.chat_body import ChatBody
from simulation.formats import ResponseFormat
from simulation.messages import text_of
from simulation.responses_input import messages_of, refused
from simulation.tools import Function, Tool

__all__ = ["ResponsesBody"]

_LOGPROBS = "message.output_text.logprobs"


class _Format(Body):
    type: Literal["text", "json_object", "json_schema"]
    name: str | None = Field(None, pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    description: str | None = None
    strict: bool | None = None

    def in_chats(self, texts: Sequence[str]) -> ResponseFormat:
        if self.type == "json_object" and not any("json" in text.lower() for text in texts):
            raise InvalidRequestError(
                "Response input messages must contain the word 'json' in some form to use"
                " 'text.format' of type 'json_object'.",
                "input",
            )
        if self.type != "json_schema":
            return ResponseFormat(type=self.type)
        for name, value in {"name": self.name, "schema": self.schema_}.items():
            if value is None:
                raise refused(("text", "format", name), "missing", "")
        form = {"name": self.name, "schema": self.schema_}
        return ResponseFormat.model_validate({"type": self.type, "json_schema": form})


class _Text(Body):
    format: _Format | None = None
    verbosity: str | None = None

    def as_json(self) -> dict[str, Any]:
        form = self.format.model_dump(by_alias=True) if self.format else {"type": "text"}
        named = {name: value for name, value in form.items() if value is not None}
        return {"format": named, "verbosity": self.verbosity or "medium"}


class _Typed(Body):
    type: str


class _Allowed(_Typed):
    mode: Literal["auto", "required"]
    tools: list[dict[str, Any]]


def _id_of(conversation: object) -> object:
    if not isinstance(conversation, dict):
        return conversation
    return cast("Mapping[str, Any]", conversation).get("id")


class ResponsesBody(Body):
    """The body of a request to the Responses API."""

    model: str = MODEL
    input: Any = None
    instructions: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    max_output_tokens: int | None = Field(None, ge=16)
    max_tool_calls: int | None = None
    include: list[str] | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    text: _Text | None = None
    reasoning: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    previous_response_id: str | None = None
    conversation: Annotated[str | None, BeforeValidator(_id_of)] = None
    background: bool | None = None
    service_tier: str | None = None
    truncation: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    user: str | None = None
    # Not in OpenAI's API; it makes answers here repeatable.
    seed: int | None = None

    @classmethod
    def parse(cls, body: object) -> ResponsesBody:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        if not isinstance(body, dict):
            raise InvalidRequestError("We could not parse the JSON body of your request.")
        request = read(cls, cast("object", body), refused)
        if request.previous_response_id is not None and request.conversation is not None:
            raise InvalidRequestError(
                "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
                "previous_response_id",
                "mutually_exclusive_parameters",
            )
        return request

    @property
    def text_options(self) -> dict[str, Any]:
        """`text` as the response repeats it."""
        return (self.text or _Text()).as_json()

    @property
    def items(self) -> list[Mapping[str, Any]]:
        """The input as a list of items."""
        if isinstance(self.input, str):
            return [{"role": "user", "content": self.input}]
        return [*(self.input or ())]

    def chat(self, earlier: Sequence[Mapping[str, Any]] = ()) -> ChatBody:
        """Return the chat completion request that asks for the same.

        Args:
            earlier: The items of the conversation before.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        messages = messages_of([] if self.input is None else self.input, earlier)
        if not messages:
            raise refused(("input",), "missing", "")
        if self.instructions is not None:
            messages.insert(0, {"role": "system", "content": self.instructions})
        functions = self._functions()
        allowed = _allowed(self.tool_choice, functions)
        form = self.text.format if self.text else None
        asked: dict[str, Any] = {
            "messages": messages,
            "model": self.model,
            "stream": self.stream,
            "stream_options": None if self.stream_options is None else {},
            "logprobs": _LOGPROBS in (self.include or ()),
            "top_logprobs": self.top_logprobs,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_completion_tokens": self.max_output_tokens,
            "tools": [Tool(function=one) for one in functions if one.name in allowed],
            "tool_choice": _chosen(self.tool_choice, functions, any_tools=bool(self.tools)),
            "parallel_tool_calls": self.parallel_tool_calls,
            "response_format": form.in_chats([*map(text_of, messages)]) if form else None,
        }
        return ChatBody.model_validate(asked)

    def _functions(self) -> list[Function]:
        functions: list[Function] = []
        for index, tool in enumerate(self.tools or ()):
            where = ("tools", index)
            if read(_Typed, tool, refused, where).type == "function":
                functions.append(read(Function, tool, refused, where))
        return functions


def _chosen(choice: object, functions: Sequence[Function], *, any_tools: bool) -> object:
    """Return a `tool_choice` as in chats, which know no tools that the provider runs."""
    if isinstance(choice, dict):
        return _chosen_tool(cast("Mapping[str, Any]", choice), functions)
    if choice not in (None, "none", "auto", "required"):
        raise InvalidRequestError(
            f"Invalid value: {choice!r}. Supported values are: 'none', 'auto', and 'required'.",
            "tool_choice",
            "invalid_value",
        )
    if choice == "required" and not any_tools:
        raise InvalidRequestError(
            "Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice"
        )
    return choice


def _chosen_tool(choice: Mapping[str, Any], functions: Sequence[Function]) -> object:
    kind = read(_Typed, choice, refused, ("tool_choice",)).type
    if kind == "allowed_tools":
        return read(_Allowed, choice, refused, ("tool_choice",)).mode
    if kind != "function":
        return "none"
    name = choice.get("name")
    if name not in [function.name for function in functions]:
        raise InvalidRequestError(
            f"Tool choice {name!r} not found in 'tools' parameter.", "tool_choice"
        )
    return {"type": "function", "function": {"name": name}}


def _allowed(choice: object, functions: Sequence[Function]) -> list[str]:
    """Return the names of the functions that a `tool_choice` leaves."""
    given = cast("dict[str, Any]", choice if isinstance(choice, dict) else {})
    if given.get("type") == "allowed_tools":
        allowed = read(_Allowed, given, refused, ("tool_choice",))
        return [tool["name"] for tool in allowed.tools if "name" in tool]
    return [function.name for function in functions]
