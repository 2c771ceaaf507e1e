"""The references of a request."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Policy, PolicyError, Request
from resay.adapters import CheckContext
from resay.core.references import Origin, Reference
from resay.core.request_references import references_in, without_references

ALL: tuple[Origin, ...] = ("given", "messages", "tools", "documents", "retriever")
BRIDGE, TUNNEL = "The bridge opened in 1932.", "The tunnel is 2 km long."


def references_of(*messages: dict[str, Any] | str, **params: Any) -> tuple[Reference, ...]:
    conversation = [
        {"role": "user", "content": message} if isinstance(message, str) else message
        for message in messages
    ]
    return references_in(CheckContext(Request.of(conversation, params=params)), ALL)


PROMPTS = {
    "a label": f"Context: {BRIDGE} {TUNNEL}\nQuestion: When did it open?",
    "a label on its own line": f"Context:\n{BRIDGE} {TUNNEL}\n\nWhen did it open?",
    "a heading": f"### Context\n{BRIDGE} {TUNNEL}\n\n### Question\nWhen did it open?",
    "bold": f"**Context:**\n{BRIDGE} {TUNNEL}\n**Question:** When did it open?",
    "a tag": f"<context>{BRIDGE} {TUNNEL}</context>\nWhen did it open?",
    "a tag with an underscore": f"<search_results>\n{BRIDGE} {TUNNEL}\n</search_results> When?",
    "a fence": f"Use the following excerpt:\n```\n{BRIDGE} {TUNNEL}\n```\nWhen did it open?",
    "quotes": f'Answer from this text:\n"""\n{BRIDGE} {TUNNEL}\n"""\nWhen did it open?',
    "LlamaIndex": "Context information is below.\n---------------------\n"
    f"{BRIDGE} {TUNNEL}\n---------------------\nGiven the context information and not prior"
    " knowledge, answer the query.\nQuery: When did it open?\nAnswer: ",
    "LangChain": "Use the following pieces of retrieved context to answer the question.\n"
    f"Question: When did it open? \nContext: {BRIDGE} {TUNNEL} \nAnswer:",
    "German": f"Kontext:\n{BRIDGE} {TUNNEL}\n\nFrage: Wann wurde sie eröffnet?",
    "French": f"Contexte : {BRIDGE} {TUNNEL}\nQuestion : Quand ?",
    "Spanish": f"Responde solo con el siguiente contexto:\n{BRIDGE} {TUNNEL}\nPregunta: ¿Cuándo?",
    "Italian": f"Fonti:\n{BRIDGE} {TUNNEL}\nDomanda: Quando?",
    "Dutch": f"Gebruik de volgende bronnen:\n{BRIDGE} {TUNNEL}\nVraag: Wanneer?",
    "Swedish": f"Använd följande källor:\n{BRIDGE} {TUNNEL}\nFråga: När?",
    "Chinese": f"参考资料：\n{BRIDGE} {TUNNEL}\n问题：什么时候？",
}


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS)
def test_context_that_a_prompt_marks_off_is_a_reference(prompt: str) -> None:
    (reference,) = references_of(prompt)
    assert reference.text == f"{BRIDGE} {TUNNEL}"
    assert prompt[reference.start : reference.end] == reference.text
    assert (reference.source, reference.origin) == ("messages[0]", "messages")


PASSAGES = {
    "brackets": f"Context:\n[1] {BRIDGE}\n[2] {TUNNEL}\n\nQuestion: When?",
    "points": f"Sources:\n1. {BRIDGE}\n2. {TUNNEL}\n\nQuestion: When?",
    "nouns": f"Use these documents:\n\nDocument 1: {BRIDGE}\n\nDocument 2: {TUNNEL}",
    "nouns with titles": f"Source 1 (a.md): {BRIDGE}\nSource 2 (b.md): {TUNNEL}\nQuestion: When?",
    "tags": f'<documents><doc id="1">{BRIDGE}</doc><doc id="2">{TUNNEL}</doc></documents> When?',
    "nested tags": "<documents>\n"
    f'<document index="1"><source>a.md</source><document_content>{BRIDGE}</document_content>'
    f'</document>\n<document index="2"><source>b.md</source><document_content>{TUNNEL}'
    "</document_content></document>\n</documents>\nWhen?",
}


@pytest.mark.parametrize("prompt", PASSAGES.values(), ids=PASSAGES)
def test_numbered_passages_are_references_with_their_numbers(prompt: str) -> None:
    references = references_of(prompt)
    assert [(r.text, r.label) for r in references] == [(BRIDGE, "1"), (TUNNEL, "2")]
    assert all(r.binding for r in references)


def test_clauses_of_a_numbered_passage_are_no_passages() -> None:
    lease = "Lease of Marlow House.\n1. The term begins in May.\n2. The deposit is 900 euros."
    shapes = f"[1] {lease}\n\n[2] {TUNNEL}", f"Document 1: {lease}\n\nDocument 2: {TUNNEL}"
    for shape in shapes:
        references = references_of(
            f"Use only these sources.\n\nSources:\n{shape}\n\nQuestion: When?"
        )
        assert [(r.text, r.label) for r in references] == [(lease, "1"), (TUNNEL, "2")]


@pytest.mark.parametrize(
    "prompt",
    [
        "When did the bridge open?",
        "Write a poem about sources: they are many.",
        "1. Who built the bridge of Sydney?\n2. Who wrote the book?",
        "Here is my code:\n```python\nprint('The bridge opened in 1932.')\n```\nWhy?",
        "Summarise this story in three sentences, please: once upon a time.",
        "Text: hi",
        "What is a context manager in Python?",
        "Translate: The documents are on the table.",
    ],
)
def test_a_question_is_no_reference(prompt: str) -> None:
    assert references_of(prompt) == ()


def test_the_messages_of_the_model_are_no_references() -> None:
    message = {"role": "assistant", "content": f"Context: {BRIDGE}\n<context>{TUNNEL}</context>"}
    assert references_of(message, "When did it open?") == ()


def test_results_of_tools_are_references() -> None:
    call: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": []}
    result = {"role": "tool", "tool_call_id": "1", "content": BRIDGE}
    parts = {"role": "user", "content": [{"type": "tool_result", "content": [{"text": TUNNEL}]}]}
    references = references_of("When?", call, result, parts)
    assert [(r.text, r.source, r.origin, r.binding) for r in references] == [
        (BRIDGE, "messages[2]", "tools", True),
        (TUNNEL, "messages[3].content[0]", "tools", True),
    ]


def test_documents_in_fields_of_providers_are_references() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": BRIDGE}
    content = [{"type": "document", "source": source}, {"type": "text", "text": "When?"}]
    references = references_of(
        {"role": "user", "content": content}, documents=[TUNNEL, {"text": BRIDGE}]
    )
    assert [(r.text, r.source) for r in references] == [
        (TUNNEL, "documents[0]"),
        (BRIDGE, "documents[1]"),
    ]


def test_only_the_given_places_are_searched() -> None:
    tool = {"role": "tool", "content": TUNNEL}
    request = Request.of([tool, {"role": "user", "content": f"Context: {BRIDGE}\nQuestion: When?"}])
    assert [r.text for r in references_in(CheckContext(request), ["tools"])] == [TUNNEL]
    assert [r.text for r in references_in(CheckContext(request), ["messages"])] == [BRIDGE]
    assert references_in(CheckContext(request), []) == ()


def test_an_answer_is_bound_to_context_that_it_is_to_be_written_from() -> None:
    (beside,) = references_of(
        "Context: I am a nurse in Berlin.\n\nWhat is a usual dose of ibuprofen?"
    )
    assert not beside.binding
    for prompt in (
        "Answer only from the context.\n\nContext: I am a nurse in Berlin.\n\nWho am I?",
        "Context: I am a nurse in Berlin.\nQuestion: Who am I?",
    ):
        assert all(r.binding for r in references_of(prompt))
    rule = {"role": "system", "content": "Base each answer on the context alone: use the context."}
    assert references_of(rule, "Context: I am a nurse in Berlin.\n\nWho am I?")[0].binding


@pytest.mark.parametrize(
    "rule",
    [
        "Use the following documents if they are helpful.",
        "You may use the context below.",
        "Nutze die Dokumente, falls nötig.",
        "Utilise les documents si nécessaire.",
        "Usa los documentos si es necesario.",
        "Använd dokumenten om det behövs.",
    ],
)
def test_optional_context_is_not_binding(rule: str) -> None:
    prompt = f"{rule}\n\nContext:\n[1] {BRIDGE}\n[2] {TUNNEL}\n\nQuestion: Who am I?"
    assert [r.binding for r in references_of(prompt)] == [False, False]


def test_a_rule_about_citations_does_not_make_context_optional() -> None:
    rule = "Answer only from the context.\nCite the documents where relevant."
    (reference,) = references_of(f"{rule}\n\nContext: {BRIDGE}\n\nWhen did it open?")
    assert reference.binding


def test_references_are_cut_from_the_question() -> None:
    content = [{"type": "text", "text": f"Context:\n[1] {BRIDGE}\n\nQuestion: When?"}]
    for form in (content[0]["text"], content):
        request = Request.of([{"role": "user", "content": form}])
        shortened = without_references(request, references_in(CheckContext(request), ALL))
        assert shortened.question == "Context:\n[1] [...]\n\nQuestion: When?"
    request = Request.of("When?")
    assert without_references(request, ()) is request


pieces = st.sampled_from(
    [
        *("Context:", "<context>", "</context>", "[1] ", "\n", "\n\n", "```", "---", "Question: "),
        *("# A", "Document 2: ", "a b c d.", " when?", "“x”", "<doc id='3'>", "</doc>", "1. "),
    ]
)


@given(st.lists(pieces, max_size=25).map("".join))
def test_offsets_are_exact_in_any_text(text: str) -> None:
    if not text.strip():
        return
    request = Request.of(text)
    references = references_in(CheckContext(request), ALL)
    assert all(text[r.start : r.end] == r.text for r in references)
    spans = sorted((r.start or 0, r.end or 0) for r in references)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    for reference in references:
        assert without_references(request, [reference]).question.count("[...]") >= 1


HOSTILE = ["<doc>", "<doc", "Context: ", "[1] ", "Document 1: x y z\n", "```\n", "---\n", "a:", "<"]


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_linearly_with_the_text(unit: str) -> None:
    def seconds(chars: int) -> float:
        request = Request.of("x " + unit * (chars // len(unit)))
        start = time.process_time()
        references_in(CheckContext(request), ALL)
        return time.process_time() - start

    assert any(seconds(200_000) < 16 * max(seconds(25_000), 0.005) for _ in range(4))


# Paths in a request


def at(path: str, **body: Any) -> list[tuple[str, str]]:
    request = Request.of("When?", params=body)
    return [(r.text, r.source) for r in references_in(CheckContext(request), [path])]


def test_references_at_a_path() -> None:
    assert at("metadata.docs", metadata={"docs": [BRIDGE, {"text": TUNNEL}]}) == [
        (BRIDGE, "metadata.docs[0]"),
        (TUNNEL, "metadata.docs[1]"),
    ]
    hits = {"hits": [{"page": {"content": BRIDGE}}, {"page": None}, {"page": {"content": TUNNEL}}]}
    every = at("search.hits[*].page.content", search=hits)
    assert every == [
        (BRIDGE, "search.hits[0].page.content"),
        (TUNNEL, "search.hits[2].page.content"),
    ]
    assert at("search.hits[2].page", search=hits) == [(TUNNEL, "search.hits[2].page")]
    for missing in ("search.hits[9].page", "search.pages[*].content", "search.hits.page"):
        assert at(missing, search=hits) == []


def test_a_path_may_begin_with_the_messages() -> None:
    message = {"role": "user", "content": "When?", "metadata": {"sources": [{"text": BRIDGE}]}}
    request = Request.of([{"role": "system", "content": "Be brief."}, message])
    (reference,) = references_in(CheckContext(request), ["messages[*].metadata.sources[*].text"])
    assert reference.source == "messages[1].metadata.sources[0].text"
    assert (reference.origin, reference.binding) == ("own", True)


def test_the_id_and_url_of_a_document_are_kept() -> None:
    docs = [{"text": BRIDGE, "id": 7, "title": "Garmo", "url": "https://b.example/g"}]
    (reference,) = references_in(
        CheckContext(Request.of("When?", params={"metadata": {"docs": docs}})), ["metadata.docs"]
    )
    assert (reference.label, reference.url) == ("7", "https://b.example/g")


@pytest.mark.parametrize("path", ["messages[*].content", "messages[1].content", "messages[*].text"])
def test_a_path_never_leads_to_the_models_own_words(path: str) -> None:
    messages = [
        {"role": "user", "content": BRIDGE},
        {"role": "assistant", "content": TUNNEL, "text": TUNNEL},
        {"role": "user", "content": "Really?"},
    ]
    references = references_in(CheckContext(Request.of(messages)), [path])
    assert TUNNEL not in [reference.text for reference in references]


def test_a_path_may_lead_to_citations_in_a_message_of_the_model() -> None:
    cited = {
        "role": "assistant",
        "content": "Yes.",
        "context": {"citations": [{"content": BRIDGE}]},
    }
    request = Request.of([{"role": "user", "content": "When?"}, cited])
    (reference,) = references_in(CheckContext(request), ["messages[*].context.citations[*]"])
    assert reference.text == BRIDGE


def test_a_path_does_not_lead_to_the_connection() -> None:
    assert at("extra_headers.note", extra_headers={"note": BRIDGE}) == []


@pytest.mark.parametrize(
    "place", ["message", "docs", "$.docs", "docs[", "docs[-1]", "docs[?(@.x)]", "docs..text", "", 5]
)
def test_an_invalid_path_is_refused(place: Any) -> None:
    with pytest.raises(PolicyError, match="must be one of"):
        Policy.of({"chain": [{"method": "ngram"}], "references": {"from": [place]}})
