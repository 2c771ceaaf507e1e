"""A gateway that guards any client in any language: it speaks OpenAI's and Anthropic's APIs.

It needs the extra `server`.
"""

from __future__ import annotations

from resay.gateway.config import ClientKey, GatewayConfig, GatewayLimits, UpstreamConfig
from resay.gateway.gateway import Gateway
from resay.gateway.observing import Observation, Observer
from resay.gateway.server import check_exposure, listener, serve, serving

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
    "serve",
    "serving",
]
