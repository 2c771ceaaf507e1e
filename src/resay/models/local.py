"""Models that run in this process.

A model is loaded on first use, once per process, on a thread for loading; its work runs on the one
thread of its device. Coroutines of any event loop may use it concurrently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from resay.errors import ScorerError
from resay.models.arrays import softmax
from resay.models.base import Pair, TokenLabels
from resay.models.batching import Batcher, Batching, LoadedOnce, outcome, thread
from resay.models.config import ModelConfig
from resay.models.encoding import Encoded, TextEncoder, pad
from resay.models.network import Loaded, Network, Pooling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from resay.models.base import Doubles, Floats

T = TypeVar("T")
U = TypeVar("U")
Row: TypeAlias = "NDArray[np.float32]"
Finish = Callable[[Row, Encoded, Pooling], Row]

# Few enough that tokenizing them does not block other threads for long.
_CHUNK_SIZE = 64


@dataclass(frozen=True, slots=True)
class _Ready:
    """A loaded model.

    Attributes:
        encoder: The tokenizer.
        labels: The names of the outputs.
        batcher: Batches its work.
    """

    encoder: TextEncoder
    labels: tuple[str, ...]
    batcher: Batcher[Encoded, Row]


class _Local:
    """The common base of all local models.

    Args:
        config: The model's settings.
        load: Loads the network.
        finish: Converts an item's row, without padding, to its result.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded], finish: Finish) -> None:
        self._config = config
        self._load = load
        self._finish = finish
        self._loaded = LoadedOnce(self._make_ready)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: The model is not available as configured.
        """
        await self._ready()

    async def _ready(self) -> _Ready:
        return await self._loaded.get()

    def _make_ready(self) -> _Ready:
        loaded = self._load()
        traits = loaded.network.traits
        run = partial(_run, loaded.network, self._finish)
        worker = thread(traits.device)
        settings = batching_of(self._config, on_gpu=traits.on_gpu, alone=traits.alone)
        batcher = Batcher[Encoded, Row](run, _size, worker, settings, traits.lanes)
        return _Ready(loaded.encoder, traits.labels, batcher)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        ready = await self._ready()
        return await in_chunks(ready.encoder.lengths, texts)

    async def max_input_tokens(self) -> int | None:
        """Return the maximum number of tokens in a pair of texts; None = no limit."""
        return (await self._ready()).encoder.max_pair_tokens

    def _check(self, items: Sequence[Encoded], encoder: TextEncoder) -> None:
        for item in items:
            if not encoder.fits(item):
                raise too_long(len(item), self._config)

    async def _read(self, texts: Sequence[str]) -> list[tuple[list[Encoded], list[Row]]]:
        """Return the parts that each text was split into, with their results."""
        ready = await self._ready()
        parts = await in_chunks(ready.encoder.texts, texts)
        rows = iter(await ready.batcher.map(list(chain.from_iterable(parts))))
        return [(items, list(islice(rows, len(items)))) for items in parts]


class LocalPairModel(_Local):
    """A model for pairs of texts: a `PairClassifier` and a `PairScorer`.

    Args:
        config: The model's settings.
        load: Loads the network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _unchanged)

    async def labels(self) -> tuple[str, ...]:
        """Return the label names, in the order of the outputs."""
        return (await self._ready()).labels

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Return probabilities of shape (pairs, labels); see `PairClassifier`."""
        return softmax(await self.logits(pairs))

    async def logits(self, pairs: Sequence[Pair]) -> Doubles:
        """Return logits of shape (pairs, outputs); see `PairScorer`."""
        ready = await self._ready()
        items = await in_chunks(ready.encoder.pairs, pairs)
        self._check(items, ready.encoder)
        return _stack(await ready.batcher.map(items), ready)


class LocalTextScorer(_Local):
    """A model for single texts: a `TextScorer` and a `TextClassifier`.

    If the network labels each token, the first token's labels are those of the text.

    Args:
        config: The model's settings.
        load: Loads the network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _first_row)

    async def labels(self) -> tuple[str, ...]:
        """Return the label names, in the order of the outputs."""
        return (await self._ready()).labels

    async def classify(self, texts: Sequence[str]) -> Doubles:
        """Return probabilities of shape (texts, labels); see `TextClassifier`."""
        return softmax(await self.logits(texts))

    async def max_input_tokens(self) -> int | None:
        """Return the maximum number of tokens in a text; None = no limit."""
        return (await self._ready()).encoder.max_text_tokens

    async def logits(self, texts: Sequence[str]) -> Doubles:
        """Return logits of shape (texts, outputs); see `TextScorer`."""
        ready = await self._ready()
        parts = await in_chunks(ready.encoder.texts, texts)
        for items in parts:
            if len(items) > 1:
                raise too_long(sum(item.special.count(0) for item in items), self._config)
        return _stack(await ready.batcher.map([item for (item,) in parts]), ready)


class LocalTokenClassifier(_Local):
    """A model that labels the tokens of a pair's second text: a `TokenClassifier`.

    Args:
        config: The model's settings.
        load: Loads the network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _unchanged)

    async def labels(self) -> tuple[str, ...]:
        """Return the label names, in the order of the outputs."""
        return (await self._ready()).labels

    async def classify_tokens(self, pairs: Sequence[Pair]) -> list[TokenLabels]:
        """Return the labels of each pair's second text; see `TokenClassifier`."""
        ready = await self._ready()
        encoded = await in_chunks(ready.encoder.pairs_with_spans, pairs)
        items = [item for item, _ in encoded]
        self._check(items, ready.encoder)
        results: list[TokenLabels] = []
        for row, (_, spans) in zip(await ready.batcher.map(items), encoded, strict=True):
            probabilities = softmax(row[list(spans)].astype(np.float64))
            results.append(TokenLabels(tuple(spans.values()), probabilities))
        return results


class LocalTokenEmbedder(_Local):
    """A model that embeds the tokens of texts: a `TokenEmbedder`.

    Args:
        config: The model's settings.
        load: Loads the network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _unit_tokens)

    async def embed_tokens(self, texts: Sequence[str]) -> list[Floats]:
        """Return arrays of shape (tokens, dimensions); see `TokenEmbedder`."""
        return [np.concatenate(rows) for _, rows in await self._read(texts)]


class LocalSentenceEmbedder(_Local):
    """A model that embeds texts: a `SentenceEmbedder`.

    Args:
        config: The model's settings.
        load: Loads the network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _pooled)

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Return an array of shape (texts, dimensions); see `SentenceEmbedder`."""
        means: list[Row] = []
        for items, rows in await self._read(texts):
            means.append(np.average(rows, axis=0, weights=list(map(len, items))))
        return _unit(np.array(means, dtype=np.float32))


class LocalTextModel(_Local):
    """A model that returns a row of numbers for each token, including special tokens.

    Args:
        config: The model's settings.
        load: Loads the network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _unchanged)

    async def rows(self, items: Sequence[Encoded]) -> list[Floats]:
        """Return an array of shape (tokens, values) for each item."""
        return await (await self._ready()).batcher.map(items)

    async def encoder(self) -> TextEncoder:
        """Return the model's tokenizer."""
        return (await self._ready()).encoder


def too_long(tokens: int, config: ModelConfig) -> ScorerError:
    """Return the error for a text that is longer than the model's input."""
    return ScorerError(
        f"a text of {tokens} tokens is longer than {config.display_name!r} reads; raise"
        " `max_tokens` if it can read more"
    )


def _run(network: Network, finish: Finish, items: Sequence[Encoded]) -> list[Row]:
    traits = network.traits
    batch = pad(items, traits.pad_id)
    results: list[Row] = []
    for row, item in zip(network.run(batch), items, strict=True):
        has_padding = row.ndim == 2 and len(row) == batch.ids.shape[1]
        results.append(finish(row[: len(item)] if has_padding else row, item, traits.pooling))
    return results


def _stack(rows: Sequence[Row], ready: _Ready) -> Doubles:
    if not rows:
        return np.empty((0, len(ready.labels) or 1))
    return np.stack(rows).astype(np.float64)


def _unchanged(row: Row, item: Encoded, pooling: Pooling) -> Row:
    del item, pooling
    return np.array(row)  # A view would keep the whole batch in memory.


def _first_row(row: Row, item: Encoded, pooling: Pooling) -> Row:
    del item, pooling
    return np.array(row[0] if row.ndim == 2 else row)


def _unit_tokens(row: Row, item: Encoded, pooling: Pooling) -> Row:
    del pooling
    return _unit(row[np.array(item.special) == 0])


def _pooled(row: Row, item: Encoded, pooling: Pooling) -> Row:
    del item
    return np.array(row[0]) if pooling == "cls" else row.mean(axis=0)


def _unit(rows: Row) -> Row:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.maximum(lengths, np.finfo(np.float32).tiny)


def _size(row: Row) -> int:
    return row.nbytes + 1024  # plus the size of its key


async def in_chunks(encode: Callable[[Sequence[T]], Sequence[U]], texts: Sequence[T]) -> list[U]:
    """Encode texts off the event loop, a chunk at a time."""
    encoded: list[U] = []
    for start in range(0, len(texts), _CHUNK_SIZE):
        chunk = texts[start : start + _CHUNK_SIZE]
        # One thread for all callers, because several would compete with the event loop.
        encoded += await outcome(thread("encode").submit(encode, chunk))
    return encoded


def batching_of(config: ModelConfig, *, on_gpu: bool, alone: bool) -> Batching:
    """Return how to batch a model's work.

    Args:
        config: The model's settings.
        on_gpu: Whether it runs on a GPU.
        alone: Whether each item must be computed alone, unless the settings say otherwise.
    """
    return Batching(
        batch_tokens=config.batch_tokens or (32_768 if on_gpu else 2048),
        batch_items=1 if (alone if config.alone is None else config.alone) else 1024,
        padding=0.5 if on_gpu else 0.05,
        window_s=config.window_ms / 1000,
        queue_tokens=config.queue_tokens,
        cache_bytes=int(config.cache_mb * 1_000_000),
    )
