"""What is asked of registries of packages and of DOIs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlsplit

from resay._internal.patterns import lazy_pattern
from resay.errors import ConfigurationError
from resay.policy.lookups import LookupsConfig

_CROSSREF = "https://api.crossref.org"
# The variables with which the package managers themselves, and their successors, are configured.
_VARIABLES: Mapping[str, Sequence[str]] = {
    "pypi": ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"),
    "npm": ("NPM_CONFIG_REGISTRY", "npm_config_registry"),
}
_SEPARATORS = lazy_pattern(r"[-_.]+")


def addresses_of(config: LookupsConfig) -> dict[str, str]:
    """Return the address of each registry that a policy names.

    Raises:
        ConfigurationError: One of them is not known.
    """
    addresses: dict[str, str] = {}
    for registry, address in config.packages.items():
        addresses[registry] = (address or _configured(registry)).rstrip("/")
    for agency, address in config.doi.items():
        addresses[agency] = (address or _CROSSREF).rstrip("/")
    return addresses


def _configured(registry: str) -> str:
    variables = _VARIABLES[registry]
    for variable in variables:
        value = os.environ.get(variable, "").strip()
        if value:
            return value
    raise ConfigurationError(
        f"`lookups.packages` names {registry!r} without its address; set {variables[0]}, or write"
        f" `packages: {{{registry}: ADDRESS}}`"
    )


def url_of(source: str, address: str, name: str) -> str:
    """Return the URL that exists if and only if a name does.

    Args:
        source: The registry.
        address: Its address. Of an index for pip, that of its simple API or of its JSON API.
        name: The name of a package or a DOI.
    """
    if source == "npm":
        return f"{address}/{quote(name, safe='@')}"
    if source == "crossref":
        # The agency is known of the DOIs of all agencies, and the work only of Crossref's own.
        return f"{address}/works/{quote(name, safe='')}/agency"
    normal_name = quote(_SEPARATORS.sub("-", name).lower(), safe="")
    if urlsplit(address).path.endswith("/simple"):
        return f"{address}/{normal_name}/"
    return f"{address}/{normal_name}/json"


ACCEPT: Mapping[str, str] = {
    "pypi": "application/vnd.pypi.simple.v1+json, application/json",
    "npm": "application/vnd.npm.install-v1+json",
    "crossref": "application/json",
}
"""The format to ask each registry for; nothing of it is read."""
