from __future__ import annotations

import json
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from resay.errors import ConfigurationError, MissingDependencyError, ScorerError
from resay.models.remote.tei import TeiClassifier, TeiSentenceEmbedder, TeiTokenEmbedder
from resay.models.remote.vllm import VllmClassifier, VllmSentenceEmbedder
from resay.plugins import ModelConfig
from simulation import (
    CutConnection,
    Fault,
    MalformedJson,
    Refused,
    ServerError,
    SimulatedInference,
    inference,
)
from support.remote_models import OTHER, SAME, classifier, expected, tei, vllm

pytestmark = pytest.mark.anyio

KEY = "k-very-secret"


async def test_wrong_servers_are_named() -> None:
    checks: list[tuple[dict[str, Any], Callable[[SimulatedInference], Any], str]] = [
        ({"serves": "embedder"}, lambda s: TeiClassifier(tei(s)), "'embedding', and 'classifier'"),
        ({}, lambda s: TeiSentenceEmbedder(tei(s)), "'classifier', and 'embedding'"),
        ({}, lambda s: TeiTokenEmbedder(tei(s)), "'classifier', and 'embedding'"),
        ({"api": "vllm"}, lambda s: TeiClassifier(tei(s)), "/info with HTTP 404; check `url`"),
        ({}, lambda s: VllmClassifier(vllm(s)), "/v1/models with HTTP 404; check `url`"),
        ({"api": "vllm"}, lambda s: VllmClassifier(vllm(s, name="m")), "set `name`"),
        ({"api": "vllm"}, lambda s: VllmClassifier(vllm(s, labels=("a", "b"))), "with 3 labels"),
        (
            {"api": "vllm"},
            lambda s: VllmClassifier(vllm(s, labels=("entailment", "neutral", "contradiction"))),
            "put `labels` into the order",
        ),
    ]
    for served, made, message in checks:
        with SimulatedInference(**served) as server:
            model = made(server)
            with pytest.raises(ConfigurationError, match=message) as raised:
                await model.prepare()
            assert server.url.removeprefix("http://") in str(raised.value)


async def test_a_server_without_the_wanted_head_is_named_on_first_use_too() -> None:
    # vLLM refuses with 400 what it would refuse for any text.
    with SimulatedInference(api="vllm", faults=[Refused(status=400)]) as server:
        for model in (VllmClassifier(vllm(server)), VllmSentenceEmbedder(vllm(server))):
            use = (
                model.classify([SAME]) if isinstance(model, VllmClassifier) else model.embed(["x"])
            )
            with pytest.raises(ConfigurationError, match="which does not"):
                await use


def test_vllm_needs_labels() -> None:
    with pytest.raises(ConfigurationError, match="`labels` is missing for 'm'"):
        VllmClassifier(ModelConfig(backend="vllm", name="m", url="http://localhost:1"))


@pytest.mark.parametrize(
    "url", ["localhost:8080", "ftp://x", "http://", pytest.param("x" * 70000, id="long")]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="use an address like"):
        TeiClassifier(ModelConfig(url=url))


async def test_a_server_that_is_not_there_is_named() -> None:
    with SimulatedInference() as server:
        config = tei(server)
    with pytest.raises(ScorerError, match=f"{server_name(config)}' cannot be reached") as raised:
        await TeiClassifier(config).prepare()
    assert not isinstance(raised.value, ConfigurationError)


def server_name(config: ModelConfig) -> str:
    return (config.url or "").removeprefix("http://")


async def test_the_key_is_sent_and_never_told(server: SimulatedInference) -> None:
    server._api_key = KEY
    assert np.allclose(await classifier(server, api_key=KEY).classify([SAME]), expected(SAME))
    assert KEY not in repr(server.requests) + repr([r.headers for r in server.requests])

    for key in (KEY + "x", None):
        model = classifier(server, api_key=key)
        with pytest.raises(ConfigurationError, match="HTTP 401; check `api_key`") as raised:
            await model.classify([SAME])
        text = "".join(traceback.format_exception(raised.value)) + repr(model) + repr(vars(model))
        assert KEY not in text
        assert SAME[1] not in text


@pytest.mark.parametrize("key", [f"{KEY}é", f"{KEY}\n"])
def test_a_key_that_no_header_can_hold_is_refused_unsaid(key: str) -> None:
    with pytest.raises(ConfigurationError, match="`api_key` contains characters") as raised:
        TeiClassifier(ModelConfig(url="http://localhost:1", api_key=key))
    assert KEY not in str(raised.value)


async def test_a_password_in_the_address_is_never_told() -> None:
    with SimulatedInference(serves="embedder") as server:
        url = server.url.replace("http://", f"http://user:{KEY}@")
        with pytest.raises(ConfigurationError) as raised:
            await TeiClassifier(ModelConfig(url=url)).prepare()
    assert KEY not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("fault", [MalformedJson(), ServerError(status=500), CutConnection()])
async def test_failures_tell_nothing_of_the_texts(server: SimulatedInference, fault: Fault) -> None:
    model = classifier(server)
    await model.prepare()
    server.set_faults(fault)
    with pytest.raises(ScorerError) as raised:
        await model.classify([OTHER])
    assert "1871" not in "".join(traceback.format_exception(raised.value, chain=True)[-3:])
    assert "at '127.0.0.1:" in str(raised.value)


@pytest.mark.parametrize("row", [[0.5, 0.5, 0.5], [2.0, -1.0, 0.0]])
async def test_numbers_that_are_no_probabilities_are_refused(row: list[float]) -> None:
    with SimulatedInference(api="vllm", classify=lambda pairs: [row for _ in pairs]) as server:
        model = VllmClassifier(vllm(server))
        with pytest.raises(ScorerError, match="are not probabilities"):
            await model.classify([SAME])


@pytest.mark.parametrize(
    "body", ["[]", "{}", "null", '[["secret"]]', '[[{"label": "secret", "score": 1}]]']
)
async def test_answers_in_another_form_are_refused(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SimulatedInference() as server:
        model = TeiClassifier(tei(server))
        await model.prepare()
        answer = inference.Answer(json.loads(body))
        monkeypatch.setitem(inference._TEI, "/predict", lambda *_: answer)
        with pytest.raises(ScorerError, match="in a form that cannot be read") as raised:
            await model.classify([SAME])
    assert "secret" not in "".join(traceback.format_exception(raised.value))


async def test_the_servers_own_words_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        raise inference.RefusedError(422, "cannot tokenize 'secret'")

    with SimulatedInference() as server:
        model = TeiClassifier(tei(server))
        await model.prepare()
        monkeypatch.setitem(inference._TEI, "/predict", refuse)
        with pytest.raises(ScorerError, match="HTTP 422; see the server's log") as raised:
            await model.classify([SAME])
    assert "secret" not in "".join(traceback.format_exception(raised.value))


async def test_labels_that_are_the_same_are_refused() -> None:
    with SimulatedInference(
        labels=["x", "x"], classify=lambda p: [[0.5, 0.5] for _ in p]
    ) as server:
        model = TeiClassifier(tei(server))
        with pytest.raises(ConfigurationError, match="cannot be distinguished"):
            await model.prepare()


def test_numpy_is_asked_for_by_name() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from resay.errors import MissingDependencyError\n"
        "try: import resay.models.remote.tei\n"
        "except MissingDependencyError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'resay[remote]'" in done.stdout
    assert issubclass(MissingDependencyError, ConfigurationError)
