"""The document: what is written by hand, and what is made from classes."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, cast, get_args

import yaml

from resay._internal._version import __version__
from resay.adapters import VERDICT_KEY
from resay.core.verdict import Decision, Verdict
from resay.engine.actions import Action
from resay.gateway.checking import CheckRequest, CheckResponse
from resay.gateway.config import GatewayConfig
from resay.gateway.litellm.guardrail import GuardrailRequest, GuardrailResponse
from resay.gateway.openapi.schemas import schemas_of, schemas_of_models

__all__ = ["document"]

_Security = list[dict[str, list[str]]]
_CLIENT: _Security = [{"bearer": []}, {"x-api-key": []}, {"api-key": []}]
_OPERATOR: _Security = [{"operator": []}, {"operatorBearer": []}]
_ANY: _Security = [{}]
_VERDICT = "#/components/schemas/Hallucination"


def document(config: GatewayConfig | None = None) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of a gateway.

    Args:
        config: What the gateway is told, for who needs which key; None for one that was told
            nothing.

    Returns:
        JSON-ready values, new ones each time.
    """
    text = files("resay.gateway.openapi").joinpath("openapi.yaml").read_text(encoding="utf-8")
    # YAML's aliases are copied, since they would be one object otherwise.
    made = cast("dict[str, Any]", _copied(yaml.safe_load(text)))
    made["info"]["version"] = __version__
    made["components"]["schemas"] |= _schemas()
    _secure(made["paths"], config)
    return made


def _schemas() -> dict[str, Any]:
    named = {"Action": Action, "Decision": Decision}
    words = {n: {"type": "string", "enum": list(get_args(t))} for n, t in named.items()}
    return words | _of_verdicts() | _of_checks()


def _of_verdicts() -> dict[str, Any]:
    made = schemas_of(Verdict)
    # Beside its own fields, `Verdict.to_dict` tells these.
    told = {
        "flagged": {"type": "boolean", "description": "Whether the decision is `flagged`."},
        "inconclusive": {"type": "boolean", "description": "Whether it is `inconclusive`."},
    }
    made["Verdict"]["properties"] |= told
    made["Verdict"]["required"] += list(told)
    return made


def _of_checks() -> dict[str, Any]:
    checks = schemas_of_models(CheckRequest, CheckResponse)
    litellms = schemas_of_models(GuardrailRequest, GuardrailResponse)
    told = checks["CheckResponse"]["properties"]
    checks["CheckResponse"]["required"] = list(told)
    # To their classes verdicts are any objects.
    told[VERDICT_KEY] = {"description": told[VERDICT_KEY]["description"], "$ref": _VERDICT}
    litellms["GuardrailResponse"]["properties"][VERDICT_KEY] = {
        "description": "The verdict on each text, with what was done.",
        "type": "array",
        "items": {"$ref": _VERDICT},
    }
    return checks | litellms


def _secure(paths: dict[str, Any], config: GatewayConfig | None) -> None:
    has_keys = config is not None and bool(config.keys)
    for_clients = _CLIENT if has_keys else [*_CLIENT, *_ANY]
    for_operators = _OPERATOR if config is not None and config.operator_key else _ANY
    for path, item in paths.items():
        for operation in item.values():
            wanted = for_operators if path == "/metrics" else for_clients
            operation.setdefault("security", [dict(one) for one in wanted])


def _copied(value: object) -> object:
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_copied(item) for item in cast("list[object]", value)]
    return value
