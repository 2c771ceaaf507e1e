from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from resay.errors import ConfigurationError, ScorerError
from resay.models import pair_classifier, sentence_embedder
from resay.models.remote.rerank import RerankClassifier
from resay.plugins import ModelConfig
from support.embeddings import RerankServer, shared_words

pytestmark = pytest.mark.anyio

SECRET = "sesame-opens-nothing"
TEXTS = ["A bridge of stone.", "A river.", "The old stone bridge."]


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with RerankServer() as server:
        yield server


def config(server: RerankServer, **settings: Any) -> ModelConfig:
    given = {"name": "small", "url": f"{server.url}/rerank", "api_key": SECRET, **settings}
    return ModelConfig(backend="rerank", **given)


async def test_each_pair_has_its_number(server: RerankServer) -> None:
    model = pair_classifier(config(server))
    assert isinstance(model, RerankClassifier)
    await model.prepare()
    queries = ("the old bridge", "a river")
    pairs = [(query, text) for text in [*TEXTS, TEXTS[0], "\ud800"] for query in queries]
    scores = await model.classify(pairs)
    assert scores.shape == (10, 1)
    assert scores[:8, 0] == pytest.approx([shared_words(*pair) for pair in pairs[:8]])
    assert await model.labels() == ("relevance",)
    assert (await model.classify([])).shape == (0, 1)
    await model.aclose()

    # One request for each search, after the one that tried it, with each text once.
    bodies = sorted(server.bodies[1:], key=lambda body: body["query"])
    assert [body["query"] for body in bodies] == ["a river", "the old bridge"]
    assert bodies[0] == {
        "model": "small",
        "query": "a river",
        "documents": [*TEXTS, "\ufffd"],
        "top_n": 4,
    }
    assert set(server.keys) == {f"Bearer {SECRET}"}


async def test_the_address_may_be_that_of_the_api(server: RerankServer) -> None:
    model = RerankClassifier(config(server, url=server.url, name=None))
    assert np.allclose(await model.classify([("a b", "a b")]), 1.0)
    assert "model" not in server.bodies[0]


def without_one(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    return status, {"results": body["results"][1:]}


def without_numbers(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    return status, {"results": [{**row, "relevance_score": None} for row in body["results"]]}


def without_limits(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    endless = float("inf")
    return status, {"results": [{**row, "relevance_score": endless} for row in body["results"]]}


@pytest.mark.parametrize("change", [without_one, without_numbers, without_limits])
async def test_an_answer_that_does_not_fit_is_no_answer(server: RerankServer, change: Any) -> None:
    server.change = change
    with pytest.raises(ScorerError, match="in a form that cannot be read"):
        await RerankClassifier(config(server)).classify([("a", text) for text in TEXTS])


async def test_what_may_pass_is_asked_again(server: RerankServer) -> None:
    server.statuses = [429, 503]
    assert (await RerankClassifier(config(server)).classify([("a", "a")])).tolist() == [[1.0]]
    server.statuses = [401]
    with pytest.raises(ConfigurationError, match="check `api_key`") as caught:
        await RerankClassifier(config(server)).classify([("a", SECRET)])
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_it_does_nothing_else(server: RerankServer) -> None:
    with pytest.raises(ConfigurationError, match="a rerank server cannot run"):
        sentence_embedder(config(server))
