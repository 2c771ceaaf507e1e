"""A large check keeps nobody waiting: no other request, no deadline, and no process that ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import httpx
import pytest

from resay import Verdict
from resay._internal.event_loops import stop_if_abandoned
from support.clock import LoopClock
from support.gateway import Gateways

POLICY = "chain: [{method: ngram}]\nsampling: {confidence: null}\nthreshold: {sentence: 0.1}\n"
# How long a machine under load may take.
LONGEST_S = 300.0


def text(other: int = 0) -> str:
    same = "The bridge over the harbour was opened in"
    return " ".join(f"{same} {1000 + i % 90} by K{i}x{other}." for i in range(250))


BODY = json.dumps({"response": text(), "samples": [text(j) for j in range(1, 4)]}).encode()
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "place",
    [
        "resay.core.segmentation.parse_layout",
        "resay.core.tokens.CachedTokenizer.count",
        "resay.engine.contradictions.tokenize",
        "resay.adapters.verdicts._size_of",
    ],
)
def test_others_are_answered_while_a_large_check_is_under_way(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    begun, answered = threading.Event(), threading.Event()
    work: Callable[..., Any] = resolve_name(place)

    def held_up(*args: Any) -> Any:
        begun.set()
        assert answered.wait(LONGEST_S)
        return work(*args)

    served = gateways.start(POLICY)
    monkeypatch.setattr(place, held_up)
    assert len(BODY) > 55_000
    with ThreadPoolExecutor() as pool:
        checking = pool.submit(served.post, "/v1/check", content=BODY, headers=JSON)
        assert begun.wait(LONGEST_S)
        try:
            healthy = [httpx.get(f"{served.url}/healthz", timeout=LONGEST_S) for _ in range(3)]
            assert not checking.done()
        finally:
            answered.set()
        verdict = Verdict.from_dict(checking.result().json()["hallucination"])
    assert [response.status_code for response in healthy] == [200] * 3
    assert len(verdict.flagged_sentences) == 250
    assert all(sentence.contradicted_by for sentence in verdict.sentences)


def test_a_large_check_ends_with_its_deadline_and_so_does_its_work(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = threading.Event(), threading.Event()
    deadline_s = 3600

    def endless(text: str) -> list[str]:
        begun.set()
        try:
            while True:
                time.sleep(0.01)
                stop_if_abandoned()
        finally:
            ended.set()

    clock = LoopClock(monkeypatch)
    served = gateways.start(POLICY + f"limits: {{deadline_s: {deadline_s}}}\n")
    monkeypatch.setattr("resay.engine.contradictions.tokenize", endless)
    url = f"{served.url}/v1/check"
    with ThreadPoolExecutor() as pool:
        checking = pool.submit(httpx.post, url, content=BODY, headers=JSON, timeout=None)
        assert begun.wait(LONGEST_S)
        clock.put_forward(deadline_s)
        # It wakes the gateway's loop up.
        httpx.get(f"{served.url}/healthz", timeout=LONGEST_S)
        verdict = Verdict.from_dict(checking.result(LONGEST_S).json()["hallucination"])
    assert len(verdict.flagged_sentences) == 250
    assert not any(sentence.contradicted_by for sentence in verdict.sentences)
    assert ended.wait(LONGEST_S)


_SERVES = """
import sys
import time
sys.modules["litellm"] = None  # it takes seconds to import, and nobody is asked
import resay.engine.contradictions
from resay_server.gateway import Gateway, GatewayConfig, listener, serve
from resay._internal.event_loops import stop_if_abandoned

def endless(text):
    print("begun", flush=True)
    while True:
        time.sleep(0.01)
        stop_if_abandoned()

resay.engine.contradictions.tokenize = endless
config = GatewayConfig.of(
    {
        "upstream": {"url": "http://127.0.0.1:9"},
        "policies": {"default": sys.argv[1]},
        "limits": {"drain_s": 0.5},
    }
)
listening = listener("127.0.0.1", 0)
url = f"http://127.0.0.1:{listening.getsockname()[1]}"
serve(Gateway(config), config.limits, listening, lambda: print(url, flush=True))
print("ends", flush=True)
"""


def test_a_gateway_that_is_told_to_stop_does_not_wait_for_a_large_check(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY + "limits: {deadline_s: null}\n")
    with (
        subprocess.Popen(
            [sys.executable, "-c", _SERVES, str(policy)], stdout=subprocess.PIPE, text=True
        ) as process,
        ThreadPoolExecutor() as pool,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            asked = pool.submit(
                httpx.post, f"{url}/v1/check", content=BODY, headers=JSON, timeout=LONGEST_S
            )
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=LONGEST_S)
        finally:
            process.kill()
        assert asked.exception() or asked.result().status_code >= 500
    assert (process.returncode, rest) == (0, "ends\n")
