"""What those hear who hear of every run, whatever callbacks a call is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any
from unittest.mock import MagicMock

import langsmith
import pytest
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.globals import set_debug
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tracers.context import register_configure_hook, tracing_v2_enabled
from opentelemetry import trace

from resay_langchain import GuardedChatModel
from support.langchain import MADE_UP, MESSAGE, PATIENT, REPLACE, Recorder
from support.otel import Seen, forget_providers

pytestmark = pytest.mark.anyio

# Nothing but the policy's message is ever shown.
BLOCKING = {"action": REPLACE["action"], "stream_mode": "buffer"}
WITHHELD = REPLACE | BLOCKING
GUARDED, ANSWERED = "GuardedChatModel", "ChatOpenAI"

_everywhere: ContextVar[BaseCallbackHandler | None] = ContextVar("everywhere", default=None)
register_configure_hook(_everywhere, inheritable=True)


class Spans(Recorder):
    """Opens a span for each run, and keeps it as OpenInference does: in no context."""

    def __init__(self) -> None:
        super().__init__()
        self._spans: dict[Any, trace.Span] = {}

    def _add(self, run_id: Any, kwargs: dict[str, Any], name: str) -> None:
        super()._add(run_id, kwargs, name)
        self._spans[run_id] = trace.get_tracer("runs").start_span(name)

    def get_span(self, run_id: Any) -> trace.Span | None:
        return self._spans.get(run_id)

    def on_chain_end(self, outputs: Any, *, run_id: Any, **kwargs: Any) -> None:
        self._spans.pop(run_id).end()

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:
        super().on_llm_end(response, run_id=run_id, **kwargs)
        self._spans.pop(run_id).end()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    forget_providers(monkeypatch)
    seen = Seen()
    yield seen
    seen.close()


def hooked(handler: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a handler to all runs in LangChain's own way."""
    del monkeypatch
    _everywhere.set(handler)


def instrumented(handler: Spans, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a handler to all runs as OpenInference does."""
    made = BaseCallbackManager.__init__

    def make(self: BaseCallbackManager, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        if not any(isinstance(known, Spans) for known in self.inheritable_handlers):
            self.add_handler(handler, True)

    monkeypatch.setattr(BaseCallbackManager, "__init__", make)


async def asked(way: str, model: GuardedChatModel) -> None:
    if way == "invoke":
        model.invoke(MADE_UP)
    elif way == "ainvoke":
        await model.ainvoke(MADE_UP)
    elif way == "stream":
        list(model.stream(MADE_UP))
    else:
        _ = [chunk async for chunk in model.astream(MADE_UP)]


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize("install", [hooked, instrumented])
async def test_nobody_hears_of_the_draft(make_model, monkeypatch, seen, way, install):
    everywhere = Spans()
    install(everywhere, monkeypatch)
    # Natively the samples are runs, and tell themselves from the answer.
    policy = WITHHELD | {"sampling": {"max": 3, "via": "native"}}
    await asked(way, GuardedChatModel(make_model(), policy))
    runs = everywhere.runs
    assert [run.name for run in runs.values() if run.parent is None] == [GUARDED]
    known = [run for run in runs.values() if not any(t.startswith("resay:") for t in run.tags)]
    assert [run.name for run in known] == [GUARDED, ANSWERED]
    (answer,) = everywhere.named(ANSWERED)
    assert everywhere.messages[answer].text == MESSAGE
    assert seen.one("resay.check").parent.span_id == seen.one(GUARDED).context.span_id


class Asking(BaseChatModel):
    """Asks another model, without telling it of callbacks."""

    inner: BaseChatModel
    said: Any

    @property
    def _llm_type(self) -> str:
        return "asking"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._said(self.inner.invoke(messages))

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._said(await self.inner.ainvoke(messages))

    def _said(self, message):
        self.said.append(message.text)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def test_nor_of_what_a_model_asks_on_its_way(make_model, ask):
    handler, said = Recorder(), []
    model = GuardedChatModel(Asking(inner=make_model(), said=said), PATIENT | BLOCKING)
    await ask(model, MADE_UP, {"callbacks": [handler]})
    (answer,) = handler.named("Asking")
    assert handler.messages[answer].text == MESSAGE
    heard = [message.text for message in handler.messages.values()]
    assert said[1] in heard
    assert said[0] not in heard


def debugging(capsys: pytest.CaptureFixture[str], call: Callable[[], Any]) -> list[str]:
    set_debug(True)
    try:
        call()
    finally:
        set_debug(False)
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if "/start]" in line and ":resay:" not in line]


def traced(call: Callable[[], Any]) -> list[str]:
    client = MagicMock(spec=langsmith.Client)
    client.tracing_queue = None
    with tracing_v2_enabled(client=client):
        call()
    runs = [told.kwargs for told in client.create_run.call_args_list]
    return [run["name"] for run in runs if not run["name"].startswith("resay:")]


async def test_debugging_and_langsmith_hear_what_callbacks_hear(make_model, capsys):
    policy = WITHHELD | {"sampling": {"max": 3, "via": "native"}}
    model = GuardedChatModel(make_model(), policy)

    def call() -> None:
        assert model.invoke(MADE_UP).text == MESSAGE

    assert len(debugging(capsys, call)) == 2
    assert traced(call) == [GUARDED, ANSWERED]
