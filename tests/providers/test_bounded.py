"""Answers of judges are limited in length, where that is possible."""

from __future__ import annotations

from typing import Any

import pytest

from resay import Guard, ProviderError, ProviderRefusedError, Query
from resay.core.usage import Usage
from resay.providers import Completion, Completions
from resay.providers.bounded import Bounded

pytestmark = pytest.mark.anyio


class Server:
    """Answers as a server with certain habits does, and keeps the parameters it was sent."""

    def __init__(self, *, refuses: int | None = None, thinks: int = 0, answer: str = "Yes") -> None:
        self.params: list[dict[str, Any]] = []
        self._refuses = refuses
        self._thinks = thinks
        self._answer = answer

    async def takes_n(self, query: Query) -> bool:
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        self.params.append(dict(query.params))
        limit = query.params.get("max_tokens")
        if limit is not None and self._refuses == 0:
            raise TypeError("unexpected keyword argument 'max_tokens'")
        if limit is not None and self._refuses is not None:
            raise ProviderRefusedError("no such parameter", status=self._refuses)
        if limit is not None and limit < self._thinks:
            return Completions((Completion("", "length"),), Usage(1, 5, limit))
        return Completions((Completion(self._answer, "stop"),), Usage(1, 5, 1))


QUERY = Query.of("Is it so?", model="m")


async def test_a_limit_is_sent_unless_the_query_has_its_own() -> None:
    server = Server()
    await Bounded(server, 100).complete(QUERY)
    await Bounded(server, 100).complete(Query.of("Is it so?", model="m", max_completion_tokens=7))
    assert server.params == [{"max_tokens": 100}, {"max_completion_tokens": 7}]


@pytest.mark.parametrize("status", [400, 422, 0])
async def test_who_refuses_the_parameter_is_asked_again_once_and_not_sent_it_again(
    status: int,
) -> None:
    server = Server(refuses=status)
    for _ in range(3):
        assert (await Bounded(server, 100).complete(QUERY)).first.text == "Yes"
    assert server.params == [{"max_tokens": 100}, {}, {}, {}]
    # Another model at the same place is another matter.
    await Bounded(server, 100).complete(Query.of("Is it so?", model="other"))
    assert server.params[4:] == [{"max_tokens": 100}, {}]


@pytest.mark.parametrize("status", [401, 404, 429])
async def test_other_refusals_are_not_about_the_parameter(status: int) -> None:
    server = Server(refuses=status)
    with pytest.raises(ProviderRefusedError):
        await Bounded(server, 100).complete(QUERY)
    assert len(server.params) == 1


async def test_a_request_that_is_refused_in_any_case_teaches_nothing() -> None:
    class Closed(Server):
        async def complete(self, query: Query, *, n: int = 1) -> Completions:
            self.params.append(dict(query.params))
            raise ProviderRefusedError("no such model", status=400)

    server = Closed()
    for _ in range(2):
        with pytest.raises(ProviderError):
            await Bounded(server, 100).complete(QUERY)
    assert server.params == [{"max_tokens": 100}, {}] * 2


async def test_a_model_that_thinks_first_gets_room_for_it() -> None:
    server = Server(thinks=500)
    answers = await Bounded(server, 100).complete(QUERY)
    assert (answers.first.text, answers.usage.calls, answers.usage.completion_tokens) == (
        "Yes",
        2,
        101,
    )
    await Bounded(server, 100).complete(QUERY)
    assert [params["max_tokens"] for params in server.params] == [100, 800, 800]


@pytest.mark.parametrize(
    "step",
    [
        *({"method": "prompt"}, {"method": "prompt", "mode": "per_sample"}, {"method": "fibe"}),
        *({"method": "zero_shot"}, {"method": "cross_examination"}, {"method": "p_true"}),
        *({"method": "direct_question"}, {"method": "reverse_validation"}),
    ],
)
async def test_every_question_to_a_judge_is_bounded(step: dict[str, Any]) -> None:
    server = Server(answer="I would like to say a great deal about this.")
    guard = Guard({"chain": [step], "cache": {"store": "none"}}, provider=server, model="m")
    samples = ["It opened in 1932.", "It was opened in 1932.", "In 1932, it opened."]
    await guard.acheck("The bridge opened in 1931.", question="When did it open?", samples=samples)
    assert server.params
    assert all(0 < params["max_tokens"] <= 8_000 for params in server.params)
