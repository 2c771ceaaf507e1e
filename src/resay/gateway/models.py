"""The models that are asked through litellm, as the gateway file names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import httpx
from pydantic import Field, SecretStr, field_validator, model_validator

from resay._internal.strict import Strict
from resay.gateway.refusing import RefusedError

__all__ = ["ModelConfig", "ModelName", "named_model", "unknown_model"]

ModelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._:/@-]{0,126}[A-Za-z0-9])?$")]
"""What clients call a model."""

_SHOWN = 64
# They have keys of their own, or are the gateway's to say.
_NOT_PARAMS: Mapping[str, str] = {
    **dict.fromkeys(("api_key", "api_base", "model"), "write it beside `params`"),
    "base_url": "write it as `api_base`, beside `params`",
    "timeout": "write it as `timeout_s`, beside `params`",
    **dict.fromkeys(
        ("input", "instructions", "messages", "prompt", "stream", "stream_options", "system"),
        "it is a client's to say",
    ),
    **dict.fromkeys(
        ("context_window_fallback_dict", "fallbacks", "model_list"),
        "samples are to come from the same model",
    ),
    **dict.fromkeys(
        ("cache", "caching", "max_retries", "num_retries"), "nothing is kept or asked again here"
    ),
}


class ModelConfig(Strict):
    """A model that is asked through litellm."""

    model: str = Field(
        min_length=1,
        description="What litellm calls it, such as anthropic/claude-sonnet-5 or ollama/llama3.2.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        min_length=1,
        description="Its provider's key; null = what litellm finds in the environment.",
    )
    api_base: str | None = Field(
        default=None, description="Where it is; null = where litellm says that it is."
    )
    params: Mapping[str, Any] = Field(
        default_factory=dict[str, Any],
        repr=False,
        description="What else litellm takes, such as aws_region_name. What says how to answer,"
        " such as temperature, is for requests that say nothing of it.",
    )
    timeout_s: float | None = Field(
        default=None,
        gt=0,
        le=86_400,
        description="How long it may be silent before it is given up; null = as the upstream.",
    )

    @field_validator("api_base")
    @classmethod
    def _must_be_a_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL:
            raise ValueError("is no URL; write one such as http://127.0.0.1:11434") from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError("must begin with http:// or https:// and name a host")
        if parsed.userinfo or parsed.fragment:
            raise ValueError("must have no credentials or fragment; write a key as api_key")
        return url

    # Of `params` alone nothing would be told, as they may hold keys.
    @model_validator(mode="after")
    def _must_have_params_of_litellm(self) -> ModelConfig:
        for name, why in _NOT_PARAMS.items():
            if name in self.params:
                raise ValueError(f"{name!r} is none of the `params`: {why}")
        return self


def named_model(body: Mapping[str, Any]) -> str | None:
    """Return the name of the model that a request asks for; None where it names none."""
    model: object = body.get("model")
    return model if isinstance(model, str) else None


def unknown_model(name: str | None, known: Iterable[str]) -> RefusedError:
    """Return what a client is told that asks for a model that there is not.

    Args:
        name: The name it gave.
        known: The names of the models there are.
    """
    names = ", ".join(repr(model) for model in sorted(known))
    asked = "the request names no `model`" if name is None else f"no model {name[:_SHOWN]!r}"
    told = asked if name is None else f"there is {asked}"
    return RefusedError(404, "model_not_found", f"{told}; there are {names}")
