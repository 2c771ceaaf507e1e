"""The gateway in front of an upstream that is no more than the standard library."""

import json
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import count
from pathlib import Path

LAMPS = count(31)


class Upstream(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = [
            f"The bridge opened in 1932. It has {next(LAMPS)} lamps."
            for _ in range(asked.get("n", 1))
        ]
        choices = [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for i, text in enumerate(said)
        ]
        told = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"]}
        body = json.dumps({**told, "choices": choices}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
threading.Thread(target=upstream.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{upstream.server_address[1]}/v1"
serve = [sys.executable, "-I", "-m", "resay", "serve", "--port", "0", "--upstream", url]


def served(policy: str) -> subprocess.Popen[str]:
    Path("served.yaml").write_text(policy)
    command = [*serve, "--policy", "served.yaml"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


for policy in ("chain: [{method: ngram}]\n", "chain: [{method: prompt, mode: per_sample}]\n"):
    with served(policy + "on_error: annotate\n") as gateway:
        line = gateway.stdout.readline()
        address = re.search(r"http://\S+/v1", line)
        assert address, line + gateway.stderr.read()
        asked = {"model": "m", "messages": [{"role": "user", "content": "How many lamps?"}]}
        request = urllib.request.Request(
            f"{address[0]}/chat/completions",
            json.dumps(asked).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            verdict = json.load(response)["hallucination"]
        assert verdict["decision"] in ("flagged", "inconclusive"), verdict
        gateway.terminate()
        assert gateway.wait(60) == 0

with served("chain: [{method: prompt, judge: anthropic/claude-sonnet-5}]\n") as gateway:
    told = gateway.stderr.read()
    assert gateway.wait(60) == 2, told
    assert "pip install 'resay[litellm]'" in "".join(told.split("\n")), told
    assert "anthropic/claude-sonnet-5" in told, told
upstream.shutdown()
assert find_spec("litellm") is None
