"""Models that run in a server of their own: text-embeddings-inference or vLLM."""

from __future__ import annotations

from resay.models.remote.tei import TeiClassifier, TeiSentenceEmbedder, TeiTokenEmbedder
from resay.models.remote.vllm import VllmClassifier, VllmSentenceEmbedder

__all__ = [
    "TeiClassifier",
    "TeiSentenceEmbedder",
    "TeiTokenEmbedder",
    "VllmClassifier",
    "VllmSentenceEmbedder",
]
