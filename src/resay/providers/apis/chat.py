"""OpenAI's chat completions, which most providers and servers speak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resay.core.logprobs import read_logprobs
from resay.core.query import Query
from resay.providers.apis.base import Api, Body, Event, Request
from resay.providers.apis.reading import is_yes, listed, mapping, mappings, named, number, text
from resay.providers.apis.several_answers import Choice, SeveralAnswersApi, answers_wanted
from resay.providers.apis.tools import object_tools, tools_of_old
from resay.providers.base import Chunk, Completion, ToolCall

__all__ = ["CHAT_COMPLETIONS"]

_NOT_PARAMS = frozenset({"messages", "model", "n", "stream"})
# Of a piece of an answer: who says it, and its text.
_PLAIN = frozenset({"content", "role"})
# Nothing of OpenAI's, but gateways know it.
_KEPT_ELSEWHERE = ("container", "conversation", "previous_response_id", "thread_id")
# Parts of a content that are no words of the answer.
_KNOWN = frozenset({"reasoning", "reference", "refusal", "thinking"})
_WHOLE = "message"
_CONVERSATION = "every sample would be added to what the provider keeps of the conversation"
_HOSTED = "the provider would run its tools once more for every sample"


class _ChatCompletions(SeveralAnswersApi):
    path = "/chat/completions"
    _object = "chat.completion"
    _piece_object = "chat.completion.chunk"

    def read(self, body: Body) -> Request:
        params = {k: v for k, v in body.items() if k not in _NOT_PARAMS and v is not None}
        messages = tuple(message for message in mappings(body.get("messages")) if "role" in message)
        query = Query(messages, None, params, object_tools=_object_tools(body))
        streams = is_yes(body.get("stream"))
        return Request(body, query, answers_wanted(body), streams, _unrepeatable(body))

    def asking_logprobs(self, body: Body, top: int) -> Body:
        wanted = max(top, number(body.get("top_logprobs")))
        return {**body, "logprobs": True, **({"top_logprobs": wanted} if wanted else {})}

    def sample(self, request: Request, query: Query, n: int) -> Body:
        asked = {k: request.body[k] for k in ("model", "messages") if k in request.body}
        return {**asked, **query.params, **({"n": n} if n > 1 else {})}

    def fresh(self, body: Body, query: Query) -> Body:
        asked = {"model": body.get("model"), "messages": [dict(m) for m in query.messages]}
        params = {k: v for k, v in query.params.items() if k not in _KEPT_ELSEWHERE}
        return {**asked, **tools_of_old(body, query, "none"), **params}

    def tells_more(self, event: Event) -> bool:
        deltas = [mapping(choice.get("delta")) for choice in mappings(event.body.get("choices"))]
        return any(v for delta in deltas for k, v in delta.items() if k not in _PLAIN)

    def _completion(self, choice: Choice, response: Body) -> Completion:
        message = mapping(choice.get("message"))
        return Completion(
            _words(message.get("content")),
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            response,
            _calls(message),
            unread=_unread(message) if "message" in choice else named(None),
        )

    def _saying(self, message: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": message, "refusal": None}}

    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        delta = mapping(choice.get("delta"))
        whole = _words(mapping(choice.get("message")).get("content"))
        return Chunk(
            _words(delta.get("content")),
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            raw=event,
            calls=_calls(delta),
            unread=_unread(delta) or (named("text") if choice.get("text") else None),
            repeats=(_WHOLE, whole) if whole else None,
        )

    def _adding(self, said: str, *, first: bool) -> dict[str, Any]:
        content: dict[str, Any] = {"content": said} if said else {}
        return {"delta": {"role": "assistant", **content} if first else content}

    def _quiet(self, choice: Choice) -> dict[str, Any]:
        if not _words(mapping(choice.get("delta")).get("content")):
            return dict(choice)
        delta = {k: v for k, v in mapping(choice.get("delta")).items() if k != "content"}
        kept = {**choice, "delta": delta}
        return {**kept, "logprobs": None} if "logprobs" in choice else kept

    def _framed(self, choice: Choice) -> dict[str, Any]:
        role = mapping(choice.get("delta")).get("role")
        index = number(choice.get("index"))
        return {"index": index, "delta": {"role": role}, "finish_reason": None}

    def _tells(self, choice: Choice) -> bool:
        return bool(choice.get("finish_reason") or mapping(choice.get("delta")))


CHAT_COMPLETIONS: Api = _ChatCompletions()
"""`POST /chat/completions`."""


def _unrepeatable(body: Body) -> str | None:
    # Function tools are run by the application, and only once it has the answer.
    kinds = {text(tool.get("type")) or "function" for tool in mappings(body.get("tools"))}
    if kinds - {"function", "custom"} or body.get("web_search_options"):
        return _HOSTED
    return _CONVERSATION if any(body.get(name) for name in _KEPT_ELSEWHERE) else None


def _object_tools(body: Body) -> tuple[str, ...]:
    names = [text(mapping(t.get("function")).get("name")) for t in mappings(body.get("tools"))]
    choice = body.get("tool_choice")
    kind = choice if isinstance(choice, str) else mapping(choice).get("type")
    return object_tools(names, kind, ("required", "function"))


def _calls(said: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = [
        ToolCall(text(_called(c).get("name")), text(_called(c).get("arguments")), _place(c, place))
        for place, c in enumerate(mappings(said.get("tool_calls")))
    ]
    # Its one predecessor, which some servers still know.
    old = mapping(said.get("function_call"))
    if old:
        calls.append(ToolCall(text(old.get("name")), text(old.get("arguments"))))
    return tuple(calls)


def _called(call: Mapping[str, Any]) -> Mapping[str, Any]:
    custom = mapping(call.get("custom"))
    if custom:
        return {"name": custom.get("name"), "arguments": custom.get("input")}
    return mapping(call.get("function"))


def _place(call: Mapping[str, Any], place: int) -> int:
    return number(call.get("index")) if "index" in call else place


def _words(content: object) -> str:
    """Return the words of a content, which some providers give as a list of parts."""
    parts = (text(part) or text(mapping(part).get("text")) for part in listed(content))
    return text(content) or "".join(parts)


def _unread(said: Mapping[str, Any]) -> str | None:
    """Return what of a message, or of a piece of one, cannot be read; None where all can."""
    if said.get("audio"):
        return named("audio")
    content = said.get("content")
    if not content or isinstance(content, str):
        return None
    parts: Sequence[object] = listed(content) or [content]
    return next((named(mapping(part).get("type")) for part in parts if not _is_known(part)), None)


def _is_known(part: object) -> bool:
    if isinstance(part, str) or isinstance(mapping(part).get("text"), str):
        return True
    return text(mapping(part).get("type")) in _KNOWN
