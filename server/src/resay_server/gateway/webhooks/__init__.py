"""Webhooks by which other gateways have their answers checked."""

from __future__ import annotations

from resay_server.gateway.webhooks.agentgateway import agentgateway_request, agentgateway_response
from resay_server.gateway.webhooks.portkey import portkey

__all__ = ["agentgateway_request", "agentgateway_response", "portkey"]
