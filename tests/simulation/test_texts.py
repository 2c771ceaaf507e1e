"""Completions of plain text, and the faults that are about log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import openai
import pytest

from resay import ConfigurationError
from simulation import (
    Fault,
    IgnoreLogprobs,
    IgnoreN,
    IgnoreStreamOptions,
    RateLimited,
    RefusedLogprobs,
    SimulatedProvider,
    Subject,
    World,
)

TEXT = "Marie Curie was born in Warsaw in 1867. She kept 42 owls in Zagreb."


@pytest.fixture
def sdk(simulated: SimulatedProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=simulated.base_url, api_key="k", max_retries=0) as client:
        yield client


def test_openai_gets_the_log_probabilities_of_a_prompt(sdk: openai.OpenAI) -> None:
    done = sdk.completions.create(model="m", prompt=TEXT, max_tokens=0, echo=True, logprobs=2)
    choice = done.choices[0]
    listed: Any = choice.logprobs
    assert choice.text == "".join(listed.tokens) == TEXT
    assert [TEXT[i:][: len(t)] for i, t in zip(listed.text_offset, listed.tokens, strict=True)] == (
        listed.tokens
    )
    assert listed.token_logprobs[0] is listed.top_logprobs[0] is None
    assert all(logprob <= 0 for logprob in listed.token_logprobs[1:])
    assert all(len(top) == 2 for top in listed.top_logprobs[1:])
    chances = dict(zip(listed.tokens, listed.token_logprobs, strict=True))
    # It knows where she was born, and nothing of owls.
    assert min(chances[" Warsaw"], chances[" 1867"]) > -0.2
    assert max(chances[" 42"], chances[" Zagreb"]) < -0.7
    assert done.usage is not None
    assert (done.usage.prompt_tokens, done.usage.completion_tokens) == (len(listed.tokens), 0)


def test_what_is_written_comes_behind_the_prompt(sdk: openai.OpenAI) -> None:
    asked: Any = {"model": "m", "prompt": TEXT, "max_tokens": 2, "temperature": 0}
    alone = sdk.completions.create(**asked).choices[0]
    assert (len(alone.text.split()), alone.logprobs) == (2, None)
    assert alone.text.startswith(" ")
    for logprobs in (None, 0):
        done = sdk.completions.create(**asked, echo=True, logprobs=logprobs).choices[0]
        assert (done.text, done.finish_reason) == (TEXT + alone.text, "length")
    listed: Any = sdk.completions.create(**asked, logprobs=1).choices[0].logprobs
    assert listed.text_offset == [len(TEXT), len(TEXT) + len(listed.tokens[0])]
    assert None not in listed.token_logprobs
    spaced = sdk.completions.create(**{**asked, "prompt": f"{TEXT}\n"}).choices[0].text
    assert spaced[0] != " "


def test_a_prompt_is_answered_like_a_message(
    simulated: SimulatedProvider, sdk: openai.OpenAI
) -> None:
    question = "Who was Marie Curie?"
    talk = "User: Tell me about Marie Curie.\n\nAssistant: Yes?\n\nUser: Where?\n\nAssistant:"
    chat: Any = [{"role": "user", "content": question}]
    said = sdk.chat.completions.create(model="m", messages=chat, temperature=0)
    done = sdk.completions.create(model="m", prompt=question, max_tokens=999, temperature=0)
    assert done.choices[0].text == f" {said.choices[0].message.content}"
    assert (done.object, done.choices[0].finish_reason) == ("text_completion", "stop")
    assert done.usage is not None
    assert done.usage.completion_tokens > 0
    assert simulated.requests[-1].completion_tokens == done.usage.completion_tokens
    gone_on = sdk.completions.create(model="m", prompt=talk, max_tokens=999)
    assert "Curie" in gone_on.choices[0].text
    assert len(sdk.completions.create(model="m", prompt=question).choices[0].text.split()) <= 16


def test_each_prompt_has_its_answers(sdk: openai.OpenAI) -> None:
    done = sdk.completions.create(model="m", prompt=[TEXT, "Who?"], n=2, echo=True)
    assert [choice.index for choice in done.choices] == [0, 1, 2, 3]
    begin = [choice.text.startswith(TEXT) for choice in done.choices]
    assert begin == [True, True, False, False]
    for tokens in ([5, 6], [[5, 6], [7]]):
        done = sdk.completions.create(model="m", prompt=tokens, echo=True)
        assert done.choices[0].text.startswith("5 6")


def test_the_best_of_several_is_given(sdk: openai.OpenAI) -> None:
    asked: Any = {"model": "m", "prompt": "Who was Ada Zorblatt?", "max_tokens": 9, "logprobs": 0}
    done = sdk.completions.create(**asked, best_of=4, n=2)
    chances = [sum(c.logprobs.token_logprobs) / 9 for c in done.choices if c.logprobs]
    assert chances == sorted(chances, reverse=True)
    assert len(chances) == 2
    assert done.usage is not None
    assert done.usage.completion_tokens == 4 * 9


def test_a_stream_makes_up_the_answer(sdk: openai.OpenAI) -> None:
    asked: Any = {"model": "m", "prompt": TEXT, "temperature": 0, "logprobs": 1, "max_tokens": 6}
    for echo in (False, True):
        whole = sdk.completions.create(**asked, echo=echo)
        with sdk.completions.create(
            **asked, echo=echo, stream=True, stream_options={"include_usage": True}
        ) as stream:
            *pieces, last, usage = stream
        assert {piece.object for piece in pieces} == {"text_completion"}
        assert "".join(p.choices[0].text for p in pieces) == whole.choices[0].text
        listed = [piece.choices[0].logprobs for piece in pieces]
        expected: Any = whole.choices[0].logprobs
        for name in ("tokens", "text_offset", "token_logprobs", "top_logprobs"):
            joined = [entry for one in listed for entry in getattr(one, name)]
            assert joined == getattr(expected, name)
        assert [p.choices[0].finish_reason for p in pieces] == [None] * len(pieces)
        assert (last.choices[0].text, last.choices[0].finish_reason) == ("", "length")
        assert (usage.choices, usage.usage) == ([], whole.usage)
        assert last.usage is None


def test_a_stream_has_several_answers(sdk: openai.OpenAI) -> None:
    with sdk.completions.create(model="m", prompt=TEXT, n=2, stream=True) as stream:
        pieces = list(stream)
    ends = [p.choices[0].index for p in pieces if p.choices[0].finish_reason]
    assert ends == [0, 1]
    assert all(piece.usage is None for piece in pieces)


@pytest.mark.parametrize("top", [0, 1, 4])
def test_vllms_form_has_the_prompts_own_token_at_each_place(sdk: openai.OpenAI, top: int) -> None:
    asked = {"prompt_logprobs": top, "return_token_ids": True}
    done = sdk.completions.create(model="m", prompt=TEXT, max_tokens=1, extra_body=asked)
    choice: Any = done.choices[0]
    first, *places = choice.prompt_logprobs
    assert first is None
    own = [p[str(i)] for p, i in zip(places, choice.prompt_token_ids[1:], strict=True)]
    assert "".join(entry["decoded_token"] for entry in own) == TEXT
    for entry, listed in zip(own, places, strict=True):
        beside = entry["rank"] > top
        assert len(listed) == top + beside
        ranks = [other["rank"] for other in listed.values()]
        assert sorted(ranks) == ranks


def test_the_same_text_is_read_the_same(sdk: openai.OpenAI) -> None:
    asked: Any = {"model": "m", "prompt": TEXT, "max_tokens": 0, "echo": True, "logprobs": 1}
    first, second = (sdk.completions.create(**asked).choices[0].logprobs for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": ""},
        {"prompt": []},
        {"prompt": [TEXT, ""]},
        {"prompt": {"text": TEXT}},
        {"logprobs": -1},
        {"max_tokens": -1},
        {"n": 3, "best_of": 2},
        {"best_of": 2, "stream": True},
        {"stop": ["a", "b", "c", "d", "e"]},
    ],
    ids=str,
)
def test_what_it_cannot_do_is_refused(sdk: openai.OpenAI, body: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError):
        sdk.completions.create(**{"model": "m", "prompt": TEXT, **body})


def test_a_rare_character_is_cut_in_two() -> None:
    world = World([Subject("Curie", facts=["Curie liked 🌉 and é."])])
    with SimulatedProvider(world=world) as provider, openai.OpenAI(**_at(provider)) as sdk:
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Who is Curie?"}]}
        done = sdk.chat.completions.create(**asked, logprobs=True, top_logprobs=3)
    listed: Any = done.choices[0].logprobs
    pieces = [bytes(token.bytes) for token in listed.content]
    assert b"".join(pieces).decode() == done.choices[0].message.content
    first, second = (t for t in listed.content if b"\xf0" in bytes(t.bytes) or t.bytes[0] == 0x8C)
    assert (first.token, second.token) == (" \\xf0\\x9f", "\\x8c\\x89")
    assert second.logprob == 0.0
    assert done.usage is not None
    assert done.usage.completion_tokens == len(pieces)


def _at(provider: SimulatedProvider) -> dict[str, Any]:
    return {"base_url": provider.base_url, "api_key": "k", "max_retries": 0}


# Faults


def _statuses(simulated: SimulatedProvider) -> list[tuple[int | None, str | None]]:
    return [(request.status, request.fault) for request in simulated.requests]


def test_a_refusal_is_about_log_probabilities_only(
    simulated: SimulatedProvider, sdk: openai.OpenAI
) -> None:
    simulated.set_faults(RefusedLogprobs(first=2, status=422))
    chat: Any = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
    text: Any = {"model": "m", "prompt": TEXT}
    sdk.chat.completions.create(**chat)
    sdk.completions.create(**text)
    with pytest.raises(openai.UnprocessableEntityError):
        sdk.chat.completions.create(**chat, logprobs=True)
    with pytest.raises(openai.UnprocessableEntityError):
        sdk.completions.create(**text, extra_body={"prompt_logprobs": 0})
    assert sdk.completions.create(**text, logprobs=1).choices[0].logprobs is not None
    refused = (422, "RefusedLogprobs")
    assert _statuses(simulated) == [(200, None)] * 2 + [refused] * 2 + [(200, None)]


def test_log_probabilities_may_be_left_out(
    simulated: SimulatedProvider, sdk: openai.OpenAI
) -> None:
    simulated.set_faults(IgnoreLogprobs())
    chat: Any = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
    assert sdk.chat.completions.create(**chat, logprobs=True).choices[0].logprobs is None
    with sdk.chat.completions.create(**chat, logprobs=True, stream=True) as stream:
        assert all(c.logprobs is None for chunk in stream for c in chunk.choices)
    done = sdk.completions.create(model="m", prompt=TEXT, echo=True, logprobs=1)
    assert done.choices[0].logprobs is None


def test_a_stream_may_say_nothing_of_its_usage(
    simulated: SimulatedProvider, sdk: openai.OpenAI
) -> None:
    simulated.set_faults(IgnoreStreamOptions(), IgnoreN())
    counted: Any = {"stream": True, "stream_options": {"include_usage": True}}
    with sdk.completions.create(model="m", prompt=TEXT, **counted) as stream:
        assert all(piece.choices for piece in stream)
    simulated.set_faults(IgnoreN())
    assert len(sdk.completions.create(model="m", prompt=TEXT, n=3).choices) == 1


@pytest.mark.parametrize(
    ("only", "struck"), [("text", [1]), ("chat", [0]), ("judge", []), ("any", [0, 1])]
)
def test_a_fault_may_be_about_plain_text(
    simulated: SimulatedProvider, sdk: openai.OpenAI, only: Any, struck: list[int]
) -> None:
    simulated.set_faults(RateLimited(only=only))
    chat: Any = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}
    for ask in (
        lambda: sdk.chat.completions.create(**chat),
        lambda: sdk.completions.create(model="m", prompt=TEXT),
    ):
        with suppress(openai.RateLimitError):
            ask()
    found = [i for i, request in enumerate(simulated.requests) if request.fault]
    assert found == struck


def test_faults_are_about_kinds_there_are() -> None:
    with pytest.raises(ConfigurationError, match="'chat' or 'text'"):
        Fault(only="texts")  # pyright: ignore[reportArgumentType] - that is the point
    with pytest.raises(ConfigurationError, match="status is 200"):
        RefusedLogprobs(status=200)
