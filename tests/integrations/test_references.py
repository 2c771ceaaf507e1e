"""Answers from documents, the same way whoever asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.llms.openai_like import OpenAILike

import resay
from resay import Verdict
from resay_anthropic import guard_client
from resay_langchain import guard_runnable
from resay_llamaindex import GuardedLLM, GuardedQueryEngine
from resay_openai import GuardedOpenAI
from simulation import SimulatedProvider, Subject, World
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


OPENED = "The bridge is made of stone. It opened in 1932."
NAMED_ANSWER = "The Garmo bridge opened in 1950."
BY_WORDS = {"chain": [{"method": "facts"}], "sampling": {"max": 3}, "cache": {"store": "none"}}


class FoundText(BaseRetriever):
    """Finds two texts, each with the name of its file."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        library = TextNode(text=SILENT, metadata={"file_name": "library.md"})
        bridge = TextNode(text=f"The Garmo bridge. {OPENED}", metadata={"file_name": "bridges.md"})
        return [NodeWithScore(node=node) for node in (library, bridge)]


def chain_of_langchain() -> Verdict:
    library = Document(page_content=SILENT, metadata={"source": "library.md"})
    bridge = Document(page_content=f"The Garmo bridge. {OPENED}", metadata={"source": "bridges.md"})
    answered = RunnableLambda(lambda given: given["question"]) | FakeListChatModel(
        responses=[NAMED_ANSWER]
    )
    guarded = guard_runnable(answered, BY_WORDS)
    guarded.invoke({"question": "When did the Garmo bridge open?", "found": [library, bridge]})
    return last()


def engine_of_llamaindex() -> Verdict:
    inside = RetrieverQueryEngine.from_args(FoundText(), llm=OneAnswer(response=NAMED_ANSWER))
    GuardedQueryEngine(inside, BY_WORDS).query("When did the Garmo bridge open?")
    return last()


class OneAnswer(CustomLLM):
    """Answers everything alike."""

    response: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="simulated")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.response)

    def stream_complete(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("ask", [chain_of_langchain, engine_of_llamaindex])
def test_a_contradiction_names_the_document_that_a_retriever_found(
    ask: Callable[[], Verdict],
) -> None:
    verdict = ask()
    assert "reference 2 (bridges.md) says: It opened in 1932." in str(verdict)
    assert [reference.id for reference in verdict.references] == ["library.md", "bridges.md"]


def test_a_contradiction_names_the_document_of_the_request() -> None:
    with SimulatedProvider(
        world=World([Subject("Garmo bridge", facts=[[NAMED_ANSWER]])])
    ) as provider:
        named = {"text": f"The Garmo bridge. {OPENED}", "title": "Bridges"}
        with GuardedOpenAI(policy=BY_WORDS, base_url=provider.base_url, api_key="x") as client:
            client.chat.completions.create(
                model="simulated",
                messages=[{"role": "user", "content": "When did the Garmo bridge open?"}],
                extra_body={"resay": {"references": [SILENT, named]}},
            )
    assert "reference 2 (Bridges) says: It opened in 1932." in str(last())


def ask_with_documents(*documents: object) -> None:
    world = World([Subject("Garmo bridge", facts=[[NAMED_ANSWER]])])
    with (
        SimulatedProvider(world=world) as provider,
        GuardedOpenAI(policy=BY_WORDS, base_url=provider.base_url, api_key="x") as client,
    ):
        client.chat.completions.create(
            model="simulated",
            messages=[{"role": "user", "content": "When did the Garmo bridge open?"}],
            extra_body={"resay": {"references": list(documents)}},
        )


@pytest.mark.parametrize("blank", ["", " \n", {"text": "", "title": "Empty"}])
def test_a_blank_document_of_the_request_is_ignored(blank: object) -> None:
    ask_with_documents(SILENT, blank, f"The Garmo bridge. {OPENED}")
    assert last().flagged
    places = [reference.source for reference in last().references]
    assert places == ["resay.references[0]", "resay.references[2]"]


def test_only_blank_documents_are_none() -> None:
    ask_with_documents("", " ")
    assert last().decision == "consistent"
    assert last().samples
    assert not last().references


def test_blank_documents_of_retrievers_are_ignored() -> None:
    answered = RunnableLambda(lambda given: given["question"]) | FakeListChatModel(
        responses=[NAMED_ANSWER]
    )
    documents = [
        Document(page_content="", metadata={"source": "empty.md"}),
        Document(page_content=f"The Garmo bridge. {OPENED}", metadata={"source": "bridges.md"}),
    ]
    guarded = guard_runnable(answered, BY_WORDS)
    guarded.invoke({"question": "When did the Garmo bridge open?", "found": documents})
    assert last().flagged
    assert [reference.id for reference in last().references] == ["bridges.md"]
    nodes = [TextNode(text=" ")]
    nodes.append(TextNode(text=f"The Garmo bridge. {OPENED}", metadata={"file_name": "bridges.md"}))

    class FoundNodes(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=node) for node in nodes]

    engine = RetrieverQueryEngine.from_args(FoundNodes(), llm=OneAnswer(response=NAMED_ANSWER))
    GuardedQueryEngine(engine, BY_WORDS).query("When did the Garmo bridge open?")
    assert last().flagged
    assert [reference.id for reference in last().references] == ["bridges.md"]


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
        blank = served.post(json=body | {"resay": {"references": ["", SAYS]}}).json()
        assert blank["hallucination"]["decision"] == "consistent"
        before = provider.calls
        for wrong in (1, {}, {"references": "x"}, {"references": [3]}):
            refused = served.post(json=body | {"resay": wrong})
            assert refused.status_code == 400
            assert "resay" in refused.json()["error"]["message"]
        assert served.post(json=body | {"resay": {"references": ["x"] * 201}}).status_code == 400
        assert provider.calls == before
