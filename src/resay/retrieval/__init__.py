"""Retrievers of trusted text, and their configuration in policies."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from resay.retrieval.base import PreparesRetrieval, Retriever
from resay.retrieval.config import (
    ONE_RETRIEVER,
    EmbeddingConfig,
    FolderConfig,
    FunctionConfig,
    HybridConfig,
    PluginConfig,
    QdrantConfig,
    RetrieverConfig,
    open_retriever,
)
from resay.retrieval.function import AdaptedRetriever, as_retriever
from resay.retrieval.hybrid import HybridRetriever, Reranker, fused

if TYPE_CHECKING:
    from resay.retrieval.folder import FolderRetriever
    from resay.retrieval.folder_index import IndexReport, index_folder
    from resay.retrieval.folder_listing import Skipped

__all__ = [
    "ONE_RETRIEVER",
    "AdaptedRetriever",
    "EmbeddingConfig",
    "FolderConfig",
    "FolderRetriever",
    "FunctionConfig",
    "HybridConfig",
    "HybridRetriever",
    "IndexReport",
    "PluginConfig",
    "PreparesRetrieval",
    "QdrantConfig",
    "Reranker",
    "Retriever",
    "RetrieverConfig",
    "Skipped",
    "as_retriever",
    "fused",
    "index_folder",
    "open_retriever",
]

_MODULES = {
    "FolderRetriever": "folder",
    "IndexReport": "folder_index",
    "Skipped": "folder_listing",
    "index_folder": "folder_index",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: most policies search no folder, and some Pythons lack SQLite.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
