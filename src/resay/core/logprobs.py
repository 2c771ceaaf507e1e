"""Tokens and their log-probabilities, parsed from the formats of providers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, cast

from resay.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class TopLogprob:
    """A candidate token at some position.

    Attributes:
        token: Its text.
        logprob: The natural logarithm of its probability, in nats, at most 0.
    """

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of a text, and its probability according to the model.

    Attributes:
        token: Its text as displayed by the provider; undefined for a token that contains only some
            of the bytes of a character.
        logprob: The natural logarithm of its probability, in nats, at most 0; None if the model
            gave none, as for a first token with nothing before it.
        bytes: Its UTF-8 bytes, if the provider returns them; joined over all tokens they are the
            text, even if a character is split into several tokens.
        top: The most probable tokens at its position, as returned; they may or may not include it.
        entropy: The entropy of the full distribution at its position, in nats, if known.
    """

    token: str
    logprob: float | None
    bytes: tuple[int, ...] | None = None
    top: tuple[TopLogprob, ...] = ()
    entropy: float | None = None


def read_logprobs(logprobs: object) -> tuple[TokenLogprob, ...]:
    """Parse the `logprobs` of a choice, in the format of OpenAI's chat completions or completions.

    Args:
        logprobs: The provider's value, an object or a mapping; None if it returned none.

    Returns:
        The tokens; empty if any of them cannot be parsed, because the rest would not add up to the
        text.
    """
    if logprobs is None:
        return ()
    entries = _list_in(logprobs, "content")
    parsed = [_token(entry) for entry in entries] if entries else _parallel(logprobs)
    tokens = [token for token in parsed if token is not None]
    return tuple(tokens) if len(tokens) == len(parsed) else ()


def word_probability(token: TokenLogprob, word: str) -> float:
    """Return the probability that a token is a word, in any case and with any space around it.

    Args:
        token: The token, with the most probable ones at its position.
        word: The word, in lower case.
    """
    probability = 0.0
    for candidate in token.top or (token,):
        if candidate.token.strip().lower() == word and candidate.logprob is not None:
            probability += math.exp(min(candidate.logprob, 0.0))
    return probability


def tokens_of(entries: Iterable[object]) -> tuple[TokenLogprob, ...]:
    """Parse tokens passed by a user.

    Args:
        entries: Tokens, or the entries of OpenAI's `logprobs.content`, as objects or mappings.

    Raises:
        ConfigurationError: An entry is not a token.
    """
    if isinstance(entries, (str, bytes, Mapping)):
        kind = type(cast("object", entries)).__name__
        raise ConfigurationError(
            f"logprobs must be a list of tokens, not {kind!r}; pass `choice.logprobs.content`"
        )
    tokens: list[TokenLogprob] = []
    for index, entry in enumerate(entries):
        token = entry if isinstance(entry, TokenLogprob) else _token(entry)
        if token is None:
            raise ConfigurationError(
                f"entry {index} of logprobs is not a token; it needs 'token' (a string) and"
                " 'logprob' (a number)"
            )
        tokens.append(token)
    return tuple(tokens)


def _token(entry: object) -> TokenLogprob | None:
    text = field_of(entry, "token")
    if not isinstance(text, str):
        return None
    logprob = field_of(entry, "logprob")
    if logprob is not None and _number(logprob) is None:
        return None
    candidates = [_candidate(candidate) for candidate in _list_in(entry, "top_logprobs")]
    return TokenLogprob(
        token=text,
        logprob=_number(logprob),
        bytes=_bytes_in(entry),
        top=tuple(candidate for candidate in candidates if candidate is not None),
    )


def _candidate(entry: object) -> TopLogprob | None:
    text, logprob = field_of(entry, "token"), _number(field_of(entry, "logprob"))
    return TopLogprob(text, logprob) if isinstance(text, str) and logprob is not None else None


def _parallel(logprobs: object) -> list[TokenLogprob | None]:
    """Parse parallel lists with one entry per token, the format of completions."""
    texts, logprob_values = _list_in(logprobs, "tokens"), _list_in(logprobs, "token_logprobs")
    if len(texts) != len(logprob_values):
        return []
    tops = _list_in(logprobs, "top_logprobs")[: len(texts)]
    tokens: list[TokenLogprob | None] = []
    for text, value, top in zip_longest(texts, logprob_values, tops):
        if isinstance(text, str):
            token = TokenLogprob(token=text, logprob=_number(value), top=_candidates(top))
        else:
            token = None
        tokens.append(token)
    return tokens


def _candidates(top: object) -> tuple[TopLogprob, ...]:
    """Parse a mapping of tokens to their log-probabilities."""
    if not isinstance(top, Mapping):
        return ()
    candidates: list[TopLogprob] = []
    for text, value in cast("Mapping[str, object]", top).items():
        logprob = _number(value)
        if logprob is not None:
            candidates.append(TopLogprob(text, logprob))
    return tuple(candidates)


def _bytes_in(entry: object) -> tuple[int, ...] | None:
    values = field_of(entry, "bytes")
    if not isinstance(values, (list, tuple)):
        return None
    numbers: list[int] = []
    for value in cast("Sequence[object]", values):
        if not isinstance(value, int) or not 0 <= value < 256:
            return None
        numbers.append(value)
    return tuple(numbers)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    # An integer beyond the range of a float.
    except OverflowError:
        return None
    return None if math.isnan(number) else number


def _list_in(holder: object, name: str) -> Sequence[object]:
    value = field_of(holder, name)
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()


def field_of(holder: object, name: str) -> Any:
    """Return a field of an object or mapping; None if it is missing."""
    if type(holder) is dict or isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name)
    return getattr(holder, name, None)
