"""What `nli` saves by `premise: sentences`: tokens that go through the model, and time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from performance.readings import Part, Reading, row_of
from performance.shapes import LABELS, MAX_TOKENS
from resay.adapters import run_sync
from resay.models.encoding import Batch, TextEncoder
from resay.models.local import LocalPairModel
from resay.models.network import Loaded, Traits
from resay.plugins import Evidence, ModelConfig, Samples
from resay.scorers.nli import Nli
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Tokens", "count_tokens", "measure_premises"]

_TARGET = 4.0
_COUNTED = (1, 2, 3)
_TIMED = (1, 2)
_DEFAULT = Nli.Config().nearest


@dataclass(frozen=True, slots=True)
class Tokens:
    """The input of a model.

    Attributes:
        pairs: Pairs of texts.
        padded: Tokens, padding included.
        bare: Tokens without padding.
    """

    pairs: int
    padded: int
    bare: int


class _Counter:
    """A network that counts what it is given, and computes nothing."""

    def __init__(self) -> None:
        self.traits = Traits(labels=LABELS)
        self.tokens = Tokens(0, 0, 0)

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Count a batch."""
        so_far = self.tokens
        self.tokens = Tokens(
            so_far.pairs + len(batch.ids),
            so_far.padded + batch.ids.size,
            so_far.bare + int(batch.mask.sum()),
        )
        return np.zeros((len(batch.ids), len(LABELS)), dtype=np.float32)


class _CountedNli(Nli):
    """`nli` as it is, but with the network that counts."""

    def __init__(self, config: Nli.Config, tokenizer: Any) -> None:
        super().__init__(config)
        self.counter = _Counter()
        loaded = Loaded(self.counter, TextEncoder(tokenizer, MAX_TOKENS))
        self._model = LocalPairModel(ModelConfig(name="counted"), lambda: loaded)


def count_tokens(items: Sequence[Item], tokenizer: Any, **settings: Any) -> Tokens:
    """Count what `nli` sends through its model.

    Args:
        items: Passages and samples; each passage is one check.
        tokenizer: A `tokenizers.Tokenizer`.
        **settings: The scorer's.

    Returns:
        The sums over all checks.
    """
    scorer = _CountedNli(Nli.Config(model="counted", **settings), tokenizer)
    run_sync(_score_all, scorer, items)
    return scorer.counter.tokens


def measure_premises(
    counted: Sequence[Item], timed: Sequence[Item], tokenizer: Any, model: str, repeats: int
) -> list[Row]:
    """Measure what comparing with the nearest sentences saves.

    Args:
        counted: Passages and samples whose tokens are counted.
        timed: Passages and samples that are scored.
        tokenizer: The model's.
        model: The model's folder.
        repeats: How often they are scored; the best time counts.

    Returns:
        For each number of nearest sentences a row with the ratio of tokens, then one with that of
        time where there is one.
    """
    whole = count_tokens(counted, tokenizer)
    rows = [_count_row(whole, counted, tokenizer, nearest) for nearest in _COUNTED]
    return rows + _time_rows(timed, model, repeats)


def _called(nearest: int) -> str:
    return f"nearest {nearest}, the default" if nearest == _DEFAULT else f"nearest {nearest}"


def _count_row(whole: Tokens, items: Sequence[Item], tokenizer: Any, nearest: int) -> Row:
    def read() -> Reading:
        part = count_tokens(items, tokenizer, premise="sentences", nearest=nearest)
        return Reading(
            whole.padded / part.padded,
            f"{whole.bare / part.bare:.2f} x without padding",
            {
                "checks": len(items),
                "passage_pairs": whole.pairs,
                "passage_tokens": whole.padded,
                "passage_tokens_unpadded": whole.bare,
                "sentences_pairs": part.pairs,
                "sentences_tokens": part.padded,
                "sentences_tokens_unpadded": part.bare,
                "ratio_unpadded": round(whole.bare / part.bare, 3),
            },
        )

    what = f"tokens: `premise: passage` / `sentences`, {_called(nearest)}"
    least = _TARGET if nearest == _DEFAULT else None
    return row_of(Part("premise", what, "x", least=least), read)


def _time_rows(items: Sequence[Item], model: str, repeats: int) -> list[Row]:
    config = ModelConfig(name=model, backend="torch", cache_mb=0)
    scorers = [
        Nli(Nli.Config(model=config)),
        *(Nli(Nli.Config(model=config, premise="sentences", nearest=n)) for n in _TIMED),
    ]
    for scorer in scorers:
        run_sync(_score_all, scorer, [_shortened(items[0])])
    best = [inf] * len(scorers)
    for _ in range(repeats):
        for index, scorer in enumerate(scorers):
            best[index] = min(best[index], _time_s(scorer, items))
    whole_s, *parts_s = best
    return [
        _time_row(whole_s, part_s, len(items), nearest)
        for nearest, part_s in zip(_TIMED, parts_s, strict=True)
    ]


def _time_row(whole_s: float, part_s: float, checks: int, nearest: int) -> Row:
    seconds = {"passage_s": round(whole_s, 3), "sentences_s": round(part_s, 3)}
    reading = Reading(whole_s / part_s, None, {"checks": checks, **seconds})
    return row_of(Part("premise", f"time: the same, {_called(nearest)}", "x"), lambda: reading)


def _time_s(scorer: Nli, items: Sequence[Item]) -> float:
    started = time.perf_counter()
    run_sync(_score_all, scorer, items)
    return time.perf_counter() - started


def _shortened(item: Item) -> Item:
    return Item(item.index, item.passage, item.samples[:1])


async def _score_all(scorer: Nli, items: Sequence[Item]) -> None:
    for item in items:
        await scorer.score(item.passage, Evidence(samples=Samples(item.samples)))
