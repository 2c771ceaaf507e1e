"""Models behind Hugging Face's text-embeddings-inference (TEI).

What is said here about TEI was read in its source; no real server could be tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from resay.errors import ConfigurationError
from resay.models.arrays import doubles, floats, join, means, softmax, stack, units
from resay.models.labels import labels_of
from resay.models.remote_batches import Once, Together
from resay.models.remote_http import Reply
from resay.models.remote_tei_server import PROBE, Edges, TeiServer, rows_of
from resay.models.remote_texts import flat, regroup, weights, without_halves

if TYPE_CHECKING:
    from resay.models.base import Doubles, Floats, Pair
    from resay.models.config import ModelConfig

__all__ = ["TeiClassifier", "TeiSentenceEmbedder", "TeiTokenEmbedder"]

R = TypeVar("R")

# The embeddings of a text's tokens are some 100 kB of JSON; an answer with many would keep other
# threads waiting while it is read.
_TEXTS_OF_TOKENS = 8


class TeiClassifier:
    """A classifier of pairs behind TEI's `/predict`.

    Raw scores are asked for, which are the model's logits, and made into probabilities here in
    float64: TEI's own are float32, and some of its versions subtract the score of the greatest
    magnitude instead of the greatest one, which overflows for strongly negative scores. The labels,
    which TEI sorts by score, are put into the order of the model's outputs by their names.

    `max_tokens` is what `room` says; `classify` refuses only what the server refuses.

    Args:
        config: Where the server is. `labels` renames the model's labels, in the order of its
            outputs.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._tei = TeiServer(config, "classifier")
        self._rows: Together[Pair, Doubles] = self._tei.together(self._predict, size=_pair_bytes)
        self._edges = Once(self._ask_edges)

    async def prepare(self) -> None:
        """See that the server answers, and serves a classifier.

        Raises:
            ConfigurationError: It does not, or there is no such server.
            ScorerError: It does not answer.
        """
        await self.labels()

    async def labels(self) -> tuple[str, ...]:
        """Return the labels' names; see `PairClassifier`."""
        info = await self._tei.info.get()
        config = self._tei.config
        named = config.model_copy(update={"name": config.name or info.name})
        return labels_of(named, dict(enumerate(info.labels)))

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, without special tokens."""
        return await self._tei.lengths(texts)

    async def room(self) -> int:
        """Return how many tokens the two texts of a pair may have together.

        How many special tokens a pair has is read off what TEI says it computed for one; where it
        does not say so, twice those of a single text, as many as any tokenizer we know adds.
        """
        return await self._tei.room(await self._edges.get())

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Classify pairs; see `PairClassifier`."""
        await self.labels()
        return softmax(await self.logits(pairs))

    async def logits(self, pairs: Sequence[Pair]) -> Doubles:
        """Score pairs; see `PairScorer`."""
        width = len((await self._tei.info.get()).labels)
        sound = [(without_halves(a), without_halves(b)) for a, b in pairs]
        # The server refuses a pair of two empty texts.
        rows = await self._rows.map([pair if any(pair) else (" ", " ") for pair in sound])
        return stack(rows, width)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._tei.server.aclose()

    async def _predict(self, pairs: Sequence[Pair]) -> list[Doubles]:
        names = (await self._tei.info.get()).labels
        return list(await self._send(pairs, lambda r: _read_scores(r, pairs, names)))

    async def _ask_edges(self) -> int:
        tokens = await self._send(
            [(PROBE, PROBE)], lambda r: int(r.headers.get("x-compute-tokens", 0))
        )
        inside = 2 * (await self.lengths([PROBE]))[0]
        if tokens > inside:
            return tokens - inside
        return 2 * (await self._tei.edges.get()).count

    async def _send(self, pairs: Sequence[Pair], read: Callable[[Reply], R]) -> R:
        # Always a list of lists: to TEI a plain list of two texts is one pair. Never cut: what was
        # cut off would count as read.
        body = {"inputs": [list(p) for p in pairs], "raw_scores": True, "truncate": False}
        return await self._tei.server.post("/predict", body, read)


def _read_scores(reply: Reply, pairs: Sequence[Pair], names: Sequence[str]) -> Doubles:
    by_name = [{p["label"]: p["score"] for p in row} for row in rows_of(reply.body, pairs)]
    if any(len(row) != len(names) for row in by_name):
        raise ValueError("not one score for each label")
    return doubles([[row[name] for name in names] for row in by_name], 2)


def _pair_bytes(pair: Pair, row: Doubles) -> int:
    return len(pair[0]) + len(pair[1]) + row.nbytes


class TeiSentenceEmbedder:
    """A sentence embedder behind TEI's `/embed`.

    A text that is longer than the model reads is cut at white space into parts of like length,
    whose embeddings, each of length 1, are averaged by their tokens.

    Args:
        config: Where the server is.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._tei = TeiServer(config, "embedding")
        self._rows: Together[str, Floats] = self._tei.together(self._embed, size=_text_bytes)

    async def prepare(self) -> None:
        """See that the server answers, and serves an embedder.

        Raises:
            ConfigurationError: It does not, or there is no such server.
            ScorerError: It does not answer.
        """
        await self._tei.info.get()

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Embed texts; see `SentenceEmbedder`. No texts make an array of shape (0, 0)."""
        parts = await self._tei.cut(texts)
        rows = regroup(await self._rows.map(flat(parts)), parts)
        return means(rows, weights(parts))

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._tei.server.aclose()

    async def _embed(self, texts: Sequence[str]) -> list[Floats]:
        body = {"inputs": list(texts), "normalize": True, "truncate": False}
        return await self._tei.server.post(
            "/embed", body, lambda r: list(units(floats(rows_of(r.body, texts), 2)))
        )


def _text_bytes(text: str, rows: Floats) -> int:
    return len(text) + rows.nbytes


class TeiTokenEmbedder:
    """A token embedder behind TEI's `/embed_all`.

    In its source, `/embed_all` answers with a row for each token the model read, special tokens
    included. That is not taken for granted: with the first text a known one is sent, and compared
    with what `/tokenize` says of it. The parts of a long text are embedded each on its own.

    Args:
        config: Where the server is.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._tei = TeiServer(config, "embedding")
        self._edges = Once(self._ask_edges)
        self._tokens: Together[str, Floats] = self._tei.together(
            self._embed, size=_text_bytes, most=_TEXTS_OF_TOKENS
        )

    async def prepare(self) -> None:
        """See that the server answers, and serves an embedder.

        Raises:
            ConfigurationError: It does not, there is no such server, or it reads more than the
                texts it is sent.
            ScorerError: It does not answer.
        """
        await self._edges.get()

    async def embed_tokens(self, texts: Sequence[str]) -> list[Floats]:
        """Embed the tokens of texts; see `TokenEmbedder`."""
        parts = await self._tei.cut(texts)
        rows = regroup(await self._tokens.map(flat(parts)), parts)
        joined = [join(of_text) for of_text in rows]
        # An empty text was sent as a blank, which to some tokenizers is a token.
        return [array if text else array[:0] for array, text in zip(joined, texts, strict=True)]

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._tei.server.aclose()

    async def _embed(self, texts: Sequence[str]) -> list[Floats]:
        edges = await self._edges.get()
        return await self._send(texts, lambda r: _read_tokens(r, texts, edges))

    async def _send(self, texts: Sequence[str], read: Callable[[Reply], R]) -> R:
        body = {"inputs": list(texts), "truncate": False}
        return await self._tei.server.post("/embed_all", body, read)

    async def _ask_edges(self) -> Edges:
        edges = await self._tei.edges.get()
        (tokens,) = await self._tei.lengths([PROBE])
        rows = await self._send([PROBE], lambda r: len(rows_of(r.body, [PROBE])[0]))
        if rows == tokens + edges.count:
            return edges
        if rows == tokens:
            return Edges(0, 0)
        raise ConfigurationError(
            f"{self._tei.server.called} answered with {rows!r} embeddings for a text of {tokens!r}"
            f" tokens and {edges.count!r} special ones; start it without a default prompt"
        )


def _read_tokens(reply: Reply, texts: Sequence[str], edges: Edges) -> list[Floats]:
    arrays = [floats(rows, 2) for rows in rows_of(reply.body, texts)]
    if any(len(array) < edges.count for array in arrays):
        raise ValueError("fewer rows than special tokens")
    return [units(array[edges.before : len(array) - edges.after]) for array in arrays]
