"""SelfCheckGPT's NLI model the plain way, to measure ours against.

Written from what the released code does: one sentence and one sample at a time go through the
model, the sentence first, what is too long cut off, and the probability of contradiction is fetched
before the next pair is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from resay.adapters import load_optional

__all__ = ["PlainClassifier"]


class PlainClassifier:
    """A classifier of pairs, asked one pair after the other.

    Args:
        folder: The model, whose outputs are entailment and contradiction.
        device: Where it runs.
        precision: The type of its weights in torch, such as `float32`.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
    """

    def __init__(self, folder: Path, device: str = "cpu", precision: str = "float32") -> None:
        transformers = _load("transformers")
        self._torch = _load("torch")
        self._device = device
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=getattr(self._torch, precision)
        )
        self._model: Any = model.to(device).eval()

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the probability of contradiction of each sentence and sample."""
        with self._torch.no_grad():
            return [self._score(sentence, sample) for sentence, sample in pairs]

    def _score(self, sentence: str, sample: str) -> float:
        inputs = self._tokenizer(
            [(sentence, sample)], padding="longest", truncation=True, return_tensors="pt"
        ).to(self._device)
        logits = self._model(**inputs).logits
        return self._torch.softmax(logits, dim=-1)[0][1].item()


def _load(module: str) -> Any:
    return load_optional(module, package=module, extra="nli", purpose="the inference bench")
