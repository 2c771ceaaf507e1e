"""Whole checks by neural methods on a GPU, beside what their networks take for the same batches.

The networks run again for every batch that the checks sent them, with nothing around it, once its
shape is known.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

__all__ = ["measure_checks"]

_GOAL = 2.0
_CHECKS = 12
_SENTENCES = 8
_SAMPLES = 20
_DOCUMENTS = 6
# As many words as 3,250 tokens have.
_DOCUMENT_WORDS = 420


def measure_checks(
    folder: Path, shapes: Sequence[str], device: str, seconds: float
) -> list[dict[str, Any]]:
    """Measure grounded checks by a classifier of tokens, and checks by BERTScore.

    Args:
        folder: Where the models are put.
        shapes: The shapes of ModernBERT and RoBERTa; what there is no shape for is left out.
        device: Where they run.
        seconds: How long all of it may take; what is left over then is not measured.

    Returns:
        A row for each model.
    """
    deadline = time.monotonic() + seconds
    from performance.shapes import (
        MODERNBERT,
        ROBERTA,
        save_modernbert,
        save_roberta,
        train_bytes,
        train_words,
    )

    documents = [_sentences(_DOCUMENT_WORDS // 15, seed) for seed in range(_DOCUMENTS)]
    answers = [_sentences(_SENTENCES, 100 + seed, words=10 + seed) for seed in range(_CHECKS)]
    samples = [_sentences(_SENTENCES, 1000 + seed) for seed in range(_SAMPLES)]
    texts = [*documents, *answers, *samples]
    rows: list[dict[str, Any]] = []
    for shape in shapes:
        if shape in MODERNBERT and time.monotonic() < deadline:
            model = save_modernbert(
                folder / f"modernbert-{shape}", MODERNBERT[shape], train_words(texts)
            )
            settings = {"references": documents, "question": "What was it?"}
            chain = {"method": "grounding", "format": "lettucedetect"}
            rows.append(
                _row("grounded", f"modernbert-{shape}", chain, model, device, answers, settings)
            )
        if shape in ROBERTA and time.monotonic() < deadline:
            model = save_roberta(folder / f"roberta-{shape}", ROBERTA[shape], train_bytes(texts))
            settings = {"samples": samples}
            chain = {"method": "bertscore"}
            rows.append(
                _row("bertscore", f"roberta-{shape}", chain, model, device, answers, settings)
            )
    return rows


def _row(
    part: str,
    name: str,
    step: dict[str, Any],
    model: Path,
    device: str,
    answers: Sequence[str],
    settings: dict[str, Any],
) -> dict[str, Any]:
    from resay import Guard
    from resay.models.torch_network import TorchNetwork

    batches: list[Any] = []
    networks: list[Any] = []
    run = TorchNetwork.run

    def recording(self: Any, batch: Any) -> Any:
        batches.append(batch)
        networks[:] = [self]
        return run(self, batch)

    step = {**step, "model": {"name": str(model), "device": device, "cache_mb": 0}}
    guard = Guard({"chain": [step], "action": "annotate"})
    guard.check(answers[0], **settings)
    check_ms: list[float] = []
    network_ms: list[float] = []
    TorchNetwork.run = recording
    try:
        for answer in answers[1:]:
            batches.clear()
            check_ms.append(_ms(lambda answer=answer: guard.check(answer, **settings)))
            network_ms.append(_best_ms(lambda: [run(networks[0], batch) for batch in batches]))
    finally:
        TorchNetwork.run = run
    ratio = median(check_ms) / median(network_ms)
    return {
        "part": part,
        "model": f"{name}, random weights",
        "checks": len(check_ms),
        "check_ms": round(median(check_ms), 2),
        "slowest_check_ms": round(max(check_ms), 2),
        "network_ms": round(median(network_ms), 2),
        "ratio": round(ratio, 3),
        "goal": _GOAL,
        "met": ratio <= _GOAL,
    }


def _best_ms(work: Callable[[], object]) -> float:
    return min(_ms(work) for _ in range(3))


def _ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def _sentences(count: int, seed: int, words: int = 15) -> str:
    """Return made-up sentences of as many words each."""
    draw = random.Random(seed)
    sentences: list[str] = []
    for _ in range(count):
        drawn = ["".join(draw.choices("aeioulmnrst", k=draw.randint(3, 8))) for _ in range(words)]
        sentences.append(f"{' '.join(drawn).capitalize()}.")
    return " ".join(sentences)
