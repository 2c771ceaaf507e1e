"""The body of a request to Anthropic's Messages API, and the chat it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pydantic import Field

from simulation.body import Body, InvalidRequestError, read
from simulation.chat_body import ChatBody
from simulation.formats import ResponseFormat
from simulation.messages_input import messages_of, refused, system_of
from simulation.messages_wire import MessagesAnswer
from simulation.tools import Function, Tool

if TYPE_CHECKING:
    from simulation.wire import Completion

__all__ = ["CountedBody", "MessagesBody"]

CountedT = TypeVar("CountedT", bound="CountedBody")


class _Function(Function):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")
    parameters: dict[str, Any] | None = Field(alias="input_schema")


class _Format(Body):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")

    def in_chats(self) -> ResponseFormat:
        form = {"name": "output", "schema": self.schema_}
        return ResponseFormat.model_validate({"type": self.type, "json_schema": form})


class _Output(Body):
    format: _Format | None = None


class _Choice(Body):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class CountedBody(Body):
    """The body of a request whose tokens are counted: what the Messages API reads."""

    model: str
    messages: list[Any]
    system: Any = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: _Choice | None = None
    output_config: _Output | None = None
    # What `output_config.format` was called first.
    output_format: _Format | None = None

    @classmethod
    def parse(cls: type[CountedT], body: object) -> CountedT:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        if not isinstance(body, dict):
            raise InvalidRequestError("The request body is not valid JSON.")
        return read(cls, cast("object", body), refused)

    @property
    def chat(self) -> ChatBody:
        """The chat completion request that asks for the same.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        functions = self._functions()
        form = (self.output_config and self.output_config.format) or self.output_format
        asked = {
            "messages": [*system_of(self.system), *messages_of(self.messages)],
            "model": self.model,
            "tools": [Tool(function=function) for function in functions],
            "tool_choice": self._chosen([function.name for function in functions]),
            "parallel_tool_calls": not (
                self.tool_choice and self.tool_choice.disable_parallel_tool_use
            ),
            "response_format": form.in_chats() if form else None,
            **self._parameters(),
        }
        return ChatBody.model_validate(asked)

    def _parameters(self) -> Mapping[str, Any]:
        return {}

    def _functions(self) -> list[Function]:
        """Return the tools that are the user's; the provider's own say of what kind they are."""
        functions: list[Function] = []
        for index, tool in enumerate(self.tools or ()):
            if tool.get("type") in (None, "custom"):
                functions.append(read(_Function, tool, refused, ("tools", index, "custom")))
            elif not isinstance(tool["type"], str):
                raise refused(("tools", index, "type"), "", "Input should be a valid string")
        return functions

    def _chosen(self, functions: list[str]) -> object:
        choice = self.tool_choice
        if choice is None:
            return None
        if not self.tools and choice.type != "none":
            raise refused(
                ("tool_choice",), "", "tool_choice may only be specified while providing tools"
            )
        if choice.type == "any":
            return "required"
        if choice.type != "tool":
            return choice.type
        if choice.name not in [tool.get("name") for tool in self.tools or ()]:
            raise InvalidRequestError(f"Tool {choice.name!r} not found in provided tools")
        if choice.name not in functions:
            return "none"
        return {"type": "function", "function": {"name": choice.name}}


class MessagesBody(CountedBody):
    """The body of a request to the Messages API."""

    max_tokens: int = Field(ge=1)
    stream: bool | None = None
    temperature: float | None = Field(None, ge=0, le=1)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=0)
    stop_sequences: list[str] | None = None
    metadata: dict[str, Any] | None = None
    # Not in Anthropic's API; it makes answers here repeatable.
    seed: int | None = None

    def answer(self, completion: Completion) -> MessagesAnswer:
        """Put the answer in the words of this API."""
        return MessagesAnswer(completion)

    def _parameters(self) -> Mapping[str, Any]:
        return {
            "stream": self.stream,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_completion_tokens": self.max_tokens,
            "stop": self.stop_sequences,
        }
