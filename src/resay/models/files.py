"""Finds a model's files, in a folder or on the Hugging Face hub."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from resay._internal.optional import load_optional
from resay.errors import ConfigurationError
from resay.models.config import ModelConfig

__all__ = ["find", "folder_of"]


def folder_of(config: ModelConfig) -> Path | None:
    """Return the folder a model is in, or None when it is one on the hub."""
    path = Path(config.name or "").expanduser()
    return path if config.name and path.is_dir() else None


def find(config: ModelConfig, *names: str) -> Path | None:
    """Return the first of some files that a model has.

    Args:
        config: The model.
        names: Paths of files inside its folder or repository, the most wanted first.

    Returns:
        The file, fetched from the hub if it was not there; None where the model has none of them.

    Raises:
        ConfigurationError: There is no such model, or the hub cannot be reached.
    """
    folder = folder_of(config)
    if folder is not None:
        return next((folder / name for name in names if (folder / name).is_file()), None)
    found = (_fetch(config, name) for name in names)
    return next((path for path in found if path is not None), None)


def _fetch(config: ModelConfig, name: str) -> Path | None:
    hub = load_optional(
        "huggingface_hub", package="huggingface_hub", extra="onnx", purpose="fetching a model"
    )
    # A module of its own, which the package does not load by itself.
    errors = import_module("huggingface_hub.errors")
    try:
        return Path(hub.hf_hub_download(config.name, name, revision=config.revision))
    except (errors.RemoteEntryNotFoundError, errors.LocalEntryNotFoundError) as error:
        # Offline, a file that was never fetched and one that does not exist look the same.
        if isinstance(error, errors.RemoteEntryNotFoundError) or _offline_or_cached(config, hub):
            return None
        raise _unreachable(config) from error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        raise ConfigurationError(
            f"there is no folder and no model on the Hugging Face hub called {config.name!r}"
            f" ({type(error).__name__}); check the name, and HF_TOKEN if the model is private"
        ) from error


def _offline_or_cached(config: ModelConfig, hub: Any) -> bool:
    return isinstance(hub.try_to_load_from_cache(config.name, "config.json"), str)


def _unreachable(config: ModelConfig) -> ConfigurationError:
    return ConfigurationError(
        f"the model {config.name!r} is not on this machine and the Hugging Face hub cannot be"
        " reached; download it first where it can, name a folder that holds it, or unset"
        " HF_HUB_OFFLINE"
    )
