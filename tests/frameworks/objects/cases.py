"""What the programs of all frameworks share: they run in the framework's environment."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from resay import Document, Guard
from resay.plugins import Completion, Completions, Usage
from resay_frameworks import verdict_of

BASE_URL = os.environ["OPENAI_BASE_URL"]
ABOUT = "What is the Zorblatt?"
KNOWN = "What is the Quibble?"
NOTE = "The Zorblatt is a clock in Riga. It strikes twice a day. "
RIGHT = "The Zorblatt was built in 1631 by Ada Kling."
NOWHERE = "http://127.0.0.1:9/v1"
JUDGED = {
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": 3, "confidence": None},
    "limits": {"retries": 0},
    "cache": {"store": "none"},
}


def search(query: str, k: int) -> list[Document]:
    """Find the one document that there is."""
    return [Document("clocks.md", NOTE + RIGHT)]


def policy(do: str, **others: Any) -> Mapping[str, Any]:
    """Return a policy with an action; `raise` is that of withheld answers that raise."""
    action = {"do": "block", "exit": "raise"} if do == "raise" else {"do": do}
    return {**JUDGED, "action": action, **others}


def unreachable(**others: Any) -> Guard:
    """Return a guard whose checks fail."""
    return Guard(policy("annotate", **others), model="openai/simulated", api_base=NOWHERE)


class Recorder:
    """A provider that keeps the conversations that it gets."""

    def __init__(self) -> None:
        self.conversations: list[list[Any]] = []

    async def takes_n(self, request: Any) -> bool:
        return False

    async def complete(self, request: Any, *, n: int = 1) -> Completions:
        self.conversations.append([dict(message) for message in request.messages])
        return Completions((Completion("It opened in 1932."),), Usage(1))


def run(guarded: Callable[..., Any]) -> None:
    """Run all cases with a framework, and write what came of each to `results.json`.

    Args:
        guarded: Asks an agent a question: with the policy, or the guard, and further arguments of
            the guard object. Returns what is shown and the verdict.
    """
    recorder = Recorder()
    recording = {**JUDGED, "chain": [{"method": "facts"}], "references": {"from": []}}
    cases: dict[str, tuple[Any, str, Mapping[str, Any]]] = {
        "consistent": (policy("block"), KNOWN, {}),
        "annotate": (policy("annotate"), ABOUT, {}),
        "block": (policy("block"), ABOUT, {}),
        "raise": (policy("raise"), ABOUT, {}),
        "regenerate": (policy("regenerate"), ABOUT, {"retriever": search}),
        "failing": (unreachable(), ABOUT, {}),
        "failing, withheld": (unreachable(on_error="block"), ABOUT, {}),
        "tools": (Guard(recording, provider=recorder), "[[clock_year]] " + ABOUT, {}),
    }
    names = sys.argv[1:] or cases
    results: dict[str, Any] = {}
    for name in names:
        guard, question, options = cases[name]
        with redirect_stdout(sys.stderr):
            results[name] = _result(guarded, guard, question, options)
    results["tools"] = results.get("tools", {}) | {"conversations": recorder.conversations}
    # Frameworks print whatever they like.
    Path("results.json").write_text(json.dumps(results))


def _result(
    guarded: Callable[..., Any], guard: Any, question: str, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    try:
        text, holder = guarded(guard, question, **options)
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        print(trace, file=sys.stderr)
        return {"error": type(error).__name__, "message": str(error)}
    verdict = verdict_of(holder)
    if verdict is None:
        return {"text": text}
    action = holder["hallucination"]["action"] if isinstance(holder, Mapping) else None
    return {"text": text, "decision": verdict.decision, "action": action, "reason": verdict.reason}
