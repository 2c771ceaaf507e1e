"""SelfCheckGPT's BERTScore scorer as released, to compare ours with.

Written from what the released code does with version 0.3.13 of the `bert_score` package: for each
sample the model and its tokenizer are loaded again; the distinct ones of all sentences, those of
the passage too, are embedded, the longest first, 64 at a time; then every sentence of the passage
is matched with every sentence of the sample, 64 pairs at a time, each padded to the longest.
Special tokens are matched with but do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from resay.adapters import load_optional

__all__ = ["score_plainly"]

_BATCH_SIZE = 64


def score_plainly(
    folder: Path, layer: int, sentences: Sequence[str], samples: Sequence[Sequence[str]]
) -> list[float]:
    """Score sentences as the released procedure does, without a baseline.

    Args:
        folder: The encoder.
        layer: The layer whose output is the embedding.
        sentences: The sentences of the passage.
        samples: The sentences of each sample, at least one.

    Returns:
        For each sentence 1 minus the mean over the samples of its best F1.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
    """
    columns = [_best(folder, layer, sentences, others) for others in samples]
    return [1.0 - fmean(column[i] for column in columns) for i in range(len(sentences))]


def _best(folder: Path, layer: int, sentences: Sequence[str], others: Sequence[str]) -> list[float]:
    torch, transformers = _load("torch"), _load("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    model.encoder.layer = model.encoder.layer[:layer]
    with torch.no_grad():
        embeddings = _embeddings(torch, model, tokenizer, {*sentences, *others})
        pairs = [(embeddings[a], embeddings[b]) for a in sentences for b in others]
        scores: list[float] = []
        for start in range(0, len(pairs), _BATCH_SIZE):
            scores += _f1(torch, pairs[start : start + _BATCH_SIZE])
    count = len(others)
    return [max(scores[i * count : (i + 1) * count]) for i in range(len(sentences))]


def _embeddings(torch: Any, model: Any, tokenizer: Any, texts: set[str]) -> dict[str, Any]:
    # By words, then in any order that does not change from run to run.
    ordered = sorted(texts, key=lambda text: (-len(text.split(" ")), text))
    embeddings: dict[str, Any] = {}
    for start in range(0, len(ordered), _BATCH_SIZE):
        batch = ordered[start : start + _BATCH_SIZE]
        inputs = tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
        rows = model(**inputs)[0]
        rows = rows / torch.norm(rows, dim=-1, keepdim=True)
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        embeddings |= {text: rows[i, : lengths[i]] for i, text in enumerate(batch)}
    return embeddings


def _f1(torch: Any, pairs: Sequence[tuple[Any, Any]]) -> list[float]:
    """Return the F1 of each pair of texts, both padded to the longest."""
    rows, row_mask, row_weights = _padded(torch, [a for a, _ in pairs])
    others, other_mask, other_weights = _padded(torch, [b for _, b in pairs])
    likeness = torch.bmm(others, rows.transpose(1, 2))
    likeness = likeness * torch.bmm(other_mask.unsqueeze(2), row_mask.unsqueeze(1))
    precision = (likeness.max(dim=2)[0] * other_weights).sum(dim=1)
    recall = (likeness.max(dim=1)[0] * row_weights).sum(dim=1)
    return (2 * precision * recall / (precision + recall)).tolist()


def _padded(torch: Any, rows: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Return embeddings, the mask of tokens that are no padding, and the weights of tokens."""
    padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(row) for row in rows]).unsqueeze(1)
    positions = torch.arange(padded.shape[1]).unsqueeze(0)
    counted = ((positions > 0) & (positions < lengths - 1)).float()
    mask = (positions < lengths).float()
    return padded, mask, counted / counted.sum(dim=1, keepdim=True)


def _load(module: str) -> Any:
    return load_optional(module, package=module, extra="nli", purpose="the inference bench")
