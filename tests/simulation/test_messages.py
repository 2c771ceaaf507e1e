from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from simulation import SimulatedProvider

BRIDGE = "Tell me about the Sydney Harbour Bridge."
DATA = base64.b64encode(bytes(2000)).decode()
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}}
LINKED = {"type": "image_url", "image_url": {"url": "https://bridge.example/arch.png"}}
FILE = {
    "type": "file",
    "file": {"filename": "bridge.pdf", "file_data": f"data:application/pdf;base64,{DATA}"},
}
STORED = {"type": "file", "file": {"file_id": "file-1"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.fixture(scope="module")
def sdk() -> Iterator[openai.OpenAI]:
    with (
        SimulatedProvider(seed=7) as provider,
        openai.OpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as sdk,
    ):
        yield sdk


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def ask(sdk: openai.OpenAI, *messages: Any, **params: Any) -> Any:
    return sdk.chat.completions.create(model="m", messages=messages, **params)


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


# What it reads


@pytest.mark.parametrize("part", [IMAGE, LINKED, FILE, STORED, AUDIO], ids=lambda p: p["type"])
@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_a_text_among_other_parts_is_read(sdk: openai.OpenAI, part: Any, role: str) -> None:
    messages = [{"role": role, "content": [part]}, user([text(BRIDGE), part])]
    done = ask(sdk, *messages)
    assert "John Bradfield" in done.choices[0].message.content


@pytest.mark.parametrize("part", [text("Sunny"), IMAGE, FILE], ids=lambda p: p["type"])
def test_a_tool_may_answer_in_parts(sdk: openai.OpenAI, part: Any) -> None:
    answered = {"role": "tool", "tool_call_id": "call_1", "content": [part]}
    done = ask(sdk, user("f?"), {"role": "assistant", "tool_calls": [CALL]}, answered)
    assert ("Sunny" if part["type"] == "text" else "nothing") in done.choices[0].message.content


def test_audio_costs_tokens_and_nothing_is_cached(sdk: openai.OpenAI) -> None:
    plain, heard = (ask(sdk, user([text(BRIDGE), *more])).usage for more in ([], [AUDIO]))
    assert plain.prompt_tokens_details.audio_tokens == 0
    assert heard.prompt_tokens_details.audio_tokens == 2
    assert heard.prompt_tokens == plain.prompt_tokens + 2
    assert heard.prompt_tokens_details.cached_tokens == 0
    assert heard.completion_tokens_details.reasoning_tokens == 0


# Where it stops


@pytest.mark.parametrize("stop", [" arch", ["never said", " arch", "steel"]])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_before_the_first_stop(sdk: openai.OpenAI, stop: Any, stream: bool) -> None:
    asked: dict[str, Any] = {"temperature": 0, "stop": stop}
    whole = ask(sdk, user(BRIDGE), temperature=0).choices[0].message.content
    texts = [stop] if isinstance(stop, str) else stop
    wanted = whole[: min(at for s in texts if (at := whole.find(s)) >= 0)]
    if stream:
        with ask(sdk, user(BRIDGE), **asked, stream=True) as chunks:
            choices = [chunk.choices[0] for chunk in chunks]
        assert "".join(choice.delta.content or "" for choice in choices) == wanted
        assert choices[-1].finish_reason == "stop"
    else:
        done = ask(sdk, user(BRIDGE), **asked)
        assert done.choices[0].message.content == wanted
        assert done.choices[0].finish_reason == "stop"
        assert 0 < done.usage.completion_tokens < 20


def test_a_stop_in_the_middle_of_a_word_cuts_it(sdk: openai.OpenAI) -> None:
    done = ask(sdk, user(BRIDGE), stop="dney", logprobs=True)
    assert done.choices[0].message.content == "The Sy"
    assert [token.token for token in done.choices[0].logprobs.content] == ["The", " Sy"]


@pytest.mark.parametrize("stop", [None, [], "never said"])
def test_what_is_never_said_stops_nothing(sdk: openai.OpenAI, stop: Any) -> None:
    texts = [
        ask(sdk, user(BRIDGE), temperature=0, **more).choices[0].message.content
        for more in ({}, {"stop": stop})
    ]
    assert texts[0] == texts[1]


# What it refuses


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([{"role": "bot", "content": "x"}], "messages[0].role"),
        ([{"content": "x"}], "messages[0].role"),
        ([user("x"), user(None)], "messages[1].content"),
        ([user(7)], "messages[0].content"),
        ([user([])], "messages[0].content"),
        ([user(["x"])], "messages[0].content[0]"),
        ([user([{"type": "picture"}])], "messages[0].content[0].type"),
        ([user([{"type": ["text"]}])], "messages[0].content[0].type"),
        ([user([text("x"), {"type": "text"}])], "messages[0].content[1].text"),
        ([user([{"type": "image_url"}])], "messages[0].content[0].image_url"),
        (
            [user([{"type": "image_url", "image_url": {"url": "ftp://x"}}])],
            "messages[0].content[0].image_url",
        ),
        (
            [user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,%"}}])],
            "messages[0].content[0].image_url",
        ),
        ([user([{"type": "file", "file": {}}])], "messages[0].content[0].file"),
        (
            [user([{"type": "file", "file": {"file_data": FILE["file"]["file_data"]}}])],
            "messages[0].content[0].file",
        ),
        (
            [user([{"type": "input_audio", "input_audio": {"data": DATA, "format": "ogg"}}])],
            "messages[0].content[0].input_audio",
        ),
        ([user("x"), {"role": "assistant"}], "messages[1].content"),
        ([user("x"), {"role": "assistant", "tool_calls": []}], "messages[1].tool_calls"),
        (
            [user("x"), {"role": "assistant", "tool_calls": [{**CALL, "id": None}]}],
            "messages[1].tool_calls[0]",
        ),
        (
            [user("x"), {"role": "tool", "tool_call_id": "call_1", "content": "y"}],
            "messages[1].tool_call_id",
        ),
        ([user("x"), {"role": "assistant", "tool_calls": [CALL]}], "messages"),
        ([user("x"), {"role": "assistant", "tool_calls": [CALL]}, user("y")], "messages"),
        (
            [
                user("x"),
                {"role": "assistant", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call_2", "content": "y"},
            ],
            "messages[2].tool_call_id",
        ),
    ],
)
def test_a_conversation_that_cannot_be_is_refused(
    sdk: openai.OpenAI, messages: list[Any], param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        ask(sdk, *messages)
    assert caught.value.param == param
    assert DATA not in str(caught.value)


@pytest.mark.parametrize("stop", [7, [7], ["a", "b", "c", "d", "e"]])
def test_a_stop_that_is_none_is_refused(sdk: openai.OpenAI, stop: Any) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        ask(sdk, user("x"), stop=stop)
    assert caught.value.param == "stop"
