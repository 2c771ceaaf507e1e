"""What is told at the end of a check: the event, the metrics, the log record."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from resay import (
    Guard,
    HallucinationBlocked,
    ProviderError,
    Request,
    Usage,
    __version__,
    request_id,
)
from resay.plugins import Completion, Completions
from support.otel import Seen
from support.regenerating import DRAFT, MADE_UP, QUESTION, Model

pytestmark = pytest.mark.anyio

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SAMPLES = ("Nothing.", "Nobody knows.", "Ask again.")
POLICY: Mapping[str, Any] = {
    "chain": [{"method": "prompt", "form": "published"}],
    "sampling": {"max": 3, "confidence": None},
    "cache": {"store": "none"},
}


def guarded(provider: Any = None, **policy: Any) -> Guard:
    return Guard({**POLICY, **policy}, provider=provider or Model())


class Named(Model):
    """Answers as an API does: with a response that has an id and names its model."""

    def __init__(self, raw: object, *, price: float | None = 0.001) -> None:
        super().__init__()
        self._raw = raw
        self._price = price

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        text = (await super().complete(request, n=n)).first.text
        return Completions((Completion(text, raw=self._raw),), Usage(1, 10, 5, self._price))


class Response:
    id = "chatcmpl-7"
    model = "simulated"


async def test_the_event_is_that_of_the_conventions(seen: Seen) -> None:
    guard = guarded(Named(Response()))
    answer = await guard.aask(QUESTION)
    (event,) = seen.events
    record = event.log_record
    assert record.event_name == "gen_ai.evaluation.result"
    assert dict(record.attributes or {}) == {
        "gen_ai.evaluation.name": "hallucination.consistency",
        "gen_ai.evaluation.score.value": answer.verdict.score,
        "gen_ai.evaluation.score.label": "flagged",
        "gen_ai.evaluation.explanation": answer.verdict.reason,
        "gen_ai.response.id": "chatcmpl-7",
        "gen_ai.evaluation.evaluator.id": "resay",
        "gen_ai.evaluation.evaluator.version": __version__,
        "resay.policy": ("prompt",),
        "resay.policy.name": "unnamed",
        "resay.policy.version": guard.policy.digest,
    }
    check = seen.one("resay.check")
    assert record.trace_id == check.context.trace_id
    assert record.span_id == check.context.span_id
    assert (check.attributes or {})["gen_ai.response.id"] == "chatcmpl-7"


DRAFTS = "RESAY_OTEL_DRAFTS"


async def test_the_draft_for_guardrails_is_followed_where_it_is_asked_for(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DRAFTS, "guardrail")
    guard = guarded()
    answer = await guard.aask(QUESTION)
    identity = {
        "gen_ai.guardrail.component.name": "resay",
        "gen_ai.guardrail.policy.id": "unnamed",
        "gen_ai.guardrail.policy.version": guard.policy.digest,
        "gen_ai.guardrail.source": "output",
    }
    evaluation, guardrail = seen.events
    assert evaluation.log_record.event_name == "gen_ai.evaluation.result"
    record = guardrail.log_record
    assert record.event_name == "gen_ai.guardrail.result"
    assert dict(record.attributes or {}) == {
        **identity,
        "gen_ai.guardrail.result.type": "action",
        "gen_ai.guardrail.result.value": "annotate",
        "gen_ai.guardrail.result.reason": answer.verdict.reason,
        "gen_ai.guardrail.risk.category": "hallucination.consistency",
        "gen_ai.guardrail.risk.score": answer.verdict.score,
    }
    span = seen.one("apply_guardrail resay")
    assert dict(span.attributes or {}) == {
        **identity,
        "gen_ai.operation.name": "apply_guardrail",
        "gen_ai.guardrail.result.type": "decision",
        "gen_ai.guardrail.result.value": "flagged",
        "gen_ai.guardrail.result.reason": answer.verdict.reason,
    }
    assert record.span_id == seen.one("resay.check").context.span_id
    assert ("resay.check", "apply_guardrail resay") in seen.edges()
    assert ("apply_guardrail resay", "resay.score prompt") in seen.edges()
    assert MADE_UP not in span.to_json()


async def test_what_is_only_checked_has_no_action(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DRAFTS, "other, guardrail")
    await guarded().acheck(DRAFT, samples=SAMPLES)
    attributes = seen.events[1].log_record.attributes or {}
    assert attributes["gen_ai.guardrail.result.type"] == "decision"
    assert attributes["gen_ai.guardrail.result.value"] in ("flagged", "consistent", "inconclusive")


@pytest.mark.parametrize("value", ["", "guardrails", "no"])
async def test_otherwise_no_draft_is_followed(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(DRAFTS, value)
    await guarded().aask(QUESTION)
    assert [event.log_record.event_name for event in seen.events] == ["gen_ai.evaluation.result"]
    assert not seen.named("apply_guardrail resay")


def test_policies_with_other_settings_have_another_version() -> None:
    first, same, other = (
        Guard(policy).policy.digest
        for policy in (POLICY, dict(POLICY), {**POLICY, "threshold": 0.4})
    )
    assert first == same != other
    nested = {**POLICY, "chain": [{"method": "prompt", "form": "claims"}]}
    assert Guard(nested).policy.digest != first
    assert len(first) == 12


class Run:
    id = "run-1"


@pytest.mark.parametrize(
    ("raw", "known"),
    [
        ({"id": "msg_1", "model": "m"}, "msg_1"),
        ((Response(), Response()), "chatcmpl-7"),
        ({"id": 7, "model": "m"}, None),
        (Run(), None),
        ((), None),
        (None, None),
    ],
)
async def test_only_a_response_has_its_id(seen: Seen, raw: object, known: str | None) -> None:
    await guarded(Named(raw)).aask(QUESTION)
    assert (seen.events[0].log_record.attributes or {}).get("gen_ai.response.id") == known


async def test_a_check_without_a_score_says_so(seen: Seen) -> None:
    verdict = await guarded().acheck(DRAFT, samples=["Same.", "Same."])
    attributes = seen.events[0].log_record.attributes or {}
    assert verdict.inconclusive
    assert attributes["gen_ai.evaluation.score.label"] == "inconclusive"


async def test_what_is_skipped_was_not_evaluated(seen: Seen) -> None:
    assert (await guarded().acheck("  ", samples=["Same."])).skipped
    assert not seen.events
    assert (seen.one("resay.check").attributes or {})["resay.decision"] == "skipped"
    assert seen.points("resay.verdicts")[0].attributes == {"resay.decision": "skipped"}


@pytest.mark.parametrize("value", ["true", " True ", "event_only", "SPAN_AND_EVENT"])
async def test_flagged_sentences_are_shown_to_who_asks(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(CAPTURE, value)
    await guarded().aask(QUESTION)
    attributes = seen.events[0].log_record.attributes or {}
    assert attributes["resay.flagged_sentences"] == (MADE_UP,)
    assert MADE_UP not in "".join(span.to_json() for span in seen.spans)


@pytest.mark.parametrize("value", ["", "false", "span_only", "no_content", "1"])
async def test_and_to_nobody_else(seen: Seen, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(CAPTURE, value)
    await guarded().aask(QUESTION)
    assert "resay.flagged_sentences" not in (seen.events[0].log_record.attributes or {})


async def test_the_metrics_count_what_verdicts_say(seen: Seen) -> None:
    guard = guarded()
    answer = await guard.aask(QUESTION, model="openai/a")
    verdict = await guard.acheck(DRAFT, samples=SAMPLES, model="openai/a")
    points = {p.attributes.get("resay.action"): p for p in seen.points("resay.verdicts")}
    attributes = {"gen_ai.request.model": "openai/a", "resay.decision": "flagged"}
    assert {name: p.value for name, p in points.items()} == {"annotate": 1, None: 1}
    assert points["annotate"].attributes == {**attributes, "resay.action": "annotate"}
    assert points[None].attributes == attributes
    duration = {
        p.attributes.get("resay.action"): (p.count, p.sum)
        for p in seen.points("resay.check.duration")
    }
    assert duration["annotate"] == (1, answer.verdict.elapsed_s)
    assert duration[None] == (1, verdict.elapsed_s)
    spent = answer.verdict.usage + verdict.usage
    for name, value in (("calls", spent.calls), ("tokens", spent.tokens)):
        (point,) = seen.points(f"resay.{name}")
        assert (point.value, point.attributes) == (value, {"gen_ai.request.model": "openai/a"})
    (point,) = seen.points("resay.cost_usd")
    assert point.value == pytest.approx(spent.cost_usd)


async def test_an_unknown_price_is_not_counted_as_nothing(seen: Seen) -> None:
    await guarded(Named(None, price=None)).aask(QUESTION)
    assert not seen.points("resay.cost_usd")
    assert seen.points("resay.calls")


async def test_a_failure_is_no_verdict(seen: Seen) -> None:
    class Broken(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            raise ProviderError("no")

    with pytest.raises(ProviderError):
        await guarded(Broken(), limits={"retries": 0}).aask(QUESTION, model="openai/a")
    assert not seen.points("resay.verdicts")
    assert not seen.events
    (point,) = seen.points("resay.check.duration")
    assert (point.count, point.attributes) == (
        1,
        {"error.type": "ProviderError", "gen_ai.request.model": "openai/a"},
    )


async def test_a_withheld_answer_is_a_verdict(seen: Seen) -> None:
    with pytest.raises(HallucinationBlocked):
        await guarded(action={"do": "block", "exit": "raise"}).aask(QUESTION)
    (point,) = seen.points("resay.verdicts")
    assert point.attributes == {"resay.decision": "flagged", "resay.action": "block"}
    (point,) = seen.points("resay.check.duration")
    assert "error.type" not in point.attributes


def records(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.name == "resay"]


async def test_one_log_record_for_each_check(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "resay")
    answer = await guarded().aask(QUESTION, model="openai/a")
    (record,) = records(caplog)
    verdict = answer.verdict
    assert record["levelname"] == "INFO"
    assert {
        "model": "openai/a",
        "policy": ["prompt"],
        "decision": "flagged",
        "action": "annotate",
        "score": verdict.score,
        "samples": 3,
        "calls": verdict.usage.calls,
        "tokens": verdict.usage.tokens,
        "cost_usd": verdict.usage.cost_usd,
        "elapsed_s": verdict.elapsed_s,
    }.items() <= record.items()
    # Formatters may name it whether it is set or not.
    assert record["request_id"] is None
    assert caplog.messages == [
        f"flagged, annotate: {verdict.reason}; {verdict.usage.calls} calls in"
        f" {verdict.elapsed_s:.2f} s"
    ]


async def test_no_log_record_where_nobody_reads_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "resay")
    await guarded().aask(QUESTION)
    assert not records(caplog)


def test_the_log_names_the_request(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "resay")
    token = request_id.set("r-17")
    try:
        # On another thread.
        guarded().check(DRAFT, samples=["Nothing."])
    finally:
        request_id.reset(token)
    guarded().check(DRAFT, samples=["Nothing."])
    assert [record["request_id"] for record in records(caplog)] == ["r-17", None]


def test_records_of_the_application_keep_their_fields(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "resay")
    plain = logging.getLogRecordFactory()

    def factory(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = plain(*args, **kwargs)
        record.request_id = "the application's"
        return record

    logging.setLogRecordFactory(factory)
    token = request_id.set("r-17")
    try:
        guarded().check(DRAFT, samples=["Nothing."])
    finally:
        request_id.reset(token)
        logging.setLogRecordFactory(plain)
    assert [record["request_id"] for record in records(caplog)] == ["the application's"]
