"""OpenAI's Responses API: what is asked, what is remembered, and the shapes of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field

from simulation.chat import Choice, Completion, Event, ToolCall
from simulation.chat_request import (
    MODEL,
    Body,
    ChatBody,
    Function,
    InvalidRequestError,
    Location,
    ResponseFormat,
    Token,
    Tool,
    is_readable,
    read,
    text_of,
)

__all__ = [
    "Conversations",
    "ResponsesAnswer",
    "ResponsesBody",
    "ResponsesRequest",
    "messages_of",
    "param_of",
    "refused",
]

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
    """Word a refusal; see `simulation.chat_request.Refuse`."""
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


class Conversations:
    """Remembers input and output items by the ids they are asked for. Use it from one thread."""

    def __init__(self) -> None:
        self._items: dict[str, tuple[Item, ...]] = {}

    def before(self, request: ResponsesBody) -> Sequence[Item]:
        """Return the items of the conversation that a request goes on with.

        Args:
            request: The request. A conversation that nobody spoke of is a new one: where they are
                made is not served here.

        Raises:
            InvalidRequestError: It goes on from a response that was not given or not stored.
        """
        last = request.previous_response_id
        if last is None:
            return self._items.get(request.conversation or "", ())
        if last not in self._items:
            raise InvalidRequestError(
                f"Previous response with id {last!r} not found.",
                "previous_response_id",
                "previous_response_not_found",
            )
        return self._items[last]

    def keep(self, request: ResponsesBody, response: Mapping[str, Any]) -> None:
        """Remember a response, unless the request asks not to."""
        items = (*self.before(request), *request.items, *response["output"])
        if request.store is not False:
            self._items[response["id"]] = items
        if request.conversation is not None:
            self._items[request.conversation] = items


Piece = dict[str, Any]
_FUNCTION: Mapping[str, Any] = {"description": None, "parameters": None, "strict": True}


@dataclass(frozen=True, slots=True)
class ResponsesRequest:
    """A request to the Responses API, with the conversation it goes on with.

    Attributes:
        body: What was asked.
        chat: The chat completion request that asks for the same.
    """

    body: ResponsesBody
    chat: ChatBody
    _conversations: Conversations

    @classmethod
    def parse(cls, body: object, conversations: Conversations) -> ResponsesRequest:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        request = ResponsesBody.parse(body)
        return cls(request, request.chat(conversations.before(request)), conversations)

    def answer(self, completion: Completion) -> ResponsesAnswer:
        """Put the answer in the words of this API; what may be gone on from is remembered."""
        answer = ResponsesAnswer(self.body, completion)
        self._conversations.keep(self.body, answer.body())
        return answer


@dataclass(frozen=True, slots=True)
class ResponsesAnswer:
    """The answer to a request to the Responses API.

    Attributes:
        request: What was asked.
        completion: What is answered, with one choice.
    """

    request: ResponsesBody
    completion: Completion

    @property
    def reports_usage(self) -> bool:
        """Whether it says what it cost; it always does."""
        return True

    def body(self) -> Piece:
        """Return the whole answer."""
        return self._response(self._status, [item for item, _ in self._items()])

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        numbers = count()
        for event in self._pieces():
            paced = event["type"].endswith(".delta")
            yield Event.named({**event, "sequence_number": next(numbers)}, paced=paced)

    def _pieces(self) -> Iterator[Piece]:
        begun = self._response("in_progress", [])
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        for index, (item, call) in enumerate(self._items()):
            place = {"output_index": index, "item_id": item["id"]}
            empty: Piece = {"content": []} if call is None else {"arguments": ""}
            added: Piece = {**item, **empty, "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": added}
            yield from self._text(place, item) if call is None else _call(place, call)
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": f"response.{self._status}", "response": self.body()}

    def _text(self, place: Piece, item: Piece) -> Iterator[Piece]:
        place = {**place, "content_index": 0}
        yield {"type": "response.content_part.added", **place, "part": _text_part("", [])}
        for token in self._choice.tokens:
            said = {"delta": token.text, "logprobs": self._logprobs((token,))}
            yield {"type": "response.output_text.delta", **place, **said}
        (part,) = item["content"]
        said = {"text": part["text"], "logprobs": part["logprobs"]}
        yield {"type": "response.output_text.done", **place, **said}
        yield {"type": "response.content_part.done", **place, "part": part}

    @property
    def _choice(self) -> Choice:
        return self.completion.choices[0]

    @property
    def _status(self) -> str:
        return "incomplete" if self._choice.finish_reason == "length" else "completed"

    def _items(self) -> Sequence[tuple[Piece, ToolCall | None]]:
        """Return the output, each item with the call that it is."""
        number, calls = self.completion.number, self._choice.tool_calls
        if not calls:
            part = _text_part(self._choice.text, self._logprobs(self._choice.tokens))
            said = {"role": "assistant", "content": [part], "status": self._status}
            return [({"id": f"msg_{number}", "type": "message", **said}, None)]
        items = [(_called(call), call) for call in calls]
        # Only the last call can be cut.
        items[-1][0]["status"] = self._status
        return items

    def _logprobs(self, tokens: Sequence[Token]) -> list[Piece]:
        return self.completion.logprobs(tokens) or []

    @property
    def _usage(self) -> Piece:
        used = self.completion.usage
        return {
            "input_tokens": used["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": used["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": used["total_tokens"],
        }

    def _response(self, status: str, output: list[Piece]) -> Piece:
        asked, created = self.request, self.completion.created
        cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
        conversation = {"id": asked.conversation} if asked.conversation else None
        return {
            "id": f"resp_{self.completion.number}",
            "object": "response",
            "created_at": created,
            "completed_at": created if status == "completed" else None,
            "status": status,
            "error": None,
            "incomplete_details": cut,
            "background": bool(asked.background),
            "conversation": conversation,
            "instructions": asked.instructions,
            "max_output_tokens": asked.max_output_tokens,
            "max_tool_calls": asked.max_tool_calls,
            "metadata": asked.metadata or {},
            "model": asked.model,
            "output": output,
            "parallel_tool_calls": asked.parallel_tool_calls is not False,
            "previous_response_id": asked.previous_response_id,
            "prompt_cache_key": asked.prompt_cache_key,
            "reasoning": asked.reasoning or {"effort": None, "summary": None},
            "safety_identifier": asked.safety_identifier,
            "service_tier": "default",
            "store": asked.store is not False,
            "temperature": 1.0 if asked.temperature is None else asked.temperature,
            "text": asked.text_options,
            "tool_choice": asked.tool_choice or "auto",
            "tools": [_echoed(tool) for tool in asked.tools or ()],
            "top_logprobs": asked.top_logprobs or 0,
            "top_p": 1.0 if asked.top_p is None else asked.top_p,
            "truncation": asked.truncation or "disabled",
            "usage": None if status == "in_progress" else self._usage,
            "user": asked.user,
        }


def _text_part(text: str, logprobs: list[Piece]) -> Piece:
    return {"type": "output_text", "annotations": [], "logprobs": logprobs, "text": text}


def _called(call: ToolCall) -> Piece:
    said = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    item_id = f"fc_{call.id.removeprefix('call_')}"
    return {"id": item_id, "type": "function_call", "status": "completed", **said}


def _call(place: Piece, call: ToolCall) -> Iterator[Piece]:
    kind = "response.function_call_arguments"
    yield from ({"type": f"{kind}.delta", **place, "delta": t.text} for t in call.tokens)
    yield {"type": f"{kind}.done", **place, "name": call.name, "arguments": call.arguments}


def _echoed(tool: Piece) -> Piece:
    return {**_FUNCTION, **tool} if tool["type"] == "function" else tool
