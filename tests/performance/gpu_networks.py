"""Networks for pairs on a GPU that `resay` is compared with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["encoder_alone", "flashdeberta", "sorted_batches", "without_packages"]

_FUSED = "disentangled_flash"

_Score = Callable[[Sequence[tuple[str, str]]], list[float]]


@contextmanager
def without_packages() -> Generator[None]:
    """Hide the package that fuses DeBERTa's attention."""
    before = sys.modules.get(_FUSED, ...)
    sys.modules[_FUSED] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if before is ...:
            del sys.modules[_FUSED]
        else:
            sys.modules[_FUSED] = before  # type: ignore[assignment]


def sorted_batches(folder: Path, device: str, dtype: str, size: int) -> _Score:
    """Return a plain loop over batches of so many pairs, sorted by length."""
    network = _Network(folder, device, _classifier(folder, dtype))
    return lambda pairs: network.score(pairs, lambda longest, count: count >= size)


def flashdeberta(folder: Path, device: str, dtype: str, tokens: int) -> _Score:
    """Return a loop over batches of so many tokens through flashdeberta's network.

    Raises:
        ImportError: It is not installed.
    """
    from flashdeberta import FlashDebertaV2ForSequenceClassification

    model = FlashDebertaV2ForSequenceClassification.from_pretrained(
        folder, torch_dtype=_dtype(dtype)
    )
    return _by_tokens(_Network(folder, device, model), tokens)


def encoder_alone(folder: Path, device: str, dtype: str, tokens: int) -> _Score:
    """Return a loop through a BERT of the same size, whose attention torch fuses."""
    transformers = _transformers()
    like = transformers.AutoConfig.from_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=like.vocab_size,
        hidden_size=like.hidden_size,
        num_hidden_layers=like.num_hidden_layers,
        num_attention_heads=like.num_attention_heads,
        intermediate_size=like.intermediate_size,
        num_labels=2,
    )
    model = transformers.BertForSequenceClassification(config).to(_dtype(dtype))
    return _by_tokens(_Network(folder, device, model), tokens)


def _by_tokens(network: _Network, tokens: int) -> _Score:
    return lambda pairs: network.score(pairs, lambda longest, count: longest * (count + 1) > tokens)


class _Network:
    """A classifier of pairs with its tokenizer."""

    def __init__(self, folder: Path, device: str, model: Any) -> None:
        self._device = device
        self._model = model.to(device).eval()
        self._tokenizer: Any = _transformers().AutoTokenizer.from_pretrained(folder)

    def score(
        self, pairs: Sequence[tuple[str, str]], is_full: Callable[[int, int], bool]
    ) -> list[float]:
        """Score pairs in batches, the longest first.

        Args:
            pairs: The pairs.
            is_full: Whether a batch of so many pairs, the longest of so many tokens, is full.
        """
        import torch

        encoded: list[list[int]] = self._tokenizer(
            [list(pair) for pair in pairs], truncation=True, max_length=512
        )["input_ids"]
        order = sorted(range(len(pairs)), key=lambda index: -len(encoded[index]))
        batches: list[list[int]] = [[]]
        for index in order:
            batch = batches[-1]
            if batch and is_full(len(encoded[batch[0]]), len(batch)):
                batch = []
                batches.append(batch)
            batch.append(index)
        outputs: list[Any] = []
        with torch.inference_mode():
            for batch in batches:
                inputs = self._tokenizer.pad(
                    {"input_ids": [encoded[index] for index in batch]}, return_tensors="pt"
                ).to(self._device)
                logits = self._model(
                    input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
                ).logits
                outputs.append(logits.float().softmax(-1)[:, 1])
            values = torch.cat(outputs).cpu().tolist()
        scores = dict(zip([index for batch in batches for index in batch], values, strict=True))
        return [scores[index] for index in range(len(pairs))]


def _classifier(folder: Path, dtype: str) -> Any:
    return _transformers().AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=_dtype(dtype)
    )


def _dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _transformers() -> Any:
    import transformers

    return transformers
