"""The proxy's router, and which of its deployments answered."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from resay_litellm._pieces import field

__all__ = ["Target", "proxy_router"]

_PROXY = "litellm.proxy.proxy_server"


def proxy_router() -> Any:
    """Return the router of the proxy that this process is, None outside of one."""
    # Not imported: it is there, or this is no proxy.
    return getattr(sys.modules.get(_PROXY), "llm_router", None)


@dataclass(frozen=True, slots=True)
class Target:
    """Who answered, and so is asked again.

    Attributes:
        router: The proxy's router; None where it has none.
        model: The deployment, by its id; the model that the client named where it is not known.
    """

    router: Any
    model: str | None

    @classmethod
    def of(cls, data: Mapping[str, Any], response: object) -> Target:
        """Find out who answered.

        A model group's name would not do: the router spreads its requests over deployments, which
        may be different models.

        Args:
            data: The request.
            response: The response, or the stream.
        """
        router = proxy_router()
        for candidate in _ids(data, response):
            if isinstance(candidate, str) and router is not None and router.has_model_id(candidate):
                return cls(router, candidate)
        return cls(router, data.get("model"))

    def knows(self, model: str) -> bool:
        """Return whether the router has a deployment, or a group, of this name."""
        if self.router is None:
            return False
        return self.router.has_model_id(model) or model in self.router.get_model_names()

    @property
    def litellm_model(self) -> str | None:
        """What litellm calls the deployment's model; None where one cannot tell."""
        if self.router is None:
            return self.model
        deployment = self.router.get_deployment(self.model)
        return field(field(deployment, "litellm_params"), "model")


def _ids(data: Mapping[str, Any], response: object) -> Iterator[object]:
    yield field(field(response, "_hidden_params"), "model_id")
    for name in ("metadata", "litellm_metadata"):
        yield field(field(data.get(name), "model_info"), "id")
    yield field(field(cast("object", data.get("deployment")), "model_info"), "id")
