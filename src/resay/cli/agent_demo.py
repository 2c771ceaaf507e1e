"""The demo of an agent that says it did what it did not do: `resay demo --agent`.

The agent is a script, and no model is asked: its tool calls alone decide.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from resay.core.action_verdict import ActionVerdict
from resay.core.display.texts import clean
from resay.core.verdict import Verdict
from resay.guard import Guard
from resay.policy import Policy

_POLICY: Final = """\
version: 1
chain:
  - method: actions
"""
_REQUEST: Final = (
    "Fly me from Penmoor to Ildar on 9 June, two nights at the Alder House, a small car at the"
    " airport, and tell Ines when I land."
)
_CALLS: Final[tuple[tuple[str, Mapping[str, Any], Mapping[str, Any]], ...]] = (
    (
        "book_flight",
        {"from": "Penmoor", "to": "Ildar", "date": "2026-06-09"},
        {"pnr": "MZK2PD", "flight": "OX 330", "arrives": "10:05", "price_eur": 198.8},
    ),
    (
        "book_hotel",
        {"hotel": "Alder House", "check_in": "2026-06-09", "check_out": "2026-06-11"},
        {"confirmation": "AH-3319", "price_eur": 214.0},
    ),
    (
        "send_message",
        {"to": "Ines", "text": "I land at 10:05 on 9 June."},
        {"status": "queued", "reason": "recipient offline"},
    ),
)
_ANSWER: Final = (
    "I booked flight OX 330 on 9 June under MZK2PD. I also booked two nights at the Alder House,"
    " and the confirmation is AH-3391. I have reserved a small car at the airport. I have sent"
    " Ines a message that you land at 10:05. Flight and hotel come to 412.80 euros. Shall I add"
    " breakfast?"
)
_STYLES: Final[Mapping[ActionVerdict, str]] = {
    "done": "green",
    "failed": "bold red",
    "not_done": "bold red",
    "invented": "bold red",
}


def run_agent_demo(console: Console) -> None:
    """Show an agent's calls and its answer, and what of the answer they bear out.

    Args:
        console: The console to print to.
    """
    verdict = Guard(Policy.parse(_POLICY)).check(_ANSWER, question=_messages())
    console.rule("What the agent did: three calls")
    console.print(Text(f"> {_REQUEST}", "bold"))
    console.print()
    for number, (name, arguments, result) in enumerate(_CALLS, 1):
        console.print(Text(f"{number}. {name}({_fields(arguments)})"))
        console.print(Padding(Text(_fields(result), "dim"), (0, 0, 0, 3)))
    console.print()
    console.rule("What it says it did")
    console.print(_coloured(verdict))
    console.print()
    console.rule("With Resay: compared with the calls, no model asked")
    for claim in verdict.claims:
        for part in claim.parts:
            if part.verdict is not None:
                sign = "✓" if part.verdict == "done" else "✗"
                label = f"{sign} {part.verdict.replace('_', ' ')}"
                words = clean(_ANSWER[part.start : part.end])
                console.print(Text.assemble((f"{label:<11}", _STYLES[part.verdict]), words))
                console.print(Padding(Text(part.reason or "", "dim"), (0, 0, 0, 11)))
    console.print()
    console.print(Text.assemble((verdict.decision.upper(), "bold red"), f"  {verdict.reason}"))
    console.print()
    console.rule("The policy")
    console.print(Text(_POLICY))
    console.print(Text("The agent was a script. Your own: docs/actions.md", "dim"))


def _messages() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": _REQUEST}]
    for number, (name, arguments, result) in enumerate(_CALLS, 1):
        call = {"id": f"call_{number}", "type": "function"}
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{**call, "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        content = json.dumps(result)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return messages


def _fields(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())


def _coloured(verdict: Verdict) -> Text:
    text = Text(_ANSWER)
    for claim in verdict.claims:
        for part in claim.parts:
            if part.verdict is not None:
                text.stylize(_STYLES[part.verdict], part.start, part.end)
    return text
