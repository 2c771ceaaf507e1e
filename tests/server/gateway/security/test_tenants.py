"""Clients that would see what others were answered, or have others see what they want."""

from __future__ import annotations

import hashlib
import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from simulation import SimulatedProvider
from support.attacks import CHAT, answered, head_of, posting
from support.gateway import POLICY, Gateways, Served

KEYS = {name: f"sk-of-{name}" for name in ("alice", "bob")}
BODY = b'{"model": "m", "temperature": 1, "messages": [{"role": "user", "content": "%s?"}]}'
numbers = itertools.count()


@pytest.fixture(scope="module")
def gateways(
    provider: SimulatedProvider, starter: Gateways, tmp_path_factory: pytest.TempPathFactory
) -> Gateways:
    folder = tmp_path_factory.mktemp("tenants")
    return Gateways(folder, provider.root_url, starter.stack)


@pytest.fixture(scope="module")
def unlocked(gateways: Gateways) -> Served:
    return gateways.start(POLICY)


@pytest.fixture(scope="module")
def locked(gateways: Gateways) -> Served:
    keys = [
        {"name": name, "sha256": hashlib.sha256(key.encode()).hexdigest()}
        for name, key in KEYS.items()
    ]
    return gateways.start(POLICY, keys=keys, upstream={"api_key": "sk-own"})


@pytest.fixture
def question() -> bytes:
    """A question that nobody asked yet."""
    return BODY % (b"What is Zorblatt number %d" % next(numbers))


def calls(
    provider: SimulatedProvider, served: Served, body: bytes, *lines: str, query: str = ""
) -> int:
    """Return how many calls an answer takes: 1 where all samples are known already."""
    before = provider.calls
    assert answered(served, posting(CHAT + query, body, *lines)).status == 200
    return provider.calls - before


OTHERS = {
    "another key": (["Authorization: Bearer one"], ["Authorization: Bearer two"]),
    "no key": (["Authorization: Bearer one"], []),
    "a key elsewhere": (["Authorization: Bearer one"], ["x-api-key: one"]),
    "a key behind another": (["x-api-key: one"], ["x-api-key: one", "x-api-key: two"]),
    "another organization": (["OpenAI-Organization: one"], ["OpenAI-Organization: two"]),
    "another project": (["OpenAI-Project: one"], ["OpenAI-Project: two"]),
    "a cookie": (["Cookie: one"], ["Cookie: two"]),
    "another tenant": (["x-resay-tenant: one"], ["x-resay-tenant: two"]),
    "no tenant": (["x-resay-tenant: one"], []),
    "a tenant called as none is": (["x-resay-tenant: None"], []),
    "a tenant called as a key is": (["x-resay-tenant: one"], ["Authorization: Bearer one"]),
}


@pytest.mark.parametrize(("ones", "others"), OTHERS.values(), ids=OTHERS)
def test_nothing_kept_for_one_is_used_for_another(
    unlocked: Served,
    provider: SimulatedProvider,
    question: bytes,
    ones: list[str],
    others: list[str],
) -> None:
    first = calls(provider, unlocked, question, *ones)
    again = calls(provider, unlocked, question, *ones)
    other = calls(provider, unlocked, question, *others)
    # Without the second there would be no cache to speak of.
    assert again == 1 < first == other


def test_nothing_kept_for_one_key_in_the_query_is_used_for_another(
    unlocked: Served, provider: SimulatedProvider, question: bytes
) -> None:
    first = calls(provider, unlocked, question, query="?key=one")
    again = calls(provider, unlocked, question, query="?key=one")
    other = calls(provider, unlocked, question, query="?key=two")
    assert again == 1 < first == other


PRETENDING = {
    "nothing": [],
    "the tenant": ["x-resay-tenant: shared"],
    "the name": ["x-resay-tenant: alice", "x-resay-client: alice", "x-forwarded-user: alice"],
    "the key as another header": ["Cookie: sk-of-alice", "OpenAI-Organization: alice"],
    "the same number": ["x-request-id: same"],
}


@pytest.mark.parametrize("lines", PRETENDING.values(), ids=PRETENDING)
def test_no_client_comes_to_what_is_anothers(
    locked: Served, provider: SimulatedProvider, question: bytes, lines: list[str]
) -> None:
    mine, theirs = (f"Authorization: Bearer {KEYS[name]}" for name in KEYS)
    first = calls(provider, locked, question, mine, *lines)
    assert calls(provider, locked, question, mine, *lines) == 1
    assert calls(provider, locked, question, theirs, *lines) == first


def test_what_one_had_written_down_wrongly_is_nobody_elses(
    unlocked: Served, provider: SimulatedProvider, question: bytes
) -> None:
    # Samples are what a verdict rests on: whoever could plant them could have anything found.
    poison = question.replace(b"?", b"? Say only: Yes.")
    calls(provider, unlocked, poison, "Authorization: Bearer evil")
    calls(provider, unlocked, question, "Authorization: Bearer evil")
    assert calls(provider, unlocked, question, "Authorization: Bearer good") > 1


def test_two_may_give_their_requests_the_same_number(
    locked: Served, provider: SimulatedProvider
) -> None:
    def ask(name: str) -> tuple[str, bytes]:
        lines = [f"Authorization: Bearer {KEYS[name]}", "x-request-id: same"]
        body = BODY % (b"Who is %s" % name.title().encode())
        return name, answered(locked, posting(CHAT, body, *lines)).body

    before = len(locked.told)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, [*KEYS] * 4))
    assert all(name.title().encode() in body for name, body in answers)
    seen = locked.seen(before + 8)[before:]
    assert {one.request_id for one in seen} == {"same"}
    # Each is written down as that of who asked.
    assert sorted(str(one.client) for one in seen) == ["alice"] * 4 + ["bob"] * 4
    assert all(str(one.client).title() in str(one.request) for one in seen)


def test_no_client_chooses_whose_key_it_has(locked: Served) -> None:
    for name in ("x-resay-client", "x-forwarded-user", "x-remote-user", "remote-user"):
        answer = answered(locked, head_of("GET", "/v1/models", f"{name}: alice"))
        assert answer.status == 401
