"""What a policy can say about where evidence is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from resay._internal.importing import is_import_path, require_optional
from resay._internal.strict import Strict
from resay.errors import ConfigurationError
from resay.models import ModelField
from resay.retrieval.base import Retriever


class FolderConfig(Strict):
    """Search the files of a folder by their words."""

    kind: Literal["folder"] = Field(
        default="folder",
        description="Search the text, Markdown and PDF files of a folder by their words (BM25).",
    )
    path: str = Field(min_length=1, description="The folder; its subfolders belong to it.")
    index: str | None = Field(
        default=None,
        min_length=1,
        description="The file of the index, on a local disk; null = .resay-index.sqlite in the"
        " folder. Several processes may share it.",
    )
    refresh: bool = Field(
        default=True,
        description="Whether to read what has changed in the folder before the first search; if"
        " not, `resay index` does it.",
    )


class QdrantConfig(Strict):
    """Search a collection of Qdrant's by meaning."""

    kind: Literal["qdrant"] = Field(
        default="qdrant",
        description="Search a collection of the vector database Qdrant; needs resay[qdrant].",
    )
    collection: str = Field(min_length=1, description="The collection.")
    path: str | None = Field(
        default=None, min_length=1, description="The folder of a database without a server."
    )
    url: str | None = Field(default=None, min_length=1, description="The address of a server.")
    api_key: str | None = Field(default=None, repr=False, description="The server's key.")
    model: ModelField = Field(
        description="The embedding model, as `similarity` takes it; the one the collection was"
        " filled with."
    )
    text_key: str = Field(
        default="text", min_length=1, description="Where the payload of a point has its text."
    )
    query_prefix: str = Field(
        default="", description="What the embedding model wants before a search: `query: `, say."
    )

    tenant_key: str | None = Field(
        default=None,
        min_length=1,
        description="Where the payload of a point says whose it is: only what is the request's"
        " tenant's is found then.",
    )

    @model_validator(mode="after")
    def _must_be_somewhere(self) -> QdrantConfig:
        if (self.path is None) == (self.url is None):
            raise ValueError("give either `path`, a folder, or `url`, the address of a server")
        if self.api_key is not None and self.path is not None:
            raise ValueError("`api_key` is for a server; a folder (`path`) has none")
        return self


class FunctionConfig(Strict):
    """Ask a function or an object of the application's."""

    kind: Literal["function"] = Field(
        default="function", description="Ask a function or a retriever of the application's."
    )
    name: str = Field(
        description="Where it is, as `package.module:name`: a retriever, or a function that takes"
        " the search (and `k`, if it likes) and returns texts or documents."
    )

    @field_validator("name")
    @classmethod
    def _must_name_a_place(cls, name: str) -> str:
        if not is_import_path(name):
            raise ValueError("must be package.module:name")
        return name


RetrieverConfig = FolderConfig | QdrantConfig | FunctionConfig

_retrievers: dict[str, Retriever] = {}


def retriever_configs() -> Mapping[str, type[BaseModel]]:
    """Return what a policy's `retriever` can be, by its kind."""
    return {"folder": FolderConfig, "qdrant": QdrantConfig, "function": FunctionConfig}


def open_retriever(config: RetrieverConfig) -> Retriever:
    """Return the retriever a policy describes.

    There is one for equal descriptions in a process. Nothing is opened or read before it is used,
    except that a function, or a folder, is looked for at once.

    Raises:
        ConfigurationError: It cannot be had as described.
        MissingDependencyError: What it needs is not installed.
    """
    key = config.model_dump_json()
    found = _retrievers.get(key)
    # No lock is held meanwhile: what is imported may make a guard with the same retriever.
    return found or _retrievers.setdefault(key, _opened(config))


# Imported where they are wanted, because most want none of them.
def _opened(config: RetrieverConfig) -> Retriever:
    if isinstance(config, FunctionConfig):
        from resay.retrieval.function import find_retriever

        return find_retriever(config.name)
    if isinstance(config, FolderConfig):
        from resay.retrieval.folder import FolderRetriever

        # A policy that names a folder which is not there is mistaken, and nobody is to learn of it
        # from answers that are not repaired.
        if config.refresh and not Path(config.path).expanduser().is_dir():
            raise ConfigurationError(f"there is no folder {config.path!r} to search; name another")
        return FolderRetriever(config.path, index=config.index, refresh=config.refresh)
    require_optional(
        "qdrant_client", package="qdrant-client", extra="qdrant", purpose="the retriever 'qdrant'"
    )
    from resay.retrieval.qdrant import QdrantRetriever

    return QdrantRetriever(
        config.collection,
        model=config.model,
        path=config.path,
        url=config.url,
        api_key=config.api_key,
        text_key=config.text_key,
        query_prefix=config.query_prefix,
        tenant_key=config.tenant_key,
    )
