from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay_server.gateway.errors import RefusedError
from resay_server.gateway.litellm.params import litellm_params

EVIL = "http://169.254.169.254/latest"
USER = [{"role": "user", "content": "Who?"}]
ASKED: dict[str, dict[str, Any]] = {
    "/chat/completions": {"messages": USER},
    "/completions": {"prompt": "Who?"},
    "/responses": {"input": "Who?"},
    "/messages": {"messages": USER, "max_tokens": 9},
}
HOSTILE: dict[str, Any] = {
    **dict.fromkeys(
        ("api_base", "base_url", "api_key", "custom_llm_provider", "proxy", "organization"), EVIL
    ),
    "extra_body": {"api_base": EVIL},
    "extra_headers": {"host": EVIL},
    "headers": {"host": EVIL},
    "fallbacks": [{"model": "openai/x", "api_base": EVIL}],
    "model_list": [{"litellm_params": {"api_base": EVIL}}],
    "mock_response": "Fine.",
    "metadata": {"model": EVIL},
    "litellm_params": {"api_base": EVIL},
    "aws_bedrock_runtime_endpoint": EVIL,
    "vertex_credentials": "/etc/passwd",
    "callbacks": ["x"],
    "success_callback": ["x"],
    "timeout": 1e9,
    "num_retries": 9,
    "drop_params": True,
    "prompt_id": "x",
}
DATA = "data:image/png;base64,iVBORw0//8="


def parts(part: object, *, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": [part]}]}


@pytest.mark.parametrize("path", ASKED)
def test_what_says_where_to_ask_reaches_nobody(path: str) -> None:
    body = {"model": "gpt", **HOSTILE, **ASKED[path], "temperature": 0.5}
    assert litellm_params(path, body) == ASKED[path] | {"temperature": 0.5}


@given(st.dictionaries(st.text(max_size=20), st.none() | st.booleans() | st.text(max_size=5)))
def test_nothing_unknown_reaches_anybody(odd: dict[str, Any]) -> None:
    known = litellm_params("/completions", {"prompt": "Who?"})
    odd = {f"{name}_": value for name, value in odd.items()}
    assert litellm_params("/completions", {**odd, "prompt": "Who?"}) == known


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": EVIL}},
        {"type": "image_url", "image_url": EVIL},
        {"type": "image_url", "image_url": {"url": "/etc/passwd"}},
        {"type": "image_url", "image_url": {"url": "HTTP:\\\\evil"}},
        {"type": "text", "text": "Look.", "image_url": {"url": EVIL}},
        {"type": "text", "text": "Look.", "content": [{"image_url": EVIL}]},
        {"type": "image", "source": {"type": "url", "url": EVIL}},
        {"type": "image", "source": EVIL},
        {"type": "document", "source": {"type": "url", "url": EVIL}},
        {"type": "file", "file": {"file_id": "gs://bucket/secret"}},
        {"type": "file", "file": {"file_data": "file:///etc/passwd"}},
        {"type": "input_audio", "input_audio": {"data": EVIL}},
        {"type": "video_url", "video_url": {"url": EVIL}},
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image", "url": EVIL}]},
        {"type": "odd", "odd": [[{"a": EVIL}]]},
        {"image_url": EVIL},
    ],
)
def test_nothing_is_fetched_for_a_client(part: dict[str, Any]) -> None:
    for path, more in (("/chat/completions", {}), ("/messages", {"max_tokens": 9})):
        with pytest.raises(RefusedError, match="the request contains URLs") as caught:
            litellm_params(path, {**parts(part), **more})
        assert caught.value.status == 400
        assert EVIL not in str(caught.value)


def test_a_type_on_a_message_hides_nothing() -> None:
    message = {**parts({"type": "image_url", "image_url": EVIL})["messages"][0], "type": "text"}
    with pytest.raises(RefusedError, match="contains URLs"):
        litellm_params("/chat/completions", {"messages": [message]})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/responses", {"input": [{"role": "user", "content": [{"image_url": EVIL}]}]}),
        (
            "/responses",
            {
                "input": [
                    {
                        "type": "function_call_output",
                        "call_id": "1",
                        "output": [{"type": "input_image", "image_url": EVIL}],
                    }
                ]
            },
        ),
        ("/messages", {**ASKED["/messages"], "system": [{"type": "image", "url": EVIL}]}),
        ("/chat/completions", {"messages": [{"role": "assistant", "images": [{"url": EVIL}]}]}),
    ],
)
def test_nothing_is_fetched_from_elsewhere_in_a_request(path: str, body: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match="contains URLs"):
        litellm_params(path, body)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": f"What is {EVIL}?"},
        {"type": "image_url", "image_url": {"url": DATA}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "/9j/"}},
        {"type": "document", "source": {"type": "text", "data": f"See {EVIL}."}, "title": EVIL},
        {"type": "search_result", "source": EVIL, "title": "T", "content": []},
        {"type": "tool_use", "id": "functions.look:0", "name": "look", "input": {"url": EVIL}},
        {"type": "tool_result", "tool_use_id": "functions.look:0", "content": f"It is {EVIL}."},
    ],
)
def test_what_is_there_and_what_is_only_said_passes(part: dict[str, Any]) -> None:
    body = parts(part) | {"max_tokens": 9, "system": f"Never open {EVIL}."}
    assert litellm_params("/messages", body) == body


def test_calls_of_tools_may_hold_addresses() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "open", "arguments": EVIL}}
    messages = [
        *USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "functions.open:0", "content": EVIL},
    ]
    assert litellm_params("/chat/completions", {"messages": messages}) == {"messages": messages}


@pytest.mark.parametrize(
    ("path", "more", "named"),
    [
        ("/chat/completions", {"web_search_options": {"search_context_size": "low"}}, "web_search"),
        ("/chat/completions", {"messages": "Who?"}, "as a list"),
        ("/chat/completions", {"tools": [{"type": "mcp", "server_url": EVIL}]}, "tools"),
        ("/responses", {"previous_response_id": "resp_1"}, "previous_response_id"),
        ("/responses", {"background": True}, "background"),
        ("/responses", {"tools": [{"type": "file_search"}]}, "tools"),
        ("/responses", {"input": None}, "as a text or a list"),
        ("/messages", {"mcp_servers": [{"url": EVIL}]}, "mcp_servers"),
        ("/messages", {"tools": [{"type": "web_search_20250305"}]}, "tools"),
        ("/messages", {"max_tokens": True}, "as a number"),
        ("/completions", {"prompt": ["a", "b"]}, "one `prompt`"),
        ("/completions", {"prompt": [1, 2]}, "one `prompt`"),
    ],
)
def test_what_the_answer_would_be_another_without_is_refused(
    path: str, more: dict[str, Any], named: str
) -> None:
    with pytest.raises(RefusedError, match=named) as caught:
        litellm_params(path, ASKED[path] | more)
    assert caught.value.status == 400


def test_tools_of_the_applications_own_are_offered() -> None:
    kinds = [None, "custom", "bash_20250124", "text_editor_20250728"]
    body = {**ASKED["/messages"], "tools": [{"type": kind, "name": "t"} for kind in kinds]}
    assert litellm_params("/messages", body) == body


def test_streams_and_what_they_say_beside_are_asked_for_as_they_are() -> None:
    options = {"include_usage": True, "include_obfuscation": False}
    body = {**ASKED["/chat/completions"], "stream": True, "stream_options": options}
    asked = litellm_params("/chat/completions", body)
    assert asked["stream"] is True
    assert asked["stream_options"] == {"include_usage": True}
    included = ["reasoning.encrypted_content", "file_search_call.results"]
    asked = litellm_params("/responses", {**ASKED["/responses"], "include": included})
    assert asked["include"] == ["reasoning.encrypted_content"]


def test_other_apis_are_not_spoken() -> None:
    with pytest.raises(RefusedError) as caught:
        litellm_params("/embeddings", {"input": "x"})
    assert caught.value.status == 404
