from __future__ import annotations

from typing import Any

import pytest

from resay import ConfigurationError, Guard, Request, Sources
from resay.adapters import CheckContext, GuardRuntime
from resay.adapters.providers import LiteLLMProvider
from resay.scorers.gate import When
from resay.testing import ScriptedProvider
from simulation import SimulatedProvider
from support.alone import needs

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about the Sydney Harbour Bridge."
SHORT = "It opened in 1932."
JUDGED = {"chain": [{"method": "prompt"}], "cache": {"store": "none"}}


def about_bridges(request: Request | None, response: str) -> bool:
    return "bridge" in response.lower()


async def test_a_skipped_response_is_neither_fine_nor_flagged(
    simulated: SimulatedProvider,
) -> None:
    policy = {**JUDGED, "when": {"min_chars": 100_000}, "on_error": "block"}
    answer = await Guard(policy, model="openai/simulated").aask(QUESTION, params=simulated.params)
    verdict = answer.verdict
    assert verdict.decision == "skipped"
    assert verdict.skipped
    assert not verdict.flagged
    assert not verdict.inconclusive
    assert "`when.min_chars` (100000)" in verdict.reason
    assert (answer.action, answer.text) == ("allow", answer.response)


async def test_requests_that_are_always_skipped_draw_no_sample(
    simulated: SimulatedProvider,
) -> None:
    policy = {**JUDGED, "when": {"roles": ["tool"]}}
    answer = await Guard(policy, model="openai/simulated").aask(QUESTION, params=simulated.params)
    assert answer.verdict.skipped
    assert simulated.calls == 1


@pytest.mark.parametrize("mode", ["check", "hold", "after", "buffer"])
async def test_a_request_asks_once_whether_it_is_checked_at_all(
    mode: Any, simulated: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request | None] = []
    original = When.before

    def before(self: When, request: Request | None) -> str | None:
        asked.append(request)
        return original(self, request)

    monkeypatch.setattr(When, "before", before)
    chain = [{"method": "facts"}]
    guard = Guard({"chain": chain, "when": {"roles": ["user"]}}, model="openai/simulated")
    if mode == "check":
        await guard.acheck(SHORT, question=QUESTION, samples=[SHORT] * 3)
    else:
        async with guard.astream(QUESTION, stream_mode=mode, params=simulated.params) as stream:
            async for _ in stream:
                pass
    assert len(asked) == 1


async def test_a_query_may_say_itself_that_it_is_not_to_be_checked(
    simulated: SimulatedProvider,
) -> None:
    request = Request.of(QUESTION, model="openai/simulated", params=simulated.params)
    context = CheckContext(request, unchecked="it was asked for in private")
    sources = Sources.all(LiteLLMProvider())
    for policy in (JUDGED, JUDGED | {"on_error": "block", "stream_mode": "hold"}):
        guard = Guard(policy)
        known = GuardRuntime(guard).with_skip_reason(context)
        assert known.skip_reason == "it was asked for in private"
        answer = await GuardRuntime(guard).aask_with(known, sources)
        assert answer.verdict.reason == "it was asked for in private"
        async with GuardRuntime(guard).astream_with(known, sources) as stream:
            text = "".join([part.text async for part in stream])
        assert stream.answer.verdict.skipped
        assert text == stream.answer.response
    assert simulated.calls == 4


def test_skipped_requests_are_known_before_the_call() -> None:
    context = CheckContext(Request.of(QUESTION))
    assert GuardRuntime(Guard(JUDGED)).with_skip_reason(context).skip_reason is None
    by_roles = Guard({**JUDGED, "when": {"roles": ["tool"]}})
    assert "when.roles" in (GuardRuntime(by_roles).with_skip_reason(context).skip_reason or "")
    wanted = CheckContext(Request.of(QUESTION, params={"response_format": {"type": "json_object"}}))
    unchecked = Guard({**JUDGED, "structured": {"check": "none"}})
    reason = GuardRuntime(unchecked).with_skip_reason(wanted).skip_reason
    assert reason == "the policy does not check structured answers"
    assert GuardRuntime(unchecked).with_skip_reason(context).skip_reason is None


async def test_a_greeting_is_not_worth_checking() -> None:
    guard = Guard({"chain": [{"method": "ngram"}], "when": {"checkable": True}})
    verdict = await guard.acheck("Hello! How can I help you today?", samples=[SHORT] * 3)
    assert verdict.skipped
    assert not (await guard.acheck(SHORT, samples=[SHORT, "It is.", "It was."])).skipped


async def test_a_function_decides() -> None:
    guard = Guard({"chain": [{"method": "ngram"}], "when": {"call": about_bridges}})
    assert (await guard.acheck(SHORT, samples=[SHORT] * 3)).skipped
    assert not (await guard.acheck("The bridge.", samples=["A bridge.", "B.", "C."])).skipped


def test_a_function_that_is_not_there_is_told_before_it_costs_an_answer() -> None:
    with pytest.raises(ConfigurationError, match="no_such_module"):
        Guard({"chain": [{"method": "ngram"}], "when": {"call": "no_such_module:check"}})
    step = {"method": "ngram", "when": {"call": "no_such_module:check"}}
    with pytest.raises(ConfigurationError, match="no_such_module"):
        Guard({"chain": [step]})


@needs("litellm")
async def test_a_step_can_be_left_out() -> None:
    chain = [{"method": "ngram"}, {"method": "prompt", "when": {"min_sentences": 5}}]
    guard = Guard({"chain": chain})
    samples = ["The bridge opened in 1932.", "It opened then.", "In 1932 it opened."]
    verdict = await guard.acheck(SHORT, samples=samples, model="openai/simulated")
    ngram, prompt = verdict.steps
    assert ngram.skip_reason is None
    assert prompt.skip_reason is not None
    assert prompt.skip_reason.startswith("prompt: ")
    assert "min_sentences" in prompt.skip_reason
    assert prompt.usage.calls == 0
    assert verdict.sentences[0].by == "ngram"
    assert not verdict.skipped


async def test_where_every_step_is_left_out_nothing_was_checked() -> None:
    guard = Guard({"chain": [{"method": "ngram", "when": {"min_chars": 1000}}]})
    verdict = await guard.acheck(SHORT, samples=["A.", "B.", "C."])
    assert verdict.decision == "skipped"
    assert verdict.reason.startswith("ngram: ")


CODE = "```python\nopened = 1932\n```\n"


@pytest.mark.parametrize("when", [{"checkable": True}, {"max_chars": 10}, {"min_sentences": 2}])
async def test_the_form_of_an_answer_is_no_way_around(when: dict[str, Any]) -> None:
    policy = {"chain": [{"method": "ngram"}], "when": when}
    verdict = await Guard(policy).acheck(CODE, samples=[SHORT] * 3)
    assert verdict.skipped
    assert [stretch.kind for stretch in verdict.unscored] == ["code"]
    assert verdict.reason.endswith("; not scored: 1 code block")
    assert GuardRuntime(Guard(policy)).apply(CODE, verdict).action == "allow"
    assert GuardRuntime(Guard({**policy, "on_unscored": "block"})).apply(CODE, verdict).blocked


async def test_sentences_that_are_left_alone_are_told_and_given() -> None:
    guard = Guard(
        {"chain": [{"method": "ngram"}], "when": {"checkable": True}, "on_unscored": "block"}
    )
    verdict = await guard.acheck("Hello! How can I help you?", samples=[SHORT] * 3)
    assert verdict.skipped
    assert [stretch.kind for stretch in verdict.unscored] == ["sentence", "sentence"]
    assert "not scored" not in verdict.reason
    assert GuardRuntime(guard).apply("Hello! How can I help you?", verdict).action == "allow"


async def test_an_answer_that_is_left_alone_whatever_it_says_is_given() -> None:
    chain = [{"method": "ngram"}]
    guard = Guard({"chain": chain, "when": {"roles": ["tool"]}, "on_unscored": "block"})
    verdict = await guard.acheck(CODE, question=QUESTION, samples=[SHORT] * 3)
    assert (verdict.decision, verdict.unscored) == ("skipped", ())
    assert GuardRuntime(guard).apply(CODE, verdict).action == "allow"


@pytest.mark.parametrize("text", ["", "👍", "🙂🙂", "...", "—", "---", "!!!", "\u200b", "```\n```"])
@pytest.mark.parametrize("streams", [False, True])
async def test_an_answer_without_a_letter_or_digit_claims_nothing(text: str, streams: bool) -> None:
    provider = ScriptedProvider([text] * 6)
    guard = Guard({"chain": ["facts"], "cache": {"store": "none"}}, provider=provider)
    checked = await guard.acheck(text, question="Is it open?", samples=["Yes.", "No.", "Maybe."])
    assert (checked.decision, checked.reason) == ("skipped", "the answer contains no words")
    if streams:
        async with guard.astream("Is it open?") as stream:
            shown = "".join([chunk.text async for chunk in stream])
        answer = stream.answer
        assert shown == text
    else:
        answer = await guard.aask("Is it open?")
    assert (answer.text, answer.verdict.decision) == (text, "skipped")


@pytest.mark.parametrize("text", ["✅", "✗", "<", "→", "€"])
async def test_a_sign_may_be_the_answer(text: str) -> None:
    verdict = await Guard({"chain": ["facts"]}).acheck(text, samples=["Yes.", "No.", "Maybe."])
    assert verdict.decision == "inconclusive"
