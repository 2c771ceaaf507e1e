"""The application for Ray Serve, run by Ray's own command, against the same model in this process.

Ray is not among the packages for development; docs/models.md says how to run this.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from resay import Guard
from resay.errors import ScorerError
from resay.models import pair_classifier, text_classifier
from resay.plugins import ModelConfig
from support.proxy import free_port
from support.tiny_models import TEXTS, make_deberta

pytest.importorskip("ray.serve", reason="ray[serve] is not installed")

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
# A replica's own port is open on all interfaces, and no setting changes that.
LOOPBACK = """
from grpc.aio._server import Server

add = Server.add_insecure_port
Server.add_insecure_port = lambda self, at: add(self, at.replace("[::]", "127.0.0.1"))
"""
PAIRS = [(a, b) for a in TEXTS for b in TEXTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return make_deberta(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def url(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, home = free_port(), tmp_path_factory.mktemp("serve")
    args = {"model": str(folder), "cpus": 0.5, "batch_size": 8}
    config = {
        "http_options": {"host": "127.0.0.1", "port": port},
        "applications": [{"import_path": "ray_serve:app", "args": args}],
    }
    (home / "serve.yaml").write_text(json.dumps(config))  # YAML it is
    (home / "sitecustomize.py").write_text(LOOPBACK)
    command = [sys.executable, "-m", "ray.serve.scripts", "run", str(home / "serve.yaml")]
    path = os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    env = {
        **os.environ,
        "PYTHONPATH": path,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # Where there is no cluster, Ray then starts one that only this machine reaches.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with (home / "log.txt").open("w") as log:
        process = subprocess.Popen(command, cwd=DEPLOY, env=env, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until_up(url, process, home / "log.txt")
            yield url
        finally:
            process.send_signal(signal.SIGINT)  # it takes its cluster along
            process.wait(60)


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/info").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(f"Ray Serve did not start: {log.read_text()[-4000:]}")


def both(folder: Path, url: str, make: Callable[[ModelConfig], Any]) -> tuple[Any, Any]:
    """Return the model in this process and the one behind Ray Serve."""
    local = ModelConfig(name=str(folder), backend="torch", device="cpu")
    return make(local), make(ModelConfig(name="any", backend="tei", url=url))


async def test_pairs_have_the_scores_of_the_local_model(folder: Path, url: str) -> None:
    local, served = both(folder, url, pair_classifier)
    await served.prepare()

    expected, found = await local.classify(PAIRS), await served.classify(PAIRS)

    assert np.abs(found - expected).max() < 1e-5
    assert np.std(found, axis=0).max() > 0.01  # the model does tell pairs apart
    assert await served.labels() == await local.labels()
    assert await served.max_input_tokens() == await local.max_input_tokens()
    assert await served.lengths([*TEXTS, ""]) == await local.lengths([*TEXTS, ""])


async def test_texts_have_the_scores_of_the_local_model(folder: Path, url: str) -> None:
    local, served = both(folder, url, lambda config: text_classifier(config, "classification"))

    found = await served.classify(TEXTS)

    assert np.abs(found - await local.classify(TEXTS)).max() < 1e-5
    assert await served.max_input_tokens() == await local.max_input_tokens()


async def test_a_pair_that_is_too_long_is_refused_and_others_are_not(url: str) -> None:
    served = pair_classifier(ModelConfig(backend="tei", url=url))
    room = await served.max_input_tokens()
    half = "bridge " * ((room or 0) - 1)

    assert (await served.classify([(half, "bridge")])).shape == (1, 3)
    with pytest.raises(ScorerError, match="longer than the 64 tokens"):
        await served.classify([(half, "bridge bridge")])


def test_a_policy_gives_the_same_verdict(folder: Path, url: str) -> None:
    def scores(model: Any) -> list[float]:
        guard = Guard({"chain": [{"method": "nli", "model": model}]})
        verdict = guard.check(" ".join(TEXTS[:3]), samples=[*TEXTS[1:4], " ".join(TEXTS[2:])])
        return [sentence.score for sentence in verdict.sentences]

    found = scores({"name": "any", "backend": "tei", "url": url})

    assert len(found) == 3
    assert found == pytest.approx(scores({"name": str(folder), "device": "cpu"}), abs=1e-5)


def test_it_answers_in_the_forms_of_tei(url: str) -> None:
    with httpx.Client(base_url=url) as client:

        def predict(inputs: Any, **settings: Any) -> httpx.Response:
            return client.post("/predict", json={"inputs": inputs, **settings})

        pair = [TEXTS[0], TEXTS[1]]
        alone, batch = predict(pair).json(), predict([pair]).json()
        assert [alone] == batch
        assert sum(row["score"] for row in alone) == pytest.approx(1)
        assert [row["score"] for row in alone] == sorted((r["score"] for r in alone), reverse=True)
        assert [predict(TEXTS[0]).json()] == predict([[TEXTS[0]]]).json()
        assert {predict(bad).status_code for bad in ([], [[]], ["a"] * 3, [["a"] * 3], 1)} == {422}
        assert predict("a", truncate=True).status_code == 422
        assert predict([["a"]] * 9).status_code == 413
        assert client.get("/info").json()["max_client_batch_size"] == 8
        (tokens,) = client.post("/tokenize", json={"inputs": "bridge"}).json()
        assert [token["special"] for token in tokens] == [True, False, True]
        assert [token["text"] for token in tokens] == ["", "bridge", ""]
