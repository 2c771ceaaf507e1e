"""Makes the models that are measured, each once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from performance.shapes import (
    DEBERTA,
    ROBERTA,
    save_deberta,
    save_roberta,
    train_bytes,
    train_words,
)
from performance.skipping import SkippedError
from resay.errors import ConfigurationError

__all__ = ["Workshop"]


class Workshop:
    """Makes models with tokenizers trained on the same texts.

    Args:
        folder: Where they are put.
        texts: What the tokenizers are trained on.
    """

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        self._folder = folder
        self._texts = texts
        self._words: Any = None
        self._made: dict[str, Path] = {}
        self._refused: dict[str, str] = {}

    def words(self) -> Any:
        """Return the tokenizer of the DeBERTa models."""
        if self._words is None:
            self._words = train_words(self._texts)
        return self._words

    def deberta(self, shape: str) -> Path:
        """Return the folder with a DeBERTa of that shape."""
        key = f"deberta-{shape}"
        if key not in self._made:
            self._made[key] = save_deberta(self._folder / key, DEBERTA[shape], self.words())
        return self._made[key]

    def roberta(self, shape: str) -> Path:
        """Return the folder with a RoBERTa of that shape."""
        key = f"roberta-{shape}"
        if key not in self._made:
            tokenizer = train_bytes(self._texts)
            self._made[key] = save_roberta(self._folder / key, ROBERTA[shape], tokenizer)
        return self._made[key]

    def exported(self, model: Path, layer: int | None = None) -> Path:
        """Return the folder with a model exported to ONNX, in fp32 and in int8.

        Args:
            model: The folder of one made here.
            layer: For an encoder, after which layer its embeddings are taken.

        Raises:
            SkippedError: It cannot be exported here; says why.
        """
        key = f"onnx-{model.name}"
        if key in self._refused:
            raise SkippedError(self._refused[key])
        if key not in self._made:
            try:
                self._made[key] = _export(model, self._folder / key, layer)
            except (ConfigurationError, ImportError) as error:
                self._refused[key] = str(error)
                raise SkippedError(str(error)) from error
        return self._made[key]


def _export(model: Path, folder: Path, layer: int | None) -> Path:
    # Needs numpy, without which there are other things to measure.
    from resay.models.export import export

    export(str(model), folder, layer=layer, int8=True)
    return folder
