"""Models on Hugging Face's text-embeddings-inference (TEI).

All behaviour described here is from TEI's source code, and untested with a real server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from resay.errors import ConfigurationError
from resay.models.arrays import doubles, floats, join, softmax, stack, units
from resay.models.files import labels_of
from resay.models.remote.batches import (
    CachedRequest,
    RequestBatcher,
    flat,
    regroup,
    replace_surrogates,
)
from resay.models.remote.http import Reply, Server
from resay.models.remote.model_server import (
    PROBE,
    ModelServer,
    RemoteSentenceEmbedder,
    SingleTextClassifier,
    text_bytes,
)

if TYPE_CHECKING:
    from resay.models.base import Doubles, Floats, Pair
    from resay.models.config import ModelConfig


R = TypeVar("R")

_Texts: TypeAlias = tuple[str, ...]
"""One text, or the two of a pair."""

_PRODUCT = "the text-embeddings-inference server"


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
    info = Info(
        name=str(reply.body["model_id"]),
        kind=str(kind).lower(),
        labels=labels,
        max_tokens=int(reply.body["max_input_length"]),
        max_items=int(reply.body["max_client_batch_size"]),
    )
    if min(info.max_tokens, info.max_items) < 1:
        raise ValueError("limits below 1")
    return info


@dataclass(frozen=True, slots=True)
class Edges:
    """The number of special tokens before and after a text."""

    before: int
    after: int

    @property
    def count(self) -> int:
        """The total number."""
        return self.before + self.after


class TeiServer(ModelServer):
    """A TEI server, which serves one model.

    Args:
        config: The server's settings.
        kind: The required type of model.

    Attributes:
        info: The server's `/info`.
        edges: The special tokens around a single text.
    """

    def __init__(self, config: ModelConfig, kind: Literal["classifier", "embedding"]) -> None:
        super().__init__(config, Server(config, _PRODUCT))
        self.info = CachedRequest(self._request_info)
        self.edges = CachedRequest(self._request_edges)
        self._kind = kind

    async def max_items(self, *, refresh: bool = False) -> int:
        """Return the maximum number of items in a request."""
        info = await (self.info.refresh() if refresh else self.info.get())
        return info.max_items

    async def max_tokens(self) -> int:
        """Return the model's maximum input length, including special tokens."""
        return (await self.info.get()).max_tokens

    def too_long_message(self, max_tokens: int | None) -> str:
        """Return the message of the error for a text that the server refuses."""
        return (
            f"{self.server.display_name} was sent a text, or a pair, longer than the"
            f" {max_tokens!r} tokens that its model reads at once; shorten it, or serve a model"
            " that reads more"
        )

    async def _request_info(self) -> Info:
        info = await self.server.get("/info", _read_info)
        classifies = info.kind in ("classifier", "reranker")
        if classifies != (self._kind == "classifier"):
            raise ConfigurationError(
                f"{self.server.display_name} serves a model of the type {info.kind!r}, and"
                f" {self._kind!r} is needed; set `url` to a server with such a model"
            )
        if classifies and (not info.labels or len(set(info.labels)) < len(info.labels)):
            raise ConfigurationError(
                f"{self.server.display_name} serves a model whose labels cannot be distinguished,"
                f" {info.labels!r}; name each of them differently in its config.json (`id2label`)"
            )
        return info

    async def _request_text_edges(self) -> int:
        return (await self.edges.get()).count

    async def _request_edges(self) -> Edges:
        tokens = await self._tokenize([PROBE], special=True)
        are_special = [bool(token["special"]) for token in tokens[0]]
        before = len(list(takewhile(bool, are_special)))
        after = len(list(takewhile(bool, reversed(are_special[before:]))))
        return Edges(before, after)

    async def _request_lengths(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, await self._tokenize(texts, special=False)))

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
_MAX_TOKEN_TEXTS = 8


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
        self._edges = CachedRequest(self._request_edges)

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

    async def max_input_tokens(self) -> int | None:
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
        inputs: list[_Texts] = []
        for pair in pairs:
            encodable = tuple(map(replace_surrogates, pair))
            # The server refuses a pair of two empty texts.
            inputs.append(encodable if any(encodable) else (" ", " "))
        return stack(await self._rows.map(inputs), width)

    async def classify_texts(self, texts: Sequence[str]) -> Doubles:
        """Classify single texts; see `TextClassifier`."""
        await self.labels()
        width = len((await self._tei.info.get()).labels)
        inputs: list[_Texts] = [(replace_surrogates(text) or " ",) for text in texts]
        return softmax(stack(await self._rows.map(inputs), width))

    async def max_text_tokens(self) -> int | None:
        """Return the maximum number of tokens in a single text."""
        return await self._tei.max_input_tokens(await self._tei.text_edges.get())

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._tei.server.aclose()

    async def _predict(self, texts: Sequence[_Texts]) -> list[Doubles]:
        names = (await self._tei.info.get()).labels
        return list(await self._send(texts, lambda r: _read_scores(r, texts, names)))

    async def _request_edges(self) -> int:
        tokens = await self._send(
            [(PROBE, PROBE)], lambda r: int(r.headers.get("x-compute-tokens", 0))
        )
        text_tokens = 2 * (await self.lengths([PROBE]))[0]
        if tokens > text_tokens:
            return tokens - text_tokens
        return 2 * (await self._tei.edges.get()).count

    async def _send(self, texts: Sequence[_Texts], read: Callable[[Reply], R]) -> R:
        # Always a list of lists: TEI takes a plain list of two texts for one pair. Never truncated,
        # since the text cut off would count as read.
        body = {"inputs": list(map(list, texts)), "raw_scores": True, "truncate": False}
        return await self._tei.server.post("/predict", body, read)


class TeiTextClassifier(SingleTextClassifier):
    """A classifier of single texts, using TEI's `/predict`; see `TeiClassifier`.

    Args:
        config: The server's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(TeiClassifier(config))


def _read_scores(reply: Reply, texts: Sequence[_Texts], names: Sequence[str]) -> Doubles:
    scores: list[list[float]] = []
    for row in rows_of(reply.body, texts):
        by_name = {prediction["label"]: prediction["score"] for prediction in row}
        if len(by_name) != len(names):
            raise ValueError("not one score for each label")
        scores.append([by_name[name] for name in names])
    return doubles(scores, 2)


def _bytes_of(texts: _Texts, row: Doubles) -> int:
    return sum(map(len, texts)) + row.nbytes


class TeiSentenceEmbedder(RemoteSentenceEmbedder):
    """A sentence embedder, using TEI's `/embed`; see `RemoteSentenceEmbedder`.

    Args:
        config: The server's settings.
    """

    def __init__(self, config: ModelConfig) -> None:
        self._tei = TeiServer(config, "embedding")
        super().__init__(self._tei)

    async def prepare(self) -> None:
        """Check that the server responds, and serves an embedder."""
        await self._tei.info.get()

    async def _request_embeddings(self, texts: Sequence[str]) -> list[Floats]:
        body = {"inputs": list(texts), "normalize": True, "truncate": False}
        return await self._tei.server.post(
            "/embed", body, lambda r: list(units(floats(rows_of(r.body, texts), 2)))
        )


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
        self._edges = CachedRequest(self._request_edges)
        self._tokens: RequestBatcher[str, Floats] = self._tei.batcher(
            self._embed, size=text_bytes, max_items=_MAX_TOKEN_TEXTS
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
        # Empty texts were sent as a blank, which is a token for some tokenizers.
        arrays = zip(map(join, rows), texts, strict=True)
        return [array if text else array[:0] for array, text in arrays]

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._tei.server.aclose()

    async def _embed(self, texts: Sequence[str]) -> list[Floats]:
        edges = await self._edges.get()
        return await self._send(texts, lambda r: _read_tokens(r, texts, edges))

    async def _send(self, texts: Sequence[str], read: Callable[[Reply], R]) -> R:
        body = {"inputs": list(texts), "truncate": False}
        return await self._tei.server.post("/embed_all", body, read)

    async def _request_edges(self) -> Edges:
        edges = await self._tei.edges.get()
        (tokens,) = await self._tei.lengths([PROBE])
        rows = await self._send([PROBE], lambda r: len(rows_of(r.body, [PROBE])[0]))
        if rows == tokens + edges.count:
            return edges
        if rows == tokens:
            return Edges(0, 0)
        raise ConfigurationError(
            f"{self._tei.server.display_name} returned {rows!r} embeddings for a text of"
            f" {tokens!r} tokens and {edges.count!r} special ones; start it without a default"
            " prompt"
        )


def _read_tokens(reply: Reply, texts: Sequence[str], edges: Edges) -> list[Floats]:
    arrays = [floats(rows, 2) for rows in rows_of(reply.body, texts)]
    if any(len(array) < edges.count for array in arrays):
        raise ValueError("fewer rows than special tokens")
    return [units(array[edges.before : len(array) - edges.after]) for array in arrays]
