"""Functions and places of an application's own that say what an answer is written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import pytest

from resay import ConfigurationError, Guard, Request, Verdict
from resay.plugins import Completion, Completions

pytestmark = pytest.mark.anyio

BRIDGE = "The Garmo bridge opened in 1932."
TUNNEL = "The Silo tunnel opened in 1950."
QUESTION = "When did the Garmo bridge open?"
POLICY: dict[str, Any] = {"chain": [{"method": "ngram"}], "cache": {"store": "none"}}


def texts(request: Mapping[str, Any]) -> list[Any]:
    return [BRIDGE, {"text": TUNNEL, "id": "T-1", "url": "https://b.example/silo"}]


def one_by_one(request: Mapping[str, Any]) -> Iterator[str]:
    yield BRIDGE
    yield TUNNEL


async def later(request: Mapping[str, Any]) -> list[str]:
    await anyio.lowlevel.checkpoint()
    return [BRIDGE]


def of_the_request(request: dict[str, Any]) -> list[str]:
    """Read what the client sent, and change it."""
    (message,) = request["messages"]
    assert "api_key" not in request
    return [source["text"] for source in message.pop("sources")]


def broken(request: Mapping[str, Any]) -> list[str]:
    raise KeyError(BRIDGE)


async def endless(request: Mapping[str, Any]) -> list[str]:
    await anyio.sleep_forever()
    return []


def wrong(request: Mapping[str, Any]) -> str:
    return BRIDGE


def wrong_inside(request: Mapping[str, Any]) -> list[Any]:
    return [BRIDGE, 5]


def without_arguments() -> list[str]:
    return [BRIDGE]


NO_FUNCTION = "text"


class Model:
    """Says the same each time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.queries: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.queries.append(request)
        return Completions((Completion(self.text),))


def here(name: str) -> str:
    return f"{__name__}:{name}"


def policy(*places: str, **further: Any) -> dict[str, Any]:
    return {**POLICY, "references": {"from": list(places)}, **further}


async def asked(text: str, *places: str, question: Any = QUESTION, **params: Any) -> Verdict:
    guard = Guard(policy(*places), provider=Model(text))
    return (await guard.aask(Request.of(question, params=params))).verdict


@pytest.mark.parametrize("name", ["texts", "one_by_one", "later"])
async def test_results_of_a_function_are_references(name: str) -> None:
    verdict = await asked(BRIDGE, here(name))
    assert verdict.decision == "consistent"
    assert verdict.samples == 0
    assert verdict.references[0].source == f"{here(name)}[0]"
    assert verdict.references[0].origin == "own"
    assert (await asked("The Garmo bridge opened in 1950.", here(name))).flagged


async def test_an_address_that_a_function_gives_is_no_invention() -> None:
    question = "When did the Silo tunnel open?"
    said = f"{TUNNEL[:-1]} (https://b.example/silo)."
    known = await asked(said, here("texts"), question=question)
    made_up = await asked(said.replace("silo", "solo"), here("texts"), question=question)
    assert (known.decision, made_up.decision) == ("consistent", "flagged")
    assert made_up.claims[0].reason == "its link is in no reference"


async def test_a_function_gets_a_copy_of_the_request() -> None:
    message = {"role": "user", "content": QUESTION, "sources": [{"text": BRIDGE}]}
    verdict = await asked(BRIDGE, here("of_the_request"), question=[message], api_key="secret")
    assert verdict.decision == "consistent"
    assert verdict.samples == 0
    assert "sources" in message


@pytest.mark.parametrize(
    ("name", "error"),
    [("broken", "KeyError"), ("wrong", "TypeError"), ("wrong_inside", "TypeError")],
)
async def test_a_function_that_fails_is_noted_and_costs_no_answer(name: str, error: str) -> None:
    model = Model(BRIDGE)
    answer = await Guard(policy(here(name)), provider=model).aask(QUESTION)
    note = f"'{here(name)}' of `references.from` failed: {error}"
    assert answer.text == BRIDGE
    assert answer.verdict.reason.endswith(f"; {note}")
    assert (answer.verdict.steps[0].method, answer.verdict.steps[0].error) == ("references", note)
    assert BRIDGE not in answer.verdict.reason
    # Nothing was found, so that samples are looked at.
    assert len(model.queries) > 1


async def test_other_references_count_if_a_function_fails() -> None:
    prompt = f"Answer from this context only:\n<context>{BRIDGE}</context>\n{QUESTION}"
    verdict = await asked(BRIDGE, here("broken"), "messages", question=prompt)
    assert verdict.decision == "consistent"
    assert verdict.references[0].source == "messages[0]"
    assert "KeyError" in verdict.reason


async def test_a_function_that_hangs_ends_with_the_deadline() -> None:
    limited = policy(here("endless"), limits={"deadline_s": 0.05})
    verdict = await Guard(limited).acheck(
        BRIDGE, question=QUESTION, samples=[BRIDGE, TUNNEL, "It opened in 1932."]
    )
    assert "took longer than `limits.deadline_s` (0.05)" in verdict.reason


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("no_such_module:find", "cannot import"),
        (here("nothing"), "has no 'nothing'"),
        (here("NO_FUNCTION"), "is not a function"),
        (here("without_arguments"), "must take one argument"),
    ],
)
def test_missing_functions_are_reported_before_any_call(place: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Guard(policy(place))
