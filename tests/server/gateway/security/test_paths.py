"""Paths that are not guarded: none leads to an unguarded answer, or to what is another's."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from resay.errors import PolicyError
from resay_server.gateway import GatewayConfig
from support.attacks import ANSWER, Answered, Upstream, answered, ask, head_of, http_response
from support.gateway import MESSAGES, Gateways, Served, logged

SECRET = "The bridge is of steel."
BODY: dict[str, Any] = {"model": "m", "messages": MESSAGES}
STRICT = "chain: [{method: ngram}]\nsampling: {max: 3}\ncache: {store: none}\n"
STRICT += "action: {do: block}\non_error: block\non_unscored: block\n"
KEYS = [{"name": name, "sha256": sha256(name.encode()).hexdigest()} for name in ("ann", "bob")]


def key(name: str) -> str:
    return f"Authorization: Bearer {name}"


@pytest.fixture(scope="module")
def closed(starter: Gateways) -> Served:
    """A gateway with keys, whose file opens no paths."""
    return starter.start(STRICT, keys=KEYS, upstream={"api_key": "own"})


@pytest.fixture(scope="module")
def wide(starter: Gateways) -> Served:
    """A gateway whose file opens everything below a path, and some paths by name."""
    opened = ["/v1/*", "POST /v1/audio/speech", "/v1/custom/messages"]
    return starter.start(STRICT, pass_through=opened)


# Each answers questions at some provider, or gives away something of the account.
ANSWERING = [
    "/v1/foo/chat/completions",
    "/v1/accounts/a/ai/v1/chat/completions",
    "/v1/projects/p/endpoints/openapi/chat/completions",
    "/v1/openai/v1/responses",
    "/v1/models/m:generateContent",
    "/v1/models/m:streamGenerateContent",
    "/v1/models/m:batchGenerateContent",
    "/v1/publishers/google/models/m:generateContent",
    "/v1/publishers/anthropic/models/m:rawPredict",
    "/v1/publishers/anthropic/models/m:streamRawPredict",
    "/v1/api/chat",
    "/v1/api/generate",
    "/v1/chat",
    "/v1/complete",
    "/v1/generate",
    "/v1/edits",
    "/v1/model/m/converse",
    "/v1/model/m/converse-stream",
    "/v1/model/m/invoke",
    "/v1/invocations",
    "/v1/messages/batches",
    "/v1/batches",
    "/v1/threads/runs",
    "/v1/threads/t/runs",
    "/v1/MODELS/m:GenerateContent",
    "/v1/foo//chat//completions",
    "/v1/foo/chat%2fcompletions",
    "/v1/foo/chat/completions;a",
    "/v1/foo/chat/completions/",
]
MISLEADING = ["/v1/foo/chat/completions%3Fa", "/v1/foo%23/chat/completions", "/v1/a/../b"]
ACCOUNT = [
    "/v1/files",
    "/v1/files/file-1/content",
    "/v1/organization/admin_api_keys",
    "/v1/realtime/client_secrets",
    "/v1/fine_tuning/jobs",
    "/v1/evals",
    "/v1/assistants",
    "/v1/vector_stores",
    "/v1/audio/speech",
    "/v1/images/generations",
    "/v1/moderations",
    "/v1/anything",
]
OUTSIDE = ["/api/chat", "/api/generate", "/v1beta/models/m:generateContent", "/model/m/converse"]


@pytest.mark.parametrize("method", ["POST", "GET", "PUT", "DELETE"])
@pytest.mark.parametrize("path", [*ANSWERING, *ACCOUNT, *OUTSIDE])
def test_no_path_is_open_that_the_file_does_not_open(
    closed: Served, upstream: Upstream, method: str, path: str
) -> None:
    data = json.dumps(BODY).encode()
    told = ["Content-Type: application/json", f"Content-Length: {len(data)}", key("ann")]
    answer = answered(closed, head_of(method, path, *told) + data)
    assert answer.status in (403, 404), answer.data
    assert answer.status == 404 or "pass_through" in answer.error["message"]
    assert not upstream.received


def test_models_and_embeddings_are_open(closed: Served, upstream: Upstream) -> None:
    upstream.says(http_response({"object": "response.input_tokens", "input_tokens": 3}))
    for method, path in (
        ("GET", "/v1/models"),
        ("GET", "/v1/models/org/m"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1/responses/input_tokens"),
        ("GET", "/openai/models"),
    ):
        answer = answered(closed, head_of(method, path, "Content-Length: 0", key("ann")))
        assert answer.status == 200, path
        assert b"own" in upstream.received[-1].head


@pytest.mark.parametrize("path", ANSWERING)
def test_a_wide_pattern_opens_nothing_that_answers(
    wide: Served, upstream: Upstream, path: str
) -> None:
    answer = ask(wide, BODY, target=path)
    assert answer.status == 403
    assert "pass_through" in answer.error["message"]
    assert not upstream.received


@pytest.mark.parametrize("path", MISLEADING)
def test_nor_does_it_open_what_only_some_read_like_that(
    wide: Served, upstream: Upstream, path: str
) -> None:
    assert ask(wide, {"model": "m"}, target=path).status in (400, 403)
    assert not upstream.received


QUESTIONS: list[Any] = [
    BODY,
    {"model": "m", "prompt": "Who?"},
    {"model": "m", "input": [{"role": "user", "content": "Who?"}]},
    {"contents": [{"parts": [{"text": "Who?"}]}]},
    b" \n\t" + json.dumps(BODY).encode(),
    b'{"\\u006dessages": []}',
    b'{"messages": [], "x": 1e999}',
    json.dumps(BODY).encode("utf-16"),
    json.dumps(BODY).encode("utf-16-le"),
    json.dumps(BODY).encode("utf-32-be"),
    b"\xef\xbb\xbf" + json.dumps(BODY).encode(),
    b"{'messages': 1}",
]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
@pytest.mark.parametrize("body", QUESTIONS)
def test_a_wide_pattern_passes_no_question(
    wide: Served, upstream: Upstream, method: str, body: Any
) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    for path in ("/v1/anything", "/v1/responses/resp_1/cancel", "/v1/chat/completions/c"):
        head = head_of(method, path, "Content-Type: audio/wav", f"Content-Length: {len(data)}")
        answer = answered(wide, head + data)
        assert answer.status in (400, 403, 415), (path, answer.data)
    assert not upstream.received


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/v1/files", b"--x\r\ncontent"),
        ("/v1/files", b"\x00\x01\xfe\xff" * 10),
        ("/v1/files", b"\xff\xfb\x90\x00" * 10),
        ("/v1/fine_tuning/jobs", b'{"training_file": "file-1", "model": "m"}'),
        # Whoever names just these paths knows what they do.
        ("/v1/audio/speech", b'{"input": "Hello", "model": "tts"}'),
        ("/v1/custom/messages", json.dumps(BODY).encode()),
    ],
)
def test_what_is_opened_is_passed_through(
    wide: Served, upstream: Upstream, path: str, data: bytes
) -> None:
    answer = answered(wide, head_of("POST", path, f"Content-Length: {len(data)}") + data)
    assert answer.status == 200
    assert upstream.received[-1].body == data


@pytest.mark.parametrize(
    ("pattern", "method", "path", "is_open"),
    [
        ("/v1/files", "GET", "/v1/files", True),
        ("/v1/files", "GET", "/v1/files/", True),
        ("/v1/files", "GET", "/v1/files/x", False),
        ("/v1/files", "GET", "/v1/file", False),
        ("/v1/files/*", "GET", "/v1/files", False),
        ("/v1/files/*", "GET", "/v1/files/x/content", True),
        ("/v1/files/*/content", "GET", "/v1/files/x/content", True),
        ("/v1/files/*/content", "GET", "/v1/files/x", False),
        ("/v1/files/*/content", "GET", "/v1/files/x/y/content", False),
        ("GET /v1/files/*", "HEAD", "/v1/files/x", True),
        ("GET /v1/files/*", "DELETE", "/v1/files/x", False),
        ("GET /v1/files/*", "POST", "/v1/files/x", False),
        ("/v1/files/*", "GET", "/v1/files/..;/admin", False),
        ("/v1/files/*", "GET", "/v1/files/%2e%2e/admin", False),
        ("/v1/files/*", "GET", "/v1/files//x", False),
        ("/v1/files", "GET", "/v1/files%2e", False),
        ("/v1/files", "GET", "/v1/%2566iles", False),
    ],
)
def test_a_pattern_opens_its_paths_only(
    starter: Gateways, upstream: Upstream, pattern: str, method: str, path: str, is_open: bool
) -> None:
    served = starter.start(STRICT, pass_through=[pattern])
    answer = answered(served, head_of(method, path))
    assert (answer.status != 403) == is_open or answer.status == 400
    assert bool(upstream.received) == is_open


@pytest.mark.parametrize(
    "pattern",
    [
        "files",
        "/v2/files",
        "/v1",
        "/v1/",
        "/v1/files/",
        "/v1/fi*es",
        "/v1/a b",
        "/v1/%66iles",
        "TRACE /v1/files",
        "/v1/chat/completions",
        "POST /v1/responses",
        "/v1/deployments/m/chat/completions",
        "",
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    config = {"upstream": {"url": "http://127.0.0.1:9"}, "pass_through": [pattern]}
    with pytest.raises(PolicyError, match="pass_through"):
        GatewayConfig.of(config)


def stored(name: str, text: str = SECRET) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": f"msg_{name}", "type": "message", "role": "assistant", "content": [part]}
    return {"id": name, "object": "response", "status": "completed", "output": [item]}


def responses(served: Served, client: str, **told: Any) -> Answered:
    body = {"model": "m", "input": MESSAGES[0]["content"], **told}
    return ask(served, body, key(client), target="/v1/responses")


def read(served: Served, client: str, path: str, method: str = "GET") -> Answered:
    return answered(served, head_of(method, path, key(client), "Content-Length: 0"))


@pytest.mark.parametrize("policy", [STRICT, "chain: [{method: ngram}]\nsampling: {max: 3}\n"])
def test_no_client_reads_what_was_stored_for_another(
    starter: Gateways, upstream: Upstream, policy: str
) -> None:
    served = starter.start(policy, keys=KEYS, upstream={"api_key": "own"})
    upstream.says(http_response(stored("resp_A")))
    assert responses(served, "ann").status == 200
    before = len(upstream.received)
    for method in ("GET", "DELETE", "HEAD"):
        assert read(served, "bob", "/v1/responses/resp_A", method).status == 403
    for path in ("/cancel", "/input_items", "?stream=true"):
        assert read(served, "bob", f"/v1/responses/resp_A{path}").status == 403
    # Nor what nobody asked for here: it is the account's.
    assert read(served, "bob", "/v1/responses/resp_X").status == 403
    assert read(served, "bob", "/v1/conversations/conv_X/items").status == 403
    assert read(served, "bob", "/openai/responses/resp_A").status == 403
    assert responses(served, "bob", previous_response_id="resp_A").status == 403
    assert len(upstream.received) == before
    assert read(served, "ann", "/v1/responses/resp_A").status == 200
    assert responses(served, "ann", previous_response_id="resp_A").status == 200


def test_lists_hold_a_clients_own_answers_only(starter: Gateways, upstream: Upstream) -> None:
    served = starter.start(keys=KEYS, upstream={"api_key": "own"})
    for name, client in (("chatcmpl-a", "ann"), ("chatcmpl-b", "bob")):
        upstream.says(http_response({**ANSWER, "id": name}))
        assert ask(served, {**BODY, "store": True}, key(client)).status == 200
    entries = [{**ANSWER, "id": f"chatcmpl-{name}"} for name in "abx"]
    listed = {"object": "list", "data": entries, "first_id": "chatcmpl-a", "last_id": "chatcmpl-x"}
    upstream.says(http_response(listed))
    answer = json.loads(read(served, "bob", "/v1/chat/completions").body)
    assert [entry["id"] for entry in answer["data"]] == ["chatcmpl-b"]
    assert (answer["first_id"], answer["last_id"]) == ("chatcmpl-b", "chatcmpl-b")


def test_a_conversation_is_its_creators(starter: Gateways, upstream: Upstream) -> None:
    served = starter.start(keys=KEYS, upstream={"api_key": "own"})
    upstream.says(http_response({"id": "conv_1", "object": "conversation"}))
    assert read(served, "ann", "/v1/conversations", "POST").status == 200
    upstream.says(http_response({"object": "list", "data": []}))
    assert read(served, "ann", "/v1/conversations/conv_1/items").status == 200
    assert read(served, "bob", "/v1/conversations/conv_1/items").status == 403
    for named in ("conv_1", {"id": "conv_1"}):
        assert responses(served, "bob", conversation=named).status == 403


LAX = "chain: [{method: ngram}]\nsampling: {max: 3}\n"


def test_no_client_chooses_a_weaker_policy(starter: Gateways, upstream: Upstream) -> None:
    lax = starter.policy(LAX, "lax.yaml")
    served = starter.start(STRICT, policies={"lax": lax})
    answer = ask(served, BODY, "x-resay-policy: lax")
    assert answer.status == 403
    assert answer.error["code"] == "policy_not_selectable"
    assert "selectable_policies" in answer.error["message"]
    assert not upstream.received
    assert ask(served, BODY, "x-resay-policy: default").status == 200
    # It withholds nothing from itself.
    given = {"response": SECRET, "samples": ["It is of iron."] * 3}
    assert ask(served, given, "x-resay-policy: lax", target="/v1/check").status == 200


def test_the_operator_says_which_policies_clients_choose(
    starter: Gateways, upstream: Upstream
) -> None:
    upstream.says(http_response(ANSWER))
    policies = {name: starter.policy(LAX, f"{name}.yaml") for name in ("one", "two")}
    served = starter.start(STRICT, policies=policies, selectable_policies=["one"])
    assert ask(served, BODY, "x-resay-policy: one").status == 200
    assert ask(served, BODY, "x-resay-policy: two").status == 403
    given = {"response": SECRET, "samples": ["It is of iron."] * 3}
    assert ask(served, given, "x-resay-policy: two", target="/v1/check").status == 403
    none = starter.start(LAX, policies=policies, selectable_policies=[])
    assert ask(none, BODY, "x-resay-policy: one").status == 403
    # Where the default withholds nothing, a client may choose what does.
    free = starter.start(LAX, policies={"strict": starter.policy(STRICT, "strict.yaml")})
    assert ask(free, BODY, "x-resay-policy: strict").header("x-resay-decision")


def test_policies_that_do_not_exist_cannot_be_selected() -> None:
    config = {"upstream": {"url": "http://127.0.0.1:9"}, "selectable_policies": ["strict"]}
    with pytest.raises(PolicyError, match="selectable_policies"):
        GatewayConfig.of(config)


def test_what_is_open_is_said_at_the_start(starter: Gateways) -> None:
    with logged("/v1/files/*") as log:
        starter.start(pass_through=["POST /v1/batches", "/v1/files/*"])
    assert "unguarded" in log.wait()
    assert "POST /v1/batches" in log.wait()
