"""Answers from documents, the same way whoever asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

import resay
from resay import Verdict
from resay_anthropic import guard_client
from resay_langchain import guard_runnable
from resay_llamaindex import GuardedLLM
from resay_openai import GuardedOpenAI
from simulation import SimulatedProvider
from support.gateway import Gateways
from support.known_world import KNOWN, WORLD

POLICY = "chain: [{method: prompt, mode: per_sample}]\ncache: {store: none}\n"
SAYS = (
    "Canberra is the capital of Australia. The city was founded in 1913. Its lake was made in 1963."
    " Parliament sits in Canberra."
)
SILENT = "The library opens at nine in the morning."
PROMPT = "Answer only from the context.\n\nContext:\n{}\n\nQuestion: " + KNOWN

Ask = Callable[[str], Verdict]


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return str(path)


def last() -> Verdict:
    verdict = resay.last_verdict()
    assert verdict is not None
    return verdict


def openai_by_field(provider: SimulatedProvider, policy: str) -> Ask:
    client = GuardedOpenAI(policy=policy, base_url=provider.base_url, api_key="x")

    def ask(document: str) -> Verdict:
        with client:
            client.chat.completions.create(
                model="simulated",
                messages=[{"role": "user", "content": KNOWN}],
                extra_body={"resay": {"references": [document, {"text": "The door is grey."}]}},
            )
        return last()

    return ask


def openai_by_prompt(provider: SimulatedProvider, policy: str) -> Ask:
    client = GuardedOpenAI(policy=policy, base_url=provider.base_url, api_key="x")

    def ask(document: str) -> Verdict:
        said = [{"role": "user", "content": PROMPT.format(document)}]
        with client:
            client.chat.completions.create(model="simulated", messages=said)
        return last()

    return ask


def openai_by_tool(provider: SimulatedProvider, policy: str) -> Ask:
    client = GuardedOpenAI(policy=policy, base_url=provider.base_url, api_key="x")

    def ask(document: str) -> Verdict:
        call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
        said: list[Any] = [
            {"role": "user", "content": KNOWN},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": document},
            {"role": "user", "content": KNOWN},
        ]
        with client:
            client.chat.completions.create(model="simulated", messages=said)
        return last()

    return ask


def anthropic_by_document(provider: SimulatedProvider, policy: str) -> Ask:
    client = guard_client(
        anthropic.Anthropic(base_url=provider.root_url, api_key="x", max_retries=0), policy
    )

    def ask(document: str) -> Verdict:
        source = {"type": "text", "media_type": "text/plain", "data": document}
        content: list[Any] = [
            {"type": "document", "source": source},
            {"type": "text", "text": KNOWN},
        ]
        with client:
            client.messages.create(
                model="simulated",
                max_tokens=500,
                messages=[{"role": "user", "content": content}],
            )
        return last()

    return ask


def langchain_by_input(provider: SimulatedProvider, policy: str) -> Ask:
    model = ChatOpenAI(model="simulated", base_url=provider.base_url, api_key="x")  # type: ignore[arg-type] - a key is a text, too
    chain = guard_runnable(RunnableLambda(lambda given: given["question"]) | model, policy)

    def ask(document: str) -> Verdict:
        chain.invoke({"question": KNOWN, "found": [Document(page_content=document)]})
        return last()

    return ask


def llamaindex_by_prompt(provider: SimulatedProvider, policy: str) -> Ask:
    inside = OpenAILike(
        model="simulated", api_base=provider.base_url, api_key="x", is_chat_model=True
    )
    llm = GuardedLLM(inside, policy)

    def ask(document: str) -> Verdict:
        llm.chat([ChatMessage(role="user", content=PROMPT.format(document))])
        return last()

    return ask


WAYS = [
    openai_by_field,
    openai_by_prompt,
    openai_by_tool,
    anthropic_by_document,
    langchain_by_input,
    llamaindex_by_prompt,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("document", [SAYS, SILENT], ids=["says so", "is silent"])
def test_answers_are_held_against_documents_first(
    provider: SimulatedProvider, policy: str, way: Any, document: str
) -> None:
    verdict = way(provider, policy)(document)
    assert verdict.flagged is (document == SILENT)
    assert {claim.by for claim in verdict.claims} == {"references"}
    assert verdict.references
    for request in provider.requests:
        assert "resay" not in (request.body or {})


def test_the_gateway_takes_documents_in_the_body(
    provider: SimulatedProvider, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        served = Gateways(tmp_path, provider.root_url, stack).start(POLICY)
        body = {"model": "simulated", "messages": [{"role": "user", "content": KNOWN}]}
        for document, decision in ((SAYS, "consistent"), (SILENT, "flagged")):
            told = served.post(json=body | {"resay": {"references": [document]}}).json()
            assert told["hallucination"]["decision"] == decision
        assert all("resay" not in (request.body or {}) for request in provider.requests)
        before = provider.calls
        for wrong in (1, {}, {"references": "x"}, {"references": [3]}, {"references": [" "]}):
            refused = served.post(json=body | {"resay": wrong})
            assert refused.status_code == 400
            assert "resay" in refused.json()["error"]["message"]
        assert served.post(json=body | {"resay": {"references": ["x"] * 201}}).status_code == 400
        assert provider.calls == before
