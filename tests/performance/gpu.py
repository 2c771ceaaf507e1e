"""Pairs per second of `nli` on a GPU: our engine against one pair at a time, as one JSON document.

Needs torch, transformers, anyio and pydantic, but no data, no network and no installation: with a
copy of the source it is `python tests/performance/gpu.py`. Where there is no GPU, `--shape tiny`
shows that it runs.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

__all__ = ["main", "measure"]

_SHAPES = ("tiny", "xsmall", "base", "large")
# As in the released code, and as fast as it gets.
_PRECISIONS = {"fp32": "float32", "bf16": "bfloat16"}
_BATCHES = (8_192, 32_768, 131_072)
# As long as those of WikiBio in the mean.
_SENTENCE_WORDS = (8, 40)
_SAMPLE_WORDS = (60, 260)


def measure(shape: str, device: str, pairs: int, repeats: int) -> dict[str, Any]:
    """Score made-up pairs in every way.

    Args:
        shape: The shape of the DeBERTa-v3; see `performance.shapes`.
        device: Where it runs, such as `cuda` or `cpu`.
        pairs: How many pairs.
        repeats: How often; the best time counts.

    Returns:
        What was measured, where, and with what. `ratio` is how many times as many pairs a way
        scores in a second as one pair at a time in the same precision does.
    """
    from performance.shapes import DEBERTA, save_deberta, train_words

    # Its bars are no part of the document.
    _transformers().utils.logging.disable_progress_bar()
    texts = _pairs(pairs)
    tokenizer = train_words([text for pair in texts for text in pair])
    lengths = [len(encoding) for encoding in tokenizer.encode_batch(texts)]
    with tempfile.TemporaryDirectory() as folder:
        model = save_deberta(Path(folder), DEBERTA[shape], tokenizer)
        rows = [
            row
            for precision in _PRECISIONS
            for row in _rows(model, device, precision, texts, repeats)
        ]
    return {
        "benchmark": "gpu",
        "device": _name(device),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "versions": _versions(),
        "shape": f"deberta-v3-{shape}, random weights",
        "pairs": pairs,
        "tokens": {
            "mean": round(sum(lengths) / len(lengths), 1),
            "shortest": min(lengths),
            "longest": max(lengths),
        },
        "repeats": repeats,
        "rows": rows,
    }


def _rows(
    model: Path, device: str, precision: str, pairs: Sequence[tuple[str, str]], repeats: int
) -> list[dict[str, Any]]:
    from performance.released_nli import PlainClassifier

    plain = PlainClassifier(model, device, _PRECISIONS[precision])
    plain_s, expected = _best(plain.score, pairs, repeats)
    about = {"precision": precision}
    rows = [{"way": "one pair at a time", **about, **_speed(len(pairs), plain_s)}]
    for batch_tokens in _BATCHES:
        score = _ours(model, device, precision, batch_tokens)
        seconds, found = _best(score, pairs, repeats)
        rows.append(
            {
                "way": f"resay, batches of {batch_tokens} tokens",
                **about,
                **_speed(len(pairs), seconds),
                "ratio": round(plain_s / seconds, 3),
                "largest_difference": max(abs(a - b) for a, b in zip(expected, found, strict=True)),
                **_memory(device),
            }
        )
    return rows


def _speed(pairs: int, seconds: float) -> dict[str, Any]:
    return {"pairs_per_s": round(pairs / seconds, 3), "seconds": round(seconds, 4)}


def _ours(
    model: Path, device: str, precision: str, batch_tokens: int
) -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    from resay._internal.event_loops import run_sync
    from resay.models import ModelConfig, pair_classifier

    settings: dict[str, Any] = {"device": device, "precision": precision}
    classifier = pair_classifier(
        ModelConfig(
            name=str(model), backend="torch", batch_tokens=batch_tokens, cache_mb=0, **settings
        )
    )

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(value) for value in run_sync(classifier.classify, pairs)[:, 1]]

    return score


def _best(
    score: Callable[[Sequence[tuple[str, str]]], list[float]],
    pairs: Sequence[tuple[str, str]],
    repeats: int,
) -> tuple[float, list[float]]:
    """Return the best time of scoring all pairs, and their scores."""
    score(pairs)
    best, found = float("inf"), list[float]()
    for _ in range(repeats):
        started = time.perf_counter()
        found = score(pairs)
        best = min(best, time.perf_counter() - started)
    return best, found


def _pairs(count: int) -> list[tuple[str, str]]:
    """Return made-up sentences and samples, all different."""
    draw = random.Random(0)
    words = ["".join(draw.choices("aeioulmnrst", k=draw.randint(2, 9))) for _ in range(4000)]

    def text(shortest: int, longest: int) -> str:
        return " ".join(draw.choices(words, k=draw.randint(shortest, longest)))

    return [(text(*_SENTENCE_WORDS), text(*_SAMPLE_WORDS)) for _ in range(count)]


def _name(device: str) -> str:
    if device.startswith("cuda"):
        return str(_torch().cuda.get_device_name())
    return platform.processor() or platform.machine()


def _memory(device: str) -> dict[str, Any]:
    if not device.startswith("cuda"):
        return {}
    torch = _torch()
    peak = torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    return {"peak_gpu_memory_mb": round(peak / 1e6)}


def _versions() -> dict[str, str]:
    from resay._internal._version import __version__

    torch = _torch()
    return {
        "python": platform.python_version(),
        "resay": __version__,
        "torch": str(torch.__version__),
        "transformers": str(_transformers().__version__),
        "cuda": str(torch.version.cuda),
    }


def _torch() -> Any:
    import torch

    return torch


def _transformers() -> Any:
    import transformers

    return transformers


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print one JSON document on stdout.

    Args:
        arguments: Those of the command line; None = the process's.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", choices=_SHAPES, default="large")
    parser.add_argument("--device", help="default: cuda where there is one, else cpu")
    parser.add_argument("--pairs", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args(arguments)
    device = chosen.device or ("cuda" if _torch().cuda.is_available() else "cpu")
    found = measure(chosen.shape, device, max(chosen.pairs, 1), max(chosen.repeats, 1))
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    if not __package__:
        # Run as a plain file: the package it is part of is not on the path, its neighbours are.
        root = Path(__file__).resolve().parents[2]
        sys.path[:1] = [str(root / "src"), str(root / "tests")]
    main()
