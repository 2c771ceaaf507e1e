from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Document, Retriever
from resay.adapters import inside_guard, run_sync
from resay.errors import ConfigurationError
from resay.retrieval import FunctionConfig, PreparesRetrieval, as_retriever, open_retriever

pytestmark = pytest.mark.anyio

SECRET = "The vault's code is 4711."
TEXTS = ["It opened in 1932.", "It is a bridge.", "It is in Sydney.", "It is grey."]


class Shelf:
    """A retriever as the protocol has it."""

    prepared = 0

    async def prepare(self) -> None:
        self.prepared += 1

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        return [Document(f"{query} {i}", text) for i, text in enumerate(TEXTS[:k])]


class PlainShelf:
    def retrieve(self, query: str, *, k: int) -> list[str]:
        return [f"{query} {k}"]


async def with_query(query: str) -> list[str]:
    return [query, *TEXTS]


async def with_k(query: str, k: int) -> list[str]:
    return [query, str(k)]


async def with_only_k_by_name(query: str, *, k: int = 7) -> list[str]:
    return [query, str(k)]


def plain(query: str) -> list[str]:
    return [query, *TEXTS]


def plain_with_k(query: str, k: int = 7) -> list[str]:
    return [query, str(k)]


def with_another_name(query: str, limit: int) -> list[str]:
    return [query, str(limit)]


def by_position(query: str, k: int, /) -> list[str]:
    return [query, str(k)]


def with_another_default(query: str, index: str = "main") -> list[str]:
    return [query, index]


def with_anything(query: str, **options: Any) -> list[str]:
    return [query, str(len(options))]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (with_query, ["bridge", TEXTS[0]]),
        (plain, ["bridge", TEXTS[0]]),
        (with_k, ["bridge", "2"]),
        (with_only_k_by_name, ["bridge", "2"]),
        (plain_with_k, ["bridge", "2"]),
        (with_another_name, ["bridge", "2"]),
        (by_position, ["bridge", "2"]),
        (with_another_default, ["bridge", "main"]),
        (with_anything, ["bridge", "0"]),
        (functools.partial(plain_with_k, k=5), ["bridge", "2"]),
        (functools.partial(with_k), ["bridge", "2"]),
        (lambda query: with_query(query), ["bridge", TEXTS[0]]),
        (PlainShelf(), ["bridge 2"]),
        (Shelf(), TEXTS[:2]),
    ],
)
async def test_functions_are_asked_as_they_want_to_be(
    function: Callable[..., Any], expected: list[str]
) -> None:
    results = await as_retriever(function).retrieve("bridge", k=2)
    assert [document.text for document in results] == expected


async def test_what_is_made_is_a_retriever() -> None:
    made = as_retriever(plain)
    assert isinstance(made, Retriever)
    assert as_retriever(made) is made
    assert "test_function:plain" in repr(made)


async def test_what_can_be_prepared_is() -> None:
    shelf = Shelf()
    for source in (shelf, plain):
        made = as_retriever(source)
        assert isinstance(made, PreparesRetrieval)
        await made.prepare()
    assert shelf.prepared == 1


async def test_all_a_document_can_say_is_kept() -> None:
    whole = {"id": 7, "text": "a", "score": 2, "metadata": {"title": "A", "x": 1}, "url": "u"}
    mine = Document("mine", "b", 0.5, {"title": "B"})
    given: list[Any] = [whole, mine, {"text": "c"}, "d", Document("", "e", 0.25, {"page": 3})]
    results = await as_retriever(lambda query: given).retrieve("bridge", k=9)
    assert results[0] == Document("7", "a", 2.0, {"title": "A", "x": 1, "url": "u"})
    assert results[1] == mine
    assert [(d.score, d.metadata) for d in results[2:]] == [
        (None, {}),
        (None, {}),
        (0.25, {"page": 3}),
    ]
    assert len({document.id for document in results}) == 5
    assert whole == {
        "id": 7,
        "text": "a",
        "score": 2,
        "metadata": {"title": "A", "x": 1},
        "url": "u",
    }


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
async def test_a_score_that_says_nothing_is_none(score: float) -> None:
    (result,) = await as_retriever(lambda query: [{"text": "a", "score": score}]).retrieve("q", k=1)
    assert result.score is None


async def test_numbers_of_numpy_are_scores() -> None:
    numpy = pytest.importorskip("numpy")
    given = [{"text": "a", "score": numpy.float32(0.5)}]
    (result,) = await as_retriever(lambda query: given).retrieve("bridge", k=1)
    assert type(result.score) is float
    assert result.score == 0.5


@given(texts=st.lists(st.text()), k=st.integers(1, 9), as_mappings=st.booleans())
def test_there_are_at_most_k_and_none_is_empty(texts: list[str], k: int, as_mappings: bool) -> None:
    retriever = as_retriever(lambda query: [{"text": t} for t in texts] if as_mappings else texts)
    results = run_sync(retriever.retrieve, "bridge", k=k)
    assert [document.text for document in results] == [t for t in texts if t.strip()][:k]
    # The same text has the same id each time, and no two texts have one.
    assert results == run_sync(retriever.retrieve, "bridge", k=k)
    assert len({d.id for d in results}) == len({d.text for d in results})


def one_by_one(query: str) -> Iterator[str]:
    for text in TEXTS:
        yield f"{threading.current_thread().name}: {text}"


async def test_plain_functions_run_in_a_thread() -> None:
    here = threading.current_thread().name
    seen: list[str] = []

    def slow(query: str) -> list[str]:
        seen.append(threading.current_thread().name)
        return TEXTS

    await as_retriever(slow).retrieve("bridge", k=1)
    assert seen != [here]
    for document in await as_retriever(one_by_one).retrieve("bridge", k=4):
        assert not document.text.startswith(here)


async def test_a_function_that_hangs_can_be_left() -> None:
    started, release = threading.Event(), threading.Event()

    def hang(query: str) -> list[str]:
        started.set()
        release.wait(60)
        return []

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: as_retriever(hang).retrieve("bridge", k=1))
        await anyio.to_thread.run_sync(started.wait)
        tasks.cancel_scope.cancel()
    release.set()
    assert tasks.cancel_scope.cancelled_caught


@pytest.mark.parametrize("is_async", [True, False])
async def test_guards_inside_do_nothing(is_async: bool) -> None:
    async def asynchronous(query: str) -> list[str]:
        return [str(inside_guard())]

    def synchronous(query: str) -> list[str]:
        return [str(inside_guard())]

    retriever = as_retriever(asynchronous if is_async else synchronous)
    assert [d.text for d in await retriever.retrieve("bridge", k=1)] == ["True"]
    assert not inside_guard()


async def test_what_a_function_raises_comes_as_it_is() -> None:
    def broken(query: str) -> list[str]:
        raise LookupError("no such index")

    with pytest.raises(LookupError, match="no such index"):
        await as_retriever(broken).retrieve("bridge", k=1)


class Foreign:
    page_content = SECRET

    def __repr__(self) -> str:
        return SECRET


async def streamed() -> AsyncIterator[str]:
    yield SECRET


@pytest.mark.parametrize(
    ("result", "named"),
    [
        (None, "NoneType"),
        (SECRET, "builtins.str"),
        ({"text": SECRET}, "builtins.dict"),
        (7, "builtins.int"),
        (streamed(), "async_generator"),
        ([Foreign()], "Foreign"),
        ([TEXTS[0], 7], "builtins.int"),
        ([{"text": 7, "note": SECRET}], "builtins.int as its 'text'"),
        ([{"note": SECRET}], "NoneType as its 'text'"),
        ([{"text": SECRET, "score": "high"}], "builtins.str as its 'score'"),
        ([{"text": SECRET, "metadata": [SECRET]}], "builtins.list as its 'metadata'"),
    ],
)
async def test_anything_else_is_refused_by_its_type(result: Any, named: str) -> None:
    retriever = as_retriever(lambda query: result)
    with pytest.raises(TypeError) as caught:
        await retriever.retrieve("bridge", k=3)
    assert named in str(caught.value)
    assert "test_function" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> types.ModuleType:
    # What is imported once is kept, so each test has a module of its own.
    module = types.ModuleType(f"a_place_{abs(hash(request.node.nodeid))}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


async def test_a_policy_names_one(module: types.ModuleType) -> None:
    module.search = plain
    module.shelves = types.SimpleNamespace(first=Shelf())
    for name, expected in (
        (f"{module.__name__}:search", "bridge"),
        (f"{module.__name__}:shelves.first", TEXTS[0]),
    ):
        retriever = open_retriever(FunctionConfig(name=name))
        assert (await retriever.retrieve("bridge", k=1))[0].text == expected
        assert repr(retriever) == f"as_retriever({name!r})"


def no_arguments() -> list[str]:
    return []


def three(query: str, index: str, limit: int) -> list[str]:
    return []


class TheirRetriever:
    def retrieve(self, str_or_query_bundle: str) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (no_arguments, "must take one argument, what to search for, and may take `k`"),
        (three, "must take one argument"),
        (7, "is of the type 'int'; name a function, or an object with `retrieve"),
        (types.SimpleNamespace(retrieve="no"), "is of the type 'SimpleNamespace'"),
        (TheirRetriever(), "does not take `(query, *, k)`; for one of LlamaIndex's, use"),
    ],
)
async def test_what_cannot_be_asked_is_refused_at_once(
    found: object, why: str, module: types.ModuleType
) -> None:
    module.found = found
    name = f"{module.__name__}:found"
    with pytest.raises(ConfigurationError) as caught:
        open_retriever(FunctionConfig(name=name))
    assert f"{name!r} " in str(caught.value)
    assert why in str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        as_retriever(found)
    assert why in str(caught.value)


async def test_a_class_is_no_object_to_search_with() -> None:
    with pytest.raises(ConfigurationError, match="is a class; name an object of it"):
        as_retriever(Shelf)


async def test_what_is_not_there_is_refused_at_once(module: types.ModuleType) -> None:
    with pytest.raises(ConfigurationError, match="has no 'nothing'"):
        open_retriever(FunctionConfig(name=f"{module.__name__}:nothing"))
    with pytest.raises(ConfigurationError, match="ModuleNotFoundError in 'no_such_place'"):
        open_retriever(FunctionConfig(name="no_such_place:search"))


async def test_what_takes_a_tenant_is_given_it() -> None:
    def required(query: str, tenant: str | None) -> list[str]:
        return [f"{query} {tenant}"]

    def with_k(query: str, k: int, *, tenant: str | None = "nobody") -> list[str]:
        return [f"{query} {tenant}"] * k

    class Shop:
        async def retrieve(self, query: str, *, k: int, tenant: str | None = None) -> list[str]:
            return [f"{query} {tenant}"]

    for source in (required, with_k, Shop()):
        retriever = as_retriever(as_retriever(source))
        (document,) = await retriever.retrieve("lamps", k=1, tenant="acme")
        (without,) = await retriever.retrieve("lamps", k=1)
        assert (document.text, without.text) == ("lamps acme", "lamps None")
