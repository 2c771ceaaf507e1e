"""Clients that are no SDK: curl, and node's fetch, as processes of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from simulation import Refused, SimulatedProvider, Stall
from support.gateway import ASKED, POLICY, Gateways, Served

CURL, NODE = shutil.which("curl"), shutil.which("node")
needs_curl = pytest.mark.skipif(CURL is None, reason="curl is not installed")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def served(
    provider: SimulatedProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("gateway")
        gateways = Gateways(folder, provider.root_url, stack)
        yield gateways.start(POLICY + "stream_mode: after\n")


@pytest.fixture(autouse=True)
def well(provider: SimulatedProvider) -> Iterator[None]:
    yield
    provider.clear_faults()


def curl(*arguments: str, given: bytes = b"") -> tuple[dict[str, str], bytes]:
    """Return the headers of an answer, with its status under `status`, and the body."""
    command = [str(CURL), "--silent", "--show-error", "--max-time", "30", "--include", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    if head.split()[1] == b"100":
        head, _, body = body.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return {**headers, "status": first.split()[1]}, body


def posted(path: str, **changed: Any) -> list[str]:
    body = json.dumps({**ASKED[path], **changed})
    return ["--header", "content-type: application/json", "--data", body]


@needs_curl
def test_curl_gets_what_any_client_gets(served: Served) -> None:
    headers, body = curl(*posted(CHAT), served.url + CHAT)
    assert headers["status"] == "200"
    assert headers["x-resay-decision"] == json.loads(body)["hallucination"]["decision"]


@needs_curl
def test_curl_reads_a_stream_to_its_end(served: Served) -> None:
    headers, body = curl("--no-buffer", *posted(CHAT, stream=True), served.url + CHAT)
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert body.endswith(b"\n\n")
    assert body.count(b'"hallucination"') == 1


@contextmanager
def running(*command: str) -> Iterator[Any]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            yield process.stdout
        finally:
            process.kill()


@needs_curl
def test_curl_sees_a_stream_while_it_is_written(
    served: Served, provider: SimulatedProvider
) -> None:
    provider.set_faults(Stall(first=1))
    asked = posted(CHAT, stream=True)
    with running(str(CURL), "-sSN", "--max-time", "30", *asked, served.url + CHAT) as lines:
        # The provider goes on only now, when the first words were printed.
        assert any(b"content" in line for line in lines)
        provider.release()
        rest = lines.read()
    assert b"[DONE]" in rest
    assert b'"hallucination"' in rest


@needs_curl
@pytest.mark.parametrize("option", ["--http1.0", "--http1.1", "--compressed", "--tr-encoding"])
def test_curl_in_other_moods(served: Served, option: str) -> None:
    headers, body = curl(option, *posted(CHAT), served.url + CHAT)
    assert headers["status"] == "200"
    assert json.loads(body)["hallucination"]


@needs_curl
def test_curl_asks_before_it_sends_much(served: Served) -> None:
    body = json.dumps({**ASKED[CHAT], "user": "u" * 2_000_000}).encode()
    # It waits so long to be told to go on, and longer than it may take in all.
    asking = ["--expect100-timeout", "60", "--header", "expect: 100-continue"]
    headers, answer = curl(*asking, "--data-binary", "@-", served.url + CHAT, given=body)
    assert headers["status"] == "200"
    assert json.loads(answer)["hallucination"]


@needs_curl
def test_curl_sends_a_body_of_unknown_length(served: Served) -> None:
    body = json.dumps(ASKED[CHAT]).encode()
    sending = ["--header", "transfer-encoding: chunked", "--data-binary", "@-"]
    headers, answer = curl(*sending, served.url + CHAT, given=body)
    assert headers["status"] == "200"
    assert json.loads(answer)["hallucination"]


@needs_curl
def test_curl_fails_where_there_is_no_answer(served: Served, provider: SimulatedProvider) -> None:
    provider.set_faults(Refused(status=403))
    headers, body = curl(*posted(CHAT), served.url + CHAT)
    assert headers["status"] == "403"
    assert json.loads(body)["error"]
    with pytest.raises(subprocess.CalledProcessError) as caught:
        curl("--fail", *posted(CHAT), served.url + CHAT)
    assert caught.value.returncode == 22


SCRIPT = """
const [url, ...given] = process.argv.slice(2);
const [asked, streamed] = given.map(text => ({
  method: "POST", body: text, headers: {"content-type": "application/json"},
}));
const answer = await (await fetch(url, asked)).json();
const pieces = [];
const decoder = new TextDecoderStream();
for await (const piece of (await fetch(url, streamed)).body.pipeThrough(decoder)) {
  pieces.push(piece);
}
console.log(JSON.stringify([answer, pieces.join("")]));
"""


@needs_node
def test_nodes_fetch(served: Served, tmp_path: Path) -> None:
    script = tmp_path / "fetch.mjs"
    script.write_text(SCRIPT)
    told = [json.dumps({**ASKED[CHAT], "stream": stream}) for stream in (False, True)]
    command = [str(NODE), str(script), served.url + CHAT, *told]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    answer, stream = json.loads(done.stdout)
    assert answer["hallucination"]["decision"]
    assert stream.count('"hallucination"') == 1
