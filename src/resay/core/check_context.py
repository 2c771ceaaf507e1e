"""The context of a check: the request, and all that is known about it and not sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from resay.core.call_log import CallLog
from resay.core.logprobs import TokenLogprob
from resay.core.provider_params import CONNECTION_PARAMS
from resay.core.references import Reference
from resay.core.request import Request

# Tools, including those that the provider runs itself, and conversations that it stores.
_SIDE_EFFECT_PARAMS = (
    "background",
    "container",
    "conversation",
    "functions",
    "mcp_servers",
    "previous_response_id",
    "thread_id",
    "tools",
    "web_search_options",
)
_OBJECT_FORMATS = ("json_object", "json_schema")


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The context of a check. Nothing of it is sent to a provider but the request itself.

    Attributes:
        request: The request that the response answers; without messages if they are unknown.
        references: Trusted texts that were passed with the call.
        samples: Other responses to the same request; None if none were passed.
        logprobs: The response's tokens with their probabilities, if known.
        calls: The tool calls of the conversation, if an adapter reads them from messages of another
            format than the request's; see `call_log`.
        entity: The main subject of the question, for reverse validation.
        structured: Whether an object is wanted although the request's parameters do not say so, for
            example because a message asks for one.
        object_tools: The tools whose arguments are the answer: offered to get an object, not to be
            run.
        client_body: The client's request, if it differs from the request's messages and parameters,
            so that policies can refer to paths in it.
        client_references: Trusted texts in the `resay` field of the client's request.
        unchecked: Why the answer will not be checked, if the adapter knows that in advance.
        uncheckable: Why the answer cannot be checked, although it should be.
        unrepeatable: Why no samples may be drawn. The answer is checked by what needs none.
        skip_reason: Why the answer will not be checked, whatever it is: `unchecked`, or the reason
            of the policy. Guards set it; see `GuardRuntime.with_skip_reason`.
    """

    request: Request = field(default_factory=lambda: Request(()))
    references: tuple[Reference, ...] = field(default=(), kw_only=True, repr=False)
    samples: tuple[str, ...] | None = field(default=None, kw_only=True, repr=False)
    logprobs: tuple[TokenLogprob, ...] = field(default=(), kw_only=True, repr=False)
    calls: CallLog | None = field(default=None, kw_only=True, repr=False)
    entity: str | None = field(default=None, kw_only=True)
    structured: bool = field(default=False, kw_only=True)
    object_tools: tuple[str, ...] = field(default=(), kw_only=True)
    client_body: Mapping[str, Any] | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )
    client_references: tuple[Reference, ...] = field(default=(), kw_only=True, repr=False)
    unchecked: str | None = field(default=None, kw_only=True)
    uncheckable: str | None = field(default=None, kw_only=True)
    unrepeatable: str | None = field(default=None, kw_only=True)
    skip_reason: str | None = field(default=None, kw_only=True)

    @property
    def call_log(self) -> CallLog:
        """The tool calls of the conversation."""
        return CallLog.of(self.request.messages) if self.calls is None else self.calls

    @property
    def wants_object(self) -> bool:
        """Whether a structured answer is wanted: an object instead of prose."""
        if self.structured or self.object_tools:
            return True
        response_format = self.request.params.get("response_format")
        if isinstance(response_format, Mapping):
            return cast("Mapping[str, object]", response_format).get("type") in _OBJECT_FORMATS
        # litellm also accepts a pydantic class.
        return isinstance(response_format, type)

    @property
    def is_repeatable(self) -> bool:
        """Whether the request may be sent once more, to another model."""
        is_harmless = self.unrepeatable is None and not self.has_side_effects
        return bool(self.request.messages) and is_harmless

    @property
    def has_side_effects(self) -> bool:
        """Whether the call may do more than answer: call tools, or extend a stored conversation."""
        names = [name for name in _SIDE_EFFECT_PARAMS if self.request.params.get(name)]
        return names != ["tools"] if self._has_only_object_tools else bool(names)

    @property
    def _has_only_object_tools(self) -> bool:
        tools: Any = self.request.params.get("tools")
        if not tools or not isinstance(tools, (list, tuple)):
            return False
        names = {_tool_name(tool) for tool in cast("list[Any] | tuple[Any, ...]", tools)}
        return names <= set(self.object_tools)

    @property
    def client_request(self) -> dict[str, Any]:
        """The client's whole request as one mapping, without its destination and account."""
        body = self.client_body
        if body is None:
            body = {"messages": list(self.request.messages), **self.request.params}
        return {name: value for name, value in body.items() if name not in CONNECTION_PARAMS}


def _tool_name(tool: Any) -> str | None:
    try:
        name: Any = tool["function"]["name"]
    except (KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None
