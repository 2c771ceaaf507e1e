"""What of an answer is looked up: the section `lookups`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, WithJsonSchema

from resay._internal.strict import Strict
from resay.policy.limits import Seconds
from resay.providers.base_urls import problem_with_url

Registry = Literal["pypi", "npm"]
_REGISTRIES = ("pypi", "npm")
_AGENCIES = ("crossref",)


def _as_addresses(value: object, names: tuple[str, ...]) -> object:
    """Return addresses by name, of a mapping, or of names without addresses."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        value = dict.fromkeys(cast("list[Any]", value))
    if not isinstance(value, Mapping):
        raise ValueError(f"must be a list of {', '.join(names)}, or a mapping to addresses")
    addresses = cast("Mapping[Any, Any]", value)
    for name, address in addresses.items():
        if name not in names:
            raise ValueError(f"unknown name; there are {', '.join(names)}")
        problem = None if not isinstance(address, str) else problem_with_url(address)
        if problem is not None:
            raise ValueError(problem)
    return dict(addresses)


def _schema(names: tuple[str, ...]) -> dict[str, Any]:
    address = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    mapping = {
        "type": "object",
        "properties": dict.fromkeys(names, address),
        "additionalProperties": False,
    }
    listed = {"type": "array", "items": {"enum": list(names)}}
    return {"anyOf": [{"enum": list(names)}, listed, mapping]}


class LookupsConfig(Strict):
    """Which packages, links and DOIs of an answer are looked up.

    What does not exist is flagged, whatever samples and documents say. Of an answer, nothing but
    these names is sent.
    """

    packages: Annotated[
        Mapping[Registry, str | None],
        BeforeValidator(lambda value: _as_addresses(value, _REGISTRIES)),
        WithJsonSchema(_schema(_REGISTRIES)),
    ] = Field(
        default_factory=dict[Registry, str | None],
        description="The registries in which to look up packages that the answer tells to install:"
        " a list of pypi and npm, whose addresses are those that pip and npm use (`PIP_INDEX_URL`,"
        " `NPM_CONFIG_REGISTRY`), or a mapping to addresses.",
    )
    links: Literal["none", "head"] = Field(
        default="none",
        description="Whether to look up links in prose: not at all, or by a HEAD request (and a GET"
        " request if that says 404). Links with a query, and hosts that are not public, are not"
        " looked up.",
    )
    doi: Annotated[
        Mapping[Literal["crossref"], str | None],
        BeforeValidator(lambda value: _as_addresses(value, _AGENCIES)),
        WithJsonSchema(_schema(_AGENCIES)),
    ] = Field(
        default_factory=dict[Literal["crossref"], str | None],
        description="Where to look up DOIs: crossref, or a mapping to its address. It knows the"
        " DOIs of all agencies.",
    )
    hosts: tuple[str, ...] = Field(
        default=("*",),
        strict=False,
        description="The hosts whose links may be looked up, such as `*.example.org`.",
    )
    known: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="What is taken to exist and never looked up, such as your own packages:"
        " names, hosts or DOIs, with `*`.",
    )
    per_answer: int = Field(
        default=20, ge=1, le=200, description="The maximum number of look-ups of an answer."
    )
    timeout_s: Seconds = Field(default=3.0, description="Seconds for one look-up.")
    concurrency: int = Field(default=8, ge=1, le=100, description="Concurrent look-ups.")
    cache_s: float = Field(
        default=86_400.0,
        ge=0,
        description="Seconds for which this process remembers what exists and what does not.",
    )
