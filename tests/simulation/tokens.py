"""The tokens of the simulated model, and how probable it finds them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

__all__ = ["Token", "probable", "speak", "tokenize"]

_FOUR_BYTES = 0xF0
_TOKEN = re.compile(r"\s*(?:\w+|[^\w\s]+)|\s+")
_OTHERS = tuple(
    f" {word}"
    for word in (
        *("the", "a", "of", "in", "and", "to", "was", "is", "by", "for", "on"),
        *("it", "at", "as", "an", "with", "from", "that", "its", "one", "or"),
    )
)


def tokenize(text: str) -> list[str]:
    """Cut a text into words and runs of punctuation, each with the white space before it."""
    return _TOKEN.findall(text)


@dataclass(frozen=True, slots=True)
class Token:
    """One token of an answer.

    Attributes:
        text: The token; the tokens of an answer joined are its text.
        logprob: The natural logarithm of its probability, at most 0.
        rival: What the model would rather have said instead; None for no matter what.
    """

    text: str
    logprob: float
    rival: str | None = None

    @property
    def pieces(self) -> list[bytes]:
        """Its bytes; a character of four of them is cut in two, as tokenizers cut rare ones."""
        data = self.text.encode()
        cuts = [0, *(i + 2 for i, byte in enumerate(data) if byte >= _FOUR_BYTES), len(data)]
        return [data[start:end] for start, end in pairwise(cuts)]

    def as_json(self, top: int) -> list[dict[str, Any]]:
        """Return the token as `logprobs.content` lists it, a dictionary for each of its pieces."""
        first, *others = self.pieces
        listed = [_logprob(text, logprob) for text, logprob in self.likeliest(top)]
        if not others:
            return [{**_logprob(self.text, self.logprob), "top_logprobs": listed}]
        # Nothing but what completes the character can follow its first bytes.
        cut = [_partial(first, self.logprob), *(_partial(piece, 0.0) for piece in others)]
        return [{**piece, "top_logprobs": [piece][:top]} for piece in cut]

    def likeliest(self, count: int) -> list[tuple[str, float]]:
        """Return the token and its likeliest rivals with their log-probabilities, likeliest first.

        Args:
            count: How many, the token itself among them.
        """
        others = [self.rival, *_OTHERS] if self.rival else [*_OTHERS]
        rest = math.log(max(1e-9, -math.expm1(self.logprob)))
        ranked = [(self.text, self.logprob)]
        # Half of what is left goes to the first rival, a quarter to the second, and so on.
        ranked += [
            (t, rest - (i + 1) * math.log(2)) for i, t in enumerate(others) if t != self.text
        ]
        return sorted(ranked[:count], key=lambda pair: -pair[1])


def _logprob(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": round(logprob, 6), "bytes": list(text.encode())}


def _partial(data: bytes, logprob: float) -> dict[str, Any]:
    shown = data.decode(errors="backslashreplace")
    return {"token": shown, "logprob": round(logprob, 6), "bytes": list(data)}


def speak(text: str, rng: random.Random, *, sure: bool, rival: str | None = None) -> list[Token]:
    """Return the tokens of a text, with the probabilities of a model that is sure of it or not.

    An unsure model is still sure of the small words; it guesses numbers and names.
    """
    return [Token(token, probable(token, rng, sure=sure), rival) for token in tokenize(text)]


def probable(token: str, rng: random.Random, *, sure: bool) -> float:
    """Return a log-probability of a token, to a model that is sure of what it says or not."""
    guess = not sure and any(c.isdigit() or c.isupper() for c in token)
    return -rng.uniform(0.8, 3.5) if guess else -rng.uniform(0.001, 0.12)
