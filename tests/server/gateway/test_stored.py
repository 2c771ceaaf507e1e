"""Answers that the upstream stores, read again through the gateway by OpenAI's own SDK."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import openai
import pytest
from openai import OpenAI

from simulation import SimulatedProvider
from support.gateway import MESSAGES, POLICY, Gateways, Served, logged

QUESTION = MESSAGES[0]["content"]
BLOCK = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\naction: {do: block, message: No.}\n"
FLAGGING = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\n"
FINE = POLICY + "threshold: {passage: 1.0, sentence: 1.0}\naction: {do: block}\n"
MODEL = "simulated"


@contextmanager
def refused(code: str) -> Iterator[None]:
    with pytest.raises(openai.PermissionDeniedError) as caught:
        yield
    assert caught.value.code == code


class Keeping(ThreadingHTTPServer):
    """An upstream that stores what the simulated provider answers, and gives it again."""

    daemon_threads = True

    def __init__(self, provider: SimulatedProvider) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.provider = provider
        self.kept: dict[str, dict[str, Any]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def words_of(self, name: str) -> str:
        """Return what the model wrote, as it is stored."""
        body = self.kept[name]
        if "choices" in body:
            return body["choices"][0]["message"]["content"]
        return body["output"][0]["content"][0]["text"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Keeping

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's
        del format, args

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.startswith("/v1/chat/completions/"):
            return self._give(json.dumps(self.server.kept[self.path.rpartition("/")[2]]))
        later = asked.pop("background", False)
        asked.pop("conversation", None)
        answer = httpx.post(f"{self.server.provider.root_url}{self.path}", json=asked, timeout=30)
        if asked.get("stream"):
            events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
            made = json.loads(events[-1])["response"]
        else:
            made = answer.json()
        if asked.get("store", "output" in made):
            self.server.kept[made["id"]] = made
        if later:
            waiting = {"id": made["id"], "object": "response", "status": "queued", "output": []}
            return self._give(json.dumps({**waiting, "secret_notes": "draft"}))
        return self._give(answer.text, answer.headers["content-type"])

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        name, _, rest = parts.path.removeprefix("/v1/").partition("/completions/")[2].partition("/")
        if parts.path == "/v1/chat/completions":
            found = [body for body in self.server.kept.values() if "choices" in body]
            return self._give(json.dumps({"object": "list", "data": found, "has_more": False}))
        if parts.path.startswith("/v1/conversations/"):
            return self._give(json.dumps({"object": "list", "data": self._items()}))
        if parts.path.startswith("/v1/responses/"):
            name, _, rest = parts.path.removeprefix("/v1/responses/").partition("/")
        if rest == "input_items":
            return self._give(json.dumps({"object": "list", "data": self._items()}))
        if rest == "messages":
            said = {"role": "assistant", "content": self.server.words_of(name), "id": f"{name}-1"}
            asked = {"role": "user", "content": QUESTION, "id": f"{name}-0"}
            return self._give(json.dumps({"object": "list", "data": [asked, said]}))
        body = self.server.kept[name]
        if parse_qs(parts.query).get("stream"):
            event = {"type": "response.completed", "sequence_number": 0, "response": body}
            return self._give(f"data: {json.dumps(event)}\n\n", "text/event-stream")
        return self._give(json.dumps(body))

    def do_DELETE(self) -> None:
        name = self.path.rpartition("/")[2]
        self._give(json.dumps({"id": name, "object": "response.deleted", "deleted": True}))

    def _items(self) -> list[dict[str, Any]]:
        said = [item for body in self.server.kept.values() for item in body.get("output", [])]
        asked = {"id": "msg_asked", "type": "message", "role": "user", "content": QUESTION}
        return [asked, *said]

    def _give(self, text: str, kind: str = "application/json") -> None:
        content = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Keeping]:
    with SimulatedProvider(seed=7) as provider, Keeping(provider) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def served(upstream: Keeping, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with ExitStack() as stack:
        gateways = Gateways(tmp_path_factory.mktemp("gateway"), upstream.url, stack)
        fine = gateways.policy(FINE, "fine.yaml")
        again = gateways.policy(POLICY, "annotate.yaml")
        policies = {"fine": fine, "annotate": again}
        yield gateways.start(BLOCK, policies=policies, selectable_policies=list(policies))


@pytest.fixture
def gateways(upstream: Keeping, tmp_path: Path) -> Iterator[Gateways]:
    """Gateways whose policies no other test has."""
    with ExitStack() as stack:
        yield Gateways(tmp_path, upstream.url, stack)


@pytest.fixture
def client(served: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:
        yield client


@pytest.fixture(autouse=True)
def forgotten(upstream: Keeping) -> None:
    upstream.kept.clear()


def policy(name: str) -> dict[str, Any]:
    return {"extra_headers": {"x-resay-policy": name}}


def asked(client: OpenAI, *, stream: bool = False, **more: Any) -> Any:
    """Ask, and return the response as it was given."""
    made = client.responses.create(model=MODEL, input=QUESTION, stream=stream, **more)
    return list(made)[-1].response if stream else made


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["default", "annotate"])
def test_a_withheld_response_is_never_given_again(
    client: OpenAI, upstream: Keeping, name: str, stream: bool
) -> None:
    given = asked(client, stream=stream)
    words = upstream.words_of(given.id)
    assert words not in given.to_json()
    again = client.responses.retrieve(given.id, **policy(name))
    assert again.output_text == "No."
    assert again.hallucination == given.hallucination
    items = client.responses.input_items.list(given.id, **policy(name))
    kept = client.conversations.items.list("conv_1", **policy(name))
    assert [item.id for item in items.data] == [item.id for item in kept.data] == ["msg_asked"]
    with refused("answer_not_released"):
        client.responses.retrieve(given.id, stream=True, **policy(name))
    assert client.responses.delete(given.id) is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_released_response_is_given_as_it_is_stored(
    client: OpenAI, upstream: Keeping, stream: bool
) -> None:
    given = asked(client, stream=stream, **policy("fine"))
    assert given.output_text == upstream.words_of(given.id)
    assert client.responses.retrieve(given.id).output_text == given.output_text
    items = client.responses.input_items.list(given.id).data
    assert [item.id for item in items] == ["msg_asked", given.output[0].id]
    (event,) = client.responses.retrieve(given.id, stream=True)
    assert event.response.output_text == given.output_text


def test_what_is_not_known_is_not_given(
    client: OpenAI, gateways: Gateways, upstream: Keeping
) -> None:
    given = asked(client, **policy("fine"))
    restarted = gateways.start(BLOCK)
    annotating = gateways.start(policies={"default": gateways.policy(POLICY, "other.yaml")})
    with OpenAI(base_url=f"{restarted.url}/v1", api_key="k") as other:
        with refused("answer_not_released"):
            other.responses.retrieve(given.id)
        with refused("answer_not_released"):
            other.responses.retrieve(given.id, stream=True)
        assert [item.id for item in other.responses.input_items.list(given.id).data] == [
            "msg_asked"
        ]
    # Where nothing can be withheld nothing is.
    with OpenAI(base_url=f"{annotating.url}/v1", api_key="k") as other:
        assert other.responses.retrieve(given.id).output_text == upstream.words_of(given.id)


def test_a_policy_that_changes_gives_nothing_away(gateways: Gateways, upstream: Keeping) -> None:
    served = gateways.start(BLOCK, reload_s=0.05)
    with OpenAI(base_url=f"{served.url}/v1", api_key="k") as client:
        given = asked(client)
        with logged("were reloaded"):
            gateways.policy(POLICY)
        assert client.responses.retrieve(given.id).output_text == "No."
    assert upstream.kept


@pytest.mark.parametrize("count", [1, 2])
def test_stored_completions_are_no_way_out(client: OpenAI, upstream: Keeping, count: int) -> None:
    told: dict[str, Any] = {"model": MODEL, "messages": MESSAGES, "store": True}
    withheld = client.chat.completions.create(**told, n=count)
    fine = client.chat.completions.create(**told, **policy("fine"))
    assert withheld.choices[0].message.content == "No."
    again = client.chat.completions.retrieve(withheld.id)
    assert {choice.message.content for choice in again.choices} == {"No."}
    listed = {one.id: one.choices[0].message.content for one in client.chat.completions.list()}
    assert listed == {withheld.id: "No.", fine.id: fine.choices[0].message.content}
    roles = {
        one.id: [message.role for message in client.chat.completions.messages.list(one.id).data]
        for one in (withheld, fine)
    }
    assert roles == {withheld.id: ["user"], fine.id: ["user", "assistant"]}
    updated = client.chat.completions.update(withheld.id, metadata={})
    assert updated.choices[0].message.content == "No."


def test_an_answer_made_in_the_background_is_checked_when_it_is_there(
    client: OpenAI, served: Served, upstream: Keeping
) -> None:
    before = len(served.told)
    waiting = asked(client, background=True)
    assert (waiting.status, waiting.output) == ("queued", [])
    assert not hasattr(waiting, "secret_notes")
    calls = upstream.provider.calls
    again = client.responses.retrieve(waiting.id)
    assert again.output_text == "No."
    assert again.hallucination["decision"] == "flagged"
    spent = upstream.provider.calls - calls
    # It is checked once.
    assert client.responses.retrieve(waiting.id).output_text == "No."
    assert upstream.provider.calls - calls == spent > 0
    seen = served.told[before:]
    assert [one.action for one in seen] == [None, "block"]
    fine = asked(client, background=True, **policy("fine"))
    given = client.responses.retrieve(fine.id)
    assert given.output_text == upstream.words_of(fine.id)
    assert given.hallucination["action"] == "allow"


@pytest.mark.parametrize("on_uncheckable", ["auto", "refuse", "inconclusive", "skip"])
@pytest.mark.parametrize("withholds", [True, False])
def test_one_rule_for_answers_made_in_the_background(
    gateways: Gateways, upstream: Keeping, withholds: bool, on_uncheckable: str
) -> None:
    served = gateways.start(f"{BLOCK if withholds else FLAGGING}on_uncheckable: {on_uncheckable}\n")
    with OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:
        waiting = asked(client, background=True)
        assert (waiting.status, waiting.output) == ("queued", [])
        given = client.responses.retrieve(waiting.id)
        assert given.output_text == ("No." if withholds else upstream.words_of(waiting.id))
        assert given.hallucination["decision"] == "flagged"
        assert given.hallucination["action"] == ("block" if withholds else "annotate")
        # It is checked once.
        calls = upstream.provider.calls
        again = client.responses.retrieve(waiting.id)
        assert again.output_text == given.output_text
        assert upstream.provider.calls == calls


def test_an_answer_made_in_the_background_is_checked_by_the_policy_that_was_selected(
    client: OpenAI, upstream: Keeping
) -> None:
    waiting = asked(client, background=True, **policy("annotate"))
    given = client.responses.retrieve(waiting.id)
    assert given.output_text == upstream.words_of(waiting.id)
    assert given.hallucination["decision"] in ("flagged", "consistent")


def test_an_answer_that_is_not_finished_is_not_checked_yet(
    gateways: Gateways, upstream: Keeping
) -> None:
    served = gateways.start(FLAGGING)
    with OpenAI(base_url=f"{served.url}/v1", api_key="k", max_retries=0) as client:
        waiting = asked(client, background=True)
        whole = upstream.kept[waiting.id]
        upstream.kept[waiting.id] = {**whole, "status": "in_progress", "output": []}
        assert not hasattr(client.responses.retrieve(waiting.id), "hallucination")
        upstream.kept[waiting.id] = whole
        assert client.responses.retrieve(waiting.id).hallucination["decision"] == "flagged"


def test_an_answer_that_comes_at_once_is_checked_though_it_may_come_later(
    gateways: Gateways, upstream: Keeping
) -> None:
    served = gateways.start(BLOCK, upstream={"url": f"{upstream.provider.root_url}/v1"})
    with OpenAI(base_url=f"{served.url}/v1", api_key="k") as client:
        assert asked(client, background=True).output_text == "No."


@pytest.mark.parametrize("spelt", ["/v1//responses/%s", "/V1/Responses/%s", "/v1/responses%%2F%s"])
def test_no_spelling_leads_past(
    served: Served, client: OpenAI, upstream: Keeping, spelt: str
) -> None:
    given = asked(client)
    words = upstream.words_of(given.id)
    with ExitStack() as stack:
        connection = stack.enter_context(served.connected())
        head = f"GET {spelt % given.id} HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        assert words.encode() not in b"".join(iter(lambda: connection.recv(65536), b""))
