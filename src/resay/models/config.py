"""Settings of a model in a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from resay.errors import ConfigurationError

Backend = Literal["auto", "torch", "onnx", "tei", "vllm", "rerank", "chat"]

_REMOTE = frozenset({"tei", "vllm", "rerank", "chat"})


class ModelConfig(BaseModel):
    """A model, where it runs, and how."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = Field(
        default=None,
        min_length=1,
        description="A folder, or a model on the Hugging Face hub; for vllm, rerank and chat, the"
        " server's name for the model.",
    )
    backend: Backend = Field(
        default="auto",
        description="torch (transformers), onnx (onnxruntime), tei (a text-embeddings-inference"
        " server), vllm (its server), rerank (a reranker with Cohere's or Jina's API) or chat (a"
        " server with OpenAI's chat completions); auto = tei if `url` is set, onnx for a folder"
        " with an exported model or if torch is not installed, else torch.",
    )
    revision: str | None = Field(
        default=None, description="A branch, tag or commit of a model on the hub."
    )
    file: str | None = Field(
        default=None,
        description="For onnx, the model file; null = on a CPU the int8 file if there is one, else"
        " model.onnx.",
    )
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$",
        description="auto = a GPU if there is one.",
    )
    precision: Literal["auto", "fp32", "fp16", "bf16", "int8"] = Field(
        default="auto",
        description="auto = bf16 on CUDA, else fp32; int8 needs a model exported to ONNX.",
    )
    max_tokens: int | None = Field(
        default=None,
        ge=16,
        description="The maximum number of tokens per input; null = the model's own maximum.",
    )
    batch_tokens: int | None = Field(
        default=None,
        ge=16,
        description="Tokens per batch, including padding; memory use grows with it. null = 2048"
        " on a CPU, 32768 on a GPU.",
    )
    alone: bool | None = Field(
        default=None,
        description="Run each text alone; null = only in int8, where rounding depends on the"
        " other texts in the batch. false is faster for short texts.",
    )
    queue_tokens: int = Field(
        default=1_000_000,
        ge=16,
        description="The maximum number of tokens in the queue; when it is full, further callers"
        " wait.",
    )
    window_ms: float = Field(
        default=2.0,
        ge=0,
        le=1000,
        description="How long to wait for more texts to fill a batch.",
    )
    cache_mb: float = Field(
        default=64.0, ge=0, description="The number of results to cache in memory."
    )
    url: str | None = Field(default=None, description="The server's URL.")
    api_key: str | None = Field(default=None, repr=False, description="The server's key.")
    labels: tuple[str, ...] | None = Field(
        default=None,
        description="The label names in the order of the model's outputs, if the model does not"
        " provide them; vllm never does.",
    )
    separator: str = Field(
        default="</s></s>",
        description="For vllm, which takes only one text: the separator between two texts.",
    )
    timeout_s: float = Field(
        default=30.0, gt=0, description="For a server, seconds for one request."
    )
    concurrency: int = Field(
        default=8, ge=1, le=1000, description="For a server, concurrent requests."
    )

    @model_validator(mode="after")
    def _must_fit(self) -> ModelConfig:
        if self.backend in _REMOTE and not self.url:
            raise ValueError(f"backend {self.backend!r} needs `url`, the address of the server")
        if self.url and self.backend not in {*_REMOTE, "auto"}:
            raise ValueError(
                f"`url` is for tei, vllm, rerank and chat, not for backend {self.backend!r}; omit"
                " it"
            )
        if not self.url and not self.name:
            raise ValueError(
                "`name` is missing; set it to a folder or a model on the hub, or set `url`"
            )
        if self.backend in ("vllm", "chat") and not self.name:
            raise ValueError(
                f"backend {self.backend!r} needs `name`, the server's name for the model"
            )
        if self.backend == "torch" and self.precision == "int8":
            raise ValueError(
                "int8 needs an exported model; run `resay models export --int8` and use backend"
                " 'onnx'"
            )
        return self

    @property
    def remote(self) -> bool:
        """Whether the model runs on a server."""
        return bool(self.url)

    @property
    def display_name(self) -> str:
        """The model's name in messages: its name, or its server without credentials."""
        return self.name or urlsplit(self.url or "").netloc.rpartition("@")[2]


ModelField = Annotated[
    str | ModelConfig,
    Field(description="A folder or a model on the Hugging Face hub; or a mapping with settings."),
]
"""A model in a scorer's configuration."""


def config_of(model: str | Mapping[str, Any] | ModelConfig) -> ModelConfig:
    """Return a model's settings. If only its name is given, the others are the defaults.

    Raises:
        ConfigurationError: The settings are not valid.
    """
    if isinstance(model, ModelConfig):
        return model
    try:
        return ModelConfig.model_validate({"name": model} if isinstance(model, str) else model)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, ("model", *first["loc"])))
        raise ConfigurationError(f"invalid `{where}`: {first['msg']}") from None
