"""Where trusted text is found."""

from importlib import import_module
from typing import TYPE_CHECKING

from resay.retrieval.base import PreparesRetrieval, Retriever
from resay.retrieval.config import (
    EmbeddingConfig,
    FolderConfig,
    FunctionConfig,
    HybridConfig,
    QdrantConfig,
    RetrieverConfig,
    open_retriever,
    retriever_configs,
)
from resay.retrieval.function import AdaptedRetriever, as_retriever
from resay.retrieval.hybrid import HybridRetriever, Reranker, fused

if TYPE_CHECKING:
    from resay.retrieval.folder import FolderRetriever
    from resay.retrieval.folder_index import IndexReport, Skipped, index_folder

__all__ = [
    "AdaptedRetriever",
    "EmbeddingConfig",
    "FolderConfig",
    "FolderRetriever",
    "FunctionConfig",
    "HybridConfig",
    "HybridRetriever",
    "IndexReport",
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
    "retriever_configs",
]

_HOMES = {
    "FolderRetriever": "folder",
    "IndexReport": "folder_index",
    "Skipped": "folder_index",
    "index_folder": "folder_index",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: policies are read by many who search no folder, and some have no SQLite.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
