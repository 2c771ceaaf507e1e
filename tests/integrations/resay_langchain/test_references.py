"""Retrieved documents as references."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from resay_langchain import GuardedChatModel, VerdictCollector, guard_runnable, verdict_of
from support.langchain import UNCACHED, Recorder

pytestmark = pytest.mark.anyio

POLICY = UNCACHED | {"chain": [{"method": "ngram", "evidence": "references"}]}
TEXTS = ["The bridge was opened in 1932.", "It was designed by John Bradfield."]
DOCUMENTS = [Document(text) for text in TEXTS]
SUPPORTED, MADE_UP = TEXTS[0], "Giraffes from Paraguay swallow seventeen umbrellas daily."
ASKED = ChatPromptTemplate.from_template("By {context}: {question}")


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return DOCUMENTS


def model(said: str = SUPPORTED) -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=cycle([AIMessage(said)]))


def searching(said: str) -> Any:
    return {"context": Shelf(), "question": RunnablePassthrough()} | ASKED | model(said)


def by_function(said: str) -> Any:
    found = RunnableLambda(lambda _: DOCUMENTS)
    return {"context": found, "question": RunnablePassthrough()} | ASKED | model(said)


def with_keys(said: str) -> Any:
    answer = ASKED | model(said) | StrOutputParser()
    start = {"context": Shelf(), "question": RunnablePassthrough()} | RunnablePassthrough()
    return start.assign(answer=answer)


def given(said: str) -> Any:
    return RunnableLambda(lambda q: {"context": DOCUMENTS, "question": q}) | ASKED | model(said)


@pytest.mark.parametrize("chain", [searching, by_function, with_keys, given])
@pytest.mark.parametrize(("said", "decision"), [(SUPPORTED, "consistent"), (MADE_UP, "flagged")])
async def test_what_a_chain_finds_is_what_its_answer_is_compared_with(ask, chain, said, decision):
    collector = VerdictCollector()
    output = await ask(guard_runnable(chain(said), POLICY), "When?", {"callbacks": [collector]})
    assert collector.last.decision == decision
    assert collector.last.samples == 0
    assert collector.last.via is None
    if isinstance(output, dict):
        assert output["answer"] == said
        assert verdict_of(output) == collector.last


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
@pytest.mark.parametrize(("said", "decision"), [(SUPPORTED, "consistent"), (MADE_UP, "flagged")])
async def test_a_stream_is_compared_with_what_was_found_for_it(mode, said, decision):
    collector = VerdictCollector()
    chain = guard_runnable(searching(said), POLICY | {"stream_mode": mode})
    chunks = [chunk async for chunk in chain.astream("When?", {"callbacks": [collector]})]
    assert "".join(chunk.text for chunk in chunks) == said
    assert collector.last.decision == decision


async def test_documents_in_the_input_count(ask):
    collector = VerdictCollector()
    asked = {"context": DOCUMENTS, "question": "When?"}
    await ask(guard_runnable(ASKED | model(), POLICY), asked, {"callbacks": [collector]})
    assert collector.last.decision == "consistent"


async def test_documents_of_a_tool_count(ask):
    call = {"name": "search", "args": {}, "id": "1"}
    messages = [
        HumanMessage("When?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("found", tool_call_id="1", artifact=DOCUMENTS),
    ]
    message = await ask(GuardedChatModel(model(MADE_UP), POLICY), messages)
    assert verdict_of(message).flagged


async def test_without_documents_nothing_can_be_said(ask):
    message = await ask(GuardedChatModel(model(), POLICY), "When?")
    verdict = verdict_of(message)
    assert verdict.decision == "inconclusive"
    assert verdict.reason == "no references found to compare with"


async def test_one_calls_documents_are_not_anothers(ask):
    recorder = Recorder()
    chain = guard_runnable(ASKED | model(), POLICY)
    await ask(chain, {"context": DOCUMENTS, "question": "When?"}, {"callbacks": [recorder]})
    await ask(chain, {"context": "nothing", "question": "When?"}, {"callbacks": [recorder]})
    assert [v["decision"] for v in recorder.verdicts] == ["consistent", "inconclusive"]


TITLED = [
    Document(TEXTS[0], metadata={"title": "History of the bridge", "source": "history.pdf"}),
    Document(TEXTS[1], metadata={"source": "people.md"}),
]
WRONG = "The bridge was opened in 1950."
PROMPT = ChatPromptTemplate.from_template(
    "Answer only from the context.\n\nContext:\n{context}\n\nQuestion: {question}"
)


def joined(documents: list[Document]) -> str:
    return "\n\n".join(document.page_content for document in documents)


def numbered(documents: list[Document]) -> str:
    texts = enumerate((document.page_content for document in documents), 1)
    return "\n".join(f"[{number}] {text}" for number, text in texts)


@pytest.mark.parametrize("written", [joined, numbered])
@pytest.mark.parametrize("streams", [False, True])
async def test_what_the_prompt_copies_from_documents_is_no_reference_of_its_own(written, streams):
    shelf = RunnableLambda(lambda _: TITLED)
    start = {"context": shelf | written, "question": RunnablePassthrough()}
    chain = guard_runnable(start | PROMPT | model(WRONG), UNCACHED | {"chain": ["facts"]})
    collector = VerdictCollector()
    config = {"callbacks": [collector]}
    if streams:
        assert [chunk async for chunk in chain.astream("When?", config)]
    else:
        await chain.ainvoke("When?", config)
    verdict = collector.last
    assert [(r.source, r.id) for r in verdict.references] == [
        ("retriever[0]", "History of the bridge"),
        ("retriever[1]", "people.md"),
    ]
    (claim,) = verdict.claims
    assert (verdict.decision, claim.reason) == ("flagged", "reference 1 contradicts it")
    assert claim.contradicted_by.title == "History of the bridge"
