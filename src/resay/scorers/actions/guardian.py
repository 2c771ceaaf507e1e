"""Asks Granite Guardian whether tool calls fit the request and the definitions of their tools.

The model's criterion is function-call hallucination: names, values or types of arguments that clash
with the definitions or with what the user wants; see `resay.scorers.common.guardian`. Version 4
reads calls as JSON, version 3 as Python writes them, and both read definitions in the form of the
model's cookbooks, where the parameters are a mapping without a schema around them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from resay.core.call_log import CallLog, LoggedCall
from resay.core.quoting import quotable
from resay.core.request import Request, text_of
from resay.providers.apis.values import listed, mapping, mappings
from resay.scorers.common.guardian import (
    WRONG_CALL,
    guardian_probability,
    guardian_request,
    guardian_version,
)

if TYPE_CHECKING:
    from resay.models.chat import ChatRequest
    from resay.models.config import ModelConfig
    from resay.models.remote.chat import ChatModel

_SPEAKERS: Final[Mapping[str, str]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
}
_MAX_MESSAGES: Final = 8
_MAX_CHARS: Final = 4_000
# The cookbooks name types as Python does.
_TYPES: Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
}


class CallGuardian:
    """Asks the model about calls.

    Args:
        config: The model, on a chat server.
    """

    def __init__(self, config: ModelConfig) -> None:
        # Needs httpx, which a policy without it does not.
        from resay.models import chat_model

        self._model: ChatModel = chat_model(config)
        self._version = guardian_version(config)
        self.name = config.display_name

    async def prepare(self) -> None:
        """Check that the server responds."""
        await self._model.prepare()

    async def probabilities(
        self, calls: Sequence[LoggedCall], request: Request, log: CallLog
    ) -> Mapping[int, float | None]:
        """Return how probably each call does not fit, by its index.

        Args:
            calls: Calls of the last turn.
            request: The request that was answered, with the conversation and the tools.
            log: All calls.

        Returns:
            Probabilities, or None where the model says nothing; without calls whose tool the
            request does not define.
        """
        definitions = tool_definitions(request.params)
        if not definitions:
            return {}
        # A call of a tool that nobody offered is wrong, unless the provider runs tools of its own.
        judges_all = not _has_hosted_tools(request.params)
        asked = [call for call in calls if judges_all or call.name in definitions]
        requests: list[ChatRequest] = []
        for call in asked:
            messages = _conversation(call, request, log, self._version)
            tools = list(definitions.values())
            requests.append(guardian_request(messages, WRONG_CALL, self._version, tools=tools))
        answers = await asyncio.gather(*map(self._model.answer, requests))
        probabilities = map(guardian_probability, answers)
        return {
            call.index: probability for call, probability in zip(asked, probabilities, strict=True)
        }


def tool_definitions(params: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the definitions of a request's tools in the form of the cookbooks, by name.

    Args:
        params: The request's parameters, with tools in the format of any API.
    """
    definitions: dict[str, dict[str, Any]] = {}
    for tool in _tools(params):
        fields = _function(tool)
        name = fields.get("name")
        if isinstance(name, str) and name:
            definitions[name] = {
                "name": name,
                "description": str(fields.get("description") or ""),
                "parameters": _parameters(
                    fields.get("parameters") or fields.get("input_schema") or {}
                ),
            }
    return definitions


def _has_hosted_tools(params: Mapping[str, Any]) -> bool:
    """Return whether the provider runs tools of its own, which have no definition."""
    return any(not _function(tool).get("name") for tool in _tools(params))


def _tools(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*mappings(params.get("tools")), *mappings(params.get("functions"))]


def _function(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    function = tool.get("function")
    return cast("Mapping[str, Any]", function) if isinstance(function, Mapping) else tool


def _parameters(schema: object) -> dict[str, Any]:
    """Return the parameters in a JSON schema; other mappings as they are."""
    fields = mapping(schema)
    properties = fields.get("properties")
    if not isinstance(properties, Mapping):
        return {} if fields.get("type") == "object" else dict(fields)
    required_names = listed(fields.get("required"))
    parameters: dict[str, Any] = {}
    for name, described in cast("Mapping[str, Any]", properties).items():
        parameter = dict(mapping(described))
        kind = parameter.get("type")
        if isinstance(kind, str):
            named = _TYPES.get(kind, kind)
            parameter["type"] = named if name in required_names else f"{named}, optional"
        parameters[name] = parameter
    return parameters


def _conversation(
    call: LoggedCall, request: Request, log: CallLog, version: int
) -> list[tuple[str, str]]:
    """Return the texts before the turn, its calls before this one with their results, and this."""
    texts: list[tuple[str, str]] = []
    last_of_user = 0
    for message in request.messages:
        role = _SPEAKERS.get(str(message.get("role") or message.get("type")))
        text = text_of(message.get("content"))
        if role is None or not text.strip():
            continue
        texts.append((role, _shown(text)))
        if role == "user":
            last_of_user = len(texts)
    conversation = texts[max(last_of_user - _MAX_MESSAGES, 0) : last_of_user]
    for earlier in log.of_turn:
        if earlier.index >= call.index:
            break
        conversation.append(("assistant", _written(earlier, version)))
        conversation.append(("tool", _shown(earlier.result or "")))
    return [*conversation, ("assistant", _written(call, version))]


def _written(call: LoggedCall, version: int) -> str:
    """Return a call as the model was trained to read it."""
    fields = {"name": call.name, "arguments": call.arguments}
    if version < 4:
        return quotable(repr([fields]))
    return quotable(json.dumps([fields], ensure_ascii=False, default=str))


def _shown(text: str) -> str:
    shown = quotable(text.strip())
    return shown if len(shown) <= _MAX_CHARS else f"{shown[:_MAX_CHARS]} […]"
