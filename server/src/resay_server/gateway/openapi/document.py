"""The OpenAPI 3.1 document of the gateway's endpoints."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, get_args

import yaml

from resay import Verdict, __version__
from resay.adapters import Action, Decision
from resay.adapters.verdicts import VERDICT_KEY
from resay_server.gateway.check import CheckRequest, CheckResponse
from resay_server.gateway.config import GatewayConfig
from resay_server.gateway.feedback import FeedbackRequest, FeedbackResponse
from resay_server.gateway.litellm.guardrail import GuardrailRequest, GuardrailResponse
from resay_server.gateway.openapi.schemas import schemas_of, schemas_of_models
from resay_server.gateway.webhooks.agentgateway import (
    AgentgatewayReply,
    AgentgatewayRequest,
    AgentgatewayResponse,
)
from resay_server.gateway.webhooks.portkey import PortkeyWebhookRequest, PortkeyWebhookResponse

_Security = list[dict[str, list[str]]]
_CLIENT: _Security = [{"bearer": []}, {"x-api-key": []}, {"api-key": []}]
_OPERATOR: _Security = [{"operator": []}, {"operatorBearer": []}]
_ANY: _Security = [{}]
_VERDICT = "#/components/schemas/Hallucination"


def document(config: GatewayConfig | None = None) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of a gateway.

    Args:
        config: The gateway's configuration, which decides on the keys needed; None for the default.

    Returns:
        JSON-ready values, new ones each time.
    """
    file = files("resay_server.gateway.openapi") / "openapi.yaml"
    text = file.read_text(encoding="utf-8")
    # The round trip copies YAML aliases, which would otherwise be shared objects.
    result: dict[str, Any] = json.loads(json.dumps(yaml.safe_load(text)))
    result["info"]["version"] = __version__
    result["components"]["schemas"] |= _schemas()
    _secure(result["paths"], config)
    return result


def _schemas() -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for name, literal in {"Action": Action, "Decision": Decision}.items():
        schemas[name] = {"type": "string", "enum": list(get_args(literal))}
    return schemas | _of_verdicts() | _of_checks()


def _of_verdicts() -> dict[str, Any]:
    schemas = schemas_of(Verdict)
    # `Verdict.to_dict` adds these to its fields.
    properties = {
        "flagged": {"type": "boolean", "description": "Whether the decision is `flagged`."},
        "inconclusive": {"type": "boolean", "description": "Whether it is `inconclusive`."},
    }
    schemas["Verdict"]["properties"] |= properties
    schemas["Verdict"]["required"] += list(properties)
    _flatten_claim(schemas)
    return schemas


def _flatten_claim(schemas: dict[str, Any]) -> None:
    """Put the fields of a claim beside those of the verdict on it, as `Verdict.to_dict` does."""
    claim, claim_verdict = schemas.pop("Claim"), schemas["ClaimVerdict"]
    text = "The claim, completed with words from elsewhere in the response."
    properties = claim["properties"] | claim_verdict["properties"]
    properties["text"] |= {"description": text}
    del properties["claim"], properties["completed_text"]
    claim_verdict |= {"properties": properties, "required": list(properties)}


def _of_checks() -> dict[str, Any]:
    checks = schemas_of_models(CheckRequest, CheckResponse)
    litellms = schemas_of_models(GuardrailRequest, GuardrailResponse)
    properties = checks["CheckResponse"]["properties"]
    checks["CheckResponse"]["required"] = list(properties)
    # Their classes declare verdicts as arbitrary objects.
    properties[VERDICT_KEY] = {
        "description": properties[VERDICT_KEY]["description"],
        "$ref": _VERDICT,
    }
    litellms["GuardrailResponse"]["properties"][VERDICT_KEY] = {
        "description": "The verdict on each text, with the action taken.",
        "type": "array",
        "items": {"$ref": _VERDICT},
    }
    feedback = schemas_of_models(FeedbackRequest, FeedbackResponse)
    feedback["FeedbackResponse"]["required"] = list(feedback["FeedbackResponse"]["properties"])
    return checks | litellms | feedback | _of_webhooks()


def _of_webhooks() -> dict[str, Any]:
    return {
        **schemas_of_models(PortkeyWebhookRequest, PortkeyWebhookResponse),
        **schemas_of_models(AgentgatewayRequest, AgentgatewayReply),
        **schemas_of_models(AgentgatewayResponse, AgentgatewayReply),
    }


def _secure(paths: dict[str, Any], config: GatewayConfig | None) -> None:
    has_keys = config is not None and bool(config.keys)
    for_clients = _CLIENT if has_keys else [*_CLIENT, *_ANY]
    for_operators = _OPERATOR if config is not None and config.operator_key else _ANY
    for path, item in paths.items():
        for operation in item.values():
            schemes = for_operators if path == "/metrics" else for_clients
            operation.setdefault("security", [dict(scheme) for scheme in schemes])
