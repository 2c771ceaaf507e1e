"""Networks that run in torch, with weights loaded by transformers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from resay._internal.importing import load_optional
from resay.errors import ConfigurationError
from resay.models.config import ModelConfig
from resay.models.encoding import Batch, TextEncoder
from resay.models.files import (
    FIRST_TOKENS,
    base_of,
    check_reachable,
    json_of,
    labels_of,
    most_tokens,
    pooling_of,
)
from resay.models.fused_attention import can_fuse, with_fused_attention
from resay.models.network import Kind, Loaded, Traits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CLASSES: Mapping[str, str] = {
    "classification": "AutoModelForSequenceClassification",
    "multiple_choice": "AutoModelForMultipleChoice",
    "embedding": "AutoModel",
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "token_classification": "AutoModelForTokenClassification",
    "first_token": "AutoModelForSeq2SeqLM",
}
_LABELLED = frozenset({"classification", "token_classification"})


def require() -> None:
    """Raise a `MissingDependencyError` unless torch and transformers are installed."""
    _import("torch")
    _import("transformers")


def _import(module: str) -> Any:
    return load_optional(module, package=module, extra="nli", purpose="running a model in torch")


def load(config: ModelConfig, kind: Kind, layer: int | None = None) -> Loaded:
    """Load a network and its tokenizer.

    Args:
        config: The model's settings.
        kind: The required output.
        layer: For token vectors, the layer to take them from; None = the last.

    Returns:
        The network and its tokenizer.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
        ConfigurationError: The model does not exist, or cannot give this output.
    """
    model = load_model(config, kind)
    if kind == "classification" and can_fuse(model):
        model = with_fused_attention(_import("torch"), model, lambda: load_model(config, kind))
    if kind == "embedding" and layer is not None:
        cut_off(model, layer, config)
    tokenizer = tokenizer_of(config)
    network = TorchNetwork(model, kind, config, tokenizer.pad_token_id)
    start = tokenizer.bos_token_id if kind == "causal" else None
    limit = most_tokens(
        config, model.config.model_type, tokenizer.model_max_length, _positions(model)
    )
    return Loaded(network, TextEncoder(tokenizer.backend_tokenizer, limit, start))


def load_model(config: ModelConfig, kind: str) -> Any:
    """Load a transformers model for inference, with the configured device and precision.

    Raises:
        MissingDependencyError: torch or transformers is not installed.
        ConfigurationError: The model does not exist, or cannot give this output.
    """
    transformers, torch = _import("transformers"), _import("torch")
    check_reachable(config)
    device = _device(config, torch)
    model_class = getattr(transformers, _CLASSES[kind])
    base, options = _base(config), dict[str, Any]()
    try:
        if base is not None:
            # The weights are those of a T5 token classifier, with names that start with `t5.`.
            model_class = transformers.T5ForTokenClassification
            base_config = transformers.T5Config.from_pretrained(base, num_labels=2)
            options = {"config": base_config, "key_mapping": {r"^t5\.": ""}}
        model, loading_info = model_class.from_pretrained(
            config.name,
            revision=config.revision,
            dtype=_dtype(config, device, torch),
            output_loading_info=True,
            **options,
        )
    # transformers raises OSError and ValueError for models that are missing or unreadable.
    except (OSError, ValueError) as error:
        raise _not_loaded(config, error) from error
    _check_weights(config, kind, loading_info["missing_keys"])
    return model.to(device).eval()


def tokenizer_of(config: ModelConfig) -> Any:
    """Load a model's tokenizer.

    Raises:
        ConfigurationError: There is none, or it is implemented in Python only.
    """
    base = _base(config)
    try:
        tokenizer = _import("transformers").AutoTokenizer.from_pretrained(
            base or config.name, revision=None if base else config.revision
        )
    except (OSError, ValueError, ImportError) as error:
        raise _not_loaded(config, error) from error
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise ConfigurationError(
            f"the tokenizer of {config.name!r} works in Python only; use a model with a"
            " tokenizer.json"
        )
    return tokenizer


def _base(config: ModelConfig) -> str | None:
    # Only HHEM-2.1-Open is known to use another model's configuration and tokenizer.
    try:
        return base_of(json_of(config, "config.json"))
    # Loading the model will report the error.
    except ConfigurationError:
        return None


def _not_loaded(config: ModelConfig, error: Exception) -> ConfigurationError:
    reason = str(error).strip().split("\n", 1)[0]
    return ConfigurationError(
        f"the model {config.name!r} cannot be loaded: {reason} Name a folder with the model in it"
        " or a model on the Hugging Face hub; with HF_HUB_OFFLINE set it must have been downloaded"
        " before"
    )


def _check_weights(config: ModelConfig, kind: str, missing: Any) -> None:
    # The pooler is not used for embeddings. A randomly initialized head would give random scores.
    required = sorted(key for key in missing if "pooler" not in key or kind != "embedding")
    if required:
        raise ConfigurationError(
            f"the model {config.name!r} was not made for {kind.replace('_', ' ')}: it has no"
            f" {required[0]!r}; name one that was"
        )


def _device(config: ModelConfig, torch: Any) -> str:
    if config.device != "auto":
        _check_device(config.device, torch)
        return config.device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _check_device(device: str, torch: Any) -> None:
    kind = device.split(":")[0]
    available = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not available[kind]:
        raise ConfigurationError(
            f"device {device!r} is not available on this machine; use 'auto' or 'cpu'"
        )


def _dtype(config: ModelConfig, device: str, torch: Any) -> Any:
    auto = "bf16" if device.startswith("cuda") else "fp32"
    names = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    return names[auto if config.precision == "auto" else config.precision]


def _positions(model: Any) -> int | None:
    positions = getattr(model.config, "max_position_embeddings", None)
    # RoBERTa and its relatives count positions from after the padding token's id.
    if positions and _counts_from_padding(model):
        return positions - (model.config.pad_token_id or 0) - 1
    return positions


def _counts_from_padding(model: Any) -> bool:
    return any(
        type(module).__name__.endswith("Embeddings")
        and hasattr(module, "create_position_ids_from_inputs_embeds")
        for module in model.modules()
    )


def cut_off(model: Any, layer: int, config: ModelConfig) -> None:
    """Remove the layers whose output is not needed.

    Args:
        model: The model, which is modified.
        layer: The number of layers to keep, at least 1.
        config: The model's settings.

    Raises:
        ConfigurationError: The model has fewer layers, or another architecture.
    """
    layers = getattr(getattr(model, "encoder", None), "layer", None)
    if layers is None:
        raise ConfigurationError(f"`layer` cannot be chosen in a model like {config.name!r}")
    if not 1 <= layer <= len(layers):
        raise ConfigurationError(
            f"{config.name!r} has {len(layers)} layers; `layer` cannot be {layer!r}"
        )
    model.encoder.layer = layers[:layer]


class TorchNetwork:
    """A transformers model as a network.

    Args:
        model: The model, on its device.
        kind: The network's output.
        config: The model's settings.
        pad_id: The id of the tokenizer's padding token, if it has one.
    """

    def __init__(self, model: Any, kind: Kind, config: ModelConfig, pad_id: int | None) -> None:
        self._torch = _import("torch")
        self._model = model
        self._kind = kind
        self._types = (getattr(model.config, "type_vocab_size", 0) or 0) > 1
        self.traits = Traits(
            labels=_labels(config, kind, model),
            pad_id=pad_id or 0,
            device=str(model.device),
            pooling=pooling_of(config) if kind == "embedding" else "mean",
        )

    def run(self, batch: Batch) -> NDArray[np.float32]:
        """Compute a batch."""
        torch, device = self._torch, self._model.device
        with torch.inference_mode(), attention_kernels(device.type):
            inputs = {"input_ids": torch.from_numpy(batch.ids).to(device)}
            # Without padding the mask says nothing, and a model would wait for the GPU to read it.
            if not batch.mask.all():
                inputs["attention_mask"] = torch.from_numpy(batch.mask).to(device)
            if self._types:
                inputs["token_type_ids"] = torch.from_numpy(batch.types).to(device)
            return self._compute(inputs).float().cpu().numpy()

    def _compute(self, inputs: dict[str, Any]) -> Any:
        if self._kind == "embedding":
            return self._model(**inputs)[0]
        if self._kind == "multiple_choice":
            # Each choice is scored by itself: every item becomes a question with one choice.
            inputs = {name: value.unsqueeze(1) for name, value in inputs.items()}
        if self._kind == "first_token":
            return first_tokens(self._torch, self._model, inputs)
        if self._kind == "causal":
            return _next_tokens(self._torch, self._model(**inputs).logits, inputs["input_ids"])
        return self._model(**inputs).logits


def attention_kernels(device: str) -> AbstractContextManager[Any]:
    """Return a context in which attention on a GPU is computed by other kernels than cuDNN's.

    cuDNN plans for a tenth of a second for each new shape of its input, and nearly every text has
    another length.
    """
    if device != "cuda":
        return nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    return cast("AbstractContextManager[Any]", sdpa_kernel(kernels))


def _labels(config: ModelConfig, kind: Kind, model: Any) -> tuple[str, ...]:
    if kind == "first_token":
        return tuple(FIRST_TOKENS)
    return labels_of(config, model.config.id2label) if kind in _LABELLED else ()


def first_tokens(torch: Any, model: Any, inputs: Mapping[str, Any]) -> Any:
    """Return the logits of the tokens that an answer may begin with."""
    ids = inputs["input_ids"]
    start = torch.full_like(ids[:, :1], model.config.decoder_start_token_id)
    logits = model(**inputs, decoder_input_ids=start).logits
    return logits[:, 0, list(FIRST_TOKENS.values())]


def _next_tokens(torch: Any, logits: Any, ids: Any) -> Any:
    """Return each token's log-probability, and the entropy of the distribution at its position.

    The first token has no predecessor; its entries are NaN.
    """
    logprobs = logits[:, :-1].float().log_softmax(-1)
    token_logprobs = logprobs.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    entropy = -(logprobs.exp() * logprobs).nansum(-1)
    values = torch.stack((token_logprobs, entropy), dim=-1)
    first = torch.full_like(values[:, :1], float("nan"))
    return torch.cat((first, values), dim=1)
