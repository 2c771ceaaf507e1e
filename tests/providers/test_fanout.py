from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from resay import ProviderError, ProviderRefusedError, Request, Usage
from resay.plugins import Completion, Completions, Layer
from resay.providers import FanOut

pytestmark = pytest.mark.anyio
REQUEST = Request.of("Who?", model="m")


@dataclass
class Scripted:
    """Answers as the test says, by the number of the request and its n."""

    reply: Callable[[int, int], int | Exception]
    n_allowed: bool = True
    asked: list[int] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)

    async def takes_n(self, request: Request) -> bool:
        return self.n_allowed

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(n)
        self.indices.append(request.index)
        result = self.reply(len(self.asked), n)
        if isinstance(result, Exception):
            raise result
        number = len(self.asked)
        texts = [f"{number}.{i}" for i in range(result)]
        return Completions(tuple(map(Completion, texts)), Usage(1, 10, 5 * result, 0.5))


async def test_one_request_where_n_is_taken() -> None:
    provider = Scripted(lambda _, n: n)
    got = await FanOut(provider).complete(REQUEST, n=5)
    assert (len(got.items), provider.asked, got.usage) == (5, [5], Usage(1, 10, 25, 0.5))


async def test_many_requests_where_it_is_not() -> None:
    provider = Scripted(lambda _, n: n, n_allowed=False)
    got = await FanOut(provider).complete(REQUEST, n=3)
    assert (len(got.items), provider.asked, got.usage.calls) == (3, [1, 1, 1], 3)


async def test_what_is_left_out_is_topped_up() -> None:
    provider = Scripted(lambda call, n: 2 if call == 1 else n)
    got = await FanOut(provider).complete(REQUEST, n=5)
    assert (len(got.items), provider.asked) == (5, [5, 1, 1, 1])


async def test_too_many_answers_are_cut() -> None:
    got = await FanOut(Scripted(lambda _, n: n + 3)).complete(REQUEST, n=2)
    assert [c.text for c in got.items] == ["1.0", "1.1"]


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_n_is_asked_for_one_by_one(status: int) -> None:
    refusal = ProviderRefusedError("no n", status=status)
    provider = Scripted(lambda call, n: refusal if call == 1 else n)
    got = await FanOut(provider).complete(REQUEST, n=3)
    assert (len(got.items), provider.asked, got.failures) == (3, [3, 1, 1, 1], ())


async def test_a_bad_key_is_not_tried_again_n_times() -> None:
    provider = Scripted(lambda *_: ProviderRefusedError("bad key", status=401))
    with pytest.raises(ProviderRefusedError, match="bad key"):
        await FanOut(provider).complete(REQUEST, n=5)
    assert provider.asked == [5]


async def test_a_partial_failure_keeps_what_arrived() -> None:
    broken = ProviderError("broken")
    provider = Scripted(lambda call, n: broken if call == 2 else n, n_allowed=False)
    got = await FanOut(provider).complete(REQUEST, n=3)
    assert (len(got.items), got.failures) == (2, (broken,))


async def test_nothing_at_all_raises_the_first_failure() -> None:
    provider = Scripted(lambda call, _: ProviderError(f"broken {call}"), n_allowed=False)
    with pytest.raises(ProviderError, match="broken 1"):
        await FanOut(provider).complete(REQUEST, n=2)


async def test_each_answer_has_an_index_of_its_own() -> None:
    provider = Scripted(lambda _, n: n, n_allowed=False)
    await FanOut(provider).complete(replace(REQUEST, index=7), n=3)
    assert sorted(provider.indices) == [7, 8, 9]


async def test_what_is_topped_up_has_the_indices_that_are_left() -> None:
    provider = Scripted(lambda call, n: 2 if call == 1 else n)
    await FanOut(provider).complete(replace(REQUEST, index=7), n=5)
    assert provider.indices[0] == 7
    assert sorted(provider.indices[1:]) == [9, 10, 11]


async def test_a_refused_n_begins_again_with_the_first() -> None:
    refusal = ProviderRefusedError("no n", status=400)
    provider = Scripted(lambda call, n: refusal if call == 1 else n)
    await FanOut(provider).complete(REQUEST, n=2)
    assert sorted(provider.indices) == [0, 0, 1]


@dataclass
class Partial:
    """Gives one answer and says why there are no more."""

    why: Exception
    asked: list[tuple[int, int]] = field(default_factory=list)

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append((request.index, n))
        failures = (self.why,) if n > 1 else ()
        return Completions((Completion(str(request.index)),), Usage(1), failures)


async def test_what_failed_together_is_not_tried_again_one_by_one() -> None:
    broken = ProviderError("overloaded", status=503)
    provider = Partial(broken)
    got = await FanOut(provider).complete(REQUEST, n=3)
    assert ([c.text for c in got.items], got.failures) == (["0"], (broken,))
    assert provider.asked == [(0, 3)]


async def test_what_was_refused_together_is_asked_for_one_by_one() -> None:
    provider = Partial(ProviderRefusedError("no n", status=422))
    got = await FanOut(provider).complete(REQUEST, n=3)
    assert ([c.text for c in got.items], got.failures) == (["0", "1", "2"], ())


async def test_a_failure_that_left_nothing_out_is_not_passed_on() -> None:
    class Whole(Partial):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            items = tuple(Completion(str(i)) for i in range(n))
            return Completions(items, Usage(2), (self.why,))

    got = await FanOut(Whole(ProviderError("the first try"))).complete(REQUEST, n=2)
    assert (len(got.items), got.failures, got.usage.calls) == (2, (), 2)


class Slots:
    """A server with two slots, which refuses more answers at once."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(n)
        if n > 2:
            raise ProviderRefusedError("n is above the number of slots", status=400)
        return Completions((Completion("yes"),) * n, Usage(1))


async def test_a_refused_number_is_not_asked_for_again() -> None:
    server = Slots()
    await FanOut(server).complete(REQUEST, n=4)
    await FanOut(Layer(server)).complete(REQUEST, n=4)
    await FanOut(server).complete(REQUEST, n=3)
    assert server.asked == [4, *[1] * 4, *[1] * 4, 3, *[1] * 3]
    server.asked.clear()
    await FanOut(server).complete(REQUEST, n=3)
    await FanOut(server).complete(REQUEST, n=2)
    assert server.asked == [1, 1, 1, 2]
    # Another model, or another server, has slots of its own.
    await FanOut(server).complete(replace(REQUEST, model="larger"), n=4)
    await FanOut(server).complete(replace(REQUEST, params={"api_base": "http://other"}), n=4)
    assert server.asked[4:] == [4, 1, 1, 1, 1] * 2


async def test_a_number_is_not_blamed_for_what_single_requests_are_refused_for_too() -> None:
    provider = Scripted(lambda *_: ProviderRefusedError("bad request", status=400))
    for _ in range(2):
        with pytest.raises(ProviderRefusedError):
            await FanOut(provider).complete(REQUEST, n=2)
    assert provider.asked == [2, 1, 1] * 2
