from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import Document, Policy
from resay.adapters import Regenerate
from resay.errors import ConfigurationError, PolicyError
from resay.retrieval import (
    FolderConfig,
    FunctionConfig,
    HybridConfig,
    HybridRetriever,
    Reranker,
    as_retriever,
    fused,
    open_retriever,
)
from simulation import SimulatedInference
from support.alone import needs
from support.embeddings import RerankServer, shared_words
from support.known_models import make_denier, make_reranker

pytestmark = pytest.mark.anyio

SECRET = "sesame-opens-nothing"


def documents(*ids: str) -> list[Document]:
    return [Document(i, f"The text of {i}.", 7.0, {"title": i}) for i in ids]


class Part:
    """Finds always the same, or fails."""

    def __init__(self, *results: Document, error: Exception | None = None) -> None:
        self.found = results
        self.error = error
        self.asked: list[tuple[str, int]] = []
        self.prepared = 0

    async def prepare(self) -> None:
        self.prepared += 1

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        self.asked.append((query, k))
        if self.error is not None:
            raise self.error
        return self.found


def ids(results: Sequence[Document]) -> list[str]:
    return [document.id for document in results]


def test_rankings_are_put_together_by_reciprocal_ranks() -> None:
    # b: 1/62 + 1/61, a: 1/61 + 1/63, c: 1/63 + 1/62, d: 1/64
    results = fused([documents("a", "b", "c", "d"), documents("b", "c", "a")])
    assert ids(results) == ["b", "a", "c", "d"]
    assert [document.score for document in results] == [7.0] * 4


def test_what_is_there_twice_is_there_once() -> None:
    same_text = Document("x", "The  text of\na.")
    results = fused([documents("a", "b"), [same_text, *documents("c")], documents("d", "x")])
    # a: 1/61 + 1/61, and 1/62 under its other id.
    assert ids(results) == ["a", "d", "b", "c"]
    assert results[0].text == "The text of a."
    # What one search gives twice is no better for it.
    assert ids(fused([documents("a", "b", "b", "b"), documents("a")])) == ["a", "b"]


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=4))
def test_the_sums_are_those_of_the_paper(rankings: list[list[str]]) -> None:
    sums: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            sums[name] = sums.get(name, 0.0) + 1 / (60 + rank)
    order = ids(fused([documents(*ranking) for ranking in rankings]))
    assert set(order) == set(sums)
    assert [sums[i] for i in order] == sorted(sums.values(), reverse=True)


async def test_all_parts_are_asked_for_more_than_is_wanted() -> None:
    first, second = Part(*documents("a", "b", "c")), Part(*documents("c", "a"))
    retriever = HybridRetriever([first, second, lambda query: [f"It says {query}."]], fetch_k=9)
    await retriever.prepare()
    assert (first.prepared, second.prepared) == (1, 1)
    results = await retriever.retrieve("what", k=2)
    assert ids(results) == ["a", "c"]
    assert [d.score for d in results] == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61])
    assert results[0].metadata == {"title": "a"}
    assert first.asked == second.asked == [("what", 9)]
    assert len(await retriever.retrieve("what", k=30)) == 4
    assert first.asked[-1] == ("what", 30)


async def test_parts_may_weigh_more_than_others() -> None:
    parts = [Part(*documents("a", "b")), Part(*documents("b", "a"))]
    heavy = HybridRetriever(parts, weights=[1, 2])
    assert ids(await heavy.retrieve("what", k=2)) == ["b", "a"]
    assert ids(await HybridRetriever(parts).retrieve("what", k=2)) == ["a", "b"]
    with pytest.raises(ConfigurationError, match="3 weights for 2 retrievers"):
        HybridRetriever(parts, weights=[1, 2, 3])


async def test_parts_are_searched_at_the_same_time() -> None:
    here, there = anyio.Event(), anyio.Event()

    async def first(query: str) -> list[str]:
        here.set()
        await there.wait()
        return ["One."]

    async def second(query: str) -> list[str]:
        there.set()
        await here.wait()
        return ["Two."]

    results = await HybridRetriever([first, second]).retrieve("what", k=2)
    assert [document.text for document in results] == ["One.", "Two."]


async def test_a_part_that_fails_costs_nothing_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = Part(error=ValueError(SECRET))

    async def hangs(query: str) -> list[str]:
        await anyio.sleep_forever()
        return []

    retriever = HybridRetriever([broken, Part(*documents("a")), hangs], timeout_s=0.01)
    with caplog.at_level(logging.WARNING, "resay"):
        assert ids(await retriever.retrieve(SECRET, k=2)) == ["a"]
    messages = [record.getMessage() for record in caplog.records]
    assert ["ValueError" in line for line in messages] == [True, False]
    assert ["TimeoutError" in line for line in messages] == [False, True]
    assert "part 1 of 3" in messages[0]
    assert SECRET not in caplog.text


async def test_where_all_fail_it_fails() -> None:
    parts = [Part(error=ValueError("one")), Part(error=KeyError("two"))]
    with pytest.raises(ValueError, match="one"):
        await HybridRetriever(parts).retrieve("what", k=2)
    assert await HybridRetriever([Part(), parts[0]]).retrieve("what", k=2) == []


async def test_the_tenant_is_handed_to_who_takes_it() -> None:
    tenants: list[str | None] = []

    async def separate(query: str, k: int, tenant: str | None) -> list[str]:
        tenants.append(tenant)
        return [f"What {tenant} may see."]

    retriever = HybridRetriever([separate, Part(*documents("a"))])
    results = await retriever.retrieve("what", k=2, tenant="acme")
    assert {document.text for document in results} == {"What acme may see.", "The text of a."}
    await retriever.retrieve("what", k=2)
    # As the engine asks it.
    await as_retriever(retriever).retrieve("what", k=2, tenant="globex")
    assert tenants == ["acme", None, "globex"]


def test_there_must_be_something_to_search() -> None:
    with pytest.raises(ConfigurationError, match="at least one retriever"):
        HybridRetriever([])
    with pytest.raises(ConfigurationError, match="name a function"):
        HybridRetriever([7])


# What a policy says


def policy(retriever: str) -> Policy:
    return Policy.parse(
        f"chain: [{{method: prompt}}]\naction: {{do: regenerate, retriever: {retriever}}}\n"
    )


async def test_a_policy_opens_one(folder: Path) -> None:
    written = policy(
        f"{{kind: hybrid, of: [{{kind: folder, path: {folder}}}, 'tests.retrieval.test_hybrid:find'"
        "], weights: [1, 2], fetch_k: 5}"
    )
    assert isinstance(written.action, Regenerate)
    config = written.action.retriever
    assert isinstance(config, HybridConfig)
    assert config.of == (
        FolderConfig(path=str(folder)),
        FunctionConfig(name="tests.retrieval.test_hybrid:find"),
    )
    assert (config.weights, config.fetch_k, config.reranker) == ((1.0, 2.0), 5, None)


FOUND = documents("elsewhere")


def find(query: str, k: int) -> list[Document]:
    return FOUND[:k]


async def test_what_a_policy_names_is_searched(folder: Path) -> None:
    name = f"{__name__}:find"
    parts = (FolderConfig(path=str(folder)), FunctionConfig(name=name))
    config = HybridConfig(of=parts)
    retriever = open_retriever(config)
    assert retriever is open_retriever(config)
    assert isinstance(retriever, HybridRetriever)
    await retriever.prepare()
    results = await retriever.retrieve("When did the bridge open?", k=3)
    assert set(ids(results)) == {"bridge.md#1", "tower.txt#1", "elsewhere"}


@pytest.mark.parametrize(
    "wrong",
    [
        "{kind: hybrid}",
        "{kind: hybrid, of: []}",
        "{kind: hybrid, of: [{kind: hybrid, of: ['a.b:c']}]}",
        "{kind: hybrid, of: ['a.b:c'], weights: [1, 2]}",
        "{kind: hybrid, of: ['a.b:c'], weights: [0]}",
        "{kind: hybrid, of: ['a.b:c'], fetch_k: 0}",
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: str) -> None:
    with pytest.raises(PolicyError):
        policy(wrong)


async def test_a_folder_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no folder"):
        open_retriever(HybridConfig(of=(FolderConfig(path=str(tmp_path / "gone")),)))
    with pytest.raises(ValidationError):
        HybridConfig(of=())


# Reranking

Tiny = Callable[..., Path]
QUERY = "the stone bridge of the king"
TEXTS = (
    "A river of people in london was never old.",
    "The engineer designed a bridge in harbour and city.",
    "She wrote a novel in vienna after two years war.",
    "A stone bridge was built by workers in the north.",
)


@pytest.fixture
def reranker(tiny: Tiny) -> Reranker:
    return Reranker({"name": str(tiny(make_reranker)), "device": "cpu"})


def by_itself(folder: Path, query: str, texts: Sequence[str]) -> list[float]:
    """The scores as transformers gives them, a pair at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return [
            float(torch.sigmoid(model(**tokenizer(query, text, return_tensors="pt")).logits[0, 0]))
            for text in texts
        ]


async def test_the_reranker_decides_the_order(tiny: Tiny, reranker: Reranker) -> None:
    given = [Document(str(i), text) for i, text in enumerate(TEXTS)]
    retriever = HybridRetriever([Part(*given)], reranker=reranker)
    await retriever.prepare()
    results = await retriever.retrieve(QUERY, k=3)
    # Two words, one word, none: the last two are as the fusion has them.
    assert ids(results) == ["3", "1", "0"]
    expected = dict(zip("0123", by_itself(tiny(make_reranker), QUERY, TEXTS), strict=True))
    assert [d.score for d in results] == pytest.approx([expected[d.id] for d in results], abs=1e-5)
    assert expected["3"] > expected["1"] + 0.05 > expected["0"] + 0.1


async def test_an_exported_reranker_gives_the_same(tiny: Tiny, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from resay.models.export import export

    await anyio.to_thread.run_sync(export, str(tiny(make_reranker)), tmp_path / "onnx")
    scores = await Reranker(str(tmp_path / "onnx")).scores(QUERY, TEXTS)
    assert scores == pytest.approx(by_itself(tiny(make_reranker), QUERY, TEXTS), abs=1e-4)


async def test_it_reads_no_more_than_it_should(reranker: Reranker) -> None:
    first = Part(*(Document(str(i), text) for i, text in enumerate(TEXTS)))
    retriever = HybridRetriever([first, Part()], reranker=reranker, fetch_k=3)
    # The best is the fourth, which it is not shown.
    assert ids(await retriever.retrieve(QUERY, k=1)) == ["1"]
    assert first.asked == [(QUERY, 3)]


async def test_a_long_document_counts_as_much_as_its_best_part(reranker: Reranker) -> None:
    filler = "london paris river harbour war three people " * 15
    inside, last, none = await reranker.scores(
        QUERY, [f"{filler}{TEXTS[3]} {filler}", f"{filler}stone bridge", filler]
    )
    assert (inside > none + 0.1, last > none + 0.1) == (True, True)


async def test_a_reranker_that_fails_leaves_the_order(
    reranker: Reranker, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = HybridRetriever(
        [Part(*(Document(str(i), text) for i, text in enumerate(TEXTS)))], reranker=reranker
    )
    with caplog.at_level(logging.WARNING, "resay"):
        # There is no room for a document beside that.
        results = await retriever.retrieve(f"{SECRET} " * 30, k=3)
    assert ids(results) == ["0", "1", "2"]
    (record,) = caplog.records
    assert "ScorerError" in record.getMessage()
    assert "the order of the fusion stays" in record.getMessage()
    assert SECRET not in caplog.text


async def test_a_model_for_something_else_is_refused(tiny: Tiny) -> None:
    reranker = Reranker(str(tiny(make_denier)))
    retriever = HybridRetriever([Part(*documents("a", "b"))], reranker=reranker)
    with pytest.raises(
        ConfigurationError, match="returns 3 labels, and a reranker needs one score"
    ):
        await retriever.prepare()
    # An answer is not to be lost by it.
    assert ids(await retriever.retrieve("what", k=2)) == ["a", "b"]


async def test_a_policy_names_a_reranker(tiny: Tiny) -> None:
    config = HybridConfig(
        of=(FunctionConfig(name=f"{__name__}:texts"),), reranker=str(tiny(make_reranker))
    )
    results = await open_retriever(config).retrieve(QUERY, k=2)
    assert [document.text for document in results] == [TEXTS[3], TEXTS[1]]


def texts(query: str) -> list[str]:
    return list(TEXTS)


@needs("numpy")
async def test_a_reranker_may_be_a_service() -> None:
    part = Part(*(Document(str(i), text) for i, text in enumerate(TEXTS)))
    with RerankServer() as server:
        reranker = Reranker({"backend": "rerank", "url": server.url})
        retriever = HybridRetriever([part], reranker=reranker)
        await retriever.prepare()
        results = await retriever.retrieve(QUERY, k=2)
        assert [d.id for d in results] == ["3", "1"]
        assert results[0].score == pytest.approx(shared_words(QUERY, TEXTS[3]))
        server.statuses = [400]
        assert ids(await retriever.retrieve(QUERY, k=2)) == ["0", "1"]


def by_shared_words(pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
    return [[shared_words(*pair)] for pair in pairs]


async def test_a_reranker_may_be_behind_text_embeddings_inference() -> None:
    part = Part(*(Document(str(i), text) for i, text in enumerate(TEXTS)))
    with SimulatedInference(labels=["LABEL_0"], classify=by_shared_words) as server:
        reranker = Reranker({"backend": "tei", "url": server.url})
        results = await HybridRetriever([part], reranker=reranker).retrieve(QUERY, k=2)
    assert [d.id for d in results] == ["3", "1"]
    assert results[0].score == pytest.approx(shared_words(QUERY, TEXTS[3]))
