"""What an operator sees of an upstream that is down: the log's lines, and `/readyz`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from resay.testing import CutConnection, ServerError, Stall
from simulation import SimulatedProvider
from support.gateway import ASKED, Gateways, Served, logged

SECRET = "zqsecretzq"
ASKED_SECRETLY = {**ASKED["/v1/chat/completions"], "user": SECRET}


def readiness(served: Served) -> Any:
    response = httpx.get(f"{served.url}/readyz")
    # The gateway itself is fine: it serves other models, and says what is wrong.
    assert response.status_code == 200
    assert response.json()["status"] == "ready"
    return response.json()["upstream"]


@contextmanager
def line_of(words: str) -> Iterator[list[str]]:
    """Yield the messages that are logged in the block, of which one has these words."""
    with logged(words) as log:
        yield log.said
    assert not any(SECRET in message for message in log.said)


@pytest.mark.parametrize(
    ("url", "code", "cause"),
    [
        ("http://127.0.0.1:9", "upstream_unreachable", "127.0.0.1:9 refuses connections"),
        (
            f"http://no-such-host.invalid/{SECRET}",
            "upstream_unreachable",
            "there is no host 'no-such-host.invalid'",
        ),
    ],
    ids=["refused", "dns"],
)
def test_the_line_of_a_failed_request_has_the_cause(
    url: str, code: str, cause: str, gateways: Gateways
) -> None:
    gateways.upstream = url
    served = gateways.start()
    assert readiness(served) == {"status": "unknown"}
    with line_of("502 in 0.0") as lines:
        response = served.post(json=ASKED_SECRETLY)
    assert any(f"default, {code}, {cause}" in line for line in lines)
    assert response.json()["error"]["code"] == code
    # The client need not know where the upstream is.
    assert "no-such-host" not in response.text
    with line_of("GET /v1/* 502") as lines:
        httpx.get(f"{served.url}/v1/models", headers={"authorization": f"Bearer {SECRET}"})
    assert any(cause in line for line in lines)
    told = readiness(served)
    assert (told["status"], told["error"]) == ("failing", code)
    # Samples may have been asked for before the answer failed.
    assert told["failures"] >= 2
    assert "invalid" not in json.dumps(told)


@pytest.mark.parametrize(
    ("fault", "code", "cause"),
    [
        (Stall(), "upstream_timeout", "in time"),
        (CutConnection(), "upstream_unreachable", "closed the connection"),
    ],
    ids=["timeout", "cut"],
)
def test_an_answer_that_ends_early_is_a_failure(
    fault: Any, code: str, cause: str, gateways: Gateways, simulated: SimulatedProvider
) -> None:
    simulated.set_faults(fault)
    served = gateways.start("chain: [facts]\nsampling: {start: after}", upstream={"timeout_s": 0.3})
    with line_of("POST /v1/chat/completions 50") as lines:
        served.post(json=ASKED_SECRETLY)
    assert any(f"{code}, " in line and cause in line for line in lines)
    assert readiness(served)["error"] == code


def test_failures_are_counted_until_an_answer(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start("chain: [facts]\nsampling: {start: after}")
    simulated.set_faults(ServerError(status=503))
    with line_of("503") as lines:
        served.post(json=ASKED_SECRETLY)
    assert any("default, the upstream answered with status 503" in line for line in lines)
    served.post()
    told = readiness(served)
    assert (told["failures"], told["error"]) == (2, "status 503")
    calls = simulated.calls
    readiness(served)
    # Asking costs nothing.
    assert simulated.calls == calls
    simulated.clear_faults()
    assert served.post().status_code == 200
    assert readiness(served) == {"status": "ok"}
    # A request that the upstream refuses says nothing against the upstream.
    with line_of("GET /v1/* 404") as lines:
        httpx.get(f"{served.url}/v1/models/nothing")
    assert any("the upstream answered with status 404" in line for line in lines)
    assert readiness(served) == {"status": "ok"}
