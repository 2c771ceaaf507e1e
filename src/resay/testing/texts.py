"""The shapes of OpenAI's completions API, as far as it says how probable a prompt is."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from pydantic import Field, field_validator

from resay.testing.body import MODEL, Body
from resay.testing.tokens import Token, tokenize

__all__ = ["TextBody", "TextCompletion"]

_WRITTEN = " And that is all there is to say about it."
_BEGIN_OF_TEXT = 1


class TextBody(Body):
    """The body of a completion request."""

    model: str = MODEL
    prompt: str = Field(min_length=1)
    max_tokens: int = Field(16, ge=0)
    echo: bool | None = None
    logprobs: int | None = Field(None, ge=0, le=20)
    prompt_logprobs: int | None = Field(None, ge=0, le=20)
    return_token_ids: bool | None = None
    stream: bool | None = None

    @field_validator("stream")
    @classmethod
    def _must_be_off(cls, stream: bool | None) -> bool | None:
        if stream:
            raise ValueError("completions of plain text are not streamed here")
        return stream

    @property
    def wants_logprobs(self) -> bool:
        """Whether it asks for log-probabilities."""
        return self.logprobs is not None or self.prompt_logprobs is not None


@dataclass(frozen=True, slots=True)
class TextCompletion:
    """The answer to a completion request.

    Attributes:
        request: What was asked.
        read: The tokens of the prompt.
        number: Tells completions of one provider apart.
        created: When it was made, in seconds since 1970.
    """

    request: TextBody
    read: Sequence[Token]
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def usage(self) -> dict[str, int]:
        """What the request and the answer cost, in tokens."""
        prompt, completion = len(self.read), len(self._written)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }

    @property
    def _written(self) -> list[Token]:
        return [Token(text, -0.01) for text in tokenize(_WRITTEN)[: self.request.max_tokens]]

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        shown = [*self.read, *self._written] if self.request.echo else self._written
        choice: dict[str, Any] = {
            "index": 0,
            "text": "".join(token.text for token in shown),
            "logprobs": None,
            "finish_reason": "length",
        }
        if self.request.logprobs is not None:
            choice["logprobs"] = self._listed(shown, self.request.logprobs)
        if self.request.prompt_logprobs is not None:
            choice["prompt_logprobs"] = self._places(self.request.prompt_logprobs)
        if self.request.return_token_ids:
            choice["prompt_token_ids"] = [_BEGIN_OF_TEXT, *(_id(t.text) for t in self.read)]
        return {
            "id": f"cmpl-{self.number}",
            "object": "text_completion",
            "created": self.created,
            "model": self.request.model,
            "choices": [choice],
            "usage": self.usage,
        }

    def _listed(self, shown: Sequence[Token], top: int) -> dict[str, Any]:
        """Return the tokens as OpenAI lists them; nothing precedes the first of a prompt."""
        logprobs = [round(token.logprob, 6) for token in shown]
        tops = [
            {text: round(logprob, 6) for text, logprob in token.likeliest(top)} for token in shown
        ]
        return {
            "tokens": [token.text for token in shown],
            "text_offset": [0, *accumulate(len(token.text) for token in shown)][: len(shown)],
            "token_logprobs": [None, *logprobs[1:]] if self.request.echo else logprobs,
            "top_logprobs": [None, *tops[1:]] if self.request.echo else tops,
        }

    def _places(self, top: int) -> list[dict[int, Any] | None]:
        """Return the prompt's places as vLLM lists them, behind a beginning-of-text token."""
        return [None, *(_place(token, top) for token in self.read)]


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
