"""The server: its tools, and how errors are told."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel

from resay import Guard, __version__
from resay.adapters.settings import Strict
from resay.errors import ResayError, without_cause
from resay_mcp._arguments import (
    CheckAgainstDocuments,
    CheckAnswer,
    VerifyClaim,
    read_arguments,
)
from resay_mcp._checks import Checks, with_tool_names
from resay_mcp._results import CheckResult, ClaimResult
from resay_mcp._sessions import Session, Sessions

_logger = logging.getLogger("resay.mcp")

_INSTRUCTIONS = (
    "Checks text for statements that are made up. Use check_against_documents where the answer"
    " should come from documents, check_answer where there are none, and verify_claim for a single"
    " statement. `consistent` and `supported` mean that the evidence agrees, not that it is true."
    " After `flagged`, correct or leave out the claims that are unsupported or contradicted."
)


@dataclass(frozen=True)
class _CheckTool:
    """A tool: what clients are told of it, and the check that it runs."""

    name: str
    title: str
    description: str
    arguments: type[Strict]
    result: type[BaseModel]
    run: Callable[[Any, Session], Awaitable[BaseModel]]

    def to_tool(self) -> Tool:
        """Return its description for clients."""
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.result.model_json_schema(mode="serialization"),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=True,
                destructive_hint=False,
                idempotent_hint=False,
                # It may ask a model.
                open_world_hint=True,
            ),
        )


def create_server(guard: Guard) -> Server[Any]:
    """Return a server whose tools check with a guard.

    Args:
        guard: The guard. Its policy's `limits.session` apply to each session.

    Returns:
        A server of the official SDK, for any of its transports.

    Raises:
        PolicyError: The policy cannot compare with documents in the way that a tool needs.
    """
    checks = Checks(guard)
    sessions = Sessions(guard.policy.limits.session)
    tools = {tool.name: tool for tool in _tools(checks)}

    async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        del context, params
        return ListToolsResult(tools=[tool.to_tool() for tool in tools.values()])

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _error_result(f"there is no such tool; there are {', '.join(tools)}")
        session = sessions.find(_session_id(context))
        try:
            result = await tool.run(read_arguments(tool.arguments, params.arguments), session)
        except ResayError as error:
            return _error_result(with_tool_names(without_cause(error)))
        # Its message may hold anything.
        except Exception as error:
            kind = type(error).__name__
            _logger.error("the tool %s failed: %s", tool.name, kind)
            return _error_result(f"the check failed: {kind}")
        content = TextContent(type="text", text=result.model_dump_json())
        return CallToolResult(content=[content], structured_content=result.model_dump(mode="json"))

    return Server(
        "resay",
        version=__version__,
        title="Resay",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _tools(checks: Checks) -> Sequence[_CheckTool]:
    return (
        _CheckTool(
            name="check_answer",
            title="Check an answer",
            description="Check an answer for made-up statements by comparing it with other answers"
            " to the same question. Pass the question, so that the server can ask its model again,"
            " or `samples` that you have.",
            arguments=CheckAnswer,
            result=CheckResult,
            run=checks.check_answer,
        ),
        _CheckTool(
            name="check_against_documents",
            title="Check an answer against documents",
            description="Check that each statement of an answer is in the documents: what they"
            " contradict and what none of them says is flagged.",
            arguments=CheckAgainstDocuments,
            result=CheckResult,
            run=checks.check_against_documents,
        ),
        _CheckTool(
            name="verify_claim",
            title="Verify a claim",
            description="Verify one statement against documents or, without any, against what a"
            " model says when it is asked several times.",
            arguments=VerifyClaim,
            result=ClaimResult,
            run=checks.verify_claim,
        ),
    )


def _session_id(context: Any) -> str | None:
    """Return the id of a session over HTTP; None over stdio, which is one session, and without."""
    request = context.request
    return None if request is None else request.headers.get("mcp-session-id")


def _error_result(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
