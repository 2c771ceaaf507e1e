"""OpenAI's completions API, with vLLM's log-probabilities of the prompt."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, cast

from pydantic import ConfigDict, Field

from resay.testing.chat import ChatRequest, InvalidRequestError
from simulation.chat import ChatBody, Choice, Token

__all__ = ["TextBody", "TextCompletion", "Written"]

_BEGIN_OF_TEXT = 1
_MAX_TOKENS = 16
_TURN = re.compile(r"(?:^|\n\n)(System|User|Assistant): ")
_ANSWERING = "\n\nAssistant:"


class TextBody(ChatRequest):
    """The body of a completion request."""

    model_config = ConfigDict(frozen=False, extra="ignore")

    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    prompt: str | list[int] | list[str] | list[list[int]]
    max_tokens: int | None = Field(None, ge=0)
    stop: str | list[str] | None = None
    best_of: int | None = None
    echo: bool | None = None
    logprobs: int | None = Field(None, ge=0, le=20)
    prompt_logprobs: int | None = Field(None, ge=0, le=20)
    return_token_ids: bool | None = None

    @property
    def user_texts(self) -> list[str]:
        """The user messages of a single prompt."""
        return self.chats[0].user_texts if len(self.chats) == 1 else []

    @property
    def features(self) -> list[str]:
        """The features it uses, for faults that strike only those."""
        names = [name for name in ("stream", "stream_options") if getattr(self, name)]
        asks = self.logprobs is not None or self.prompt_logprobs is not None
        return [*names, *(["logprobs"] if asks else [])]

    @cached_property
    def prompts(self) -> list[str]:
        """The prompts; of token ids their numbers, which mean nothing here."""
        if isinstance(self.prompt, str):
            return [self.prompt]
        items = cast("list[str | int | list[int]]", self.prompt)
        prompts = [items] if isinstance(items[0], int) else items
        return [p if isinstance(p, str) else " ".join(map(str, p)) for p in prompts]

    @cached_property
    def chats(self) -> list[ChatBody]:
        """The chat completion requests for the same, one for each prompt."""
        if not self.prompt or not all(self.prompts):
            raise InvalidRequestError("Invalid 'prompt': it is empty.", "prompt")
        if self.stream and self.best_of is not None and self.best_of > (self.n or 1):
            raise InvalidRequestError("Results of 'best_of' cannot be streamed.", "best_of")
        shared = self.model_dump(include={"model", "n", "temperature", "seed", "stop"})
        shared["max_tokens"] = max(_MAX_TOKENS if self.max_tokens is None else self.max_tokens, 1)
        return [ChatBody.parse({**shared, "messages": _messages(p)}) for p in self.prompts]


def _messages(prompt: str) -> list[dict[str, str]]:
    """Return a prompt as messages, several if it is a conversation."""
    if not (_TURN.match(prompt) and prompt.endswith(_ANSWERING)):
        return [{"role": "user", "content": prompt}]
    _, *turns = _TURN.split(prompt.removesuffix(_ANSWERING))
    pairs = zip(turns[::2], turns[1::2], strict=True)
    return [{"role": role.lower(), "content": content} for role, content in pairs]


@dataclass(frozen=True, slots=True)
class Written:
    """A prompt, its tokens, and the answers to it."""

    prompt: str
    tokens: Sequence[Token]
    choices: Sequence[Choice]

    def following(self, choice: Choice) -> Sequence[Token]:
        """Return an answer with a space between the prompt and its first word."""
        if not choice.tokens or self.prompt[-1].isspace():
            return choice.tokens
        first, *others = choice.tokens
        return [Token(f" {first}", first.logprob, first.rival), *others]


@dataclass(frozen=True, slots=True)
class TextCompletion:
    """The answer to a completion request; `number` is unique within one provider."""

    request: TextBody
    written: Sequence[Written]
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def usage(self) -> dict[str, int]:
        """Token counts of the prompts and the answers."""
        completion_tokens = sum(choice.size for w in self.written for choice in w.choices)
        return {
            "prompt_tokens": sum(len(written.tokens) for written in self.written),
            "completion_tokens": completion_tokens if self.request.max_tokens != 0 else 0,
        }

    @property
    def reports_usage(self) -> bool:
        """Whether the client gets the usage."""
        options = self.request.stream_options
        return not self.request.stream or bool(options and options.include_usage)

    def _choices(self) -> Iterator[tuple[int, Written, Sequence[Token], str]]:
        index = 0
        for written in self.written:
            for choice in written.choices:
                if self.request.max_tokens == 0:
                    yield index, written, (), "length"
                else:
                    yield index, written, written.following(choice), choice.finish_reason
                index += 1

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        choices: list[dict[str, Any]] = []
        for index, written, tokens, reason in self._choices():
            shown = [*(written.tokens if self.request.echo else ()), *tokens]
            start = 0 if self.request.echo else len(written.prompt)
            choice = self._choice(index, shown, start, reason)
            choices.append({**choice, **self._of_prompt(written)})
        return self._envelope(choices, usage=self._usage_with_total)

    def events(self) -> Iterator[str]:
        """Return the answer as a stream of server-sent events."""
        for chunk in self._chunks():
            yield f"data: {json.dumps(chunk)}"
        yield "data: [DONE]"

    @property
    def _usage_with_total(self) -> dict[str, int]:
        return {**self.usage, "total_tokens": sum(self.usage.values())}

    def _chunks(self) -> Iterator[dict[str, Any]]:
        for index, written, tokens, reason in self._choices():
            # The prompt comes in one chunk.
            pieces = [written.tokens] if self.request.echo else []
            end = 0 if self.request.echo else len(written.prompt)
            for piece in [*pieces, *((token,) for token in tokens)]:
                yield self._envelope([self._choice(index, piece, end, None)])
                end += sum(map(len, piece))
            yield self._envelope([self._choice(index, (), end, reason)])
        if self.reports_usage:
            yield self._envelope([], usage=self._usage_with_total)

    def _choice(
        self, index: int, tokens: Sequence[Token], start: int, reason: str | None
    ) -> dict[str, Any]:
        top = self.request.logprobs
        listed = None if top is None or not tokens else _listed(tokens, start, top)
        text = "".join(tokens)
        return {"index": index, "text": text, "logprobs": listed, "finish_reason": reason}

    def _of_prompt(self, written: Written) -> dict[str, Any]:
        """Return what vLLM says of a prompt, behind a beginning-of-text token."""
        fields: dict[str, Any] = {}
        top = self.request.prompt_logprobs
        if top is not None:
            positions = [None, *(_position(token, top) for token in written.tokens)]
            fields["prompt_logprobs"] = positions
        if self.request.return_token_ids:
            fields["prompt_token_ids"] = [_BEGIN_OF_TEXT, *map(_id, written.tokens)]
        return fields

    def _envelope(self, choices: list[dict[str, Any]], **fields: object) -> dict[str, Any]:
        return {
            "id": f"cmpl-{self.number}",
            "object": "text_completion",
            "created": self.created,
            "model": self.request.model,
            "choices": choices,
            **fields,
        }


def _listed(tokens: Sequence[Token], start: int, top: int) -> dict[str, Any]:
    """Return tokens as OpenAI lists them, from an offset on; before a first there is nothing."""
    numbers: list[float | None] = [round(token.logprob, 6) for token in tokens]
    tops: list[dict[str, float] | None] = [
        {text: round(logprob, 6) for text, logprob in token.likeliest(top)} for token in tokens
    ]
    first = start == 0
    return {
        "tokens": [str(token) for token in tokens],
        "text_offset": [*accumulate((len(t) for t in tokens[:-1]), initial=start)],
        "token_logprobs": [None, *numbers[1:]] if first else numbers,
        "top_logprobs": [None, *tops[1:]] if first else tops,
    }


def _position(token: Token, top: int) -> dict[int, Any]:
    likeliest = token.likeliest(top + 1)
    # The prompt's own token is listed even where it is not among the most probable.
    if likeliest[-1][0] != token and top > 0:
        likeliest = likeliest[:top]
    return {
        _id(text): {"logprob": round(logprob, 6), "rank": rank, "decoded_token": text}
        for rank, (text, logprob) in enumerate(likeliest, start=1)
    }


def _id(text: str) -> int:
    return zlib.crc32(text.encode())
