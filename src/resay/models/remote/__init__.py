"""Models on a server: text-embeddings-inference, vLLM or a reranker."""

from __future__ import annotations

from resay.models.remote.rerank import RerankClassifier
from resay.models.remote.tei import (
    TeiClassifier,
    TeiSentenceEmbedder,
    TeiTextClassifier,
    TeiTokenEmbedder,
)
from resay.models.remote.vllm import VllmClassifier, VllmSentenceEmbedder, VllmTextClassifier

__all__ = [
    "RerankClassifier",
    "TeiClassifier",
    "TeiSentenceEmbedder",
    "TeiTextClassifier",
    "TeiTokenEmbedder",
    "VllmClassifier",
    "VllmSentenceEmbedder",
    "VllmTextClassifier",
]
