"""Models on Hugging Face's text-embeddings-inference (TEI).

All behaviour described here is from TEI's source code, and untested with a real server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from resay.errors import ConfigurationError, ResayError, ScorerError
from resay.models.arrays import doubles, floats, join, means, softmax, stack, units
from resay.models.files import labels_of
from resay.models.remote.batches import (
    CachedRequest,
    Outcomes,
    Part,
    RequestBatcher,
    ResultCache,
    by_size,
    cut,
    flat,
    regroup,
    replace_surrogates,
    weights,
)
from resay.models.remote.http import Reply, Server, TooLargeError

if TYPE_CHECKING:
    from resay.models.base import Doubles, Floats, Pair
    from resay.models.config import ModelConfig


K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

_Texts: TypeAlias = tuple[str, ...]
"""One text, or the two of a pair."""

_PRODUCT = "the text-embeddings-inference server"
PROBE = "a"
"""A text that every tokenizer knows, for finding the special tokens around a text."""


@dataclass(frozen=True, slots=True)
class Info:
    """The response of `/info`.

    Attributes:
        name: The server's name for the model.
        kind: The model's type: `classifier`, `reranker` (a classifier with one label) or
            `embedding`.
        labels: The server's names of the labels, in the order of the model's outputs.
        max_tokens: The model's maximum input length in tokens, including special tokens.
        max_items: The maximum number of texts or pairs in a request.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    max_tokens: int
    max_items: int


def _read_info(reply: Reply) -> Info:
    # {"model_type": {"classifier": {"id2label": {"0": "..."}}}, ...}
    ((kind, model),) = reply.body["model_type"].items()
    names: Mapping[str, str] = model.get("id2label") or {}
    labels = tuple(names[number] for number in sorted(names, key=int))
    limits = int(reply.body["max_input_length"]), int(reply.body["max_client_batch_size"])
    if min(limits) < 1:
        raise ValueError("limits below 1")
    return Info(str(reply.body["model_id"]), str(kind).lower(), labels, *limits)


@dataclass(frozen=True, slots=True)
class Edges:
    """The number of special tokens before and after a text."""

    before: int
    after: int

    @property
    def count(self) -> int:
        """The total number."""
        return self.before + self.after


class TeiServer:
    """A TEI server, which serves one model.

    Args:
        config: The server's settings.
        wanted: The required type of model.

    Attributes:
        config: The server's settings.
        server: The HTTP client.
        info: The server's `/info`.
        edges: The special tokens around a single text.
    """

    def __init__(self, config: ModelConfig, wanted: Literal["classifier", "embedding"]) -> None:
        self.config = config
        self.server = Server(config, _PRODUCT)
        self.info = CachedRequest(self._ask_info)
        self.edges = CachedRequest(self._ask_edges)
        self._wanted = wanted
        self._lengths: RequestBatcher[str, int] = self.batcher(
            self._ask_lengths, size=lambda text, _: len(text)
        )

    def batcher(
        self,
        send: Callable[[Sequence[K]], Any],
        *,
        size: Callable[[K, R], int],
        most: int | None = None,
    ) -> RequestBatcher[K, R]:
        """Batch items of concurrent callers, and split requests that are too large."""

        async def limit() -> int:
            known = (await self.info.get()).max_items
            return min(known, most or known)

        async def fresh_limit() -> int:
            return (await self.info.refresh()).max_items

        async def split(items: Sequence[K]) -> Outcomes[R]:
            outcomes: Outcomes[R] = await by_size(items, send, fresh_limit)
            return [await self._explained(outcome) for outcome in outcomes]

        kept: ResultCache[K, R] = ResultCache(self.config.cache_mb * 1e6, size)
        return RequestBatcher(
            split, max_items=limit, window_s=self.config.window_ms / 1000, cache=kept
        )

    async def _explained(self, outcome: R | ResayError) -> R | ResayError:
        if not isinstance(outcome, TooLargeError):
            return outcome
        limit = (await self.info.get()).max_tokens
        return ScorerError(
            f"{self.server.display_name} was sent a text, or a pair, longer than the {limit!r}"
            " tokens that its model reads at once; shorten it, or serve a model that reads more"
        )

    async def max_input_tokens(self, edges: int) -> int:
        """Return the number of tokens that fit beside the given number of special tokens."""
        limit = (await self.info.get()).max_tokens
        return max(min(limit, self.config.max_tokens or limit) - edges, 0)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        sound = [replace_surrogates(text) for text in texts]
        # The server refuses an empty text.
        counts = await self._lengths.map([text for text in sound if text])
        rest = iter(counts)
        return [next(rest) if text else 0 for text in sound]

    async def cut(self, texts: Sequence[str]) -> list[list[Part]]:
        """Split texts into parts that the model can read."""
        # The server refuses empty texts. For most tokenizers, a blank is no token.
        sound = [replace_surrogates(text) or " " for text in texts]
        return await cut(
            sound, await self.max_input_tokens((await self.edges.get()).count), self.lengths
        )

    async def _ask_info(self) -> Info:
        info = await self.server.get("/info", _read_info)
        classifies = info.kind in ("classifier", "reranker")
        if classifies != (self._wanted == "classifier"):
            raise ConfigurationError(
                f"{self.server.display_name} serves a model of the type {info.kind!r}, and"
                f" {self._wanted!r} is needed; set `url` to a server with such a model"
            )
        if classifies and (not info.labels or len(set(info.labels)) < len(info.labels)):
            raise ConfigurationError(
                f"{self.server.display_name} serves a model whose labels cannot be distinguished,"
                f" {info.labels!r}; name each of them differently in its config.json (`id2label`)"
            )
        return info

    async def _ask_edges(self) -> Edges:
        tokens = await self._tokenize([PROBE], special=True)
        flags = [bool(token["special"]) for token in tokens[0]]
        before = len(list(takewhile(bool, flags)))
        after = len(list(takewhile(bool, reversed(flags[before:]))))
        return Edges(before, after)

    async def _ask_lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens) for tokens in await self._tokenize(texts, special=False)]

    async def _tokenize(self, texts: Sequence[str], *, special: bool) -> list[list[Any]]:
        body = {"inputs": list(texts), "add_special_tokens": special}
        return await self.server.post("/tokenize", body, lambda r: rows_of(r.body, texts))


def rows_of(body: Any, items: Sequence[object]) -> list[Any]:
    """Return the rows of a decoded response.

    Raises:
        ValueError: The number of rows differs from the number of items.
    """
    rows: list[Any] = list(body)
    if len(rows) != len(items):
        raise ValueError("not one row for each item")
    return rows


# The embeddings of a text's tokens are some 100 kB of JSON; parsing a response with many texts
# would block other threads.
_TEXTS_OF_TOKENS = 8


class TeiClassifier:
    """A classifier of pairs, using TEI's `/predict`.

    It requests raw scores, which are the model's logits, and converts them to probabilities in
    float64: TEI's own are float32, and some of its versions subtract the score of the greatest
    magnitude instead of the greatest one, which overflows for strongly negative scores. TEI sorts
    the labels by score; they are put back into the order of the model's outputs by name.

    `max_tokens` only affects `max_input_tokens`; `classify` refuses only pairs that the server
    refuses.

    Args:
        config: The server's settings. `labels` renames the model's labels, in the order of its
            outputs.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._tei = TeiServer(config, "classifier")
        self._rows: RequestBatcher[_Texts, Doubles] = self._tei.batcher(
            self._predict, size=_bytes_of
        )
        self._edges = CachedRequest(self._ask_edges)

    async def prepare(self) -> None:
        """Check that the server responds, and serves a classifier.

        Raises:
            ConfigurationError: It serves no classifier, or there is no such server.
            ScorerError: It does not respond.
        """
        await self.labels()

    async def labels(self) -> tuple[str, ...]:
        """Return the label names; see `PairClassifier`."""
        info = await self._tei.info.get()
        config = self._tei.config
        named = config.model_copy(update={"name": config.name or info.name})
        return labels_of(named, dict(enumerate(info.labels)))

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        return await self._tei.lengths(texts)

    async def max_input_tokens(self) -> int:
        """Return the maximum number of tokens in a pair of texts.

        The number of special tokens in a pair is derived from the token count that TEI reports for
        one. If it reports none, twice that of a single text is used, the most that any known
        tokenizer adds.
        """
        return await self._tei.max_input_tokens(await self._edges.get())

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Classify pairs; see `PairClassifier`."""
        await self.labels()
        return softmax(await self.logits(pairs))

    async def logits(self, pairs: Sequence[Pair]) -> Doubles:
        """Score pairs; see `PairScorer`."""
        width = len((await self._tei.info.get()).labels)
        sound = [(replace_surrogates(a), replace_surrogates(b)) for a, b in pairs]
        # The server refuses a pair of two empty texts.
        rows = await self._rows.map([pair if any(pair) else (" ", " ") for pair in sound])
        return stack(rows, width)

    async def text_logits(self, texts: Sequence[str]) -> Doubles:
        """Score single texts; see `TextScorer`."""
        await self.labels()
        width = len((await self._tei.info.get()).labels)
        return stack(
            await self._rows.map([(replace_surrogates(text) or " ",) for text in texts]), width
        )

    async def max_text_tokens(self) -> int:
        """Return the maximum number of tokens in a single text."""
        return await self._tei.max_input_tokens((await self._tei.edges.get()).count)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._tei.server.aclose()

    async def _predict(self, texts: Sequence[_Texts]) -> list[Doubles]:
        names = (await self._tei.info.get()).labels
        return list(await self._send(texts, lambda r: _read_scores(r, texts, names)))

    async def _ask_edges(self) -> int:
        tokens = await self._send(
            [(PROBE, PROBE)], lambda r: int(r.headers.get("x-compute-tokens", 0))
        )
        inside = 2 * (await self.lengths([PROBE]))[0]
        if tokens > inside:
            return tokens - inside
        return 2 * (await self._tei.edges.get()).count

    async def _send(self, texts: Sequence[_Texts], read: Callable[[Reply], R]) -> R:
        # Always a list of lists: TEI takes a plain list of two texts for one pair. Never truncated,
        # since the text cut off would count as read.
        body = {"inputs": [list(each) for each in texts], "raw_scores": True, "truncate": False}
        return await self._tei.server.post("/predict", body, read)


class TeiTextClassifier:
    """A classifier of single texts, using TEI's `/predict`; see `TeiClassifier`.

    Args:
        config: The server's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._of_pairs = TeiClassifier(config)

    async def prepare(self) -> None:
        """Check that the server responds, and serves a classifier.

        Raises:
            ConfigurationError: It serves no classifier, or there is no such server.
            ScorerError: It does not respond.
        """
        await self._of_pairs.prepare()

    async def labels(self) -> tuple[str, ...]:
        """Return the label names; see `TextClassifier`."""
        return await self._of_pairs.labels()

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        return await self._of_pairs.lengths(texts)

    async def max_input_tokens(self) -> int:
        """Return the maximum number of tokens in a text."""
        return await self._of_pairs.max_text_tokens()

    async def classify(self, texts: Sequence[str]) -> Doubles:
        """Classify texts; see `TextClassifier`."""
        return softmax(await self._of_pairs.text_logits(texts))

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._of_pairs.aclose()


def _read_scores(reply: Reply, texts: Sequence[_Texts], names: Sequence[str]) -> Doubles:
    by_name = [{p["label"]: p["score"] for p in row} for row in rows_of(reply.body, texts)]
    if any(len(row) != len(names) for row in by_name):
        raise ValueError("not one score for each label")
    return doubles([[row[name] for name in names] for row in by_name], 2)


def _bytes_of(texts: _Texts, row: Doubles) -> int:
    return sum(map(len, texts)) + row.nbytes


class TeiSentenceEmbedder:
    """A sentence embedder, using TEI's `/embed`.

    A text longer than the model's input is split at white space into parts of similar length. Their
    embeddings, each of length 1, are averaged, weighted by their tokens.

    Args:
        config: The server's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._tei = TeiServer(config, "embedding")
        self._rows: RequestBatcher[str, Floats] = self._tei.batcher(self._embed, size=_text_bytes)

    async def prepare(self) -> None:
        """Check that the server responds, and serves an embedder.

        Raises:
            ConfigurationError: It serves no embedder, or there is no such server.
            ScorerError: It does not respond.
        """
        await self._tei.info.get()

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Embed texts; see `SentenceEmbedder`. Without texts, the array has shape (0, 0)."""
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
    """A token embedder, using TEI's `/embed_all`.

    According to TEI's source, `/embed_all` returns a row for each token that the model read,
    including special tokens. This is verified: with the first text, a known one is sent, and its
    rows are compared with `/tokenize`. The parts of a long text are embedded separately.

    Args:
        config: The server's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._tei = TeiServer(config, "embedding")
        self._edges = CachedRequest(self._ask_edges)
        self._tokens: RequestBatcher[str, Floats] = self._tei.batcher(
            self._embed, size=_text_bytes, most=_TEXTS_OF_TOKENS
        )

    async def prepare(self) -> None:
        """Check that the server responds, and serves an embedder.

        Raises:
            ConfigurationError: It serves no embedder, there is no such server, or it reads more
                than the texts that it is sent.
            ScorerError: It does not respond.
        """
        await self._edges.get()

    async def embed_tokens(self, texts: Sequence[str]) -> list[Floats]:
        """Embed the tokens of texts; see `TokenEmbedder`."""
        parts = await self._tei.cut(texts)
        rows = regroup(await self._tokens.map(flat(parts)), parts)
        joined = [join(of_text) for of_text in rows]
        # Empty texts were sent as a blank, which is a token for some tokenizers.
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
            f"{self._tei.server.display_name} answered with {rows!r} embeddings for a text of"
            f" {tokens!r} tokens and {edges.count!r} special ones; start it without a default"
            " prompt"
        )


def _read_tokens(reply: Reply, texts: Sequence[str], edges: Edges) -> list[Floats]:
    arrays = [floats(rows, 2) for rows in rows_of(reply.body, texts)]
    if any(len(array) < edges.count for array in arrays):
        raise ValueError("fewer rows than special tokens")
    return [units(array[edges.before : len(array) - edges.after]) for array in arrays]


class RerankClassifier:
    """A reranker as a `PairClassifier` of one label, with queries as the first texts.

    Each query is one request with all its texts. The service itself truncates texts that are too
    long for the model, and its own scores are returned, usually from 0 to 1.

    Args:
        config: The service's URL, with or without a trailing `/rerank`, and its name for the model.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._config = config
        self._server = Server(config, "the rerank server", suffix="/rerank")
        self._works = CachedRequest(self._try)

    async def prepare(self) -> None:
        """Check that the service responds, with one request.

        Raises:
            ConfigurationError: It does not accept the key, or there is no such service.
            ScorerError: It does not respond.
        """
        await self._works.get()

    async def labels(self) -> tuple[str, ...]:
        """Return the name of the score; see `PairClassifier`."""
        return ("relevance",)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return 0 for each text: the service does not count tokens."""
        return [0] * len(texts)

    async def max_input_tokens(self) -> None:
        """Return None: texts may have any length."""

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Return the relevance of the second texts to the first, of shape (pairs, 1)."""
        sound = [
            (replace_surrogates(query), replace_surrogates(text) or " ") for query, text in pairs
        ]
        asked: dict[str, dict[str, None]] = {}
        for query, text in sound:
            asked.setdefault(query, {})[text] = None
        rows = await asyncio.gather(*(self._ask(q, list(texts)) for q, texts in asked.items()))
        known = {
            (query, text): score
            for (query, texts), scores in zip(asked.items(), rows, strict=True)
            for text, score in zip(texts, scores, strict=True)
        }
        return stack([doubles([known[pair]], 1) for pair in sound], 1)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._server.aclose()

    async def _ask(self, query: str, texts: Sequence[str]) -> list[float]:
        body = {"query": query or " ", "documents": list(texts), "top_n": len(texts)}
        if self._config.name:
            body["model"] = self._config.name
        return await self._server.post("/rerank", body, lambda reply: _scores(reply, len(texts)))

    async def _try(self) -> bool:
        await self._ask("a", ["a"])
        return True


def _scores(reply: Reply, wanted: int) -> list[float]:
    # The best results come first; the index identifies the text.
    rows = {int(row["index"]): float(row["relevance_score"]) for row in reply.body["results"]}
    if set(rows) != set(range(wanted)):
        raise ValueError("not one score for each text")
    return doubles([rows[place] for place in range(wanted)], 1).tolist()
