"""What a check may spend where the policy names no numbers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Allowance", "allowance"]

_CALLS, _MOST_CALLS = 100, 1_000
_TOKENS, _MOST_TOKENS = 50_000, 500_000
_PAIR_CALLS, _PAIR_TOKENS = 2, 1_000
_LEAST_SAMPLES = 10
_READING_SENTENCES = 50
_REQUESTS_BESIDE = 5


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a check may spend.

    Attributes:
        calls: How many calls.
        tokens: How many tokens, read and written.
    """

    calls: int
    tokens: int


def allowance(
    sentences: int, *, samples: int, question_tokens: int = 0, reference_tokens: int = 0
) -> Allowance:
    """Return what `auto` in `limits` stands for.

    A method may put each sentence beside each sample. For each such pair there are 2 calls and
    1,000 tokens, up to a ceiling, so that what an answer may cost does not grow with it for ever.
    What callers supply is read again with each sample, or each sentence, and comes on top: nobody
    who asks a long question is to be left without a check.

    Args:
        sentences: How many the answer has; fields, if it is an object.
        samples: How many there may be; fewer than 10 count as 10, for methods that need none.
        question_tokens: How long the question is, with all that is sent with it.
        reference_tokens: How long the references are, and the documents that a flagged answer is
            written again from.
    """
    pairs = sentences * max(samples, _LEAST_SAMPLES)
    given = (samples + _REQUESTS_BESIDE) * question_tokens
    given += min(sentences, _READING_SENTENCES) * reference_tokens
    return Allowance(
        min(_CALLS + _PAIR_CALLS * pairs, _MOST_CALLS),
        min(_TOKENS + _PAIR_TOKENS * pairs, _MOST_TOKENS) + 2 * given,
    )
