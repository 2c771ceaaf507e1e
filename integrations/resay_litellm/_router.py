"""What LiteLLM's router knows of its models, under the names of old and new versions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

_PROXY = "litellm.proxy.proxy_server"


def proxy_router() -> Any:
    """Return the router of the proxy that this process runs, or None outside a proxy."""
    # Not imported: a running proxy has loaded the module already.
    return getattr(sys.modules.get(_PROXY), "llm_router", None)


def has_deployment(router: Any, name: str) -> bool:
    """Return whether a router has a deployment with this id."""
    return _looked_up(router, "has_deployment", "has_model_id", name)


def deployment_of(router: Any, name: str | None) -> Any:
    """Return the deployment with this id, or None if there is none."""
    return _looked_up(router, "deployment", "get_deployment", name)


def groups_of(router: Any) -> Sequence[str]:
    """Return the names of a router's model groups, with their aliases."""
    return _looked_up(router, "names", "get_model_names")


def _looked_up(router: Any, new: str, old: str, *args: object) -> Any:
    # litellm 1.110 has a registry for lookups and deprecates the router's own methods, which are
    # the only ones in 1.106 and before.
    if hasattr(router, "registry"):
        return getattr(router.registry(), new)(*args)
    return getattr(router, old)(*args)
