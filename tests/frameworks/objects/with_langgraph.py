"""A graph of LangGraph whose answers are checked by a node."""

from __future__ import annotations

import asyncio
from typing import Any

import cases
from langchain_core.messages import AIMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph

from resay_frameworks.langgraph import HallucinationNode, HallucinationState, route_by_verdict

# ChatOpenAI's connections belong to the loop in which they are opened.
LOOP = asyncio.new_event_loop()
TOOL = {"type": "function", "function": {"name": "clock_year", "parameters": {"type": "object"}}}


def guarded(guard: Any, question: str, **options: Any) -> Any:
    model = ChatOpenAI(model="simulated")
    calling = model.bind_tools([TOOL])

    def answer(state: Any) -> Any:
        asks_for_tool = "[[" in question and len(state["messages"]) == 1
        chat_model = calling if asks_for_tool else model
        return {"messages": [chat_model.invoke(state["messages"])]}

    def call_tools(state: Any) -> Any:
        (call,) = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage(cases.RIGHT, tool_call_id=call["id"])]}

    def after_answer(state: Any) -> str:
        return "tools" if state["messages"][-1].tool_calls else "guard"

    graph = StateGraph(HallucinationState)
    graph.add_node("answer", answer)
    graph.add_node("tools", call_tools)
    graph.add_node("guard", HallucinationNode(guard, model=model, **options))
    graph.add_node("review", lambda state: {"messages": [AIMessage("reviewed")]})
    graph.add_edge(START, "answer")
    graph.add_conditional_edges("answer", after_answer)
    graph.add_edge("tools", "answer")
    graph.add_conditional_edges("guard", route_by_verdict, {"passed": END, "flagged": "review"})
    app = graph.compile()
    asked = {"messages": [("user", question)]}
    state = app.invoke(asked)
    async_state = LOOP.run_until_complete(app.ainvoke(asked))
    reasons = [s["hallucination"]["reason"] for s in (state, async_state)]
    decisions = {s["hallucination"]["decision"] for s in (state, async_state)}
    assert len(decisions) == 1, reasons
    is_reviewed = state["messages"][-1].content == "reviewed"
    assert is_reviewed == (route_by_verdict(state) == "flagged")
    # No sample and no judge's answer is shown: only the answer, and what takes its place.
    streamed = [message for message, _ in app.stream(asked, stream_mode="messages")]
    ids = {message.id for message in streamed if message.type != "tool" and message.content}
    assert len(ids) <= 3
    return state["messages"][-2 if is_reviewed else -1].content, state


cases.run(guarded)
