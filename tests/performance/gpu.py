"""The neural methods on a GPU beside what they are compared with, as one JSON document.

`nli`, in pairs per second: our engine, one pair at a time, a loop over sorted batches, and what an
encoder of that size without DeBERTa's attention takes; with `disentangled-flash` or `flashdeberta`
installed, also with their kernels. `grounding` and `bertscore`: whole checks beside their networks.

Needs torch, transformers and what `resay` needs, but no data, no network and no installation: with
a copy of the source it is `python tests/performance/gpu.py`.
It takes less than 150 s on one GPU of 2023. Where there is none, `--shape tiny` shows that it runs.
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
# One pair at a time is slow, and as fast for each.
_PLAIN_PAIRS = 128
_SORTED_BATCH = 128
_BATCH_TOKENS = 32_768
_GOALS = {"one pair at a time": 60.0, "sorted batches": 3.0}
# Whole checks are left out rather than take longer.
_SECONDS = 150.0
# As long as those of WikiBio in the mean.
_SENTENCE_WORDS = (8, 40)
_SAMPLE_WORDS = (60, 260)


_Score = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Gives the probability of contradiction of pairs."""


def measure(
    shape: str, device: str, pairs: int, repeats: int, precisions: Sequence[str]
) -> dict[str, Any]:
    """Measure everything.

    Args:
        shape: The shape of the networks; see `performance.shapes`.
        device: Where they run, such as `cuda` or `cpu`.
        pairs: How many pairs `nli` scores.
        repeats: How often; the best time counts.
        precisions: In which precisions `nli` runs.

    Returns:
        What was measured, where, and with what. `ratio` is how many times as many pairs a way
        scores in a second as one pair at a time in the same precision does; for checks, how many
        times as long a check takes as its network.
    """
    from performance.gpu_checks import measure_checks
    from performance.shapes import DEBERTA, save_deberta, train_words

    deadline = time.monotonic() + _SECONDS
    # Its bars are no part of the document.
    _transformers().utils.logging.disable_progress_bar()
    texts = _pairs(pairs)
    tokenizer = train_words([text for pair in texts for text in pair])
    lengths = [len(encoding) for encoding in tokenizer.encode_batch(texts)]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        model = save_deberta(Path(folder, "nli"), DEBERTA[shape], tokenizer)
        for precision in precisions:
            rows += _rows(model, device, precision, texts, repeats)
        shapes = ("base", "large") if shape == "large" else (shape,)
        checks = measure_checks(Path(folder), shapes, device, deadline - time.monotonic())
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
        "checks": checks,
        "seconds": round(_SECONDS - (deadline - time.monotonic()), 1),
    }


def _rows(
    model: Path, device: str, precision: str, pairs: Sequence[tuple[str, str]], repeats: int
) -> list[dict[str, Any]]:
    from performance.gpu_networks import (
        encoder_alone,
        flashdeberta,
        sorted_batches,
        without_packages,
    )
    from performance.released_nli import PlainClassifier

    dtype = _PRECISIONS[precision]
    plain = PlainClassifier(model, device, dtype)
    few = pairs[:_PLAIN_PAIRS]
    plain_s, expected = _best(plain.score, few, repeats)
    plain_speed = len(few) / plain_s
    rows = [
        {"way": "one pair at a time", "precision": precision, "pairs_per_s": round(plain_speed, 3)}
    ]

    def add(way: str, make: Callable[[], _Score], *, is_same: bool = True) -> dict[str, Any]:
        row: dict[str, Any] = {"way": way, "precision": precision}
        rows.append(row)
        try:
            seconds, scores = _best(make(), pairs, repeats)
        # A package that is not installed, or has no kernel for this GPU.
        except Exception as error:
            row["why_not"] = f"{type(error).__name__}: {error}"[:200]
            return row
        speed = len(pairs) / seconds
        row |= {"pairs_per_s": round(speed, 3), "ratio": round(speed / plain_speed, 3)}
        if is_same:
            differences = [abs(a - b) for a, b in zip(expected, scores, strict=False)]
            row["largest_difference"] = max(differences)
        row |= _memory(device)
        return row

    loop = add(
        f"a loop over sorted batches of {_SORTED_BATCH}",
        lambda: sorted_batches(model, device, dtype, _SORTED_BATCH),
    )
    for batch_tokens in _BATCHES:
        with without_packages():
            row = add(
                f"resay, batches of {batch_tokens} tokens",
                lambda size=batch_tokens: _ours(model, device, precision, size),
            )
        _compare(row, loop)
    fused = add(
        "resay with disentangled-flash, if installed",
        lambda: _ours(model, device, precision, _BATCH_TOKENS + 1),
    )
    _compare(fused, loop)
    add("flashdeberta's network", lambda: flashdeberta(model, device, dtype, _BATCH_TOKENS))
    add(
        "an encoder of that size with plain attention",
        lambda: encoder_alone(model, device, dtype, _BATCH_TOKENS),
        is_same=False,
    )
    return rows


def _compare(row: dict[str, Any], loop: dict[str, Any]) -> None:
    """Add whether a row of ours reaches the goals."""
    if "pairs_per_s" in row and "pairs_per_s" in loop:
        row["loop_ratio"] = round(row["pairs_per_s"] / loop["pairs_per_s"], 3)
        row["met"] = (
            row["ratio"] >= _GOALS["one pair at a time"]
            and row["loop_ratio"] >= _GOALS["sorted batches"]
        )


def _ours(model: Path, device: str, precision: str, batch_tokens: int) -> _Score:
    from resay._internal.event_loops import run_sync
    from resay.models import ModelConfig, pair_classifier

    settings: dict[str, Any] = {"device": device, "precision": precision}
    classifier = pair_classifier(
        ModelConfig(
            name=str(model), backend="torch", batch_tokens=batch_tokens, cache_mb=0, **settings
        )
    )

    # Loaded now, with the packages that may be used.
    run_sync(classifier.prepare)

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(value) for value in run_sync(classifier.classify, pairs)[:, 1]]

    return score


def _best(
    score: _Score,
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
    parser.add_argument("--pairs", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument(
        "--precisions", help="separated by commas; default: bf16 on a GPU, else fp32 and bf16"
    )
    chosen = parser.parse_args(arguments)
    device = chosen.device or ("cuda" if _torch().cuda.is_available() else "cpu")
    default = "bf16" if device.startswith("cuda") else ",".join(_PRECISIONS)
    precisions = (chosen.precisions or default).split(",")
    result = measure(chosen.shape, device, max(chosen.pairs, 1), max(chosen.repeats, 1), precisions)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    if not __package__:
        # Run as a plain file: the package it is part of is not on the path, its neighbours are.
        root = Path(__file__).resolve().parents[2]
        sys.path[:1] = [str(root / "src"), str(root / "tests")]
    main()
