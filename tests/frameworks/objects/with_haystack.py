"""A pipeline of Haystack whose replies are checked by a component."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import cases
import haystack
from haystack import Document, Pipeline
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall

from resay_frameworks.haystack import HallucinationChecker

# The connections of a generator belong to the loop in which they are opened.
LOOP = asyncio.new_event_loop()
# Of version 2; since version 3, each pipeline is asynchronous too.
AsyncPipeline = getattr(haystack, "AsyncPipeline", Pipeline)
CALL = ToolCall("clock_year", {}, id="call_1")


def guarded(guard: Any, question: str, **options: Any) -> Any:
    messages = [ChatMessage.from_user(question)]
    if "[[" in question:
        messages.append(ChatMessage.from_assistant(tool_calls=[CALL]))
        messages.append(ChatMessage.from_tool(cases.RIGHT, origin=CALL))
    decisions = []
    for kind, is_async in ((Pipeline, False), (AsyncPipeline, True)):
        pipeline = kind()
        generator = OpenAIChatGenerator(model="simulated")
        checker = HallucinationChecker(guard, chat_generator=generator, **options)
        pipeline.add_component("llm", generator)
        pipeline.add_component("guard", checker)
        pipeline.connect("llm.replies", "guard.replies")
        inputs = {"llm": {"messages": messages}, "guard": {"messages": messages}}
        if is_async:
            output = LOOP.run_until_complete(pipeline.run_async(inputs))["guard"]
        else:
            pipeline.warm_up()
            output = pipeline.run(inputs)["guard"]
        (reply,), (verdict,) = output["replies"], output["verdicts"]
        assert reply.meta["hallucination"] == verdict
        decisions.append(verdict["decision"])
    assert decisions[0] == decisions[1], decisions
    return reply.text, reply.meta


def check_saving() -> None:
    """A pipeline is saved and loaded with its checker."""
    generator = OpenAIChatGenerator(model="simulated")
    checker = HallucinationChecker(
        cases.policy("block"), chat_generator=generator, on_verdict=print_verdict
    )
    pipeline = Pipeline()
    pipeline.add_component("guard", checker)
    text = pipeline.dumps()
    assert "simulated" in text
    is_new = AsyncPipeline is Pipeline
    trusted = {"allowed_modules": ["resay_frameworks.haystack", "__main__"]} if is_new else {}
    loaded = Pipeline.loads(text, **trusted)
    assert loaded.dumps() == text
    replies = [ChatMessage.from_assistant("The Zorblatt was built in 1712 by Kim Nobody.")]
    output = loaded.run({"guard": {"replies": replies, "messages": cases.ABOUT}})["guard"]
    assert output["verdicts"][0]["action"] == "block"


def check_documents() -> None:
    """Replies are compared with documents."""
    checker = HallucinationChecker({"chain": [{"method": "references", "by": "words"}]})
    for text, decision in ((cases.RIGHT, "consistent"), (cases.RIGHT.replace("3", "8"), "flagged")):
        output = checker.run(
            replies=[ChatMessage.from_assistant(text)],
            messages=cases.ABOUT,
            documents=[Document(content=cases.NOTE + cases.RIGHT)],
        )
        assert output["verdicts"][0]["decision"] == decision, output["verdicts"][0]["reason"]


def check_failed_tools() -> None:
    """A result that is marked as an error is no success."""
    checker = HallucinationChecker({"chain": ["actions"]})
    call = ToolCall("save_note", {}, id="call_1")
    for error, decision in ((False, "consistent"), (True, "flagged")):
        messages = [
            ChatMessage.from_user("Save the note."),
            ChatMessage.from_assistant(tool_calls=[call]),
            ChatMessage.from_tool("disk", origin=call, error=error),
        ]
        replies = [ChatMessage.from_assistant("I saved the note.")]
        output = checker.run(replies=replies, messages=messages)
        assert output["verdicts"][0]["decision"] == decision, output["verdicts"][0]["reason"]


def print_verdict(verdict: Any) -> None:
    print(verdict.reason, file=sys.stderr)


if __name__ == "__main__":
    check_saving()
    check_documents()
    check_failed_tools()
    cases.run(guarded)
