"""What tracers see: sample calls are calls of their own, and nothing is patched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest
from openai.resources.chat.completions import AsyncCompletions, Completions
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from resay_openai import GuardedOpenAI, verdict_of
from support.known_world import MADE_UP

pytestmark = pytest.mark.anyio

JUDGED = {
    "cache": {"store": "none"},
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": 3, "confidence": None},
}
ASKED: Any = [{"role": "user", "content": MADE_UP}]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Wraps the SDK's methods as OpenTelemetry's instrumentation does, with its SDK."""
    exporter = InMemorySpanExporter()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = tracing.get_tracer("test")
    create, acreate = Completions.create, AsyncCompletions.create

    def attributes(kwargs: dict[str, Any]) -> dict[str, Any]:
        return {"gen_ai.request.choice.count": kwargs.get("n") or 1}

    @wraps(create)
    def traced(*args: Any, **kwargs: Any) -> Any:
        with tracer.start_as_current_span("chat", attributes=attributes(kwargs)):
            return create(*args, **kwargs)

    @wraps(acreate)
    async def atraced(*args: Any, **kwargs: Any) -> Any:
        with tracer.start_as_current_span("chat", attributes=attributes(kwargs)):
            return await acreate(*args, **kwargs)

    monkeypatch.setattr(Completions, "create", traced)
    monkeypatch.setattr(AsyncCompletions, "create", atraced)
    yield exporter
    tracing.shutdown()


async def test_each_call_has_a_span_of_its_own(spans, make, done, provider) -> None:
    client = make(JUDGED)
    answer = await done(client.chat.completions.create(model="simulated", messages=ASKED))
    assert verdict_of(answer).flagged
    finished = spans.get_finished_spans()
    assert len(finished) == len(provider.requests) > 2
    (main,) = [span for span in finished if span.parent is None]
    assert all(span.parent is None or span.parent.span_id == main_id(main) for span in finished)
    counted = [span.attributes.get("gen_ai.request.choice.count") for span in finished]
    assert counted.count(3) == 1


async def test_wrappers_that_pass_for_what_they_wrap_see_each_call(
    make, done, provider, monkeypatch
) -> None:
    wrapt = pytest.importorskip("wrapt", reason="comes with tracers")
    seen: list[Any] = []

    def counting(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
        seen.append(kwargs["messages"])
        return wrapped(*args, **kwargs)

    for kind in (Completions, AsyncCompletions):
        monkeypatch.setattr(kind, "create", wrapt.FunctionWrapper(kind.create, counting))
    answer = await done(make(JUDGED).chat.completions.create(model="simulated", messages=ASKED))
    assert verdict_of(answer).flagged
    assert len(seen) == len(provider.requests) > 2


def main_id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


@pytest.mark.filterwarnings("ignore:langsmith.wrappers._openai_agents is deprecated")
def test_wrappers_of_one_client_see_its_samples(provider) -> None:
    langsmith = pytest.importorskip("langsmith", reason="comes with langchain-core")
    from langsmith.wrappers import wrap_openai

    seen: list[Any] = []

    class Remembering(langsmith.Client):
        """Keeps what LangSmith's own client sends."""

        def create_run(self, *_: Any, **kwargs: Any) -> None:
            seen.append(kwargs)

        def update_run(self, *_: Any, **kwargs: Any) -> None:
            pass

    tracer = Remembering("http://127.0.0.1:9", api_key="k", auto_batch_tracing=False)
    with GuardedOpenAI(policy=JUDGED, base_url=provider.base_url, api_key="k") as client:
        traced = wrap_openai(client, tracing_extra={"client": tracer})
        with langsmith.tracing_context(enabled=True):
            answer = traced.chat.completions.create(model="simulated", messages=ASKED)
    assert verdict_of(answer).flagged
    assert len(seen) == len(provider.requests) > 2


def test_nothing_is_patched() -> None:
    script = """
import openai
from openai.resources.chat.completions import AsyncCompletions, Completions
before = [vars(openai.OpenAI).copy(), vars(openai.AsyncOpenAI).copy(), vars(Completions).copy()]
import resay_openai
client = resay_openai.GuardedOpenAI(policy={"chain": [{"method": "ngram"}]}, api_key="k")
after = [vars(openai.OpenAI).copy(), vars(openai.AsyncOpenAI).copy(), vars(Completions).copy()]
print(before == after, type(openai.OpenAI(api_key="k")).__name__)
"""
    run = [sys.executable, "-c", script]
    told = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    assert told.split() == ["True", "OpenAI"]


def test_methods_are_those_of_the_sdk(provider) -> None:
    with GuardedOpenAI(policy=JUDGED, base_url=provider.base_url, api_key="k") as client:
        assert type(client.chat.completions) is Completions
