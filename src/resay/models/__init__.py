"""Local and remote neural models: pair classification, token and sentence embeddings.

`resay.models.base` says what a model gives; `pair_classifier`, `token_embedder` and
`sentence_embedder` return one, shared by all who use it.
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
