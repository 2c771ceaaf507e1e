"""The tree of spans."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from resay import Guard, HallucinationBlocked, ProviderError, Request
from resay.plugins import Completions
from support.otel import Seen
from support.regenerating import DRAFT, QUESTION, Model, Shelf, guard_of

pytestmark = pytest.mark.anyio

SAMPLED = {
    "chain": [{"method": "prompt", "form": "published"}],
    "sampling": {"max": 3, "confidence": None},
    "cache": {"store": "none"},
    "limits": {"retries": 0},
}
CHECKED = {
    (None, "resay.check"),
    ("resay.check", "resay.sample"),
    ("resay.check", "resay.score prompt"),
}


def guarded(provider: Any = None, **policy: Any) -> Guard:
    return Guard({**SAMPLED, **policy}, provider=provider or Model())


class Broken:
    """Fails with words that nobody else may see."""

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        raise ProviderError(f"cannot say: {request.question}")


async def test_a_request_is_one_tree(seen: Seen) -> None:
    answer = await guarded().aask(QUESTION, model="openai/simulated")
    assert seen.edges() == CHECKED
    assert len(seen.named("resay.sample")) == 3
    check = seen.one("resay.check")
    usage = answer.verdict.usage
    assert dict(check.attributes or {}) == {
        "gen_ai.request.model": "openai/simulated",
        "resay.policy": ("prompt",),
        "resay.decision": answer.verdict.decision,
        "resay.action": answer.action,
        "resay.score": answer.verdict.score,
        "resay.samples": 3,
        "resay.calls": usage.calls,
        "resay.tokens": usage.tokens,
        "resay.cost_usd": usage.cost_usd,
        "openinference.span.kind": "GUARDRAIL",
        "evaluations.0.evaluation.name": "hallucination.consistency",
        "evaluations.0.evaluation.score": answer.verdict.score,
        "evaluations.0.evaluation.label": answer.verdict.decision,
        "evaluations.0.evaluation.explanation": answer.verdict.reason,
        "evaluations.0.evaluation.annotator_kind": "CODE",
    }
    assert check.status.status_code is StatusCode.UNSET


async def test_what_a_step_did(seen: Seen) -> None:
    answer = await guarded().aask(QUESTION)
    (record,) = answer.verdict.steps
    assert dict(seen.one("resay.score prompt").attributes or {}) == {
        "resay.method": "prompt",
        "resay.score": record.score,
        "resay.sentences": 3,
        "resay.skipped": False,
        "resay.samples": 3,
        "resay.calls": 9,
        "resay.cost_usd": pytest.approx(0.009),
        "resay.failures": 0,
    }


async def test_what_a_sample_cost(seen: Seen) -> None:
    await guarded().aask(QUESTION, model="openai/simulated")
    for sample in seen.named("resay.sample"):
        assert dict(sample.attributes or {}) == {
            "gen_ai.request.model": "openai/simulated",
            "gen_ai.request.choice.count": 1,
            "resay.samples": 1,
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 5,
            "resay.cost_usd": 0.001,
        }


async def test_samples_drawn_by_a_step_belong_to_the_check(seen: Seen) -> None:
    sampling = {"max": 6, "min": 3, "start": "after", "confidence": 0.99}
    await guarded(sampling=sampling).acheck(DRAFT, question=QUESTION)
    assert seen.edges() == CHECKED


async def test_a_response_that_is_there_already(seen: Seen) -> None:
    await guarded().acheck(DRAFT, samples=["It is not known."] * 5)
    assert seen.edges() == CHECKED - {("resay.check", "resay.sample")}
    assert "resay.action" not in (seen.one("resay.check").attributes or {})


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
async def test_a_stream_is_one_tree(seen: Seen, mode: Any) -> None:
    async with guarded().astream(QUESTION, stream_mode=mode) as stream:
        async for _ in stream:
            pass
    assert seen.edges() == CHECKED
    check = seen.one("resay.check")
    assert (check.attributes or {})["resay.decision"] == stream.answer.verdict.decision
    # While it is held, each sentence is scored by itself.
    assert len(seen.named("resay.score prompt")) == (3 if mode == "hold" else 1)


async def test_a_stream_that_is_left(seen: Seen) -> None:
    async with guarded().astream(QUESTION, stream_mode="after") as stream:
        await anext(stream)
    check = seen.one("resay.check")
    assert (check.attributes or {})["resay.cancelled"] is True
    assert check.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("streams", [False, True])
async def test_repair_is_part_of_the_tree(seen: Seen, streams: bool) -> None:
    guard = guard_of(Model())
    if streams:
        async with guard.astream(QUESTION, stream_mode="hold") as stream:
            async for _ in stream:
                pass
        answer = stream.answer
    else:
        answer = await guard.aask(QUESTION)
    assert answer.regenerated
    assert seen.edges() == CHECKED | {
        ("resay.check", "resay.regenerate"),
        ("resay.regenerate", "resay.retrieve"),
        ("resay.regenerate", "resay.score prompt"),
    }
    assert (seen.named("resay.retrieve")[0].attributes or {})["resay.documents"] == 2
    repaired = seen.one("resay.regenerate").attributes or {}
    record = answer.verdict.regeneration
    assert record is not None
    assert repaired["resay.regenerate.mode"] == "repair"
    assert repaired["resay.regenerate.attempts"] == len(record.attempts) == 1
    assert repaired["resay.regenerate.adopted"] is True
    assert repaired["resay.calls"] == record.attempts[0].usage.calls
    assert (seen.one("resay.check").attributes or {})["resay.action"] == "regenerate"


async def test_samples_of_a_repaired_answer_belong_to_the_repair(seen: Seen) -> None:
    await guard_of(Model(), action={"resample": True}).aask(QUESTION)
    assert ("resay.regenerate", "resay.sample") in seen.edges()


async def test_a_repair_from_samples_says_what_it_took(seen: Seen) -> None:
    guard = guarded(action={"do": "regenerate", "from": "samples"})
    answer = await guard.aask(QUESTION)
    repaired = seen.one("resay.regenerate").attributes or {}
    record = answer.verdict.regeneration
    assert record is not None
    assert repaired["resay.regenerate.attempts"] == len(record.attempts)
    assert repaired["resay.regenerate.adopted"] is answer.regenerated
    assert repaired["resay.decision"] == answer.verdict.decision


async def test_a_search_that_fails(seen: Seen) -> None:
    answer = await guard_of(Model(), Shelf(OSError("Marta Vogel"))).aask(QUESTION)
    assert answer.flagged
    for search in seen.named("resay.retrieve"):
        assert search.status.status_code is StatusCode.ERROR
        assert search.status.description == "OSError"
        assert (search.attributes or {})["error.type"] == "OSError"
        assert not search.events
    assert seen.one("resay.regenerate").status.status_code is StatusCode.UNSET


async def test_a_main_call_that_fails(seen: Seen) -> None:
    with pytest.raises(ProviderError):
        await guarded(Broken()).aask(QUESTION)
    check = seen.one("resay.check")
    assert check.status.status_code is StatusCode.ERROR
    assert check.status.description == "ProviderError"
    assert "resay.decision" not in (check.attributes or {})


async def test_samples_that_fail(seen: Seen) -> None:
    verdict = await guarded(Broken()).acheck(DRAFT, question=QUESTION)
    assert verdict.inconclusive
    samples = seen.named("resay.sample")
    assert samples
    assert {s.status.description for s in samples} == {"ProviderError"}
    assert seen.one("resay.check").status.status_code is StatusCode.UNSET


async def test_an_answer_that_is_withheld_is_no_error(seen: Seen) -> None:
    with pytest.raises(HallucinationBlocked):
        await guarded(action={"do": "block", "exit": "raise"}).aask(QUESTION)
    check = seen.one("resay.check")
    assert check.status.status_code is StatusCode.UNSET
    assert (check.attributes or {})["resay.decision"] == "flagged"
    assert (check.attributes or {})["resay.action"] == "block"


async def test_the_deadline_ends_steps_and_keeps_what_they_cost(seen: Seen) -> None:
    class Silent(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if request.question.startswith("Context:"):
                await anyio.sleep_forever()
            return await super().complete(request, n=n)

    limits = {"retries": 0, "deadline_s": 0.2}
    answer = await guarded(Silent(), limits=limits).aask(QUESTION)
    assert answer.verdict.inconclusive
    step = seen.one("resay.score prompt").attributes or {}
    assert step["resay.cancelled"] is True
    assert step["resay.calls"] == answer.verdict.steps[0].usage.calls > 0
    assert "resay.cancelled" not in (seen.one("resay.check").attributes or {})


async def test_it_hangs_below_the_span_of_the_application(seen: Seen) -> None:
    with trace.get_tracer("app").start_as_current_span("request"):
        await guarded().aask(QUESTION)
        assert trace.get_current_span().get_span_context().is_valid
    assert ("request", "resay.check") in seen.edges()
    assert not trace.get_current_span().get_span_context().is_valid


@pytest.mark.parametrize("streams", [False, True])
def test_the_background_loop_keeps_the_tree(seen: Seen, streams: bool) -> None:
    with trace.get_tracer("app").start_as_current_span("request"):
        if streams:
            with guarded().stream(QUESTION) as stream:
                list(stream)
        else:
            guarded().ask(QUESTION)
    assert seen.edges() == (CHECKED - {(None, "resay.check")}) | {
        (None, "request"),
        ("request", "resay.check"),
    }


async def test_requests_at_the_same_time_do_not_mix(seen: Seen) -> None:
    guard = guarded(sampling={"max": 4, "min": 2, "confidence": 0.99})
    app = trace.get_tracer("app")

    async def request(model: str) -> None:
        with app.start_as_current_span(f"request {model}"):
            await guard.aask(QUESTION, model=model)

    models = [f"openai/{i}" for i in range(5)]
    async with anyio.create_task_group() as tasks:
        for model in models:
            tasks.start_soon(request, model)
    assert len({span.context.trace_id for span in seen.spans}) == len(models)
    for model in models:
        root = seen.one(f"request {model}")
        ours = [s for s in seen.spans if s.context.trace_id == root.context.trace_id]
        call_spans = [s for s in ours if "gen_ai.request.model" in (s.attributes or {})]
        assert {(s.attributes or {})["gen_ai.request.model"] for s in call_spans} == {model}
        assert sum(s.name == "resay.check" for s in ours) == 1
        assert sum(s.name == "resay.sample" for s in ours) >= 2
        for span in ours:
            seen.parent(span)
