from __future__ import annotations

import asyncio
import gc
import json
import threading
from typing import Any

import anyio
import numpy as np
import pytest

from resay.errors import ScorerError
from resay.models.remote.tei import TeiClassifier
from resay.models.remote.vllm import VllmClassifier
from resay.plugins import ModelConfig
from simulation import (
    CutConnection,
    Fault,
    Hang,
    RateLimited,
    Refused,
    ServerError,
    SimulatedInference,
    Slow,
)
from simulation.server import Exchange, HandlerServer
from support.remote_models import ELSE, LABELS, OTHER, PREMISE, SAME, classifier, expected, tei

pytestmark = pytest.mark.anyio


def path_of(server: SimulatedInference) -> str:
    return "/classify" if server.api == "vllm" else "/predict"


def sent(server: SimulatedInference) -> list[list[Any]]:
    key = "input" if server.api == "vllm" else "inputs"
    return [record.body[key] for record in server.requests_to(path_of(server))]


async def test_equal_pairs_of_concurrent_callers_are_asked_for_once(
    server: SimulatedInference,
) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(sent(server))

    results = await asyncio.gather(*(model.classify([SAME, OTHER, SAME]) for _ in range(20)))

    assert all(np.allclose(result, expected(SAME, OTHER, SAME)) for result in results)
    assert [len(items) for items in sent(server)[before:]] == [2]


async def test_different_pairs_of_concurrent_callers_share_a_request(
    server: SimulatedInference,
) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(sent(server))
    pairs = [(PREMISE, f"Statement {i}.") for i in range(10)]

    results = await asyncio.gather(*(model.classify([pair]) for pair in pairs))

    assert np.allclose(np.concatenate(results), expected(*pairs))
    assert [len(items) for items in sent(server)[before:]] == [10]


@pytest.mark.parametrize(("cache_mb", "requests"), [(64, 1), (0, 2)])
async def test_results_are_kept_as_far_as_the_settings_say(cache_mb: float, requests: int) -> None:
    with SimulatedInference() as server:
        model = TeiClassifier(tei(server, cache_mb=cache_mb))
        for _ in range(2):
            assert np.allclose(await model.classify([SAME]), expected(SAME))
        assert len(server.requests_to("/predict")) == requests


async def test_requests_have_no_more_pairs_than_the_server_takes() -> None:
    pairs = [(PREMISE, f"Statement {i}.") for i in range(10)]
    with SimulatedInference(max_items=4) as server:
        assert np.allclose(await TeiClassifier(tei(server)).classify(pairs), expected(*pairs))
        assert sorted(len(items) for items in sent(server)) == [2, 4, 4]


async def test_what_is_too_large_is_sent_in_smaller_requests(server: SimulatedInference) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(sent(server))
    server.set_faults(Refused(status=413, first=1))
    pairs = [(PREMISE, f"Statement {i}.") for i in range(5)]

    assert np.allclose(await model.classify(pairs), expected(*pairs))
    assert [len(items) for items in sent(server)[before:]] == [5, 2, 2, 1]
    if server.api == "tei":
        assert len(server.requests_to("/info")) == 2


async def test_a_server_that_has_become_stricter_is_asked_how_many_it_takes() -> None:
    pairs = [(PREMISE, f"Statement {i}.") for i in range(8)]
    with SimulatedInference(max_items=8) as server:
        model = TeiClassifier(tei(server, cache_mb=0))
        await model.classify(pairs)
        stricter = SimulatedInference(max_items=3)
        server._model = stricter._model
        assert np.allclose(await model.classify(pairs), expected(*pairs))
        assert sorted(len(items) for items in sent(server)) == [2, 3, 3, 8, 8]
        await model.classify(pairs)
        assert sorted(len(items) for items in sent(server)) == [2, 2, 3, 3, 3, 3, 8, 8]


async def test_a_pair_that_is_too_long_takes_nothing_from_the_others(
    server: SimulatedInference,
) -> None:
    model = classifier(server)
    await model.prepare()
    good = [(PREMISE, f"Statement {i}.") for i in range(6)]

    result, error = await asyncio.gather(
        model.classify(good),
        model.classify([(PREMISE, "w " * 600)]),
        return_exceptions=True,
    )

    assert np.allclose(result, expected(*good))
    assert isinstance(error, ScorerError)
    assert "w w" not in str(error)


@pytest.mark.parametrize(
    "fault",
    [
        RateLimited(first=2, retry_after_s=0),
        Refused(status=424, first=1),
        Refused(status=408, first=1),
        ServerError(status=503, first=1),
        CutConnection(first=1),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_what_may_pass_is_tried_again(server: SimulatedInference, fault: Fault) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(sent(server))
    server.set_faults(fault)

    assert np.allclose(await model.classify([SAME]), expected(SAME))
    assert len(sent(server)) - before == (fault.first or 0) + 1


async def test_the_wait_is_what_the_server_asks_for(server: SimulatedInference) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(sent(server))
    server.set_faults(RateLimited(first=1, retry_after_s=0.4))
    await model.classify([SAME])
    first, second = server.requests_to(path_of(server))[before:]
    assert second.started_s - first.started_s >= 0.4


async def test_there_is_an_end_to_trying_again(server: SimulatedInference) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(sent(server))
    server.set_faults(RateLimited(retry_after_s=0))
    with pytest.raises(ScorerError, match="HTTP 429; it has too much to do; lower `concurrency`"):
        await model.classify([SAME])
    assert len(sent(server)) - before == 4
    server.set_faults()
    assert np.allclose(await model.classify([SAME]), expected(SAME))


async def test_no_more_requests_at_once_than_the_settings_say() -> None:
    pairs = [(PREMISE, f"Statement {i}.") for i in range(8)]
    with SimulatedInference(max_items=1, faults=[Slow(0.2)]) as server:
        # Four rounds: the time limit is on each request, not on waiting for its turn.
        await TeiClassifier(tei(server, concurrency=2, timeout_s=0.7)).classify(pairs)
        server.wait_idle()
        spans = [(r.started_s, r.ended_s) for r in server.requests_to("/predict")]
    most = max(sum(a <= start < b for a, b in spans) for start, _ in spans)
    assert (len(spans), most) == (8, 2)


async def test_a_caller_who_gives_up_takes_nothing_from_the_others(
    server: SimulatedInference,
) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(server.requests)
    server.set_faults(Hang(first=1))
    leaving = asyncio.create_task(model.classify([SAME, OTHER]))
    staying = asyncio.create_task(model.classify([SAME, ELSE]))
    await anyio.to_thread.run_sync(server.wait_calls, before + 1)

    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    server.release()

    assert np.allclose(await staying, expected(SAME, ELSE))
    assert len(server.requests) == before + 1


async def test_what_nobody_waits_for_any_more_is_given_up(server: SimulatedInference) -> None:
    model = classifier(server)
    await model.prepare()
    before = len(server.requests)
    server.set_faults(Hang(first=1))
    calls = [asyncio.create_task(model.classify([SAME])) for _ in range(2)]
    await anyio.to_thread.run_sync(server.wait_calls, before + 1)

    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)

    await anyio.to_thread.run_sync(server.wait_idle)
    assert np.allclose(await model.classify([SAME]), expected(SAME))


async def test_a_caller_who_gives_up_before_anything_is_sent_sends_nothing() -> None:
    with SimulatedInference() as server:
        model = TeiClassifier(tei(server, window_ms=200))
        await model.prepare()
        with anyio.move_on_after(0.02):
            await model.classify([OTHER])
        assert np.allclose(await model.classify([SAME]), expected(SAME))
        assert sent(server) == [[list(SAME)]]


async def test_an_answer_that_never_comes_is_an_error(server: SimulatedInference) -> None:
    model = classifier(server, timeout_s=0.2)
    await model.prepare()
    server.set_faults(Hang())
    with pytest.raises(ScorerError, match=r"within 0\.2 s; raise `timeout_s`"):
        await model.classify([SAME])


def test_one_object_serves_two_event_loops(server: SimulatedInference) -> None:
    model = classifier(server, cache_mb=0)
    server.set_faults(Hang(first=2))
    results: list[np.ndarray] = []
    errors: list[BaseException] = []

    async def work() -> None:
        results.extend([await model.classify([SAME, OTHER]) for _ in range(3)])

    def run() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    server.wait_calls(2, path=path_of(server))
    server.release()
    for thread in threads:
        thread.join()

    assert not errors
    assert len(results) == 6
    assert all(np.allclose(rows, expected(SAME, OTHER)) for rows in results)


def test_connections_are_kept_within_a_loop_and_closed_with_it(server: SimulatedInference) -> None:
    model = classifier(server, cache_mb=0)

    async def work() -> int:
        for _ in range(3):
            await model.classify([SAME])
        return server.open_connections

    assert asyncio.run(work()) == 1
    assert asyncio.run(work()) <= 2
    # What was left open says so when it is collected, and warnings are errors.
    gc.collect()


async def test_connections_can_be_closed_before(server: SimulatedInference) -> None:
    model = classifier(server, cache_mb=0)
    await model.aclose()
    for _ in range(2):
        assert np.allclose(await model.classify([SAME]), expected(SAME))
        await model.aclose()


@pytest.mark.parametrize(
    "after",
    ["Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 -0000", "soon", "nan", "-1"],
)
async def test_any_form_of_a_wait_is_understood_or_passed_over(after: str) -> None:
    answers = iter([(503, {}), (200, {"count": 2, "max_model_len": 9, "tokens": [1, 2]})])

    async def handle(exchange: Exchange) -> None:
        status, body = next(answers)
        data = json.dumps(body).encode()
        headers = [("content-length", str(len(data))), ("retry-after", after)]
        await exchange.start(status, "application/json", headers)
        await exchange.send(data, last=True)

    server = HandlerServer(handle)
    server.start()
    try:
        url = f"http://127.0.0.1:{server.port}"
        model = VllmClassifier(ModelConfig(backend="vllm", name="m", url=url, labels=LABELS))
        assert await model.lengths(["good day"]) == [2]
    finally:
        server.stop()
