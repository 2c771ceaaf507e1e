"""A gateway that guards clients in any language: it speaks OpenAI's and Anthropic's APIs.

It needs the extra `server`.
"""

from __future__ import annotations

from resay.adapters import require_optional

for _module in ("aiohappyeyeballs", "httptools", "prometheus_client", "starlette", "uvicorn"):
    _package = _module.replace("_", "-")
    require_optional(_module, package=_package, extra="server", purpose="the gateway")

from resay_server.gateway.app import Gateway  # noqa: E402
from resay_server.gateway.config import ClientKey, GatewayConfig, GatewayLimits, UpstreamConfig  # noqa: E402
from resay_server.gateway.observation import Observation, Observer  # noqa: E402
from resay_server.gateway.server import check_exposure, listener, serve, serving  # noqa: E402
from resay_server.gateway.workers import reserve, serve_workers  # noqa: E402

__all__ = [
    "ClientKey",
    "Gateway",
    "GatewayConfig",
    "GatewayLimits",
    "Observation",
    "Observer",
    "UpstreamConfig",
    "check_exposure",
    "listener",
    "reserve",
    "serve",
    "serve_workers",
    "serving",
]
