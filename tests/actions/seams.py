"""The ways in which an agent's answers get to a guard."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import anthropic
import httpx
from langchain_core.messages import convert_to_messages
from langchain_openai import ChatOpenAI
from llama_index.llms.openai_like import OpenAILike

import resay
from actions.formats import anthropic_request, responses_request, tools_of
from actions.upstream import FixedAnswer, fixed_answers
from resay import Guard, Verdict
from resay_anthropic import guard_client
from resay_lab.batch import run_batch
from resay_langchain import guard_runnable
from resay_llamaindex import GuardedLLM
from resay_llamaindex._requests import chat_message
from resay_openai import GuardedOpenAI
from support.gateway import Gateways

CHAIN: Mapping[str, Any] = {"chain": [{"method": "actions"}], "cache": {"store": "none"}}
Ask = Callable[[Mapping[str, Any]], Verdict]
Seam = Callable[[FixedAnswer, ExitStack, Mapping[str, Any]], Ask]


def _last() -> Verdict:
    verdict = resay.last_verdict()
    assert verdict is not None
    return verdict


def by_guard(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
    """`Guard.check` with a conversation."""
    del upstream, stack
    guard = Guard(policy)
    return lambda case: guard.check(
        case["answer"], question=case["messages"], params=tools_of(case)
    )


def by_chat_completions(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
    """OpenAI's client, chat completions."""
    client = GuardedOpenAI(policy=policy, base_url=f"{upstream.url}/v1", api_key="x")
    stack.enter_context(client)

    def ask(case: Mapping[str, Any]) -> Verdict:
        upstream.text = case["answer"]
        client.chat.completions.create(model="fixed", messages=case["messages"], **tools_of(case))
        return _last()

    return ask


def by_responses(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
    """OpenAI's client, responses."""
    client = GuardedOpenAI(policy=policy, base_url=f"{upstream.url}/v1", api_key="x")
    stack.enter_context(client)

    def ask(case: Mapping[str, Any]) -> Verdict:
        upstream.text = case["answer"]
        client.responses.create(model="fixed", **responses_request(case))
        return _last()

    return ask


def by_anthropic(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
    """Anthropic's client."""
    own = anthropic.Anthropic(base_url=upstream.url, api_key="x", max_retries=0)
    client = stack.enter_context(guard_client(own, policy))

    def ask(case: Mapping[str, Any]) -> Verdict:
        upstream.text = case["answer"]
        client.messages.create(model="fixed", max_tokens=500, **anthropic_request(case))
        return _last()

    return ask


def by_langchain(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
    """A chat model of LangChain."""
    del stack
    model = ChatOpenAI(model="fixed", base_url=f"{upstream.url}/v1", api_key="x")  # type: ignore[arg-type] - a key is a text, too
    guarded = guard_runnable(model, policy)

    def ask(case: Mapping[str, Any]) -> Verdict:
        upstream.text = case["answer"]
        asked = guarded
        if "tools" in case:
            bound = model.bind_tools(case["tools"])  # type: ignore[reportUnknown] - tools of any type
            asked = guard_runnable(bound, policy)
        asked.invoke(convert_to_messages(case["messages"]))
        return _last()

    return ask


def by_llamaindex(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
    """An LLM of LlamaIndex."""
    del stack
    inside = OpenAILike(
        model="fixed", api_base=f"{upstream.url}/v1", api_key="x", is_chat_model=True
    )
    llm = GuardedLLM(inside, policy)

    def ask(case: Mapping[str, Any]) -> Verdict:
        upstream.text = case["answer"]
        llm.chat([chat_message(message) for message in case["messages"]], **tools_of(case))
        return _last()

    return ask


def by_gateway(path: str, body: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Seam:
    """The gateway, by one of its endpoints."""

    def seam(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        # JSON is YAML.
        served = Gateways(folder, upstream.url, stack).start(json.dumps(policy))

        def ask(case: Mapping[str, Any]) -> Verdict:
            upstream.text = case["answer"]
            response = httpx.post(served.url + path, json=body(case), timeout=30).json()
            return Verdict.from_dict(response["hallucination"])

        return ask

    return seam


def by_batch(upstream: FixedAnswer, stack: ExitStack, policy: Mapping[str, Any]) -> Ask:
    """A row of a batch."""
    del upstream
    # Cases of two sets may be called alike.
    folders = Path(stack.enter_context(TemporaryDirectory()))
    guard = Guard(policy)

    def ask(case: Mapping[str, Any]) -> Verdict:
        folder = Path(mkdtemp(dir=folders))
        source, target = folder / "in.jsonl", folder / "out.jsonl"
        row = {"id": case["id"], "response": case["answer"], "messages": case["messages"]}
        source.write_text(json.dumps(row))
        run_batch(guard, source, target, engine="local", workers=1, params=tools_of(case))
        return Verdict.from_dict(json.loads(target.read_text()))

    return ask


SEAMS: Mapping[str, Seam] = {
    "guard": by_guard,
    "openai chat": by_chat_completions,
    "openai responses": by_responses,
    "anthropic": by_anthropic,
    "langchain": by_langchain,
    "llamaindex": by_llamaindex,
    "gateway chat": by_gateway(
        "/v1/chat/completions",
        lambda case: {"model": "fixed", "messages": case["messages"], **tools_of(case)},
    ),
    "gateway responses": by_gateway(
        "/v1/responses", lambda case: {"model": "fixed", **responses_request(case)}
    ),
    "gateway messages": by_gateway(
        "/v1/messages",
        lambda case: {"model": "fixed", "max_tokens": 9, **anthropic_request(case)},
    ),
    "batch": by_batch,
}


@contextmanager
def asked_by(name: str, policy: Mapping[str, Any] = CHAIN) -> Generator[Ask, None, None]:
    """Return a way to have cases checked by a seam, with a policy."""
    with fixed_answers() as upstream, ExitStack() as stack:
        yield SEAMS[name](upstream, stack, policy)
