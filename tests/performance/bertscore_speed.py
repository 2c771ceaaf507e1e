"""A check by `bertscore`: the released procedure and ours, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from performance.readings import Part, Reading, row_of
from performance.released_bertscore import score_plainly
from performance.workshop import Workshop
from resay import Passage
from resay.adapters import run_sync
from resay.core.tokens import tokenize
from resay.plugins import Evidence, ModelConfig, Samples
from resay.scorers.bertscore import Bertscore
from resay_lab.benchmarks.measuring import Item
from resay_lab.benchmarks.table import Row

__all__ = ["measure_bertscore"]

_TARGET = 10.0
_SHORTEST = 4
_WARM_UP = Item(0, Passage.of("One two."), ("Three four five six seven.",))


@dataclass(frozen=True, slots=True)
class _Timed:
    """One passage scored, with the time that took in seconds."""

    scores: Sequence[float]
    seconds: float


def measure_bertscore(
    shape: str, workshop: Workshop, layer: int, items: Sequence[Item]
) -> list[Row]:
    """Measure a check against the released procedure.

    Args:
        shape: Of which shape the encoder is.
        workshop: What makes it.
        layer: After which of its layers embeddings are taken.
        items: Passages and samples; each is one check.

    Returns:
        For each of our back ends, how many times as long the released procedure takes.
    """
    model = workshop.roberta(shape)
    _plainly(model, layer, _WARM_UP)
    plain = [_plainly(model, layer, item) for item in items]

    def row(
        called: str, folder: Callable[[], Path], least: float | None, **settings: str | bool
    ) -> Row:
        what = f"roberta-{shape} to layer {layer}: a check as released / by ours, {called}"
        part = Part("bertscore", what, "x", least=least)
        return row_of(part, lambda: _reading(plain, _ours(folder(), layer, items, **settings)))

    def exported() -> Path:
        return workshop.exported(model, layer)

    return [
        row("torch", lambda: model, None, backend="torch"),
        row("onnx fp32", exported, None, backend="onnx", precision="fp32"),
        row("onnx int8", exported, None, backend="onnx", precision="int8"),
        row(
            "onnx int8, alone: false",
            exported,
            _TARGET,
            backend="onnx",
            precision="int8",
            alone=False,
        ),
    ]


def _reading(plain: Sequence[_Timed], ours: Sequence[_Timed]) -> Reading:
    plain_s, ours_s = fmean(c.seconds for c in plain), fmean(c.seconds for c in ours)
    pairs = [(a, b) for p, o in zip(plain, ours, strict=True) for a, b in _beside(p, o)]
    return Reading(
        plain_s / ours_s,
        f"{plain_s:.1f} s and {ours_s:.1f} s",
        {
            "checks": len(plain),
            "sentences": len(pairs),
            "plain_s": round(plain_s, 3),
            "ours_s": round(ours_s, 3),
            "largest_difference": max(abs(a - b) for a, b in pairs),
        },
        "as released",
        ratio=ours_s / plain_s,
    )


def _beside(plain: _Timed, ours: _Timed) -> zip[tuple[float, float]]:
    return zip(plain.scores, ours.scores, strict=True)


def _ours(folder: Path, layer: int, items: Sequence[Item], **settings: str | bool) -> list[_Timed]:
    model = ModelConfig.model_validate({"name": str(folder), **settings})
    scorer = Bertscore(Bertscore.Config(model=model, layer=layer, rescale=False))
    run_sync(scorer.prepare)
    run_sync(scorer.score, _WARM_UP.passage, _evidence(_WARM_UP.samples))
    return [_score(scorer, item) for item in items]


def _score(scorer: Bertscore, item: Item) -> _Timed:
    started = time.perf_counter()
    scores = run_sync(scorer.score, item.passage, _evidence(item.samples))
    return _Timed(scores.raw, time.perf_counter() - started)


def _plainly(model: Path, layer: int, item: Item) -> _Timed:
    sentences = [sentence.text for sentence in item.passage.sentences]
    samples = [_sentences(sample) for sample in item.samples]
    started = time.perf_counter()
    scores = score_plainly(model, layer, sentences, samples)
    return _Timed(scores, time.perf_counter() - started)


def _evidence(samples: Sequence[str]) -> Evidence:
    return Evidence(samples=Samples(tuple(samples)))


def _sentences(sample: str) -> list[str]:
    """Return the sentences that are compared, split as ours are: not what is measured."""
    texts = [sentence.text for sentence in Passage.of(sample).sentences]
    return [text for text in texts if len(tokenize(text)) >= _SHORTEST]
