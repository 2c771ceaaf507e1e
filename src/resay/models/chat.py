"""Requests to chat models, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resay.core.logprobs import TokenLogprob


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a chat model, at temperature 0.

    Attributes:
        messages: Pairs of a role and a text.
        max_tokens: The maximum number of tokens of the answer.
        top_logprobs: For each token of the answer, the number of alternatives to return with their
            log probabilities; 0 for none.
        extra: Further fields of the request's body, such as those that fill a chat template.
    """

    messages: Sequence[tuple[str, str]]
    max_tokens: int
    top_logprobs: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The answer of a chat model.

    Attributes:
        text: The answer.
        was_cut: Whether it reached `max_tokens`.
        tokens: Its tokens with their log probabilities; empty if the server returned none.
    """

    text: str
    was_cut: bool = False
    tokens: tuple[TokenLogprob, ...] = ()
