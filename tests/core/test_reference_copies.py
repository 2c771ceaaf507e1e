"""Prompts that copy the documents which an answer is written from."""

from __future__ import annotations

import pytest

from resay import Guard, Request
from resay.adapters import Message
from resay.core.reference_copies import without_copies
from resay.core.references import Reference

BRIDGE = Reference(
    "The bridge opened in 1932.\nIt is 503 m long.",
    source="retriever[0]",
    origin="retriever",
    id="bridge.pdf",
    title="Data sheet of the bridge",
)
TUNNEL = Reference("The tunnel is 2 km long.", source="retriever[1]", origin="retriever")


def quoted(text: str, label: str | None = None) -> Reference:
    return Reference(
        text, "messages[1]", "messages", start=9, end=9 + len(text), label=label, binding=False
    )


COPIES = {
    "alone": BRIDGE.text,
    "both": f"{BRIDGE.text}\n\n{TUNNEL.text}",
    "in one line": f"{' '.join(BRIDGE.text.split())} {TUNNEL.text}",
    "indented": f"  {BRIDGE.text}\n    {TUNNEL.text}".replace("\n", "\n  "),
    "numbered": f"[1] {BRIDGE.text}\n---\n[2] {TUNNEL.text}",
    "with names": f"Source: bridge.pdf (page 3)\n{BRIDGE.text}\n\nSource: unknown\n{TUNNEL.text}",
    "with titles": f"# Data sheet of the bridge\n\n{BRIDGE.text}\n# 2\n\n{TUNNEL.text}",
    "after labels": f"From the first document: {BRIDGE.text}\nFrom the second: {TUNNEL.text}",
    "in tags": f"<doc id='1'>{BRIDGE.text}</doc>\n<doc id='2'>{TUNNEL.text}</doc>",
    "twice": f"{TUNNEL.text}\n{TUNNEL.text}",
}


@pytest.mark.parametrize("text", COPIES.values(), ids=COPIES)
def test_a_text_that_is_made_of_documents_is_no_reference_of_its_own(text: str) -> None:
    assert without_copies([quoted(text), BRIDGE, TUNNEL]) == (BRIDGE, TUNNEL)


def test_so_is_a_tools_result() -> None:
    result = Reference(f"{BRIDGE.text}\n{TUNNEL.text}", "messages[2]", "tools")
    assert without_copies([result, BRIDGE, TUNNEL]) == (BRIDGE, TUNNEL)


def test_what_else_it_says_remains_with_its_place() -> None:
    lead, end = "Today is 4 July 2026.", "Notice:\nThe office is closed on Sundays."
    message = f"Context:\n{lead}\n\n{BRIDGE.text}\n\n{TUNNEL.text}\n\n{end}"
    first, second, *documents = without_copies([quoted(message[9:]), BRIDGE, TUNNEL])
    assert documents == [BRIDGE, TUNNEL]
    assert (first.text, second.text) == (lead, end)
    assert [message[r.start : r.end] for r in (first, second)] == [lead, end]


@pytest.mark.parametrize(
    "text",
    [
        "The guide says that the tunnel is 2 km long.",
        f"{TUNNEL.text[:-1]}, as the guide of the region says.",
        "The bridge opened in 1950.",
        "A subway. The tunnel is 2 km long.x",
    ],
)
def test_a_text_that_only_mentions_what_a_document_says_is_a_reference(text: str) -> None:
    quotation = quoted(text)
    assert without_copies([quotation, BRIDGE, TUNNEL]) == (quotation, BRIDGE, TUNNEL)


def test_without_documents_everything_remains_once() -> None:
    first, second = quoted(BRIDGE.text), quoted(TUNNEL.text)
    assert without_copies([first, second, quoted(TUNNEL.text)]) == (first, second)
    assert without_copies([]) == ()


def test_a_document_has_the_number_of_its_copy() -> None:
    copies = [quoted(BRIDGE.text, "4"), quoted(TUNNEL.text, "7")]
    bridge, tunnel = without_copies([*copies, BRIDGE, TUNNEL])
    assert (bridge.label, bridge.title) == ("4", "Data sheet of the bridge")
    assert (tunnel.label, tunnel.origin) == ("7", "retriever")


def test_what_claims_were_compared_with_keeps_its_position() -> None:
    copy = quoted(f"{BRIDGE.text}\n{TUNNEL.text}")
    assert without_copies([copy, BRIDGE, TUNNEL], scored=[copy]) == (copy, BRIDGE, TUNNEL)


PROMPT = "Answer only from the context.\n\nContext:\n{context}\n\nQuestion: How long is the tunnel?"
ANSWER = "The tunnel is 3 km long."
TEXTS = [
    "The bridge opened in 1932.",
    "The tunnel is 2 km long.",
    "Dogs may use both of them.",
]


def test_documents_that_are_also_in_the_prompt_count_once() -> None:
    messages: list[Message] = [
        {"role": "user", "content": PROMPT.format(context="\n\n".join(TEXTS))}
    ]
    with Guard({"chain": ["facts"]}) as guard:
        verdict = guard.check(ANSWER, question=messages, references=TEXTS)
    assert [reference.source for reference in verdict.references] == [
        "references[0]",
        "references[1]",
        "references[2]",
    ]
    (claim,) = verdict.claims
    assert claim.reason == "reference 2 contradicts it"
    assert verdict.reason.endswith("by 3 references")


def test_so_do_documents_in_a_providers_field() -> None:
    messages: list[Message] = [
        {"role": "user", "content": PROMPT.format(context="\n\n".join(TEXTS))}
    ]
    with Guard({"chain": ["facts"]}) as guard:
        verdict = guard.check(
            ANSWER,
            question=Request.of(messages, params={"documents": [{"text": text} for text in TEXTS]}),
        )
    assert [reference.source for reference in verdict.references] == [
        "documents[0]",
        "documents[1]",
        "documents[2]",
    ]
