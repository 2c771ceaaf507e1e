"""LiteLLM's own proxy, started on loopback with our guardrail, and asked by the plain clients."""

from __future__ import annotations

import os
from typing import Any

import pytest

from support.known_world import MADE_UP

if os.environ.get("RESAY_TEST_PROXY") != "1":
    pytest.skip("needs LiteLLM's proxy: make test-proxy", allow_module_level=True)
pytest.importorskip("litellm_proxy_extras", reason="litellm[proxy] is not installed")

import openai

from resay_litellm import verdict_of

ASKED: Any = [{"role": "user", "content": MADE_UP}]
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "lookup",
        "description": "Looks something up.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
    },
}


def chat(client: openai.OpenAI, guardrail: str, **params: Any) -> Any:
    asked = {"model": "chat", "messages": ASKED, **params}
    return client.chat.completions.create(**asked, extra_body={"guardrails": [guardrail]})


def shown(chunks: list[Any]) -> str:
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def test_a_plain_client_finds_the_verdict_in_the_body(client: Any, sent: Any) -> None:
    response = chat(client, "annotate", temperature=0.9)

    verdict = verdict_of(response)
    assert verdict is not None
    assert verdict.decision in ("consistent", "flagged")
    assert verdict.samples == 3
    assert verdict.via == "litellm"
    assert response.hallucination["action"] in ("allow", "annotate")
    assert "".join(s.text for s in verdict.sentences)
    main, *samples = sent()
    assert sum(body.get("n", 1) for body in samples) == 3
    for body in samples:
        assert body.keys() <= {"model", "messages", "temperature", "n"}
        assert body["messages"] == main["messages"]
        assert body["temperature"] == 0.9


def test_samples_are_drawn_from_the_deployment_that_answered(client: Any, sent: Any) -> None:
    answered: set[str] = set()
    for _ in range(12):
        before = len(sent())
        chat(client, "annotate")
        models = {body["model"] for body in sent()[before:]}
        assert len(models) == 1
        answered |= models
    assert answered == {"sim-a", "sim-b"}


def test_without_the_guardrail_nothing_is_asked_again(client: Any, sent: Any) -> None:
    response = client.chat.completions.create(model="chat", messages=ASKED)

    assert verdict_of(response) is None
    assert len(sent()) == 1


def test_a_withheld_answer_is_replaced(client: Any) -> None:
    response = chat(client, "block", logprobs=True)

    assert response.choices[0].message.content == "Withheld."
    assert response.choices[0].finish_reason == "content_filter"
    assert response.choices[0].logprobs is None
    assert response.usage.completion_tokens > 10
    assert response.hallucination["action"] == "block"
    assert all(s["text"] == "" for s in response.hallucination["sentences"])


def test_a_withheld_answer_can_be_an_error(client: Any) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        chat(client, "raise")

    said = caught.value.response.text
    assert "hallucination_blocked" in said
    assert "Zorblatt" not in said


def test_each_of_several_choices_is_checked(client: Any) -> None:
    response = chat(client, "annotate", n=2)
    withheld = chat(client, "block", n=2)
    chunks = list(chat(client, "annotate", n=2, stream=True))

    verdicts = [choice.hallucination["decision"] for choice in response.choices]
    assert len(verdicts) == 2
    assert set(verdicts) <= {"consistent", "flagged"}
    assert [choice.message.content for choice in withheld.choices] == ["Withheld."] * 2
    told = [chunk for chunk in chunks if verdict_of(chunk) is not None]
    assert {chunk.choices[0].index for chunk in told} == {0, 1}


def test_answers_that_call_tools_pass(client: Any, sent: Any) -> None:
    asked = [{"role": "user", "content": "[[lookup]] the Zorblatt"}]
    response = chat(client, "block", messages=asked, tools=[TOOL])

    assert response.choices[0].message.tool_calls
    assert response.hallucination["decision"] == "skipped"
    assert len(sent()) == 1


def test_a_judge_is_one_of_the_proxys_models(client: Any, sent: Any) -> None:
    response = chat(client, "judge")

    assert response.hallucination["decision"] in ("consistent", "flagged")
    assert {body["model"] for body in sent()} > {"sim-judge"}


def test_the_model_judges_itself(client: Any, sent: Any) -> None:
    response = chat(client, "own-judge")

    assert response.hallucination["decision"] in ("consistent", "flagged")
    assert len({body["model"] for body in sent()}) == 1
    # One prompt about all samples; only a judge is asked for an object.
    assert [body for body in sent() if body.get("response_format") == {"type": "json_object"}]


def test_samples_of_another_model(client: Any, sent: Any) -> None:
    response = chat(client, "elsewhere")

    assert response.hallucination["samples"] == 2
    assert [body["model"] for body in sent()[1:]] == ["sim-judge"] * len(sent()[1:])


@pytest.mark.parametrize("guardrail", ["annotate", "hold"])
def test_a_stream_ends_with_its_verdict(client: Any, guardrail: str) -> None:
    usage = {"include_usage": True}
    chunks = list(chat(client, guardrail, stream=True, stream_options=usage))

    verdicts = [verdict_of(chunk) for chunk in chunks]
    told = [i for i, verdict in enumerate(verdicts) if verdict is not None]
    assert len(told) == 1
    assert chunks[told[0]].choices[0].finish_reason == "stop"
    verdict = verdicts[told[0]]
    assert verdict is not None
    assert verdict.samples == 3
    assert all(s.text in shown(chunks) for s in verdict.sentences)
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage.completion_tokens > 10


def test_a_stream_may_be_withheld_as_a_whole(client: Any) -> None:
    chunks = list(chat(client, "block", stream=True))

    assert shown(chunks) == "Withheld."
    assert chunks[-1].choices[0].finish_reason == "content_filter"
    assert "Zorblatt" not in "".join(chunk.to_json() for chunk in chunks)


def test_a_held_stream_shows_no_flagged_sentence(client: Any) -> None:
    chunks = list(chat(client, "block-hold", stream=True))

    text = shown(chunks)
    assert text.endswith("Withheld.")
    verdict = next(v for v in map(verdict_of, chunks) if v is not None)
    assert verdict.flagged
    first = next(s for s in verdict.sentences if s.flagged)
    assert len(text) - len("Withheld.") <= first.start


def test_a_stream_that_was_shown_says_that_it_is_withdrawn(client: Any) -> None:
    chunks = list(chat(client, "block-after", stream=True))

    assert shown(chunks).endswith("Withheld.")
    assert len(shown(chunks)) > 50
    assert chunks[-1].choices[0].finish_reason == "content_filter"


def test_a_stream_that_ends_with_an_error(client: Any) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        list(chat(client, "raise", stream=True))

    assert "hallucination_blocked" in caught.value.response.text
    assert caught.value.response.status_code == 422
    assert "Zorblatt" not in f"{caught.value} {caught.value.response.text}"


def test_a_stream_that_was_shown_ends_with_an_error(client: Any) -> None:
    chunks: list[Any] = []
    with pytest.raises(openai.APIError) as caught:
        chunks.extend(iter(chat(client, "raise-after", stream=True)))

    assert "hallucination_blocked" in str(caught.value)
    assert "Zorblatt" not in str(caught.value)


def test_a_held_stream_that_calls_tools_passes(client: Any, sent: Any) -> None:
    asked = [{"role": "user", "content": "[[lookup]] the Zorblatt"}]
    chunks = list(chat(client, "block-hold", messages=asked, tools=[TOOL], stream=True))

    calls = [call for c in chunks for call in c.choices[0].delta.tool_calls or ()]
    assert "".join(call.function.name or "" for call in calls) == "lookup"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert [v.decision for v in map(verdict_of, chunks) if v is not None] == ["skipped"]
    assert len(sent()) == 1


def ask_claude(claude: Any, guardrail: str, **params: Any) -> Any:
    body: dict[str, Any] = {"guardrails": [guardrail]}
    asked: dict[str, Any] = {"model": "claude", "max_tokens": 400, "messages": ASKED, **params}
    return claude.messages.create(**asked, extra_body=body)


def said(events: list[Any]) -> str:
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    return "".join(delta.text for delta in deltas)


def test_messages_have_their_verdict(claude: Any, sent: Any) -> None:
    message = ask_claude(claude, "annotate", system="Be brief.")

    assert message.hallucination["samples"] == 3
    assert message.stop_reason == "end_turn"
    assert verdict_of(message) is not None
    main, *samples = sent()
    assert len(samples) == 3
    for body in samples:
        assert {**body, "stream": False} == main


def test_messages_of_another_providers_model_have_theirs_too(claude: Any, sent: Any) -> None:
    message = ask_claude(claude, "annotate", model="chat")
    events = list(ask_claude(claude, "annotate", model="chat", stream=True))

    assert message.hallucination["samples"] == 3
    assert [v.samples for v in map(verdict_of, events) if v is not None] == [3]
    assert len({body["model"] for body in sent()[:4]}) == 1


def test_a_withheld_message_is_a_refusal(claude: Any) -> None:
    message = ask_claude(claude, "block")

    assert [block.text for block in message.content] == ["Withheld."]
    assert message.stop_reason == "refusal"
    assert message.usage.output_tokens > 10


@pytest.mark.parametrize("guardrail", ["annotate", "hold"])
def test_a_stream_of_messages_ends_with_its_verdict(claude: Any, guardrail: str) -> None:
    events = list(ask_claude(claude, guardrail, stream=True))

    last = next(event for event in events if event.type == "message_delta")
    verdict = verdict_of(last)
    assert verdict is not None
    assert verdict.samples == 3
    assert all(s.text in said(events) for s in verdict.sentences)
    assert events[-1].type == "message_stop"


@pytest.mark.parametrize("guardrail", ["block", "block-hold", "block-after"])
def test_a_stream_of_messages_is_withheld(claude: Any, guardrail: str) -> None:
    with claude.messages.stream(
        model="claude",
        max_tokens=400,
        messages=ASKED,
        extra_body={"guardrails": [guardrail]},
    ) as stream:
        events = list(stream)
        message = stream.get_final_message()

    assert message.stop_reason == "refusal"
    assert "".join(block.text for block in message.content).endswith("Withheld.")
    assert events[-1].type == "message_stop"
    if guardrail == "block":
        assert [block.text for block in message.content] == ["Withheld."]


def respond(client: openai.OpenAI, guardrail: str, **params: Any) -> Any:
    extra = {"guardrails": [guardrail]}
    return client.responses.create(model="chat", input=MADE_UP, **params, extra_body=extra)


def test_responses_have_their_verdict(client: Any, sent: Any) -> None:
    response = respond(client, "annotate")

    assert response.hallucination["samples"] == 3
    assert verdict_of(response) is not None
    assert all(body["store"] is False for body in sent()[1:])
    assert len({body["model"] for body in sent()}) == 1


def test_samples_branch_off_a_stored_conversation(client: Any, sent: Any) -> None:
    first = client.responses.create(model="chat", input=MADE_UP)
    before = len(sent())
    response = respond(client, "annotate", previous_response_id=first.id)

    assert response.hallucination["samples"] == 3
    main, *samples = sent()[before:]
    assert len(samples) == 3
    for body in samples:
        assert body["previous_response_id"] == main["previous_response_id"]
        assert body["store"] is False


def test_a_withheld_response_is_incomplete(client: Any) -> None:
    response = respond(client, "block")

    assert response.output_text == "Withheld."
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "content_filter"


@pytest.mark.parametrize("guardrail", ["annotate", "hold"])
def test_a_stream_of_responses_ends_with_its_verdict(client: Any, guardrail: str) -> None:
    events = list(respond(client, guardrail, stream=True))

    verdict = verdict_of(events[-1])
    assert verdict is not None
    assert verdict.samples == 3
    deltas = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert deltas == events[-1].response.output_text


@pytest.mark.parametrize("guardrail", ["block", "block-hold"])
def test_a_stream_of_responses_is_withheld(client: Any, guardrail: str) -> None:
    events = list(respond(client, guardrail, stream=True))

    deltas = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    assert deltas.endswith("Withheld.")
    assert events[-1].type == "response.incomplete"
    assert events[-1].response.output_text == deltas
    done = next(e for e in events if e.type == "response.output_text.done")
    assert done.text == deltas


def test_what_is_no_text_passes(client: Any) -> None:
    models = client.models.list()

    assert {model.id for model in models} >= {"chat", "claude"}
