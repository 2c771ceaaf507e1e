"""Returns models for scorers. Each is loaded once per process and shared by all callers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, cast

from resay._internal.importing import require_optional
from resay.errors import ConfigurationError
from resay.models.config import Backend, ModelConfig, config_of
from resay.models.files import folder_of

if TYPE_CHECKING:
    from resay.models.base import (
        PairClassifier,
        PairScorer,
        SentenceEmbedder,
        TextClassifier,
        TextScorer,
        TokenClassifier,
        TokenEmbedder,
    )
    from resay.models.generation import TextGenerator
    from resay.models.local import LocalTextModel
    from resay.models.network import Kind, Loaded
    from resay.models.remote.chat import ChatModel

_lock = threading.Lock()
_models: dict[object, Any] = {}


def pair_classifier(model: str | ModelConfig) -> PairClassifier:
    """Return a model that classifies pairs of texts.

    It is loaded on first use.

    Args:
        model: A folder, a model on the hub, or its settings.

    Raises:
        MissingDependencyError: A package that the model needs is not installed.
    """
    return cast("PairClassifier", _shared("classification", model))


def pair_scorer(model: str | ModelConfig) -> PairScorer:
    """Return a model that computes the logits of pairs of texts; see `pair_classifier`."""
    return cast("PairScorer", _shared("classification", model))


def choice_scorer(model: str | ModelConfig) -> PairScorer:
    """Return a model that computes one logit for a question with a choice.

    See `pair_classifier` for the arguments and errors.
    """
    return cast("PairScorer", _shared("multiple_choice", model))


def text_scorer(model: str | ModelConfig) -> TextScorer:
    """Return a model that computes the logits of single texts; see `pair_classifier`."""
    return cast("TextScorer", _shared("texts", model))


def text_classifier(
    model: str | ModelConfig, kind: Literal["classification", "first_token", "token_classification"]
) -> TextClassifier:
    """Return a model that classifies single texts; see `pair_classifier`.

    Args:
        model: A folder, a model on the hub, or its settings.
        kind: The network's output: the logits of labels, those of the tokens that may begin its
            answer, or those of each token's labels, of which the first token's apply to the text.
    """
    return cast("TextClassifier", _shared(_TEXTS[kind], model))


_TEXTS = {
    "classification": "texts",
    "first_token": "first_token",
    "token_classification": "first_label",
}


def token_classifier(model: str | ModelConfig) -> TokenClassifier:
    """Return a model that labels the tokens of a text; see `pair_classifier`."""
    return cast("TokenClassifier", _shared("token_labels", model))


def token_embedder(model: str | ModelConfig, layer: int | None = None) -> TokenEmbedder:
    """Return a model that embeds tokens, after the given layer; see `pair_classifier`."""
    return cast("TokenEmbedder", _shared("tokens", model, layer))


def sentence_embedder(model: str | ModelConfig) -> SentenceEmbedder:
    """Return a model that embeds texts; see `pair_classifier`."""
    return cast("SentenceEmbedder", _shared("sentences", model))


def text_model(model: str | ModelConfig) -> LocalTextModel:
    """Return a model that computes the probability of each token; see `pair_classifier`."""
    return cast("LocalTextModel", _shared("causal", model))


def chat_model(model: str | ModelConfig) -> ChatModel:
    """Return a chat model on a server.

    Args:
        model: Its settings, with backend `chat`.

    Raises:
        ConfigurationError: They name another backend.
    """
    config = config_of(model)
    if backend_of(config) != "chat":
        raise ConfigurationError(
            f"{config.display_name!r} is a chat model, which runs on a server: set"
            " `backend: chat`, `name` and `url`"
        )
    return cast("ChatModel", _shared("chat", config))


def text_generator(model: str | ModelConfig) -> TextGenerator:
    """Return a model that generates a text from a prompt; see `pair_classifier`.

    Raises:
        ConfigurationError: The settings name a backend other than torch, which cannot generate.
    """
    config = config_of(model)
    if config.remote or config.backend == "onnx" or config.precision == "int8":
        raise ConfigurationError(
            f"{config.display_name!r} must generate text, which needs backend 'torch'; omit `url`,"
            " other backends and int8"
        )
    torch = config.model_copy(update={"backend": "torch"})
    return cast("TextGenerator", _shared("seq2seq", torch))


def backend_of(config: ModelConfig) -> Backend:
    """Return a model's backend, chosen automatically if the settings say `auto`."""
    if config.backend != "auto":
        return config.backend
    if config.url:
        return "tei"
    folder = folder_of(config)
    exported = folder is not None and any(folder.rglob("*.onnx"))
    if config.precision == "int8" or config.file or exported:
        return "onnx"
    only_onnx = find_spec("onnxruntime") is not None and find_spec("torch") is None
    return "onnx" if only_onnx else "torch"


def _shared(role: str, model: str | ModelConfig, layer: int | None = None) -> Any:
    config = config_of(model)
    make = _remote if config.remote else _local
    key = (role, config, layer)
    with _lock:
        if key not in _models:
            _models[key] = make(role, config, layer)
        return _models[key]


def _remote(role: str, config: ModelConfig, layer: int | None) -> Any:
    if role == "chat":
        from resay.models.remote.chat import ChatModel

        return ChatModel(config)
    require_optional("numpy", package="numpy", extra="remote", purpose="asking a model's server")
    from resay.models.remote import rerank, tei, vllm

    kinds: dict[tuple[str, str], Callable[[ModelConfig], Any]] = {
        ("tei", "classification"): tei.TeiClassifier,
        ("tei", "texts"): tei.TeiTextClassifier,
        ("tei", "tokens"): tei.TeiTokenEmbedder,
        ("tei", "sentences"): tei.TeiSentenceEmbedder,
        ("vllm", "classification"): vllm.VllmClassifier,
        ("vllm", "texts"): vllm.VllmTextClassifier,
        ("vllm", "sentences"): vllm.VllmSentenceEmbedder,
        ("rerank", "classification"): rerank.RerankClassifier,
    }
    backend = backend_of(config)
    if (backend, role) not in kinds or layer is not None:
        raise ConfigurationError(
            f"a {backend} server cannot run {config.display_name!r} for this method; run the model"
            " here, with backend 'torch'"
        )
    return kinds[backend, role](config)


def _local(role: str, config: ModelConfig, layer: int | None) -> Any:
    load: Callable[..., Loaded]
    if backend_of(config) == "onnx":
        _require(config, "onnx", "onnxruntime", "tokenizers")
        from resay.models.onnx_network import load
    else:
        _require(config, "nli", "torch", "transformers")
        from resay.models.torch_network import load
    if role == "seq2seq":
        from resay.models.generation import TextGenerator

        return TextGenerator(config)
    from resay.models import local

    classes: dict[str, tuple[Kind, Callable[[ModelConfig, Callable[[], Loaded]], Any]]] = {
        "classification": ("classification", local.LocalPairModel),
        "multiple_choice": ("multiple_choice", local.LocalPairModel),
        "tokens": ("embedding", local.LocalTokenEmbedder),
        "sentences": ("embedding", local.LocalSentenceEmbedder),
        "texts": ("classification", local.LocalTextScorer),
        "first_token": ("first_token", local.LocalTextScorer),
        "first_label": ("token_classification", local.LocalTextScorer),
        "token_labels": ("token_classification", local.LocalTokenClassifier),
        "causal": ("causal", local.LocalTextModel),
    }
    kind, model = classes[role]
    return model(config, partial(load, config, kind, layer))


def _require(config: ModelConfig, extra: str, *packages: str) -> None:
    for package in packages:
        purpose = f"running the model {config.display_name!r}"
        require_optional(package, package=package, extra=extra, purpose=purpose)
