from __future__ import annotations

import asyncio
import gc
import os
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import anyio
import numpy as np
import pytest
from pydantic import ValidationError
from qdrant_client import QdrantClient, models

from resay import Document
from resay.errors import ConfigurationError, ResayError
from resay.models import sentence_embedder
from resay.providers import LiteLLMEmbedder
from resay.retrieval import EmbeddingConfig, QdrantConfig, open_retriever
from resay.retrieval.qdrant import QdrantRetriever
from resay.retrieval.qdrant_store import QdrantStore, store_at
from support.embeddings import EmbeddingServer, embedded
from support.qdrant import QdrantServer
from support.tiny_models import make_bert, sentences

pytestmark = pytest.mark.anyio

Tiny = Callable[..., Path]
TEXTS = sentences(150, seed=3)
DOCUMENTS = [
    Document(f"guide.md#{i}", text, metadata={"title": f"Part {i}", "page": i})
    for i, text in enumerate(TEXTS)
]
# A title is embedded with its text.
TITLED = [f"{document.title}\n{document.text}" for document in DOCUMENTS]
SECRET = "sesame-opens-nothing"


@pytest.fixture
def model(tiny: Tiny) -> str:
    return str(tiny(make_bert, pooling="mean_tokens"))


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with QdrantServer() as server:
        yield server


async def test_a_model_may_be_given_by_its_settings(model: str, tmp_path: Path) -> None:
    path = str(tmp_path / "qdrant")
    retriever = QdrantRetriever("guides", model={"name": model, "device": "cpu"}, path=path)
    await retriever.add(DOCUMENTS[:3])
    assert len(await retriever.retrieve(TEXTS[0], k=2)) == 2
    await retriever.aclose()
    for wrong in ({"nmae": model}, {"name": model, "api_key": 7}, {}, 7):
        with pytest.raises(ConfigurationError, match=r"invalid `model[^`]*`") as refused:
            QdrantRetriever("guides", model=wrong, path=path)
        assert model not in str(refused.value)


Open = Callable[..., QdrantRetriever]


@pytest.fixture(params=["folder", "server"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Where a database is."""
    if request.param == "server":
        return {"path": None, "url": request.getfixturevalue("server").url, "api_key": None}
    return {"path": str(tmp_path / "qdrant"), "url": None, "api_key": None}


@pytest.fixture
async def store(location: dict[str, Any]) -> AsyncIterator[QdrantStore]:
    """The database itself, for collections that others filled."""
    store = store_at(**location)
    yield store
    await store.aclose()


@pytest.fixture
def opened(store: QdrantStore, location: dict[str, Any], model: str) -> Open:
    """Opens retrievers of the database."""

    def open_one(**settings: Any) -> QdrantRetriever:
        return QdrantRetriever("guides", **{"model": model, **location, **settings})

    return open_one


async def nearest(model: str, query: str, texts: list[str], k: int) -> list[tuple[str, float]]:
    rows = await sentence_embedder(model).embed([query, *texts])
    cosines = [float(row @ rows[0]) for row in rows[1:]]
    ranked = sorted(zip(texts, cosines, strict=True), key=lambda item: -item[1])
    return ranked[:k]


async def test_what_is_added_is_found_by_its_likeness(opened: Open, model: str) -> None:
    retriever = opened()
    await retriever.add(DOCUMENTS)
    expected = await nearest(model, "the stone bridge of London", TITLED, 5)
    # Another retriever of the same collection, as another start of the program would have.
    for searched in (retriever, opened()):
        await searched.prepare()
        results = await searched.retrieve("the stone bridge of London", k=5)
        assert [d.score for d in results] == pytest.approx([s for _, s in expected], abs=1e-5)
        assert [f"{d.title}\n{d.text}" for d in results] == [text for text, _ in expected]
        for document in results:
            original = next(d for d in DOCUMENTS if d.id == document.id)
            assert document.text == original.text
            assert document.metadata == original.metadata
            assert document.title == original.title


async def test_a_document_takes_the_place_of_one_with_its_id(opened: Open) -> None:
    retriever = opened()
    await retriever.add([Document("a", "A bridge of stone."), Document("b", "  ")])
    await retriever.add(iter([Document("a", "A bridge of steel.")]))
    assert [(d.id, d.text) for d in await retriever.retrieve("bridge", k=9)] == [
        ("a", "A bridge of steel.")
    ]


async def test_prefixes_stand_before_what_is_embedded(opened: Open, model: str) -> None:
    retriever = opened(query_prefix="the old king: ")
    await retriever.add(DOCUMENTS[:20], prefix="a river: ")
    texts = [f"a river: {text}" for text in TITLED[:20]]
    expected = await nearest(model, "the old king: bridge", texts, 20)
    results = await retriever.retrieve("bridge", k=20)
    assert [d.score for d in results] == pytest.approx([s for _, s in expected], abs=1e-5)
    assert [f"a river: {d.title}\n{d.text}" for d in results] == [text for text, _ in expected]


async def test_nothing_is_found_in_an_empty_collection(opened: Open) -> None:
    retriever = opened()
    await retriever.add([])
    await retriever.prepare()
    assert await retriever.retrieve("bridge", k=3) == []


async def test_a_collection_that_is_not_there_is_named(opened: Open, tmp_path: Path) -> None:
    for ask in (lambda r: r.prepare(), lambda r: r.retrieve("bridge", k=1)):
        with pytest.raises(ConfigurationError, match="no collection 'guides' in Qdrant; fill it"):
            await ask(opened())
    assert not (tmp_path / "qdrant").exists()


async def make(store: QdrantStore, size: int = 32, names: tuple[str, ...] = ()) -> None:
    params = models.VectorParams(size=size, distance=models.Distance.DOT)
    vectors = dict.fromkeys(names, params) if names else params
    await store.ask("create_collection", collection_name="guides", vectors_config=vectors)


async def put(store: QdrantStore, vector: Any, **payload: Any) -> None:
    point = models.PointStruct(id=42, vector=vector, payload=payload)
    await store.ask("upsert", collection_name="guides", points=[point], wait=True)


async def test_a_model_that_does_not_go_with_the_collection_is_named(
    opened: Open, store: QdrantStore, model: str
) -> None:
    await make(store, size=7)
    for ask in (QdrantRetriever.prepare, lambda r: r.add(DOCUMENTS)):
        with pytest.raises(ConfigurationError) as caught:
            await ask(opened())
        assert "vectors of 7 numbers" in str(caught.value)
        assert f"{model!r} makes 32" in str(caught.value)


async def test_collections_that_others_filled_are_searched(
    opened: Open, store: QdrantStore
) -> None:
    await make(store)
    await put(store, [1.0] * 32, page_content="A bridge.", source="guide.md")
    (result,) = await opened(text_key="page_content").retrieve("bridge", k=3)
    assert (result.id, result.text, result.metadata) == ("42", "A bridge.", {"source": "guide.md"})


async def test_a_vector_with_a_name_is_used(opened: Open, store: QdrantStore) -> None:
    await make(store, names=("dense",))
    await put(store, {"dense": [1.0] * 32}, text="A bridge.")
    retriever = opened()
    await retriever.add([Document("river", "A river.")])
    assert {d.id for d in await retriever.retrieve("bridge", k=3)} == {"42", "river"}


async def test_which_of_several_vectors_is_not_guessed(opened: Open, store: QdrantStore) -> None:
    await make(store, names=("dense", "other"))
    with pytest.raises(ConfigurationError, match=r"several vectors \('dense', 'other'\)"):
        await opened().prepare()


async def test_a_text_under_another_key_is_asked_for(opened: Open, store: QdrantStore) -> None:
    await make(store)
    await put(store, [1.0] * 32, body="A bridge.")
    retriever = opened()
    with pytest.raises(ConfigurationError, match="a text under 'text'; name its key as `text_key`"):
        await retriever.retrieve("bridge", k=3)
    await retriever.add([Document("river", "A river.")])
    assert [d.id for d in await retriever.retrieve("bridge", k=3)] == ["river"]


@pytest.mark.parametrize("key", ["text", "resay_id"])
async def test_metadata_is_not_lost_under_a_key_of_ours(opened: Open, key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"document 'a' has metadata under '{key}'"):
        await opened().add([Document("a", "A bridge.", metadata={key: "x"})])


async def test_points_have_ids_that_others_can_compute(opened: Open, store: QdrantStore) -> None:
    await opened().add(DOCUMENTS[:1])
    made = str(uuid5(NAMESPACE_URL, DOCUMENTS[0].id))
    answer = await store.ask("query_points", collection_name="guides", query=[1.0] * 32, limit=1)
    assert [point.id for point in answer.points] == [made]


async def test_a_search_that_fails_says_nothing_of_what_was_sent(
    opened: Open, store: QdrantStore
) -> None:
    retriever = opened()
    await retriever.add(DOCUMENTS[:1])
    await store.ask("delete_collection", collection_name="guides")
    await make(store, size=7)
    with pytest.raises(ResayError) as caught:
        await retriever.retrieve(SECRET, k=1)
    assert "query_points" in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


async def test_each_event_loop_has_what_it_needs(opened: Open, recwarn: Any) -> None:
    retriever = opened()
    await retriever.add(DOCUMENTS[:9])

    async def ask() -> list[str]:
        results = await asyncio.gather(*(retriever.retrieve("bridge", k=2) for _ in range(8)))
        return [document.id for document in results[0]]

    here = await ask()
    assert await asyncio.to_thread(asyncio.run, ask()) == here
    assert await asyncio.to_thread(asyncio.run, ask()) == here
    await retriever.aclose()
    assert await ask() == here
    await retriever.aclose()
    gc.collect()
    assert not recwarn.list


async def test_a_policy_opens_one(location: dict[str, Any], model: str, store: QdrantStore) -> None:
    given = {key: value for key, value in location.items() if value is not None}
    config = QdrantConfig(collection="guides", model=model, **given)
    retriever = open_retriever(config)
    assert retriever is open_retriever(config)
    assert isinstance(retriever, QdrantRetriever)
    assert repr(retriever) == "QdrantRetriever('guides')"
    await retriever.add(DOCUMENTS[:3])
    assert len(await retriever.retrieve("bridge", k=2)) == 2


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ({}, "set either `path`"),
        ({"path": "a", "url": "http://b"}, "set either `path`"),
        ({"path": "a", "api_key": SECRET}, "`api_key` is for a server"),
    ],
)
async def test_a_policy_must_say_where(location: dict[str, str], why: str, model: str) -> None:
    with pytest.raises(ValidationError, match=why) as caught:
        QdrantConfig(collection="guides", model=model, **location)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ({}, "set either `path`"),
        ({"path": "a", "url": "http://b"}, "set either `path`"),
        ({"url": f"ftp://me:{SECRET}@b"}, "`url` is not the address of a server"),
        ({"url": f"http://b:{SECRET}"}, "`url` is not the address of a server"),
        ({"url": "http://b", "api_key": f"{SECRET}\n"}, "`api_key` contains characters"),
    ],
)
async def test_a_place_that_cannot_be_is_refused(
    location: dict[str, str], why: str, model: str
) -> None:
    with pytest.raises(ConfigurationError, match=why) as caught:
        QdrantRetriever("guides", model=model, **location)
    assert SECRET not in str(caught.value)


async def test_a_key_is_sent_and_not_shown(server: QdrantServer, model: str) -> None:
    retriever = QdrantRetriever("guides", model=model, url=server.url, api_key=SECRET)
    # Qdrant's own client has that to say.
    with pytest.warns(UserWarning, match="insecure connection"):
        await retriever.add(DOCUMENTS[:1])
    assert set(server.keys) == {SECRET}
    for status, kind, why in (
        (401, ConfigurationError, "check `api_key`"),
        (404, ConfigurationError, "check `url` and `collection`"),
        (503, ResayError, "HTTP 503; see the server's log"),
    ):
        server.status = status
        with pytest.raises(kind, match=why) as caught:
            await retriever.retrieve("bridge", k=1)
        text = "".join(traceback.format_exception(caught.value)) + repr(retriever)
        assert SECRET not in text
        assert server.url not in text
    await retriever.aclose()


async def test_a_server_that_does_not_answer_is_told_of(server: QdrantServer, model: str) -> None:
    with QdrantServer() as gone:
        pass
    retriever = QdrantRetriever("guides", model=model, url=gone.url)
    with pytest.raises(ResayError, match="cannot be reached \\(ConnectError\\)") as caught:
        await retriever.prepare()
    assert gone.url not in "".join(traceback.format_exception(caught.value))
    await retriever.aclose()


async def test_what_is_no_folder_of_qdrants_is_told_of(tmp_path: Path, model: str) -> None:
    (tmp_path / "meta.json").write_text("[")
    retriever = QdrantRetriever("guides", model=model, path=str(tmp_path))
    with pytest.raises(ConfigurationError, match="cannot be opened \\(JSONDecodeError\\)"):
        await retriever.prepare()


async def test_a_folder_that_is_open_elsewhere_is_told_of(tmp_path: Path, model: str) -> None:
    folder = str(tmp_path / "qdrant")
    retriever = QdrantRetriever("guides", model=model, path=folder)
    with (
        closing(QdrantClient(path=folder)),
        pytest.raises(ConfigurationError, match=r"already open.* pass its `url`"),
    ):
        await retriever.prepare()
    await retriever.add(DOCUMENTS[:1])
    assert len(await retriever.retrieve("bridge", k=1)) == 1
    await retriever.aclose()


FORKED = """
import asyncio, os, sys
from resay.errors import ConfigurationError
from resay.retrieval.qdrant_store import store_at

async def main():
    from qdrant_client.models import Distance, VectorParams
    params = VectorParams(size=2, distance=Distance.COSINE)
    await store.ask("create_collection", collection_name="guides", vectors_config=params)
    print(await store.has("guides"))

store = store_at(sys.argv[1], None, None)
asyncio.run(store.ask("get_collections"))
child = os.fork()
if child == 0:
    try:
        asyncio.run(store.ask("get_collections"))
    except ConfigurationError as error:
        asyncio.run(store.aclose())
        os._exit(7 if "already open" in str(error) else 1)
    os._exit(2)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
async def test_a_folder_is_left_to_the_parent_of_a_fork_and_closed_at_its_end(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-W", "default", "-c", FORKED, str(tmp_path / "qdrant")]
    done = await anyio.run_process(command)
    assert done.stdout.split() == [b"7", b"True"]
    assert b"ResourceWarning" not in done.stderr
    assert b"Exception ignored" not in done.stderr


async def test_a_tenant_finds_only_what_is_its_own(opened: Open) -> None:
    whose = ("acme", "globex", "")
    retriever = opened(tenant_key="owner")
    await retriever.add(
        Document(f"{i}", text, metadata={"owner": whose[i % 3]}) for i, text in enumerate(TEXTS[:9])
    )

    results = await retriever.retrieve(TEXTS[1], k=9, tenant="acme")
    assert {document.id for document in results} == {"0", "3", "6"}
    with pytest.raises(ConfigurationError, match="pass `tenant`"):
        await retriever.retrieve(TEXTS[1], k=9)


EDITIONS: tuple[dict[str, Any], ...] = (
    {"product": "X100", "edition": 2023, "draft": False, "rate": 0.5},
    {"product": "X100", "edition": 2024, "draft": True, "rate": 1.5},
    {"product": "X110", "edition": 2024, "draft": False, "rate": 1.5},
    {"product": "X110", "edition": "2023", "owner": "acme"},
    {},
)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, {"0", "1", "2", "3", "4"}),
        ({"product": "X100"}, {"0", "1"}),
        ({"product": "X100", "edition": [2023, 2024]}, {"0", "1"}),
        ({"product": ["X110", "X100"], "edition": 2024}, {"1", "2"}),
        ({"edition": 2023}, {"0"}),
        ({"edition": ["2023", 2024]}, {"1", "2", "3"}),
        ({"draft": False}, {"0", "2"}),
        ({"rate": 1.5}, {"1", "2"}),
        ({"product": "X999"}, set()),
    ],
)
async def test_a_filter_is_met_by_what_is_found(
    opened: Open, wanted: dict[str, Any], expected: set[str]
) -> None:
    retriever = opened(filter=wanted)
    await retriever.add(
        Document(f"{i}", TEXTS[i], metadata=metadata) for i, metadata in enumerate(EDITIONS)
    )
    assert {document.id for document in await retriever.retrieve(TEXTS[0], k=9)} == expected


async def test_a_filter_widens_nothing_for_a_tenant(opened: Open) -> None:
    whose = ("acme", "globex")
    await opened().add(
        Document(f"{i}", text, metadata={"owner": whose[i % 2], "edition": i})
        for i, text in enumerate(TEXTS[:6])
    )

    async def found(**wanted: Any) -> set[str]:
        retriever = opened(tenant_key="owner", filter=wanted)
        return {d.id for d in await retriever.retrieve(TEXTS[0], k=9, tenant="acme")}

    assert await found(edition=[0, 1, 2]) == {"0", "2"}
    assert await found(owner="globex") == set()
    assert await found(owner=["globex", "acme"]) == {"0", "2", "4"}


async def test_a_filter_without_values_is_refused(opened: Open) -> None:
    # To Qdrant it would be met by everything.
    with pytest.raises(ConfigurationError, match="no values for 'product'"):
        opened(filter={"product": []})


async def test_a_policy_may_filter(
    location: dict[str, Any], model: str, store: QdrantStore
) -> None:
    given = {key: value for key, value in location.items() if value is not None}
    settings = {"collection": "guides", "model": model, **given}
    config = QdrantConfig(**settings, filter={"product": "X100", "edition": [2023, 2024]})
    retriever = open_retriever(config)
    assert isinstance(retriever, QdrantRetriever)
    assert retriever is not open_retriever(QdrantConfig(**settings, filter={"product": "X100"}))
    await retriever.add(
        Document(f"{i}", TEXTS[i], metadata=metadata) for i, metadata in enumerate(EDITIONS)
    )
    assert {d.id for d in await retriever.retrieve(TEXTS[0], k=9)} == {"0", "1"}
    for wrong in ({"edition": []}, {"edition": None}, {"edition": {"gte": 2023}}, {"": 1}, ["x"]):
        with pytest.raises(ValidationError):
            QdrantConfig(**settings, filter=wrong)


# Embeddings of a provider's


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as provider:
        yield provider


async def test_a_provider_may_embed(
    location: dict[str, Any], store: QdrantStore, provider: EmbeddingServer
) -> None:
    given = {key: value for key, value in location.items() if value is not None}
    embedding = {"model": "openai/small", "api_base": provider.url, "api_key": SECRET, "retries": 0}
    config = QdrantConfig(
        collection="guides", embedding=EmbeddingConfig(**embedding, dimensions=12, batch=4), **given
    )
    assert SECRET not in repr(config)
    retriever = open_retriever(config)
    assert isinstance(retriever, QdrantRetriever)
    await retriever.add(DOCUMENTS[:9])
    await retriever.prepare()
    asked_for = len(provider.bodies)
    results = await retriever.retrieve(TEXTS[4], k=3)
    assert len(provider.bodies) == asked_for + 1
    vectors = [np.array(embedded(text, 12)) for text in (TEXTS[4], *TITLED[:9])]
    cosines = [float(vector @ vectors[0]) for vector in vectors[1:]]
    assert results[0].text == TEXTS[4]
    assert [d.score for d in results] == pytest.approx(sorted(cosines)[:-4:-1], abs=1e-5)

    provider.statuses = [400]
    with pytest.raises(ResayError) as caught:
        await retriever.retrieve(SECRET, k=1)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


async def test_a_provider_with_another_length_does_not_fit(
    location: dict[str, Any], store: QdrantStore, provider: EmbeddingServer
) -> None:
    await make(store, size=7)
    embedding = LiteLLMEmbedder("openai/small", api_base=provider.url, api_key=SECRET)
    retriever = QdrantRetriever("guides", embedding=embedding, **location)
    with pytest.raises(ConfigurationError, match="7 numbers, and the model 'openai/small' makes 8"):
        await retriever.prepare()


def test_there_is_one_model(model: str, tmp_path: Path) -> None:
    path = str(tmp_path)
    for both in ({}, {"model": model, "embedding": "openai/small"}):
        with pytest.raises(ConfigurationError, match="either `model` or `embedding`"):
            QdrantRetriever("guides", path=path, **both)
        with pytest.raises(ValidationError, match="either `model`"):
            QdrantConfig(collection="guides", path=path, **both)
    assert QdrantConfig(collection="guides", path=path, embedding="openai/small").model is None
