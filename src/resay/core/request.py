"""The request: the messages, model and parameters sent to a provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from resay.core.decoding import with_sampling
from resay.core.keywords import suggest_keywords
from resay.core.provider_params import (
    CONNECTION_PARAMS,
    MAIN_CALL_ONLY,
    PARAMS_FOR_OTHER_MODELS,
)
from resay.core.reasoning import without_reasoning
from resay.errors import ConfigurationError

Message = Mapping[str, Any]
"""One chat message in OpenAI's shape: `{"role": "user", "content": "…"}`."""

# Of a turn that is cut, this many times what is shown of it is searched for reasoning.
_SEARCHED_PER_SHOWN_CHAR = 4
# A limit below which only the end of a conversation is shown.
_MIN_CHARS_FOR_BEGINNING = 400
_HEADER_PARAMS = ("extra_headers", "headers")
_IDEMPOTENCY_HEADER = "idempotency-key"


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a provider. What is known about it and not sent is in a `CheckContext`.

    Attributes:
        messages: The conversation, oldest first, in OpenAI's message shape.
        model: The model in litellm's notation, such as `openai/gpt-4.1-mini`. None if the provider
            already knows it.
        params: All other provider parameters: `temperature`, `max_tokens`, `api_key`, `api_base`
            and so on. Left out of `repr`, because it may contain a key.
        tenant: The tenant, if an application serves several: cached and batched answers of one
            tenant are never used for another. Not sent.
        index: The number of this answer among several stochastic answers to the same question, from
            0, so that caches and batches can tell them apart. Not sent.
        varied: Whether answers may differ from call to call, for providers whose own temperature,
            seed or cache is not in `params`. A cache distinguishes answers by `params` and `index`,
            not by this.
    """

    messages: tuple[Message, ...]
    model: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    tenant: str | None = None
    index: int = 0
    varied: bool = False

    @classmethod
    @suggest_keywords
    def of(
        cls,
        question: str | Iterable[Message] | Request,
        *,
        model: str | None = None,
        tenant: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Request:
        """Make a request from a question, a list of messages, or another request.

        Args:
            question: A user's question, a conversation, or a request to build on.
            model: The model to ask.
            tenant: The tenant.
            params: The provider's parameters, such as `{"temperature": 0.2}`; they override those
                of a given request.

        Returns:
            The request.

        Raises:
            ConfigurationError: `question` is empty or not one of the three.
        """
        if isinstance(question, Request):
            return replace(
                question,
                model=model or question.model,
                params={**question.params, **(params or {})},
                tenant=tenant or question.tenant,
            )
        if isinstance(question, str):
            if not question.strip():
                raise ConfigurationError(f"the question is empty: {question!r}; pass a text")
            messages: tuple[Message, ...] = ({"role": "user", "content": question},)
        else:
            messages = _messages(question)
        return cls(messages=messages, model=model, params=dict(params or {}), tenant=tenant)

    @property
    def question(self) -> str:
        """The text of the user's last message; empty if there is none.

        For content in parts, only text parts count.
        """
        for message in reversed(self.messages):
            if message.get("role") == "user":
                return text_of(message.get("content"))
        return ""

    def conversation(self, chars: int) -> str:
        """Return the conversation as text, one turn per line with its role.

        Of a long one, the beginning, which says what it is about, and the end.

        Args:
            chars: The maximum length. Up to a quarter of it is for the beginning, unless that would
                be a few words.
        """
        end, is_whole = self._end(chars)
        opening = chars // 4 if chars >= _MIN_CHARS_FOR_BEGINNING else 0
        if is_whole or not opening:
            return end
        return f"{self._beginning(opening)}\n{self._end(chars - opening)[0]}"

    def _end(self, chars: int) -> tuple[str, bool]:
        """Return the last characters of the conversation, and whether that is all of it."""
        turns: list[str] = []
        for message in reversed(self.messages):
            turn = _turn_of(message, slice(-_SEARCHED_PER_SHOWN_CHAR * max(chars, 1), None))
            if not turn:
                continue
            if chars <= 0:
                return "\n".join(reversed(turns)), False
            turns.append(turn if len(turn) <= chars else f"[…] {turn[-chars:]}")
            chars -= len(turn)
        return "\n".join(reversed(turns)), chars >= 0

    def _beginning(self, chars: int) -> str:
        """Return the first characters of the conversation."""
        turns: list[str] = []
        for message in self.messages:
            turn = _turn_of(message, slice(_SEARCHED_PER_SHOWN_CHAR * chars))
            if not turn:
                continue
            turns.append(turn[:chars])
            chars -= len(turn)
            if chars <= 0:
                break
        return "\n".join(turns)

    @property
    def instructions(self) -> str:
        """The text of the messages in which the application instructs the model."""
        texts = [
            text_of(message.get("content"))
            for message in self.messages
            if message.get("role") in ("system", "developer")
        ]
        return "\n".join(text for text in texts if text)

    @property
    def connection(self) -> dict[str, Any]:
        """The destination and account, for other calls to the same place."""
        return {
            name: _without_idempotency_key(name, value)
            for name, value in self.params.items()
            if name in CONNECTION_PARAMS
        }

    def for_sampling(
        self,
        *,
        model: str | None = None,
        temperature: float | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Request:
        """Return the request for drawing a sample of the same question.

        Greedy decoding and seeds are left out, under whichever name, because all samples would be
        the same text: a temperature of 0 or close to it, `top_k: 1`, beams and the like. Every
        model accepts the omission of a temperature, but not every model accepts a higher one.

        Args:
            model: Ask this model instead; only parameters that describe the answer are sent to it.
            temperature: Use this temperature; None keeps the caller's unless that is greedy.
            params: Additional parameters for samples; they override those of the request.

        Returns:
            A request without the parameters that make no sense for a sample, marked as `varied`.
        """
        is_other_model = model is not None and model != self.model
        sampling_params: dict[str, Any] = {}
        for name, value in self.params.items():
            is_shared = name in PARAMS_FOR_OTHER_MODELS or not is_other_model
            if is_shared and name not in MAIN_CALL_ONLY:
                sampling_params[name] = _without_idempotency_key(name, value)
        sampling_params = with_sampling(sampling_params)
        if temperature is not None:
            sampling_params["temperature"] = temperature
        sampling_params.update(params or {})
        return replace(self, model=model or self.model, params=sampling_params, varied=True)


def _messages(question: object) -> tuple[Message, ...]:
    if isinstance(question, (bytes, Mapping)) or not isinstance(question, Iterable):
        kind = type(cast("object", question)).__name__
        raise ConfigurationError(
            f"the question must be a text, a list of messages or a Request, not of type {kind}"
        )
    messages = tuple(cast("Iterable[Message]", question))
    if not messages:
        raise ConfigurationError("the conversation has no messages; pass at least one")
    if not all(_is_message(message) for message in messages):
        raise ConfigurationError("every message must be a mapping with a 'role'")
    return messages


def _without_idempotency_key(name: str, value: Any) -> Any:
    """Return a parameter of the main call for further calls, without its idempotency key.

    A provider that sees the same idempotency key twice returns the first answer again.
    """
    if name not in _HEADER_PARAMS or not isinstance(value, Mapping):
        return value
    headers = cast("Mapping[Any, Any]", value)
    return {
        header: content
        for header, content in headers.items()
        if not (isinstance(header, str) and header.lower() == _IDEMPOTENCY_HEADER)
    }


def _turn_of(message: Message, part: slice) -> str:
    """Return a turn of the conversation with its role; empty if it is none.

    Args:
        message: The message.
        part: The part of an assistant's turn to look for reasoning in, and to return.
    """
    role, text = message.get("role"), text_of(message.get("content")).strip()
    if role == "assistant":
        text = without_reasoning(text[part]).strip()
    return f"{role}: {text}" if role in ("user", "assistant") and text else ""


def _is_message(value: object) -> bool:
    return isinstance(value, Mapping) and "role" in value


def with_texts(message: Message, change: Callable[[str], str]) -> Message:
    """Return a message with its texts changed; the same object if none changes.

    Args:
        message: The message.
        change: Returns the new form of a text.
    """
    content: object = message.get("content")
    if isinstance(content, str):
        changed = change(content)
        return message if changed == content else {**message, "content": changed}
    if not isinstance(content, list):
        return message
    parts: list[Any] = []
    for part in cast("list[Any]", content):
        text = cast("Mapping[str, Any]", part).get("text") if isinstance(part, Mapping) else None
        parts.append({**part, "text": change(text)} if isinstance(text, str) else part)
    return message if parts == content else {**message, "content": parts}


def text_of(content: object) -> str:
    """Return the text of a message's content; for content in parts, that of its text parts."""
    if isinstance(content, str):
        return content.strip()
    texts: list[str] = []
    for part in cast("list[object]", content) if isinstance(content, list) else []:
        text = cast("Mapping[str, object]", part).get("text") if isinstance(part, Mapping) else None
        if isinstance(text, str):
            texts.append(text)
    return "\n".join(texts).strip()
