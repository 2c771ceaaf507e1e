"""The shapes of OpenAI's completions API, and of what vLLM adds to it."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, cast

from pydantic import Field
from typing_extensions import Self

from simulation.chat import Choice, Event
from simulation.chat_request import MODEL, Body, ChatBody, InvalidRequestError, Token, tokenize

__all__ = ["TextBody", "TextCompletion", "Written"]

_BEGIN_OF_TEXT = 1
_MAX_TOKENS = 16
_TURN = re.compile(r"(?:^|\n\n)(System|User|Assistant): ")
_ANSWERING = "\n\nAssistant:"


class _StreamOptions(Body):
    include_usage: bool = False


class TextBody(Body):
    """The body of a completion request."""

    model: str = MODEL
    prompt: Any = None
    suffix: str | None = None
    max_tokens: int | None = Field(None, ge=0)
    n: int | None = Field(None, ge=1, le=128)
    best_of: int | None = Field(None, ge=1, le=20)
    temperature: float | None = Field(None, ge=0, le=2)
    seed: int | None = None
    stop: Any = None
    echo: bool | None = None
    logprobs: int | None = Field(None, ge=0, le=20)
    prompt_logprobs: int | None = Field(None, ge=0, le=20)
    return_token_ids: bool | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None

    @classmethod
    def parse(cls, body: object) -> Self:
        """Check a decoded JSON body.

        Raises:
            InvalidRequestError: It is not a request that could be answered.
        """
        request = super().parse(body)
        if not request.prompts or not all(request.prompts):
            message = "Invalid 'prompt': expected a string, or an array of strings or of tokens."
            raise InvalidRequestError(message, "prompt")
        if request.best_of is not None and request.best_of < request.count:
            raise InvalidRequestError(
                "You requested that the server return more choices than it will generate"
                " (HINT: 'best_of' must be at least 'n').",
                "best_of",
            )
        if request.stream and request.best_of is not None and request.best_of > request.count:
            raise InvalidRequestError("Results of 'best_of' cannot be streamed.", "best_of")
        _ = request.chats
        return request

    @property
    def wants_logprobs(self) -> bool:
        """Whether it asks for log-probabilities."""
        return self.logprobs is not None or self.prompt_logprobs is not None

    @property
    def most_tokens(self) -> int:
        """How many tokens an answer may have."""
        return _MAX_TOKENS if self.max_tokens is None else self.max_tokens

    @property
    def count(self) -> int:
        """How many answers each prompt gets."""
        return self.n or 1

    @property
    def prompts(self) -> list[str]:
        """The prompts; of one that is given as tokens their numbers, which mean nothing here."""
        given: object = self.prompt
        if isinstance(given, str):
            return [given]
        items = cast("list[object]", given) if isinstance(given, list) else []
        return [_numbers(items)] if _numbers(items) else [_text_of(item) for item in items]

    @cached_property
    def chats(self) -> list[ChatBody]:
        """The chat completion requests that ask for the same, one for each prompt."""
        shared: dict[str, Any] = {
            "model": self.model,
            "n": max(self.best_of or 1, self.count),
            "max_tokens": max(self.most_tokens, 1),
            "temperature": self.temperature,
            "seed": self.seed,
            "stop": self.stop,
        }
        return [ChatBody.parse({**shared, "messages": _messages(p)}) for p in self.prompts]


def _numbers(value: object) -> str:
    """Return the numbers of tokens as a text, empty where these are none."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return " ".join(map(str, items)) if all(isinstance(item, int) for item in items) else ""


def _text_of(item: object) -> str:
    return item if isinstance(item, str) else _numbers(item)


def _messages(prompt: str) -> list[dict[str, str]]:
    """Return what a prompt says, as messages where it is a conversation."""
    if not (_TURN.match(prompt) and prompt.endswith(_ANSWERING)):
        return [{"role": "user", "content": prompt}]
    _, *turns = _TURN.split(prompt.removesuffix(_ANSWERING))
    pairs = zip(turns[::2], turns[1::2], strict=True)
    return [{"role": role.lower(), "content": content} for role, content in pairs]


@dataclass(frozen=True, slots=True)
class Written:
    """What is written to one prompt.

    Attributes:
        prompt: The prompt.
        read: Its tokens.
        candidates: The answers, of which the best are given.
    """

    prompt: str
    read: Sequence[Token]
    candidates: Sequence[Choice]

    def best(self, request: TextBody) -> list[Choice]:
        """Return the answers that are given: those with the most probable tokens."""
        if request.most_tokens == 0:
            return [Choice(finish_reason="length")] * request.count
        ranked = sorted(self.candidates, key=_improbability) if request.best_of else self.candidates
        return [self._following(choice) for choice in ranked[: request.count]]

    def _following(self, choice: Choice) -> Choice:
        """Return an answer with a space between the prompt and its first word."""
        if not choice.tokens or self.prompt[-1].isspace():
            return choice
        first, *others = choice.tokens
        return replace(choice, tokens=(replace(first, text=f" {first.text}"), *others))


def _improbability(choice: Choice) -> float:
    return -sum(token.logprob for token in choice.tokens) / max(1, len(choice.tokens))


@dataclass(frozen=True, slots=True)
class TextCompletion:
    """The answer to a completion request.

    Attributes:
        request: What was asked.
        written: What is written to each of its prompts.
        number: Tells completions of one provider apart.
        created: When it was made, in seconds since 1970.
    """

    request: TextBody
    written: Sequence[Written]
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def usage(self) -> dict[str, int]:
        """What the request and the answers cost, in tokens; also of those that are not given."""
        prompt = sum(len(written.read) for written in self.written)
        prompt += len(tokenize(self.request.suffix or "")) * len(self.written)
        completion = 0
        if self.request.most_tokens:
            completion = sum(c.size for written in self.written for c in written.candidates)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    @property
    def reports_usage(self) -> bool:
        """Whether the client is told the usage."""
        options = self.request.stream_options
        return not self.request.stream or (options is not None and options.include_usage)

    @property
    def _given(self) -> Iterator[tuple[int, Written, Choice]]:
        pairs = [(written, c) for written in self.written for c in written.best(self.request)]
        yield from ((index, *pair) for index, pair in enumerate(pairs))

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        choices: list[dict[str, Any]] = []
        for index, written, choice in self._given:
            shown = [*(written.read if self.request.echo else ()), *choice.tokens]
            start = 0 if self.request.echo else len(written.prompt)
            said = self._choice(index, shown, start, choice.finish_reason)
            choices.append({**said, **self._added(written)})
        return self._envelope(choices, usage=self.usage)

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        yield from (Event(json.dumps(chunk)) for chunk in self._chunks())
        yield Event("[DONE]")

    def _chunks(self) -> Iterator[dict[str, Any]]:
        for index, written, choice in self._given:
            # The prompt comes in one piece.
            pieces = [written.read] if self.request.echo else []
            end = 0 if self.request.echo else len(written.prompt)
            for tokens in [*pieces, *((token,) for token in choice.tokens)]:
                yield self._chunk(self._choice(index, tokens, end, None))
                end += sum(len(token.text) for token in tokens)
            yield self._chunk(self._choice(index, (), end, choice.finish_reason))
        if self.reports_usage:
            yield self._envelope([], usage=self.usage)

    def _chunk(self, choice: dict[str, Any]) -> dict[str, Any]:
        usage: dict[str, Any] = {"usage": None} if self.reports_usage else {}
        return self._envelope([choice], **usage)

    def _choice(
        self, index: int, tokens: Sequence[Token], start: int, reason: str | None
    ) -> dict[str, Any]:
        top = self.request.logprobs
        listed = None if top is None or not tokens else _listed(tokens, start, top)
        said = "".join(token.text for token in tokens)
        return {"index": index, "text": said, "logprobs": listed, "finish_reason": reason}

    def _added(self, written: Written) -> dict[str, Any]:
        """Return what vLLM says of a prompt."""
        top = self.request.prompt_logprobs
        # Its places are behind a beginning-of-text token.
        places = None if top is None else [None, *(_place(token, top) for token in written.read)]
        ids = [_BEGIN_OF_TEXT, *(_id(token.text) for token in written.read)]
        return {
            **({} if places is None else {"prompt_logprobs": places}),
            **({"prompt_token_ids": ids} if self.request.return_token_ids else {}),
        }

    def _envelope(self, choices: list[dict[str, Any]], **more: object) -> dict[str, Any]:
        return {
            "id": f"cmpl-{self.number}",
            "object": "text_completion",
            "created": self.created,
            "model": self.request.model,
            "choices": choices,
            **more,
        }


def _listed(tokens: Sequence[Token], start: int, top: int) -> dict[str, Any]:
    """Return tokens as OpenAI lists them, from an offset on; before a first there is nothing."""
    numbers: list[float | None] = [round(token.logprob, 6) for token in tokens]
    tops: list[dict[str, float] | None] = [
        {text: round(logprob, 6) for text, logprob in token.likeliest(top)} for token in tokens
    ]
    first = start == 0
    return {
        "tokens": [token.text for token in tokens],
        "text_offset": [*accumulate((len(t.text) for t in tokens[:-1]), initial=start)],
        "token_logprobs": [None, *numbers[1:]] if first else numbers,
        "top_logprobs": [None, *tops[1:]] if first else tops,
    }


def _place(token: Token, top: int) -> dict[int, Any]:
    likeliest = token.likeliest(top + 1)
    # The prompt's own token is listed even where it is not among the most probable.
    if likeliest[-1][0] != token.text and top > 0:
        likeliest = likeliest[:top]
    return {
        _id(text): {"logprob": round(logprob, 6), "rank": rank, "decoded_token": text}
        for rank, (text, logprob) in enumerate(likeliest, start=1)
    }


def _id(text: str) -> int:
    return zlib.crc32(text.encode())
