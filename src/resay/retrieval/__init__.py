"""Retrievers of trusted text, and their configuration in policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resay._internal.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from resay.retrieval.base import PreparesRetrieval as PreparesRetrieval
    from resay.retrieval.base import Retriever as Retriever
    from resay.retrieval.config import ONE_RETRIEVER as ONE_RETRIEVER
    from resay.retrieval.config import EmbeddingConfig as EmbeddingConfig
    from resay.retrieval.config import FolderConfig as FolderConfig
    from resay.retrieval.config import FunctionConfig as FunctionConfig
    from resay.retrieval.config import HybridConfig as HybridConfig
    from resay.retrieval.config import PluginConfig as PluginConfig
    from resay.retrieval.config import QdrantConfig as QdrantConfig
    from resay.retrieval.config import RetrieverConfig as RetrieverConfig
    from resay.retrieval.config import open_retriever as open_retriever
    from resay.retrieval.folder import FolderRetriever as FolderRetriever
    from resay.retrieval.folder_index import IndexReport as IndexReport
    from resay.retrieval.folder_index import index_folder as index_folder
    from resay.retrieval.folder_listing import Skipped as Skipped
    from resay.retrieval.function import AdaptedRetriever as AdaptedRetriever
    from resay.retrieval.function import as_retriever as as_retriever
    from resay.retrieval.function import reference_functions as reference_functions
    from resay.retrieval.hybrid import HybridRetriever as HybridRetriever
    from resay.retrieval.hybrid import Reranker as Reranker
    from resay.retrieval.hybrid import fused as fused
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "resay.retrieval.base": ("PreparesRetrieval", "Retriever"),
            "resay.retrieval.config": (
                "EmbeddingConfig",
                "FolderConfig",
                "FunctionConfig",
                "HybridConfig",
                "ONE_RETRIEVER",
                "PluginConfig",
                "QdrantConfig",
                "RetrieverConfig",
                "open_retriever",
            ),
            "resay.retrieval.folder": ("FolderRetriever",),
            "resay.retrieval.folder_index": ("IndexReport", "index_folder"),
            "resay.retrieval.folder_listing": ("Skipped",),
            "resay.retrieval.function": ("AdaptedRetriever", "as_retriever", "reference_functions"),
            "resay.retrieval.hybrid": ("HybridRetriever", "Reranker", "fused"),
        },
    )
