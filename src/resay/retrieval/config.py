"""The configuration of retrievers in policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from resay._internal.construction import check_settings, load_plugin
from resay._internal.entry_points import installed_names
from resay._internal.importing import is_import_path, require_optional
from resay._internal.strict import Imported, OneOf, Strict
from resay.errors import ConfigurationError
from resay.models import ModelField
from resay.providers import LiteLLMEmbedder
from resay.retrieval.base import MetadataValue, Retriever
from resay.retrieval.folder_languages import FolderLanguage
from resay.retrieval.function import import_retriever
from resay.retrieval.hybrid import HybridRetriever, Reranker

MetadataFilter: TypeAlias = Mapping[
    Annotated[str, Field(min_length=1)],
    MetadataValue | Annotated[tuple[MetadataValue, ...], Field(min_length=1, strict=False)],
]
"""The required metadata: for each key a value, or a list of which any matches."""


class FolderConfig(Strict):
    """Search the files of a folder by keywords."""

    kind: Literal["folder"] = Field(
        default="folder",
        description="Search the text, Markdown and PDF files of a folder by keywords (BM25).",
    )
    path: str = Field(min_length=1, description="The folder, including its subfolders.")
    index: str | None = Field(
        default=None,
        min_length=1,
        description="The index file, on a local disk; null = .resay-index.sqlite in the folder."
        " Several processes may share it.",
    )
    refresh: bool = Field(
        default=True,
        description="Index changed files before the first search; if false, run `resay index`.",
    )
    language: FolderLanguage = Field(
        default="auto",
        description="The code of the files' language (en, de, fr, ...), so that a search finds"
        " inflected words; auto = detect it for each file by its stop words, none = match exact"
        " words. All but English need resay[stemming].",
    )
    filter: MetadataFilter = Field(
        default={},
        description="Find only files whose metadata (at the top of the file) matches: for each key,"
        " a value or a list of allowed values.",
    )


class EmbeddingConfig(Strict):
    """A provider's embedding model, called through litellm."""

    model: str = Field(
        min_length=1,
        description="The model as litellm names it, such as openai/text-embedding-3-small.",
    )
    api_base: str | None = Field(
        default=None, min_length=1, description="The base URL, for servers with OpenAI's API."
    )
    api_key: str | None = Field(
        default=None,
        repr=False,
        description="The provider's key; null = from the environment.",
    )
    dimensions: int | None = Field(
        default=None,
        ge=1,
        description="The dimensions of an embedding; null = the model's default.",
    )
    batch: int = Field(
        default=64, ge=1, le=2048, description="The maximum number of texts per request."
    )
    timeout_s: float = Field(default=30.0, gt=0, description="Seconds for one request.")
    retries: int = Field(default=2, ge=0, le=10, description="Retries of a failed request.")
    concurrency: int = Field(
        default=8, ge=1, le=1000, description="Concurrent requests of the whole process."
    )


class QdrantConfig(Strict):
    """Search a Qdrant collection by meaning."""

    kind: Literal["qdrant"] = Field(
        default="qdrant",
        description="Search a collection of the vector database Qdrant; needs resay[qdrant].",
    )
    collection: str = Field(min_length=1, description="The collection.")
    path: str | None = Field(
        default=None,
        min_length=1,
        description="The folder of a local database, used without a server.",
    )
    url: str | None = Field(default=None, min_length=1, description="The URL of a server.")
    api_key: str | None = Field(default=None, repr=False, description="The server's key.")
    model: ModelField | None = Field(
        default=None,
        description="The embedding model the collection was filled with, written as for"
        " `similarity`; or set `embedding` instead.",
    )
    embedding: str | EmbeddingConfig | None = Field(
        default=None,
        description="The provider's embedding model the collection was filled with: its name, as"
        " litellm names it (openai/text-embedding-3-small), or a mapping with settings.",
    )
    text_key: str = Field(default="text", min_length=1, description="The payload key of the text.")
    query_prefix: str = Field(
        default="",
        description="A prefix that the embedding model needs before a query, such as `query: `.",
    )

    tenant_key: str | None = Field(
        default=None,
        min_length=1,
        description="The payload key of the tenant. If set, a request finds only its own tenant's"
        " documents.",
    )
    filter: MetadataFilter = Field(
        default={},
        description="Find only points whose payload matches: for each key, a value or a list of"
        " allowed values.",
    )

    @model_validator(mode="after")
    def _require_path_or_url(self) -> QdrantConfig:
        if (self.path is None) == (self.url is None):
            raise ValueError("set either `path` (a folder) or `url` (a server)")
        if self.api_key is not None and self.path is not None:
            raise ValueError("`api_key` is for a server (`url`); omit it with `path`")
        return self

    @model_validator(mode="after")
    def _require_one_model(self) -> QdrantConfig:
        if (self.model is None) == (self.embedding is None):
            raise ValueError(
                "set either `model` (an embedding model run locally or on your own server) or"
                " `embedding` (a provider's model)"
            )
        return self


class FunctionConfig(Strict):
    """Call a function or an object of the application."""

    kind: Literal["function"] = Field(
        default="function", description="Call a function or a retriever of the application."
    )
    name: str = Field(
        description="`package.module:name` of a retriever, or of a function that takes the query"
        " (and optionally `k`) and returns texts or documents; or the name under which a"
        " distribution installs one."
    )

    @field_validator("name")
    @classmethod
    def _require_import_path(cls, name: str) -> str:
        if not is_import_path(name) and name not in installed_names("resay.retrievers"):
            raise ValueError("must be package.module:name, or the name of an installed retriever")
        return name


class PluginConfig(Strict):
    """Search with a retriever of another distribution or of the application."""

    model_config = ConfigDict(
        extra="allow",
        title="package.module:Class",
        json_schema_extra={"required": ["kind"]},
    )

    kind: str = Field(
        description="The name under which a distribution installs a retriever, or"
        " `package.module:Class`; the other settings are the arguments of its class.",
        json_schema_extra={"pattern": r"^(?!(folder|qdrant|function|hybrid)$)[\w.-]+(:[\w.]+)?$"},
    )

    @property
    def settings(self) -> Mapping[str, object]:
        """The arguments of its class."""
        return self.model_extra or {}

    @model_validator(mode="after")
    def _require_settings_of_its_own(self) -> PluginConfig:
        try:
            retriever = load_plugin("resay.retrievers", self.kind)
        except ConfigurationError as error:
            raise ValueError(str(error)) from error
        takes = retriever if isinstance(retriever, type) else None
        check_settings(takes, self.settings, f"the retriever {self.kind!r}", keys=["kind"])
        return self

    # The settings may contain keys.
    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        yield "kind", self.kind
        yield "settings", sorted(self.settings)


_PLUGINS = Imported(
    PluginConfig,
    lambda _: PluginConfig,
    names=lambda: installed_names("resay.retrievers"),
)


def _part_configs() -> Mapping[str, type[BaseModel]]:
    return {"folder": FolderConfig, "qdrant": QdrantConfig, "function": FunctionConfig}


class HybridConfig(Strict):
    """Search with several retrievers, and merge their results."""

    kind: Literal["hybrid"] = Field(
        default="hybrid",
        description="Search with several retrievers at once and merge their results (reciprocal"
        " rank fusion).",
    )
    of: Annotated[
        tuple[
            Annotated[
                FolderConfig | QdrantConfig | FunctionConfig | PluginConfig,
                OneOf(
                    "retriever",
                    "kind",
                    _part_configs,
                    short=lambda name: {"kind": "function", "name": name},
                    imported=_PLUGINS,
                ),
            ],
            ...,
        ],
        Field(min_length=1, strict=False),
    ] = Field(description="The retrievers; a string is short for the function of that name.")
    fetch_k: int = Field(
        default=20,
        ge=1,
        le=200,
        description="The number of documents from each retriever, and for the reranker.",
    )
    reranker: ModelField | None = Field(
        default=None,
        description="A cross-encoder that reranks the documents: a folder or a model on the"
        " Hugging Face hub, or a mapping with settings; null = rank by fusion alone.",
    )
    weights: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(strict=False)] = Field(
        default=(),
        description="The weight of each retriever, in the order of `of`; empty = equal weights.",
    )
    timeout_s: float = Field(
        default=5.0,
        gt=0,
        description="Seconds for the retrievers, and again for the reranker; late results are"
        " ignored.",
    )

    @model_validator(mode="after")
    def _require_all_weights(self) -> HybridConfig:
        if self.weights and len(self.weights) != len(self.of):
            raise ValueError(
                f"`weights` has {len(self.weights)} numbers for {len(self.of)} retrievers; give"
                " one per retriever"
            )
        return self


RetrieverConfig = FolderConfig | QdrantConfig | FunctionConfig | HybridConfig | PluginConfig


def _configs() -> Mapping[str, type[BaseModel]]:
    return {**_part_configs(), "hybrid": HybridConfig}


ONE_RETRIEVER = OneOf(
    "retriever",
    "kind",
    _configs,
    short=lambda name: {"kind": "function", "name": name},
    imported=_PLUGINS,
)
"""Validates a policy's `retriever` by its kind; a text is the name of a function."""


_retrievers: dict[str, Retriever] = {}


def open_retriever(config: RetrieverConfig, *, where: str = "action.retriever") -> Retriever:
    """Return the retriever for a configuration.

    Equal configurations share one retriever per process. Nothing is opened or read before its first
    use, but a function is imported, and a folder must exist, at once.

    Args:
        config: The configuration.
        where: Where it is in the policy, for errors.

    Raises:
        ConfigurationError: The retriever cannot be created as configured.
        MissingDependencyError: A package that it needs is not installed.
    """
    key = config.model_dump_json()
    retriever = _retrievers.get(key)
    # Without a lock, because the imported code may create a guard with the same retriever.
    return retriever or _retrievers.setdefault(key, _create(config, where))


def _create(config: RetrieverConfig, where: str) -> Retriever:
    # Folders and Qdrant are imported on demand, because most policies use neither.
    if isinstance(config, FunctionConfig):
        return import_retriever(config.name, where=where)
    if isinstance(config, PluginConfig):
        return import_retriever(config.kind, config.settings, where=where)
    if isinstance(config, FolderConfig):
        from resay.retrieval.folder import FolderRetriever

        # Fail at once if the folder is missing: otherwise answers would silently not be repaired.
        if config.refresh and not Path(config.path).expanduser().is_dir():
            raise ConfigurationError(f"no folder {config.path!r}; set `path` to an existing one")
        return FolderRetriever(
            config.path,
            index=config.index,
            refresh=config.refresh,
            language=config.language,
            filter=config.filter,
        )
    if isinstance(config, HybridConfig):
        return HybridRetriever(
            [open_retriever(part, where=f"{where}.of[{i}]") for i, part in enumerate(config.of)],
            fetch_k=config.fetch_k,
            reranker=None if config.reranker is None else Reranker(config.reranker),
            weights=config.weights,
            timeout_s=config.timeout_s,
        )
    require_optional(
        "qdrant_client", package="qdrant-client", extra="qdrant", purpose="the retriever 'qdrant'"
    )
    from resay.retrieval.qdrant import QdrantRetriever

    return QdrantRetriever(
        config.collection,
        model=config.model,
        embedding=_embedder(config.embedding),
        path=config.path,
        url=config.url,
        api_key=config.api_key,
        text_key=config.text_key,
        query_prefix=config.query_prefix,
        tenant_key=config.tenant_key,
        filter=config.filter,
    )


def _embedder(embedding: str | EmbeddingConfig | None) -> LiteLLMEmbedder | None:
    if embedding is None:
        return None
    config = EmbeddingConfig(model=embedding) if isinstance(embedding, str) else embedding
    return LiteLLMEmbedder(**config.model_dump())
