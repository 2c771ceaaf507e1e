"""What `auto` in a policy's `limits` allows."""

from __future__ import annotations

from dataclasses import dataclass

_CALLS = 100
_CALLS_PER_PAIR = 2
_MAX_CALLS = 1_000
_TOKENS = 50_000
_TOKENS_PER_PAIR = 1_000
_MAX_TOKENS = 500_000
_MIN_SAMPLES = 10
# The sentences for which the references are read again.
_READING_SENTENCES = 50
# Requests with the whole question, besides the samples.
_OTHER_REQUESTS = 5


@dataclass(frozen=True, slots=True)
class Allowance:
    """The budget of a check.

    Attributes:
        calls: Number of calls.
        tokens: Number of prompt and completion tokens.
    """

    calls: int
    tokens: int


def allowance(
    sentences: int, *, samples: int, question_tokens: int = 0, reference_tokens: int = 0
) -> Allowance:
    """Return the calls and tokens that `auto` in `limits` allows.

    A method may compare each sentence with each sample. Each such pair allows 2 calls and 1,000
    tokens, up to a maximum, so that the cost of an answer does not grow without limit. Text
    supplied by callers is read again with each sample or sentence, and is allowed in addition: a
    long question must not leave an answer unchecked.

    Args:
        sentences: Number of sentences of the answer; fields, if it is an object.
        samples: Maximum number of samples; fewer than 10 count as 10, for methods that need none.
        question_tokens: Tokens of the question and everything sent with it.
        reference_tokens: Tokens of the references and of the documents for regenerating the answer.
    """
    pairs = sentences * max(samples, _MIN_SAMPLES)
    text_tokens = (samples + _OTHER_REQUESTS) * question_tokens
    text_tokens += min(sentences, _READING_SENTENCES) * reference_tokens
    return Allowance(
        calls=min(_CALLS + _CALLS_PER_PAIR * pairs, _MAX_CALLS),
        tokens=min(_TOKENS + _TOKENS_PER_PAIR * pairs, _MAX_TOKENS) + 2 * text_tokens,
    )
