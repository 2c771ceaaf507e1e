"""DeBERTa's attention in one kernel: used if it says the same, and left otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from resay.models.fused_attention import can_fuse, with_fused_attention
from resay.models.torch_network import load_model
from resay.plugins import ModelConfig
from support.later import LazyImport
from support.tiny_models import make_deberta

torch: Any = LazyImport("torch")

Tiny = Callable[..., Path]


def scaled(by: float) -> Callable[[Any], None]:
    """Return what scales the values of the first layer's attention."""

    def optimize(deberta: Any) -> None:
        attention = deberta.encoder.layer[0].attention.self
        forward = attention.forward
        attention.forward = lambda *args, **kwargs: (by * forward(*args, **kwargs)[0], None)

    return optimize


def failing(_: Any) -> None:
    raise RuntimeError("no kernel for this GPU")


@pytest.mark.parametrize(
    ("optimize", "is_kept"),
    [(scaled(1.0), True), (scaled(30.0), False), (scaled(float("nan")), False), (failing, False)],
)
def test_a_kernel_is_used_only_if_the_results_stay_the_same(
    tiny: Tiny,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    optimize: Callable[[Any], None],
    is_kept: bool,
) -> None:
    package = SimpleNamespace(optimize_deberta=optimize)
    monkeypatch.setitem(sys.modules, "disentangled_flash", package)  # type: ignore[arg-type]
    config = ModelConfig(name=str(tiny(make_deberta)), device="cpu")

    def load() -> Any:
        return load_model(config, "classification")

    model = load()
    fused = with_fused_attention(torch, model, load)
    assert (fused is model) == is_kept
    assert ("DeBERTa runs without it" in caplog.text) != is_kept
    ids = torch.arange(20).view(1, 20)
    with torch.inference_mode():
        assert torch.equal(fused(input_ids=ids).logits, load()(input_ids=ids).logits)


@pytest.mark.parametrize(
    ("model_type", "device", "is_installed", "expected"),
    [
        ("deberta-v2", "cuda", True, True),
        ("deberta-v2", "cuda", False, False),
        ("deberta-v2", "cpu", True, False),
        ("roberta", "cuda", True, False),
    ],
)
def test_it_is_for_deberta_on_cuda_with_the_package(
    monkeypatch: pytest.MonkeyPatch,
    model_type: str,
    device: str,
    is_installed: bool,
    expected: bool,
) -> None:
    spec = SimpleNamespace(__spec__=object()) if is_installed else None
    monkeypatch.setitem(sys.modules, "disentangled_flash", spec)  # type: ignore[arg-type]
    model = SimpleNamespace(
        config=SimpleNamespace(model_type=model_type),
        device=SimpleNamespace(type=device),
        deberta=object(),
    )
    assert can_fuse(model) == expected
