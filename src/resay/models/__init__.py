"""Local and remote neural models: pair classification, token and sentence embeddings.

`resay.models.base` defines the interfaces; `pair_classifier`, `token_embedder`, `sentence_embedder`
and their like return a model, which all callers with the same settings share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.models.base import Measure as Measure
    from resay.models.base import Model as Model
    from resay.models.base import Pair as Pair
    from resay.models.base import PairClassifier as PairClassifier
    from resay.models.base import PairScorer as PairScorer
    from resay.models.base import SentenceEmbedder as SentenceEmbedder
    from resay.models.base import TextClassifier as TextClassifier
    from resay.models.base import TextScorer as TextScorer
    from resay.models.base import TokenClassifier as TokenClassifier
    from resay.models.base import TokenEmbedder as TokenEmbedder
    from resay.models.base import TokenLabels as TokenLabels
    from resay.models.config import ModelConfig as ModelConfig
    from resay.models.config import ModelField as ModelField
    from resay.models.config import config_of as config_of
    from resay.models.loading import backend_of as backend_of
    from resay.models.loading import chat_model as chat_model
    from resay.models.loading import choice_scorer as choice_scorer
    from resay.models.loading import pair_classifier as pair_classifier
    from resay.models.loading import pair_scorer as pair_scorer
    from resay.models.loading import sentence_embedder as sentence_embedder
    from resay.models.loading import text_classifier as text_classifier
    from resay.models.loading import text_generator as text_generator
    from resay.models.loading import text_model as text_model
    from resay.models.loading import text_scorer as text_scorer
    from resay.models.loading import token_classifier as token_classifier
    from resay.models.loading import token_embedder as token_embedder
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.models.base": (
                "Measure",
                "Model",
                "Pair",
                "PairClassifier",
                "PairScorer",
                "SentenceEmbedder",
                "TextClassifier",
                "TextScorer",
                "TokenClassifier",
                "TokenEmbedder",
                "TokenLabels",
            ),
            "resay.models.config": ("ModelConfig", "ModelField", "config_of"),
            "resay.models.loading": (
                "backend_of",
                "chat_model",
                "choice_scorer",
                "pair_classifier",
                "pair_scorer",
                "sentence_embedder",
                "text_classifier",
                "text_generator",
                "text_model",
                "text_scorer",
                "token_classifier",
                "token_embedder",
            ),
        },
    )
