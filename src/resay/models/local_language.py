"""A language model in this process that gives the probability of each token of a text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, chain
from math import isnan

import anyio.to_thread

from resay.core.logprobs import TokenLogprob
from resay.models.config import ModelConfig
from resay.models.encoding import Encoded, Spans
from resay.models.loading import text_model

__all__ = ["LocalLanguageModel"]


class LocalLanguageModel:
    """Scores texts with a causal language model. A text longer than it reads is read in parts.

    Args:
        config: The model's settings.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._model = text_model(config)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: It cannot be had as configured.
        """
        await self._model.prepare()

    async def score_text(self, prompt: str, text: str) -> tuple[TokenLogprob, ...]:
        """Return the tokens of a text behind a prompt.

        Args:
            prompt: What stands in front of the text; may be empty.
            text: The text.

        Returns:
            The tokens of prompt and text, in order, each with its bytes and the entropy over the
            whole vocabulary. The first of each part has no probability where the model has no
            token to begin with.

        Raises:
            ConfigurationError: The model cannot be had as configured.
            ScorerError: The model failed.
        """
        encoder = await self._model.encoder()
        whole, spans = await anyio.to_thread.run_sync(encoder.spans, prompt + text)
        parts = encoder.split(whole)
        rows = await self._model.rows(parts)
        values = chain.from_iterable(
            (row for row, special in zip(found, part.special, strict=True) if not special)
            for found, part in zip(rows, parts, strict=True)
        )
        pieces = _pieces(whole, spans, prompt + text)
        return tuple(
            _token(piece, float(value[0]), float(value[1]))
            for piece, value in zip(pieces, values, strict=True)
        )


def _token(piece: bytes, logprob: float, entropy: float) -> TokenLogprob:
    known = not isnan(logprob)
    return TokenLogprob(
        piece.decode("utf-8", "replace"),
        logprob if known else None,
        tuple(piece),
        entropy=entropy if known else None,
    )


def _pieces(whole: Encoded, spans: Spans, text: str) -> Iterator[bytes]:
    """Yield the bytes of the text that each of its tokens stands for; joined they are the text.

    A character that several tokens share is divided between them, so that each has a part of it.
    """
    data = text.encode("utf-8", "surrogatepass")
    starts = [0, *accumulate(len(c.encode("utf-8", "surrogatepass")) for c in text)]
    own = [span for span, special in zip(spans, whole.special, strict=True) if not special]
    done = 0
    for i, (_, end) in enumerate(own):
        # At most four tokens share a character: it has no more bytes.
        sharing = sum(begin < end for begin, _ in own[i + 1 : i + 4])
        last = i == len(own) - 1
        stop = len(data) if last else max(starts[end] - sharing, done)
        yield data[done:stop]
        done = stop
