"""Models that run in this process.

A model is loaded when it is first needed, once per process, by a thread of its own; its work is
done on the one thread of its device. Coroutines of any event loop may use it at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from resay.errors import ScorerError
from resay.models.arrays import softmax
from resay.models.base import Pair, TokenLabels
from resay.models.batching import Batcher, Batching, LoadedOnce, outcome, thread
from resay.models.config import ModelConfig
from resay.models.encoding import Batch, Encoded, TextEncoder, pad
from resay.models.network import Loaded, Network, Pooling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from resay.models.base import Doubles, Floats

T = TypeVar("T")
U = TypeVar("U")
Row: TypeAlias = "NDArray[np.float32]"
Finish = Callable[[Row, Encoded, Pooling], Row]

# Few enough that encoding them does not keep other threads waiting for the interpreter.
_ENCODED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class _Ready:
    """A model that was loaded.

    Attributes:
        encoder: Its tokenizer.
        labels: The names of its outputs.
        batcher: What does its work.
    """

    encoder: TextEncoder
    labels: tuple[str, ...]
    batcher: Batcher[Encoded, Row]


class _Local:
    """What all local models share.

    Args:
        config: The model's settings.
        load: Loads its network.
        finish: Makes an item's result of its row, which is without padding.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded], finish: Finish) -> None:
        self._config = config
        self._load = load
        self._finish = finish
        self._loaded = LoadedOnce(self._make_ready)

    async def prepare(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: It cannot be had as configured.
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
        batcher = Batcher[Encoded, Row](run, _size, worker, settings)
        return _Ready(loaded.encoder, traits.labels, batcher)

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, without special tokens."""
        ready = await self._ready()
        return await in_parts(ready.encoder.lengths, texts)

    async def room(self) -> int | None:
        """Return how many tokens the two texts of a pair may have together."""
        return (await self._ready()).encoder.room

    def _check(self, items: Sequence[Encoded], encoder: TextEncoder) -> None:
        for item in items:
            if not encoder.fits(item):
                raise too_long(len(item), self._config)

    async def _read(self, texts: Sequence[str]) -> list[tuple[list[Encoded], list[Row]]]:
        """Return the parts that each text is read in, with their results."""
        ready = await self._ready()
        parts = await in_parts(ready.encoder.texts, texts)
        rows = iter(await ready.batcher.map([item for items in parts for item in items]))
        return [(items, [next(rows) for _ in items]) for items in parts]


class LocalPairModel(_Local):
    """Reads pairs of texts: a `PairClassifier` and a `PairScorer`.

    Args:
        config: The model's settings.
        load: Loads its network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _as_it_is)

    async def labels(self) -> tuple[str, ...]:
        """Return the labels' names, in the order of the outputs."""
        return (await self._ready()).labels

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Return probabilities of shape (pairs, labels); see `PairClassifier`."""
        return softmax(await self.logits(pairs))

    async def logits(self, pairs: Sequence[Pair]) -> Doubles:
        """Return logits of shape (pairs, outputs); see `PairScorer`."""
        ready = await self._ready()
        items = await in_parts(ready.encoder.pairs, pairs)
        self._check(items, ready.encoder)
        return _stacked(await ready.batcher.map(items), ready)


class LocalTextScorer(_Local):
    """Reads single texts: a `TextScorer` and a `TextClassifier`.

    Of a network that labels each token, the labels of the first are those of the text.

    Args:
        config: The model's settings.
        load: Loads its network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _of_the_text)

    async def labels(self) -> tuple[str, ...]:
        """Return the labels' names, in the order of the outputs."""
        return (await self._ready()).labels

    async def classify(self, texts: Sequence[str]) -> Doubles:
        """Return probabilities of shape (texts, labels); see `TextClassifier`."""
        return softmax(await self.logits(texts))

    async def room(self) -> int | None:
        """Return how many tokens a text may have."""
        return (await self._ready()).encoder.text_room

    async def logits(self, texts: Sequence[str]) -> Doubles:
        """Return logits of shape (texts, outputs); see `TextScorer`."""
        ready = await self._ready()
        parts = await in_parts(ready.encoder.texts, texts)
        for items in parts:
            if len(items) > 1:
                raise too_long(sum(item.special.count(0) for item in items), self._config)
        return _stacked(await ready.batcher.map([item for (item,) in parts]), ready)


class LocalTokenClassifier(_Local):
    """Labels the tokens of the second of two texts: a `TokenClassifier`.

    Args:
        config: The model's settings.
        load: Loads its network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _as_it_is)

    async def labels(self) -> tuple[str, ...]:
        """Return the labels' names, in the order of the outputs."""
        return (await self._ready()).labels

    async def classify_tokens(self, pairs: Sequence[Pair]) -> list[TokenLabels]:
        """Return the labels of each pair's second text; see `TokenClassifier`."""
        ready = await self._ready()
        encoded = await in_parts(ready.encoder.pairs_with_spans, pairs)
        items = [item for item, _ in encoded]
        self._check(items, ready.encoder)
        rows = await ready.batcher.map(items)
        return [
            TokenLabels(tuple(spans.values()), softmax(row[list(spans)].astype(np.float64)))
            for row, (_, spans) in zip(rows, encoded, strict=True)
        ]


class LocalTokenEmbedder(_Local):
    """Embeds the tokens of texts: a `TokenEmbedder`.

    Args:
        config: The model's settings.
        load: Loads its network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _unit_tokens)

    async def embed_tokens(self, texts: Sequence[str]) -> list[Floats]:
        """Return arrays of shape (tokens, dimensions); see `TokenEmbedder`."""
        return [np.concatenate(rows) for _, rows in await self._read(texts)]


class LocalSentenceEmbedder(_Local):
    """Embeds texts: a `SentenceEmbedder`.

    Args:
        config: The model's settings.
        load: Loads its network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _pooled)

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Return an array of shape (texts, dimensions); see `SentenceEmbedder`."""
        means = [
            np.average(rows, axis=0, weights=list(map(len, items)))
            for items, rows in await self._read(texts)
        ]
        return _unit(np.array(means, dtype=np.float32))


class LocalTextModel(_Local):
    """Gives a row of numbers for each token of a text, special tokens included.

    Args:
        config: The model's settings.
        load: Loads its network.
    """

    def __init__(self, config: ModelConfig, load: Callable[[], Loaded]) -> None:
        super().__init__(config, load, _as_it_is)

    async def rows(self, items: Sequence[Encoded]) -> list[Floats]:
        """Return an array of shape (tokens, values) for each item."""
        return await (await self._ready()).batcher.map(items)

    async def encoder(self) -> TextEncoder:
        """Return the model's tokenizer."""
        return (await self._ready()).encoder


def too_long(tokens: int, config: ModelConfig) -> ScorerError:
    """Return the error of a text that is longer than a model reads."""
    return ScorerError(
        f"a text of {tokens} tokens is longer than {config.called!r} reads; raise `max_tokens` if"
        " it can read more"
    )


def _run(network: Network, finish: Finish, items: Sequence[Encoded]) -> list[Row]:
    traits = network.traits
    batch = pad(items, traits.pad_id)
    rows = network.run(batch)
    return [
        finish(_without_padding(r, b, batch), b, traits.pooling)
        for r, b in zip(rows, items, strict=True)
    ]


def _without_padding(row: Row, item: Encoded, batch: Batch) -> Row:
    return row[: len(item)] if row.ndim == 2 and len(row) == batch.ids.shape[1] else row


def _stacked(rows: Sequence[Row], ready: _Ready) -> Doubles:
    if not rows:
        return np.empty((0, len(ready.labels) or 1))
    return np.stack(rows).astype(np.float64)


def _as_it_is(row: Row, item: Encoded, pooling: Pooling) -> Row:
    del item, pooling
    return np.array(row)  # A view would keep the whole batch in memory.


def _of_the_text(row: Row, item: Encoded, pooling: Pooling) -> Row:
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
    return row.nbytes + 1024  # and what its key takes


async def in_parts(encode: Callable[[Sequence[T]], Sequence[U]], texts: Sequence[T]) -> list[U]:
    """Encode texts off the event loop, some at a time."""
    done: list[U] = []
    for start in range(0, len(texts), _ENCODED_AT_ONCE):
        part = texts[start : start + _ENCODED_AT_ONCE]
        # One thread for all callers: many would take turns with the event loop.
        done += await outcome(thread("encode").submit(encode, part))
    return done


def batching_of(config: ModelConfig, *, on_gpu: bool, alone: bool) -> Batching:
    """Return how a model's work is put together.

    Args:
        config: Its settings.
        on_gpu: Whether it runs on a GPU.
        alone: Whether each item must be computed by itself, where the settings leave it open.
    """
    return Batching(
        batch_tokens=config.batch_tokens or (32_768 if on_gpu else 2048),
        batch_items=1 if (alone if config.alone is None else config.alone) else 1024,
        padding=0.5 if on_gpu else 0.05,
        window_s=config.window_ms / 1000,
        queue_tokens=config.queue_tokens,
        cache_bytes=int(config.cache_mb * 1_000_000),
    )
