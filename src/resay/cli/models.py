"""The commands of `resay models`: export and check neural models."""

from __future__ import annotations

import time
from enum import Enum
from pathlib import Path
from typing import Annotated, cast

import typer
from pydantic import ValidationError

from resay._internal.importing import require_optional
from resay._internal.strict import message_of
from resay.errors import ConfigurationError, ResayError
from resay.models.config import ModelConfig
from resay.models.files import check_reachable, kind_of
from resay.models.loading import backend_of
from resay.models.network import Kind, Loaded

app = typer.Typer(
    help="Export and check neural models.",
    no_args_is_help=True,
    add_completion=False,
)


class _Kind(str, Enum):
    classification = "classification"
    embedding = "embedding"
    token_classification = "token_classification"  # noqa: S105 - a kind of model, not a secret
    first_token = "first_token"  # noqa: S105 - the same


class _Backend(str, Enum):
    auto = "auto"
    torch = "torch"
    onnx = "onnx"


class _Precision(str, Enum):
    auto = "auto"
    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"
    int8 = "int8"


_TEXTS = [
    " ".join(["The bridge was opened in 1932, after eight years of work."] * count)
    for count in (1, 2, 4, 8, 16)
]

ModelArgument = Annotated[
    str, typer.Argument(help="A folder, or a model on the Hugging Face hub.", show_default=False)
]
KindOption = Annotated[
    _Kind | None,
    typer.Option(help="The model's kind of output.", show_default="the kind it was trained for"),
]
LayerOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="For embeddings: the layer to take them from.", show_default="the last"
    ),
]
RevisionOption = Annotated[
    str | None, typer.Option(help="A branch, tag or commit on the hub.", show_default=False)
]


@app.command("export")
def export_model(
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(help="The folder to write.", show_default=False)],
    kind: KindOption = None,
    layer: LayerOption = None,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="Also export 8-bit weights, which are smaller and faster on a CPU."
        ),
    ] = False,
    revision: RevisionOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier export.")
    ] = False,
) -> None:
    """Export a model to ONNX, to run it without torch, and compare the outputs."""
    for package in ("numpy", "onnx", "onnxruntime", "torch", "transformers"):
        require_optional(package, package=package, extra="export", purpose="exporting a model")
    from resay.models.export import export

    files = export(
        ModelConfig(name=model, revision=revision),
        folder,
        kind=_kind(kind),
        layer=layer,
        int8=int8,
        overwrite=overwrite,
    )
    for file in files:
        typer.echo(
            f"{file.path}: {file.bytes / 1e6:.1f} MB; largest difference from torch"
            f" {file.difference:.2g}"
        )


@app.command("check")
def check_model(
    model: ModelArgument,
    backend: Annotated[
        _Backend, typer.Option(help="The library that runs the model.")
    ] = _Backend.auto,
    precision: Annotated[
        _Precision, typer.Option(help="The precision of the weights.")
    ] = _Precision.auto,
    device: Annotated[
        str, typer.Option(help="The device: auto, cpu, mps, cuda, cuda:1, ...")
    ] = "auto",
    kind: KindOption = None,
    layer: LayerOption = None,
    revision: RevisionOption = None,
) -> None:
    """Load a model, run it, and print its speed."""
    require_optional("numpy", package="numpy", extra="nli", purpose="running a model")
    config = _config(model, backend, precision, device, revision)
    check_reachable(config)
    loaded = _load(config, _kind(kind) or kind_of(config), layer)
    traits = loaded.network.traits
    room = loaded.encoder.max_pair_tokens
    typer.echo(f"backend: {backend_of(config)}")
    typer.echo(f"device: {traits.device}")
    typer.echo(f"precision: {_precision(loaded, config)}")
    if traits.labels:
        typer.echo(f"labels: {', '.join(traits.labels)}")
    typer.echo(f"longest pair: {'any' if room is None else room} tokens")
    try:
        speed = _tokens_per_second(loaded)
    except ResayError:
        raise
    except Exception as error:  # torch and transformers raise anything.
        raise ConfigurationError(
            f"{config.display_name!r} cannot compute a text ({type(error).__name__}); see that it"
            " is of the kind that `--kind` names"
        ) from error
    typer.echo(f"speed: {speed:,.0f} tokens/s")


def _kind(chosen: _Kind | None) -> Kind | None:
    return None if chosen is None else cast("Kind", chosen.value)


def _config(
    model: str, backend: _Backend, precision: _Precision, device: str, revision: str | None
) -> ModelConfig:
    given = {"name": model, "revision": revision, "device": device}
    chosen = {"backend": backend.value, "precision": precision.value}
    try:
        return ModelConfig.model_validate({**given, **chosen})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ConfigurationError(
            f"invalid value {first['input']!r}: {message_of(first)}"
        ) from error


def _load(config: ModelConfig, kind: Kind, layer: int | None) -> Loaded:
    if backend_of(config) == "onnx":
        from resay.models.onnx_network import load
    else:
        from resay.models.torch_network import load
    return load(config, kind, layer)


def _precision(loaded: Loaded, config: ModelConfig) -> str:
    from resay.models.onnx_network import OnnxNetwork

    if isinstance(loaded.network, OnnxNetwork):
        return loaded.network.precision
    if config.precision != "auto":
        return config.precision
    return "bf16 on CUDA, else fp32" if loaded.network.traits.on_gpu else "fp32"


def _tokens_per_second(loaded: Loaded) -> float:
    """Measure the speed on a few texts, one at a time."""
    from resay.models.encoding import pad

    items = [part for parts in loaded.encoder.texts(_TEXTS) for part in parts]
    batches = [pad([item], loaded.network.traits.pad_id) for item in items]
    for batch in batches:
        loaded.network.run(batch)  # Warm-up: the first run of each length may be slower.
    start = time.perf_counter()
    for batch in batches:
        loaded.network.run(batch)
    return sum(map(len, items)) / (time.perf_counter() - start)
