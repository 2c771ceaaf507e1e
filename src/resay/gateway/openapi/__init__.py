"""What the gateway's endpoints take and give, as an OpenAPI 3.1 document."""

from __future__ import annotations

from resay.gateway.openapi.describing import document

__all__ = ["document"]
