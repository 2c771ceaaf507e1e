"""The marks that readers see, the same way whoever asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from llama_index.llms.openai_like import OpenAILike

import resay
from resay import Guard, Policy, Verdict
from resay_langchain import guard_runnable
from resay_llamaindex import GuardedLLM
from simulation import Invention, SimulatedProvider, Subject, World
from support.clients import CLIENTS
from support.known_world import KNOWN, MADE_UP, WORLD

HALF_KNOWN = World(
    [
        Subject(
            "harbour",
            facts=[["The harbour is deep."]],
            inventions=[Invention("It was dug in {year} by {person}.")],
        )
    ]
)

every_client = pytest.mark.parametrize("client", CLIENTS)


def policy(**settings: Any) -> Policy:
    return Policy.of(
        {
            "chain": [{"method": "facts"}],
            "sampling": {"max": 3, "min": 3},
            "cache": {"store": "none"},
            **settings,
        }
    )


def marking(style: str, **settings: Any) -> Policy:
    return policy(action={"do": "annotate", "marks": style}, **settings)


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


def last() -> Verdict:
    verdict = resay.last_verdict()
    assert verdict is not None
    return verdict


def expected_inline(text: str, verdict: Verdict) -> str:
    """Return the text that has a mark after each flagged sentence."""
    marked = ""
    position = 0
    for sentence in verdict.flagged_sentences:
        mark = "contradicted" if sentence.band == "contradicted" else "unsupported"
        marked += f"{text[position : sentence.end]} [{mark}]"
        position = sentence.end
    return marked + text[position:]


@every_client
@pytest.mark.parametrize("stream", [None, "hold", "buffer"])
def test_each_flagged_sentence_is_marked(
    provider: SimulatedProvider, client: Any, stream: str | None
) -> None:
    settings = {} if stream is None else {"stream_mode": stream}
    ask = client(provider, marking("inline", **settings), stream=stream is not None)

    text = ask(MADE_UP)

    plain = re.sub(r" \[(unsupported|contradicted)\]", "", text)
    assert last().flagged_sentences
    assert text == expected_inline(plain, last())
    for sentence in last().sentences:
        assert plain[sentence.start : sentence.end] == sentence.text


@every_client
@pytest.mark.parametrize("stream", [None, "hold", "buffer"])
def test_footnotes_have_the_evidence(
    provider: SimulatedProvider, client: Any, stream: str | None
) -> None:
    settings = {} if stream is None else {"stream_mode": stream}
    text = client(provider, marking("footnotes", **settings), stream=stream is not None)(MADE_UP)

    body, *notes = text.split("\n\n[^1]: ")
    assert len(notes) == 1
    assert body.count("[^") == len(last().flagged_sentences)
    for sentence in last().flagged_sentences:
        assert f"{sentence.text}[^" in body
        if sentence.band == "contradicted" and sentence.contradicted_by:
            assert sentence.contradicted_by.text in notes[0]


@every_client
def test_after_a_text_that_was_shown_at_once_there_is_a_list(
    provider: SimulatedProvider, client: Any
) -> None:
    text = client(provider, marking("footnotes", stream_mode="after"), stream=True)(MADE_UP)

    answer, listed = text.split("\n\nNot confirmed:\n")
    assert "[^" not in answer
    assert len(listed.splitlines()) == len(last().flagged_sentences)
    for sentence in last().flagged_sentences:
        assert f"- “{sentence.text}”: " in listed


@every_client
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", ["inline", "footnotes"])
def test_nothing_is_marked_in_an_answer_without_caveats(
    provider: SimulatedProvider, client: Any, stream: bool, style: str
) -> None:
    text = client(provider, marking(style), stream=stream)(KNOWN)

    assert last().decision == "consistent"
    assert text == " ".join(sentence.text for sentence in last().sentences)


@every_client
@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({}, "[The rest was left out: it could not be confirmed.]"),
        ({"message": "No."}, "No."),
        ({"message": "No.", "partial_message": "No more."}, "No more."),
    ],
)
def test_the_rest_of_a_stream_is_left_out_in_a_paragraph_of_its_own(
    client: Any, action: dict[str, str], message: str
) -> None:
    blocking = policy(action={"do": "block", **action})
    with SimulatedProvider(seed=5, world=HALF_KNOWN) as provider:
        text = client(provider, blocking, stream=True)("What is the harbour?")

    assert text == f"The harbour is deep. \n\n{message}"


OWN_MESSAGES = [
    ({"message": "No."}, "No."),
    ({"message": "No.", "partial_message": "No more."}, "No more."),
]


@pytest.mark.parametrize(("action", "message"), OWN_MESSAGES)
@pytest.mark.parametrize("mode", ["hold", "after"])
def test_the_answer_of_a_stream_has_all_that_was_shown(
    action: dict[str, str], message: str, mode: str
) -> None:
    blocking = policy(action={"do": "block", **action}, stream_mode=mode)
    with SimulatedProvider(seed=5, world=HALF_KNOWN) as provider:
        guard = Guard(blocking, model="simulated", api_base=provider.base_url, api_key="x")
        with guard.stream("What is the harbour?") as stream:
            text = "".join(chunk.text for chunk in stream)

    assert text.startswith("The harbour is deep. ")
    assert text.endswith(f"\n\n{stream.answer.message}")
    assert stream.answer.text == text
    # With `after` there is no rest that the message could stand for.
    assert stream.answer.message == (message if mode == "hold" else "No.")


@pytest.mark.parametrize(("action", "message"), OWN_MESSAGES)
def test_the_last_response_of_llamaindex_has_all_that_was_released(
    action: dict[str, str], message: str
) -> None:
    blocking = policy(action={"do": "block", **action})
    with SimulatedProvider(seed=5, world=HALF_KNOWN) as provider:
        llm = OpenAILike(
            model="simulated", api_base=provider.base_url, api_key="x", is_chat_model=True
        )
        responses = list(GuardedLLM(llm, blocking).stream_complete("What is the harbour?"))

    assert responses[-1].text == f"The harbour is deep. \n\n{message}"
    assert responses[-1].text == "".join(response.delta or "" for response in responses)


def test_a_text_of_a_chain_is_marked() -> None:
    answers = iter(["It has 31 lamps. It is red."] + ["It has 33 lamps. It is red."] * 3)
    chain = RunnableLambda(lambda _: next(answers))
    guarded = guard_runnable(chain, marking("inline", sampling={"max": 3, "start": "after"}))

    assert guarded.invoke("How many?") == "It has 31 lamps. [contradicted] It is red."
