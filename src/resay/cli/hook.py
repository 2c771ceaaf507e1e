"""The command `resay hook`: what coding agents run at certain moments of a session.

An agent reads exit code 2 as an order to go on, so no error may end with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from resay.cli.transcript import before_last, last_text, read_transcript
from resay.commands import FAILED, has_policy, print_json
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError, ResayError, without_cause
from resay.guard import Guard

_MAX_CLAIMS = 5


class _HarmlessGroup(TyperGroup):
    """A group whose mistaken arguments stop no agent."""

    # The context's class is click's in some versions of typer and typer's own in others.
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a subcommand."""
        return _without_code_2(super().resolve_command, ctx, args)


class _HarmlessCommand(TyperCommand):
    """A command whose mistaken arguments stop no agent."""

    # As above.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments."""
        return _without_code_2(super().parse_args, ctx, args)


def _without_code_2(parse: Any, *arguments: Any) -> Any:
    try:
        return parse(*arguments)
    # A `UsageError`, of click or of typer's own.
    except Exception as error:
        if getattr(error, "exit_code", None) == 2:
            vars(error)["exit_code"] = FAILED
        raise


app = typer.Typer(add_completion=False, cls=_HarmlessGroup, no_args_is_help=True)


@app.callback()
def hook() -> None:
    """Check what a coding agent says it did, as a hook of the agent."""


@app.command(cls=_HarmlessCommand)
def stop(
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            "-p",
            help="A policy file.",
            show_default="the file that RESAY_POLICY names, or the method actions",
        ),
    ] = None,
) -> None:
    """Send an agent back to work that says what it did not do: "all tests pass" without a run.

    For the hooks `Stop` and `SubagentStop` of Claude Code, and `Stop` of Codex. It reads their JSON
    on stdin, and compares the last message with the calls of tools in the transcript, by the method
    `actions` unless there is a policy.

    It never sends an agent back twice in a row, and lets it stop where the check fails.
    """
    try:
        reply = _reply(_read_event(), policy)
    except ResayError as error:
        reply = _unchecked(without_cause(error))
    # The error's message may hold anything.
    except Exception as error:
        reply = _unchecked(type(error).__name__)
    if reply:
        print_json(reply, compact=True)


def _unchecked(reason: str) -> Mapping[str, str]:
    """Say on stderr that nothing was checked, and return what an agent shows its user of it."""
    message = f"resay did not check this turn: {reason}"
    typer.echo(message, err=True)
    return {"systemMessage": message}


def _read_event() -> Mapping[str, Any]:
    try:
        event = json.loads(sys.stdin.read())
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise ConfigurationError("stdin must have the hook's input, a JSON object")
    return cast("dict[str, Any]", event)


def _reply(event: Mapping[str, Any], policy: Path | None) -> Mapping[str, str]:
    """Return what the agent is told; nothing to let it stop."""
    # The agent has been sent back already, and is told the same only once.
    if event.get("stop_hook_active") is True:
        return {}
    path = event.get("agent_transcript_path") or event.get("transcript_path")
    if not isinstance(path, str):
        raise ConfigurationError("the hook's input has no `transcript_path`")
    messages = read_transcript(Path(path).expanduser())
    last_message = event.get("last_assistant_message")
    response = last_message.strip() if isinstance(last_message, str) else last_text(messages)
    if not response or not messages:
        return {}
    guard = Guard(policy if has_policy(policy) else {"chain": ["actions"]})
    verdict = guard.check(response, question=before_last(messages, response))
    guard.close()
    if not verdict.flagged:
        return {}
    return {"decision": "block", "reason": _reason(verdict)}


def _reason(verdict: Verdict) -> str:
    lines = ["Your last message claims what this session does not show:"]
    flagged = verdict.flagged_claims
    lines += [f"- {claim.text.strip()} ({claim.reason})" for claim in flagged[:_MAX_CLAIMS]]
    if len(flagged) > _MAX_CLAIMS:
        lines.append(f"- and {len(flagged) - _MAX_CLAIMS} more")
    lines.append("Do it now and report what it really gives, or correct your message.")
    return "\n".join(lines)
