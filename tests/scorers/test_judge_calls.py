from __future__ import annotations

import pytest

from resay import Request, ScorerError
from resay.adapters import Message
from resay.adapters.providers import ReplayProvider
from resay.plugins import Completion, Completions, Evidence, Judge, JudgeConfig, judge_for
from resay.scorers.common.judge_calls import ParsedAnswer, ask, ask_together
from resay.testing import ScriptedProvider

pytestmark = pytest.mark.anyio


def test_the_response_model_gets_the_connection_only() -> None:
    request = Request.of(
        "Who?", model="a/x", params={"api_key": "k", "temperature": 0.3, "tools": []}
    )
    judge = judge_for(None, Evidence(request=request, judge_provider=ReplayProvider({})))
    assert (judge.request.model, dict(judge.request.params)) == ("a/x", {"api_key": "k"})


def test_other_judges_never_get_the_key() -> None:
    request = Request.of("Who?", model="a/x", params={"api_key": "k"})
    evidence = Evidence(request=request, judge_provider=ReplayProvider({}))
    assert judge_for("b/y", evidence).request == Request((), "b/y", {})
    own = JudgeConfig(model="b/y", params={"api_key": "other"})
    assert dict(judge_for(own, evidence).request.params) == {"api_key": "other"}


def test_parameters_without_a_model_keep_the_response_model() -> None:
    request = Request.of("Who?", model="a/x", params={"api_key": "k"})
    evidence = Evidence(request=request, judge_provider=ReplayProvider({}))
    judge = judge_for(JudgeConfig(params={"temperature": 0}), evidence)
    assert (judge.request.model, dict(judge.request.params)) == (
        "a/x",
        {"api_key": "k", "temperature": 0},
    )


def test_a_missing_judge_is_an_error() -> None:
    with pytest.raises(ScorerError, match="no judge available"):
        judge_for("b/y", Evidence())


JUDGE_QUERY = Request((), "a/x")


def read_letters(answer: Completion) -> list[str | None]:
    """Read an `a` and a `b`, wherever they stand."""
    return [letter if letter in answer.text else None for letter in "ab"]


class Listening(ScriptedProvider):
    """Follows a script and keeps what it was asked."""

    def __init__(self, *answers: str, takes_n: bool = False) -> None:
        super().__init__(answers)
        self.asked: list[tuple[Message, ...]] = []
        self._takes_n = takes_n

    async def takes_n(self, request: Request) -> bool:
        return self._takes_n

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(request.messages)
        items = [(await super(Listening, self).complete(request)).first for _ in range(n)]
        return Completions(tuple(items))


async def test_readable_answers_take_one_call() -> None:
    provider = Listening("a b")
    parsed = await ask(Judge(provider, JUDGE_QUERY), "Which?", read_letters, "Both, please.")
    assert parsed == ParsedAnswer(("a", "b"))
    assert len(provider.asked) == 1


async def test_the_second_answer_fills_only_what_the_first_left_empty() -> None:
    provider = Listening("A", "only b", "b only")
    judge = Judge(provider, JUDGE_QUERY)
    parsed = await ask(judge, "Which?", read_letters, "Both, please.")
    assert parsed.slots == (None, "b")
    assert parsed.undetermined == 1
    assert provider.asked[1] == (
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "Both, please."},
    )
    provider = Listening("a", "b")
    parsed = await ask(Judge(provider, JUDGE_QUERY), "Which?", read_letters, "Both, please.")
    assert (parsed.slots, parsed.undetermined) == (("a", "b"), 0)


async def test_without_a_restatement_the_first_answer_stands() -> None:
    provider = Listening("?", "a b")
    parsed = await ask(Judge(provider, JUDGE_QUERY), "Which?", read_letters, None)
    assert (parsed.slots, parsed.undetermined, parsed.answered) == ((None, None), 2, True)
    assert len(provider.asked) == 1


async def test_failed_calls_are_not_undetermined() -> None:
    parsed = await ask(Judge(Listening(), JUDGE_QUERY), "Which?", read_letters, "Both, please.")
    assert (parsed.answered, parsed.undetermined) == (False, 0)
    assert parsed.failures == ("ProviderError",)


async def test_a_failed_second_call_keeps_the_first_answer() -> None:
    provider = Listening("a")
    parsed = await ask(Judge(provider, JUDGE_QUERY), "Which?", read_letters, "Both, please.")
    assert (parsed.slots, parsed.undetermined) == (("a", None), 1)
    assert parsed.failures == ("ProviderError",)


async def test_an_empty_answer_is_not_sent_back_as_it_is() -> None:
    provider = Listening("", "a b")
    await ask(Judge(provider, JUDGE_QUERY), "Which?", read_letters, "Both, please.")
    assert provider.asked[1][1] == {"role": "assistant", "content": "(no answer)"}


async def test_several_answers_take_one_request_if_the_provider_supports_n() -> None:
    provider = Listening("a b", "a", "b", "a b", takes_n=True)
    parsed_answers = await ask_together(
        Judge(provider, JUDGE_QUERY), "Which?", read_letters, "Both, please.", 3
    )
    # The second and the third are asked for again, each on its own.
    assert len(provider.asked) == 3
    assert parsed_answers[0].slots == ("a", "b")
    assert {r.failures for r in parsed_answers[1:]} == {(), ("ProviderError",)}


async def test_missing_answers_are_failures() -> None:
    provider = Listening("a b")
    parsed_answers = await ask_together(
        Judge(provider, JUDGE_QUERY), "Which?", read_letters, "Both, please.", 3
    )
    assert [r.answered for r in parsed_answers] == [True, False, False]
    assert [r.failures for r in parsed_answers[1:]] == [("ProviderError",)] * 2


def test_varied_judges_drop_seed_and_temperature() -> None:
    judge = Judge(Listening(), Request((), "a/x", {"temperature": 0, "seed": 1, "api_key": "k"}))
    assert dict(judge.varied().request.params) == {"api_key": "k"}
    assert dict(judge.varied(0.5).request.params) == {"api_key": "k", "temperature": 0.5}
    assert dict(judge.with_params(logprobs=True).request.params)["logprobs"] is True
