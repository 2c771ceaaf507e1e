"""OpenAI's plain-text completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resay.core.check_context import CheckContext
from resay.core.logprobs import read_logprobs
from resay.core.marks import Mark, with_marks
from resay.core.request import Message, Request
from resay.providers.apis.base import Api, ApiRequest
from resay.providers.apis.choices import (
    CHOICE_FIELDS,
    WORDLESS_FIELDS,
    Choice,
    ChoicesApi,
    answer_count,
)
from resay.providers.apis.events import Event
from resay.providers.apis.values import (
    Body,
    is_yes,
    listed,
    mappings,
    named,
    number,
    text,
    words_elsewhere,
)
from resay.providers.base import Chunk, Completion

_NOT_PARAMS = frozenset({"logprobs", "model", "n", "prompt", "stream"})
# Parameters whose effects are of no use in a sample; `best_of` would generate several for each.
_MAIN_CALL_ONLY = frozenset(
    {"best_of", "echo", "prompt_logprobs", "return_prompt_text", "return_token_ids"}
)
# Chat completions parameters that differ in this API.
_CHAT_PARAMS = frozenset({"logprobs", "max_completion_tokens", "top_logprobs"})
# Parameters that belong to the main call's own prompt.
_PROMPT_PARAMS = frozenset({"suffix"})
_MAX_ALTERNATIVES = 5
# Without a limit, the API ends an answer after 16 tokens.
_MAX_TOKENS = 1024
_LABELS: Mapping[str, str] = {
    "assistant": "Assistant",
    "developer": "System",
    "function": "Tool",
    "system": "System",
    "tool": "Tool",
}
_USER = "User"
_NO_TEXT = "the prompt is not given as a text"
_SEVERAL = "there are several prompts in one request; their answers cannot be compared"
_ECHO = "the answer repeats the prompt (`echo`)"


class _Completions(ChoicesApi):
    path = "/completions"
    _object = "text_completion"
    _chunk_object = "text_completion"

    def read(self, body: Body) -> ApiRequest:
        prompts = _prompts(body.get("prompt"))
        prompt = prompts[0] if len(prompts) == 1 else None
        messages = () if prompt is None else ({"role": "user", "content": prompt},)
        field, reason = _uncheckable(body, prompts)
        context = CheckContext(
            Request(messages, None, _params(body)), uncheckable=reason, unrepeatable=reason
        )
        return ApiRequest(
            body=body,
            context=context,
            n=answer_count(body) * max(len(prompts), 1),
            streams=is_yes(body.get("stream")),
            field=field,
        )

    def with_logprobs(self, body: Body, top: int) -> Body:
        return {**body, "logprobs": max(min(top, _MAX_ALTERNATIVES), _alternatives(body) or 0)}

    def sample(self, api_request: ApiRequest, request: Request, n: int) -> Body:
        body = {k: api_request.body[k] for k in ("model", "prompt") if k in api_request.body}
        body |= _own_params(request.params)
        return {**body, "n": n} if n > 1 else body

    def fresh(self, body: Body, request: Request) -> Body:
        limit = max(number(body.get("max_tokens")), _MAX_TOKENS)
        params = _own_params(request.params)
        params = {k: v for k, v in params.items() if k not in _PROMPT_PARAMS}
        prompt = _prompt_fields(request.messages)
        return {"model": body.get("model"), **prompt, "max_tokens": limit, **params}

    def has_other_words(self, event: Event) -> bool:
        del event
        return False

    def _completion(self, choice: Choice, response: Body) -> Completion:
        answer, unread = text(choice.get("text")), _unread(choice)
        if not (unread or answer.strip()):
            unread = words_elsewhere(choice, CHOICE_FIELDS)
        return Completion(
            text=answer,
            finish_reason=text(choice.get("finish_reason")) or None,
            logprobs=read_logprobs(choice.get("logprobs")),
            raw=response,
            unread=unread,
        )

    def _message_fields(self, message: str) -> dict[str, Any]:
        return {"text": message}

    def _marked(self, choice: Choice, marks: Sequence[Mark]) -> Choice:
        return {**choice, "text": with_marks(text(choice.get("text")), marks)}

    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        added = text(choice.get("text"))
        return Chunk(
            text=added,
            finish_reason=text(choice.get("finish_reason")) or None,
            logprobs=read_logprobs(choice.get("logprobs")),
            raw=event,
            unread=_unread(choice),
            elsewhere=None if added else words_elsewhere(choice, CHOICE_FIELDS),
        )

    def _delta_fields(self, text: str, *, first: bool) -> dict[str, Any]:
        del first
        return {"text": text}

    def _without_text(self, choice: Choice) -> dict[str, Any]:
        return {**choice, "text": "", "logprobs": None}

    def _released(self, choice: Choice, start: int, stop: int) -> dict[str, Any]:
        # Servers may repeat the text next to it, as token ids.
        frame = {name: choice[name] for name in WORDLESS_FIELDS if name in choice}
        released = text(choice.get("text"))[start:stop]
        return {**frame, "text": released, "logprobs": None, "finish_reason": None}

    def _rest(self, choice: Choice, start: int) -> dict[str, Any]:
        return {**choice, "text": text(choice.get("text"))[start:], "logprobs": None}


COMPLETIONS: Api = _Completions()
"""`POST /completions`.

A prompt is parsed as one user message, even if it is not a question but the beginning of a text.
Not checked are answers that begin with their prompt (`echo`), answers to several prompts at once,
and answers to prompts given as token ids.
"""


def _unread(choice: Choice) -> str | None:
    """Return which part of an answer cannot be parsed; None if none."""
    has_other_text = choice.get("message") or choice.get("delta")
    is_garbled = not isinstance(choice.get("text"), str | None)
    return named(None) if has_other_text or is_garbled else None


def _prompts(prompt: object) -> list[str | None]:
    """Return the prompts of a request; None for each that is not text."""
    if isinstance(prompt, str):
        return [prompt]
    items = listed(prompt)
    # A list of numbers is one prompt.
    if any(isinstance(item, int) for item in items):
        return [None]
    return [item if isinstance(item, str) else None for item in items]


def _uncheckable(body: Body, prompts: Sequence[str | None]) -> tuple[str | None, str | None]:
    """Return the field that prevents a check, and why; None and None if none does."""
    if len(prompts) > 1:
        return "prompt", _SEVERAL
    if not prompts or prompts[0] is None:
        return "prompt", _NO_TEXT
    return ("echo", _ECHO) if body.get("echo") else (None, None)


def _alternatives(body: Body) -> int | None:
    """Return how many alternatives per token are requested; None if no log-probabilities are."""
    logprobs = body.get("logprobs")
    if isinstance(logprobs, bool):
        return 1 if logprobs else None
    return logprobs if isinstance(logprobs, int) and logprobs >= 0 else None


def _params(body: Body) -> dict[str, Any]:
    """Return the parameters in the format of chat completions."""
    params = {k: v for k, v in body.items() if k not in _NOT_PARAMS and v is not None}
    top = _alternatives(body)
    return params if top is None else {**params, "logprobs": True, "top_logprobs": top}


def _own_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's parameters in the format of this API."""
    own = {k: v for k, v in params.items() if k not in _CHAT_PARAMS | _MAIN_CALL_ONLY}
    if params.get("max_completion_tokens") is not None:
        own["max_tokens"] = params["max_completion_tokens"]
    if params.get("logprobs"):
        own["logprobs"] = min(number(params.get("top_logprobs")), _MAX_ALTERNATIVES)
    return own


def _prompt_fields(messages: Sequence[Message]) -> dict[str, Any]:
    """Return a conversation as a prompt: one message as it is, several labelled by role."""
    if len(messages) == 1:
        return {"prompt": _text_of(messages[0])}
    turns: list[str] = []
    for message in messages:
        label = _LABELS.get(text(message.get("role")), _USER)
        turns.append(f"{label}: {_text_of(message)}")
    # Without a stop sequence, the model would go on and write the next question itself.
    return {"prompt": "\n\n".join([*turns, "Assistant:"]), "stop": [f"\n\n{_USER}:"]}


def _text_of(message: Message) -> str:
    content = message.get("content")
    return text(content) or "\n".join(text(part.get("text")) for part in mappings(content))
