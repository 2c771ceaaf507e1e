"""Local and remote neural models: pair classification, token and sentence embeddings.

`resay.models.base` defines the interfaces; `pair_classifier`, `token_embedder`, `sentence_embedder`
and their like return a model, which all callers with the same settings share.
"""

from __future__ import annotations

from resay.models.base import (
    Measure,
    Model,
    Pair,
    PairClassifier,
    PairScorer,
    SentenceEmbedder,
    TextClassifier,
    TextScorer,
    TokenClassifier,
    TokenEmbedder,
    TokenLabels,
)
from resay.models.config import ModelConfig, ModelField, config_of
from resay.models.loading import (
    backend_of,
    chat_model,
    choice_scorer,
    pair_classifier,
    pair_scorer,
    sentence_embedder,
    text_classifier,
    text_generator,
    text_model,
    text_scorer,
    token_classifier,
    token_embedder,
)

__all__ = [
    "Measure",
    "Model",
    "ModelConfig",
    "ModelField",
    "Pair",
    "PairClassifier",
    "PairScorer",
    "SentenceEmbedder",
    "TextClassifier",
    "TextScorer",
    "TokenClassifier",
    "TokenEmbedder",
    "TokenLabels",
    "backend_of",
    "chat_model",
    "choice_scorer",
    "config_of",
    "pair_classifier",
    "pair_scorer",
    "sentence_embedder",
    "text_classifier",
    "text_generator",
    "text_model",
    "text_scorer",
    "token_classifier",
    "token_embedder",
]
