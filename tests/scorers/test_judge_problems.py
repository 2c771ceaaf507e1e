"""What verdicts say of judges that could not be used: a guard, with judges that fail over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from resay import Guard, Request, Verdict
from resay.plugins import Completion, Completions
from resay.testing import (
    Fault,
    Garbled,
    Refused,
    ScriptedProvider,
    ServerError,
    SimulatedProvider,
    Slow,
)

QUESTION = "Tell me about the Garmo bridge."
ANSWER = "The plans of the Garmo bridge are by Ada Moor. It opened in 1932."
DOCUMENTS = ["The Garmo bridge opened in 1932. Ada Moor drew it."]
SAMPLES = [f"Ada Moor drew the Garmo bridge, which has {count} arches." for count in (3, 4, 5)]
CONVERSATION: list[dict[str, Any]] = [
    {"role": "user", "content": "Who drew the Garmo bridge?"},
    {"role": "assistant", "content": "The plans of the Garmo bridge are by Tom Finch."},
    {"role": "user", "content": QUESTION},
]
CALLS: list[dict[str, Any]] = [
    {"role": "user", "content": QUESTION},
    {
        "role": "assistant",
        "tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "nothing"},
]
# The first step of a chain, and what the answer is checked with.
BY_DOCUMENTS = {"method": "prompt", "evidence": "documents"}, {"references": DOCUMENTS}
BY_CONVERSATION = {"method": "prompt", "evidence": "conversation"}, {"question": CONVERSATION}
BY_REFERENCES = {"method": "references"}, {"references": DOCUMENTS}
BY_SAMPLES = {"method": "prompt"}, {"samples": SAMPLES}
BY_PUBLISHED = {"method": "prompt", "form": "published"}, {"samples": SAMPLES}
BY_TASK = (
    {"method": "prompt", "task": "definition", "term": "Garmo bridge"},
    {"references": DOCUMENTS},
)
BY_CALLS = {"method": "actions"}, {"question": CALLS}
SEMANTIC = {"method": "semantic", "by": "judge"}, {"samples": SAMPLES}
WITHOUT_EVIDENCE = [
    ({"method": name}, {})
    for name in (
        "cross_examination",
        "direct_question",
        "fibe",
        "p_true",
        "reverse_validation",
        "zero_shot",
    )
]
# These leave claims open, and say so without an error of their own.
SILENT = [BY_DOCUMENTS, BY_CONVERSATION, BY_REFERENCES]
ALL = [*SILENT, BY_SAMPLES, BY_PUBLISHED, BY_TASK, BY_CALLS, SEMANTIC, *WITHOUT_EVIDENCE]
# Nothing listens at this port.
NOWHERE = "http://127.0.0.1:9/v1"
KEY = "sk-very-secret"


def name_of(case: Any) -> str:
    step, _ = case
    return "-".join(str(value) for value in step.values())


def policy_of(step: dict[str, Any], url: str, **params: Any) -> dict[str, Any]:
    judge = {"model": "acme/judge", "params": {"api_base": url, "api_key": KEY, **params}}
    return {
        "chain": [{**step, "judge": judge}],
        "cache": {"store": "none"},
        "limits": {"retries": 0},
    }


def checked(case: Any, url: str, **params: Any) -> Verdict:
    step, inputs = case
    if step["method"] == "reverse_validation":
        inputs = {**inputs, "entity": "Garmo bridge"}
    guard = Guard(policy_of(step, url, **params), model="acme/writer")
    verdict = guard.check(ANSWER, **{"question": QUESTION, **inputs})
    assert KEY not in verdict.to_json()
    return verdict


@pytest.fixture
def failing() -> Iterator[Any]:
    servers: list[SimulatedProvider] = []

    def start(*faults: Fault, **settings: Any) -> str:
        server = SimulatedProvider(faults=faults, **settings)
        servers.append(server)
        return server.__enter__().base_url

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.mark.parametrize("case", SILENT, ids=name_of)
@pytest.mark.parametrize("style", ["prose", "empty"])
def test_an_answer_that_cannot_be_read_is_said_to_be_so(
    failing: Any, case: Any, style: Any
) -> None:
    url = failing(Garbled(style, restated=True, only="any"))
    verdict = checked(case, url)
    assert verdict.inconclusive
    problem = "the answer of the judge 'acme/judge' could not be read"
    assert re.search(
        rf"could not be (scored|compared with the references); {problem}$", verdict.reason
    )
    assert verdict.steps[0].undetermined > 0


@pytest.mark.parametrize("case", ALL, ids=name_of)
def test_an_answer_that_the_token_limit_cut_off_says_which_setting_raises_it(
    failing: Any, case: Any
) -> None:
    verdict = checked(case, failing(Garbled(restated=True, only="any")), max_tokens=2)
    cut = "the answer of the judge 'acme/judge' was cut off by the token limit"
    assert f"{cut}; set a larger `max_tokens` in its `params`" in verdict.reason
    assert "read" not in verdict.reason
    assert "neither" not in verdict.reason


def test_the_limit_that_is_named_is_the_one_that_the_policy_sets(failing: Any) -> None:
    verdict = checked(BY_DOCUMENTS, failing(), max_completion_tokens=2)
    assert verdict.reason.endswith("set a larger `max_completion_tokens` in its `params`")
    assert not checked(BY_DOCUMENTS, failing(), max_completion_tokens=500).inconclusive


@pytest.mark.parametrize(
    ("finish_reason", "problem"),
    [("content_filter", "was cut off (content_filter)"), ("stop", "could not be read")],
)
def test_what_no_limit_cut_off_is_not_said_to_need_a_larger_one(
    finish_reason: str, problem: str
) -> None:
    class Ending:
        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            return Completions((Completion("Well,", finish_reason=finish_reason),))

    guard = Guard({"chain": [BY_DOCUMENTS[0]], "cache": {"store": "none"}}, provider=Ending())
    verdict = guard.check(ANSWER, question=QUESTION, references=DOCUMENTS)
    assert verdict.reason.endswith(f"; the answer of the judge {problem}")


def test_an_answer_that_leaves_a_claim_out_is_said_to_be_readable_in_part() -> None:
    first = '[{"claim": 1, "supported_by": [1], "quotes": ["Ada Moor"]}]'
    guard = Guard(
        {"chain": [BY_DOCUMENTS[0]], "cache": {"store": "none"}},
        provider=ScriptedProvider(lambda request: first),
        model="m",
    )
    verdict = guard.check(ANSWER, question=QUESTION, references=DOCUMENTS)
    assert verdict.reason == (
        "1 of 2 sentences could not be scored; the answer of the judge 'm' could be read only in"
        " part"
    )


@pytest.mark.parametrize("case", ALL, ids=name_of)
def test_a_judge_whose_server_is_down_is_named_and_why(case: Any) -> None:
    verdict = checked(case, NOWHERE)
    problem = "the judge 'acme/judge' cannot be reached: nothing listens at 127.0.0.1:9; start the"
    assert verdict.reason.count(problem) == 1
    assert verdict.reason.count("cannot be reached") == 1


@pytest.mark.parametrize("case", ALL, ids=name_of)
def test_a_judge_whose_server_fails_is_named(failing: Any, case: Any) -> None:
    verdict = checked(case, failing(ServerError(status=503)))
    assert "the judge 'acme/judge' failed" in verdict.reason
    assert verdict.reason.count("HTTP 503") == 1


def test_a_key_that_the_judge_refuses_is_its_and_is_not_shown(failing: Any) -> None:
    verdict = checked(BY_CALLS, failing(Refused(status=401)))
    assert "the judge 'acme/judge' failed at http://127.0.0.1:" in verdict.reason
    assert verdict.reason.endswith("(HTTP 401); check the API key")


def test_a_judge_that_takes_too_long_is_named(failing: Any) -> None:
    verdict = checked(BY_DOCUMENTS, failing(Slow(5.0)), timeout=0.2)
    assert verdict.reason.endswith("; the judge 'acme/judge' did not answer in time")


def compared(url: str, **limits: Any) -> Verdict:
    """Compare with samples by a judge, as the default policy does."""
    policy = policy_of({"method": "prompt"}, url)
    policy["limits"] |= limits
    with Guard(policy, model="acme/writer") as guard:
        return guard.check(ANSWER, question=QUESTION, samples=SAMPLES)


def test_a_judge_of_samples_that_is_not_read_is_counted_by_calls_and_has_a_remedy(
    failing: Any,
) -> None:
    verdict = compared(failing(Garbled("prose", restated=True, only="any")))
    assert verdict.inconclusive
    comparisons = len(SAMPLES) * len(verdict.sentences)
    assert verdict.usage.calls == 2
    assert verdict.reason == (
        f"prompt: {comparisons} of {comparisons} comparisons could not be read in 2 calls of the"
        " judge; name a larger model as the `judge`, or use `chain: [facts]`, which asks none"
    )


def test_the_setting_that_gives_a_slow_judge_more_time_is_named(failing: Any) -> None:
    verdict = compared(failing(Slow(5.0)), timeout_s=0.2)
    assert "comparisons failed (ProviderTimeoutError x1); " in verdict.reason
    assert verdict.reason.endswith("did not answer in time; raise `limits.timeout_s`")


@pytest.mark.parametrize("ask", ["verification", "samples"])
def test_a_second_model_that_is_down_is_named_once(ask: str) -> None:
    second = {
        "model": "acme/second",
        "ask": ask,
        "params": {"api_base": NOWHERE, "api_key": KEY},
    }
    policy = {"chain": ["facts"], "second_opinion": second, "limits": {"retries": 0}}
    guard = Guard(policy, model="acme/writer")
    verdict = guard.check(SAMPLES[0], question=QUESTION, samples=SAMPLES)
    missing = "no second opinion: 'acme/second' cannot be reached: nothing listens at 127.0.0.1:9;"
    assert missing in verdict.reason
    assert verdict.reason.count("acme/second") == 1


def test_a_judge_that_is_down_is_named_where_other_evidence_decides(failing: Any) -> None:
    policy = policy_of(BY_DOCUMENTS[0], NOWHERE)
    policy["chain"].append("facts")
    guard = Guard(policy, model="simulated", api_base=failing(), api_key="x")
    answer = guard.ask("When was the Eiffel Tower completed?")
    assert not answer.verdict.inconclusive
    verdict = guard.check(ANSWER, question=QUESTION, samples=SAMPLES, references=DOCUMENTS)
    assert verdict.claims[0].by == "facts"
    assert "the judge 'acme/judge' cannot be reached" in verdict.reason


def test_a_stream_says_once_what_every_sentence_met(failing: Any) -> None:
    policy = policy_of(BY_DOCUMENTS[0], failing(Garbled(restated=True, only="any")))
    provider_url = failing()
    guard = Guard(policy, model="simulated", api_base=provider_url, api_key="x")
    documents = "\n\n".join([*DOCUMENTS, "The Eiffel Tower was completed in 1889."])
    messages = [
        {"role": "system", "content": f"<documents>\n{documents}\n</documents>"},
        {"role": "user", "content": "Tell me about the Eiffel Tower."},
    ]
    stream = guard.stream(messages)
    for _ in stream:
        pass
    verdict = stream.answer.verdict
    assert len(verdict.sentences) > 1
    assert verdict.reason.count("the answer of the judge 'acme/judge' could not be read") == 1


def test_questions_that_the_budget_does_not_allow_are_not_the_judge_s_fault() -> None:
    policy = {
        "chain": [BY_PUBLISHED[0]],
        "limits": {"calls": 2},
        "cache": {"store": "none"},
    }
    guard = Guard(policy, provider=ScriptedProvider(lambda request: "Yes"), model="m")
    verdict = guard.check(ANSWER, question=QUESTION, samples=SAMPLES)
    assert verdict.inconclusive
    assert "the judge" not in verdict.reason


def test_an_error_of_a_provider_is_named_by_its_type_alone() -> None:
    def scold(request: Request) -> str:
        raise RuntimeError(f"quotes {request.question}")

    guard = Guard(
        {"chain": [BY_DOCUMENTS[0]], "cache": {"store": "none"}},
        provider=ScriptedProvider(scold),
        model="m",
    )
    verdict = guard.check(ANSWER, question=QUESTION, references=DOCUMENTS)
    assert verdict.reason.endswith("; the judge 'm' failed (RuntimeError)")
