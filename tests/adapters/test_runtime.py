"""What adapters do with a guard beyond what applications do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from resay import Document, Guard, HallucinationBlocked, Usage, Verdict, verdicts
from resay.adapters import CheckContext, GuardRuntime
from resay.plugins import Completion, Completions, Request, Sources

pytestmark = pytest.mark.anyio

QUESTION = "When did the Sydney Harbour Bridge open?"
WRONG = "The Sydney Harbour Bridge opened in 1947."
RIGHT = "The Sydney Harbour Bridge opened in 1932."
POLICY = {
    "chain": [{"method": "facts"}],
    "sampling": {"max": 3, "confidence": None},
    "limits": {"retries": 0},
    "cache": {"store": "none"},
}


class Provider:
    """A provider that always says the same, or fails."""

    def __init__(self, text: str | None = RIGHT) -> None:
        self.text = text
        self.requests: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.requests.append(request)
        if self.text is None:
            raise ValueError("secret")
        return Completions((Completion(self.text),), Usage(1))


def runtime_of(provider: Provider | None, **others: Any) -> GuardRuntime:
    options = {"model": "openai/simulated"} if provider is None else {"provider": provider}
    return GuardRuntime(Guard({**POLICY, **others}, params={"top_p": 0.5}, **options))


def context() -> CheckContext:
    return CheckContext(Request.of(QUESTION))


async def test_an_existing_response_is_acted_on_with_the_guards_own_model() -> None:
    provider = Provider()
    runtime = runtime_of(provider, action={"do": "block"})
    with verdicts() as reported:
        answer = await runtime.aact_on(WRONG, context())
    assert answer.blocked
    assert reported == [answer.verdict]
    assert len(provider.requests) == 3
    assert all(request.question == QUESTION for request in provider.requests)
    assert all(request.params["top_p"] == 0.5 for request in provider.requests)
    assert (await runtime.aact_on(RIGHT, context())).action == "allow"


async def test_an_existing_response_is_regenerated() -> None:
    async def find(query: str, *, k: int) -> Sequence[Document]:
        return [Document("bridge.md", RIGHT)]

    guard = Guard({**POLICY, "action": {"do": "regenerate"}}, provider=Provider(), retriever=find)
    answer = await GuardRuntime(guard).aact_on(WRONG, context())
    assert answer.regenerated
    assert answer.text == RIGHT


async def test_the_calls_go_to_the_given_sources() -> None:
    own, other = Provider(), Provider()
    answer = await runtime_of(other).aact_on(WRONG, context(), Sources.all(own))
    assert answer.flagged
    assert len(own.requests) == 3
    assert not other.requests


@pytest.mark.parametrize("on_error", ["annotate", "block"])
async def test_a_check_that_fails_loses_no_answer_unless_the_policy_says_so(on_error: str) -> None:
    runtime = runtime_of(Provider(), on_error=on_error)
    reported: list[Verdict] = []
    runtime = GuardRuntime(runtime.with_listener(reported.append))
    # Found out only when the answer is there.
    broken = CheckContext(Request.of(QUESTION, params={"n": 2}))
    answer = await runtime.aact_on(WRONG, broken)
    assert answer.verdict.reason == "the check failed with ConfigurationError"
    assert [verdict.decision for verdict in reported] == ["inconclusive"]
    assert answer.blocked == (on_error == "block")
    assert (answer.text == WRONG) == (on_error == "annotate")


async def test_a_failed_check_may_raise() -> None:
    action = {"do": "block", "exit": "raise"}
    runtime = runtime_of(Provider(None), action=action, on_error="block")
    with pytest.raises(HallucinationBlocked) as raised:
        await runtime.aact_on(WRONG, context())
    assert "secret" not in str(raised.value)


def test_a_guard_has_a_model_or_a_provider() -> None:
    assert not GuardRuntime(Guard(POLICY)).has_model
    assert runtime_of(None).has_model
    assert runtime_of(Provider()).has_model
