"""Models that run in a server of their own: text-embeddings-inference or vLLM."""

from __future__ import annotations

from resay.models.remote.tei import (
    TeiClassifier,
    TeiSentenceEmbedder,
    TeiTextClassifier,
    TeiTokenEmbedder,
)
from resay.models.remote.vllm import VllmClassifier, VllmSentenceEmbedder, VllmTextClassifier

__all__ = [
    "TeiClassifier",
    "TeiSentenceEmbedder",
    "TeiTextClassifier",
    "TeiTokenEmbedder",
    "VllmClassifier",
    "VllmSentenceEmbedder",
    "VllmTextClassifier",
]
