"""The runs inside a guarded call, as callbacks and tracing see them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import anyio
from langchain_core.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForLLMRun,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForChainRun,
    CallbackManagerForLLMRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import RunnableConfig, ensure_config, patch_config
from langchain_core.runnables.config import var_child_runnable_config

from resay import Document as NamedText
from resay import HallucinationBlocked, Request
from resay.adapters import TraceContext, marked, named_text, trace_context_of, use_trace_context
from resay.adapters.threads import CallStyle
from resay.plugins import Completion, Completions, Layer, Provider

VERDICT_EVENT = "resay_verdict"
"""The name of the custom event that carries the verdict on every answer."""
SAMPLE = "resay:sample"
JUDGE = "resay:judge"
RETRIEVAL = "resay:retrieval"
# LangGraph leaves runs with this tag out of its streams of messages.
_NO_STREAM = "nostream"
Manager: TypeAlias = CallbackManager | AsyncCallbackManager
RunManager: TypeAlias = (
    CallbackManagerForChainRun
    | AsyncCallbackManagerForChainRun
    | CallbackManagerForLLMRun
    | AsyncCallbackManagerForLLMRun
)


class Runs:
    """Creates the child runs of one guarded call.

    Handlers that feed a stream (`astream_events`, `astream_log`, LangGraph's stream modes) do not
    see samples, judges and searches; tracers and other callbacks do.

    Args:
        run_manager: The guarded call's own run.
        config: The configuration of the guarded call.
    """

    def __init__(self, run_manager: RunManager | None, config: RunnableConfig | None) -> None:
        self.child = _child_of(run_manager)
        self._config = ensure_config(config)
        self._trace_context = _trace_context_of(run_manager)
        self.handlers: Sequence[BaseCallbackHandler] = (
            run_manager.inheritable_handlers if run_manager else ()
        )

    @contextmanager
    def around(self) -> Generator[None]:
        """Run the guard's work: guards inside this context are disabled.

        Runs inside it without their own configuration are searches for parts of a draft, which no
        stream may show.
        """
        config = patch_config(self._config, callbacks=self.manager(RETRIEVAL))
        token = var_child_runnable_config.set(config)
        try:
            with use_trace_context(self._trace_context), marked():
                yield
        finally:
            var_child_runnable_config.reset(token)

    def plain(self) -> RunnableConfig:
        """Return a configuration for runs that no handler may see, not even global ones."""
        return patch_config(self._config, callbacks=_NoHandlers())  # pyright: ignore[reportArgumentType] - a list is accepted too

    async def dispatch_verdict(self, style: CallStyle, verdict: dict[str, Any]) -> None:
        """Dispatch the event that carries a verdict, if there is a run to attach it to."""
        manager = self.child()
        if manager.parent_run_id is not None:
            config = patch_config(self._config, callbacks=manager)
            dispatch = dispatch_custom_event if style.blocking else adispatch_custom_event
            await style.call(dispatch, VERDICT_EVENT, verdict, config=config)

    def main(self, handler: BaseCallbackHandler, *, hidden: bool) -> RunnableConfig:
        """Return the configuration of the run that writes the answer.

        Args:
            handler: A further handler of the run.
            hidden: Whether to hide it from streams, because the answer may be withheld.
        """
        manager = self.child()
        if hidden:
            _hide(manager)
        manager.add_handler(handler)
        return patch_config(self._config, callbacks=manager)

    def manager(self, name: str) -> Manager:
        """Return the callbacks of a child run that is hidden from streams.

        Args:
            name: The run's name, which is also added to its tags.
        """
        manager = self.child()
        _hide(manager)
        manager.add_tags([name])
        manager.add_metadata({"resay_call": name})
        return manager

    def config(self, name: str, handler: BaseCallbackHandler) -> RunnableConfig:
        """Return the configuration of a child run that is hidden from streams.

        Args:
            name: The run's name.
            handler: A further handler of the run.
        """
        manager = self.manager(name)
        manager.add_handler(handler)
        return patch_config(self._config, callbacks=manager, run_name=name)


class _NoHandlers(list[BaseCallbackHandler]):
    """A list of handlers that stays empty, even if handlers are added to it.

    LangChain adds tracers to every run: those that the environment enables, and those of
    `register_configure_hook` and `set_debug`. Instrumentations add their own in other ways.
    """

    def __bool__(self) -> bool:
        # LangChain would replace an empty list with a new one.
        return True

    def copy(self) -> _NoHandlers:
        return self

    def append(self, handler: BaseCallbackHandler, /) -> None:
        del handler


def _trace_context_of(run_manager: RunManager | None) -> TraceContext | None:
    """Return a run's span, from a handler that creates spans for runs.

    OpenTelemetry itself does not know it: a run may begin and end in different contexts.
    """
    if run_manager is None:
        return None
    for handler in run_manager.handlers:
        # OpenInference's name for it.
        get_span = getattr(handler, "get_span", None)
        context = trace_context_of(get_span(run_manager.run_id)) if callable(get_span) else None
        if context is not None:
            return context
    return None


def _child_of(run_manager: RunManager | None) -> Callable[[], Manager]:
    if isinstance(run_manager, (CallbackManagerForChainRun, AsyncCallbackManagerForChainRun)):
        return run_manager.get_child
    if run_manager is None:
        return lambda: CallbackManager(handlers=[])

    def child() -> Manager:
        # LangChain's run managers for language models cannot create children.
        asynchronous = isinstance(run_manager, AsyncCallbackManagerForLLMRun)
        manager = (AsyncCallbackManager if asynchronous else CallbackManager)(
            handlers=[], parent_run_id=run_manager.run_id
        )
        manager.set_handlers(run_manager.inheritable_handlers)
        manager.add_tags(run_manager.inheritable_tags)
        manager.add_metadata(run_manager.inheritable_metadata)
        return manager

    return child


def _hide(manager: Manager) -> None:
    manager.handlers = _unstreamed(manager.handlers)
    manager.inheritable_handlers = _unstreamed(manager.inheritable_handlers)
    manager.add_tags([_NO_STREAM])


def _unstreamed(handlers: Sequence[BaseCallbackHandler]) -> list[Any]:
    # LangChain's own mark on handlers that feed a stream.
    return [h for h in handlers if not hasattr(h, "tap_output_iter")]


class Traced(Layer):
    """Records each request as the run of a chat model with a given name.

    Args:
        inner: The provider that answers.
        manager: Creates the callbacks of a run.
        name: The run's name.
        messages: The conversation in LangChain's format, or None to use the request's.
    """

    cache_source = "litellm"
    """The request alone determines where a request goes, whatever the provider inside."""

    def __init__(
        self,
        inner: Provider,
        manager: Callable[[str], Manager],
        name: str,
        messages: Sequence[BaseMessage] | None = None,
    ) -> None:
        super().__init__(inner)
        self._manager = manager
        self._name = name
        self._messages = messages

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Complete a request within a run of its own."""
        messages = self._messages
        if messages is None:
            messages = convert_to_messages([dict(message) for message in request.messages])
        started = await self._start(request, list(messages))
        try:
            answers = await self.inner.complete(request, n=n)
        except BaseException as error:
            # End the runs of cancelled calls too.
            with anyio.CancelScope(shield=True):
                await _await_if_async(started.on_llm_error(error))
            raise
        await _await_if_async(started.on_llm_end(_result(answers, request.model)))
        return answers

    async def _start(self, request: Request, messages: list[BaseMessage]) -> Any:
        manager = self._manager(self._name)
        # Without parameters, since they include the key.
        options: dict[str, Any] = {
            "name": self._name,
            "invocation_params": {"model": request.model},
        }
        manager.add_metadata(
            {"ls_model_name": request.model, "ls_model_type": "chat"}, inherit=False
        )
        if isinstance(manager, AsyncCallbackManager):
            return (await manager.on_chat_model_start({}, [messages], **options))[0]
        assert isinstance(manager, CallbackManager)  # noqa: S101 - no other class exists
        return manager.on_chat_model_start({}, [messages], **options)[0]


async def _await_if_async(outcome: Any) -> None:
    # Synchronous run managers return nothing.
    if outcome is not None:
        await outcome


def _result(answers: Completions, model: str | None) -> LLMResult:
    generations = [ChatGeneration(message=_message(item, model)) for item in answers.items]
    usage = answers.usage
    if generations:
        generations[0].message.usage_metadata = {  # pyright: ignore[reportAttributeAccessIssue] - an AIMessage has it
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.tokens,
        }
    return LLMResult(generations=[list(generations)])


def _message(completion: Completion, model: str | None) -> AIMessage:
    # Usage counters look for the model's name here.
    metadata = {"finish_reason": completion.finish_reason, "model_name": model}
    return AIMessage(completion.text, response_metadata=metadata)


_MAX_DEPTH = 6


class Watch(BaseCallbackHandler):
    """Collects the documents that pass through a call, and the guard's verdict.

    Args:
        collects: Whether to collect documents.
        documents: Documents that are already known.
    """

    run_inline = True

    def __init__(self, *, collects: bool, documents: Iterable[Document] = ()) -> None:
        self._collects = collects
        self._references: dict[str, str | NamedText] = {}
        self.verdict: dict[str, Any] | None = None
        """The verdict on the last answer, as users see it."""
        self.blocked: HallucinationBlocked | None = None
        """The error for a withheld answer, or None."""
        self.structured = False
        """Whether the answer was requested as an object."""
        self._add(documents)

    def record(
        self, verdict: dict[str, Any], blocked: HallucinationBlocked | None, *, structured: bool
    ) -> None:
        """Store the verdict of a guard inside."""
        self.verdict, self.blocked, self.structured = verdict, blocked, structured

    @property
    def references(self) -> tuple[str | NamedText, ...]:
        """The distinct texts of the documents, in the order in which they were found."""
        return tuple(self._references.values())

    def collect(self, value: object) -> None:
        """Collect the documents in an input, an output or a state."""
        if self._collects:
            self._add(documents_in(value))

    def _add(self, documents: Iterable[Document]) -> None:
        for document in documents:
            text = document.page_content
            if text.strip() and text not in self._references:
                self._references[text] = named_text(text, document.metadata)

    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.collect(inputs)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.collect(outputs)

    def on_retriever_end(self, documents: Sequence[Document], **kwargs: Any) -> None:
        self.collect(documents)

    def on_tool_end(self, output: Any, **kwargs: Any) -> None:
        self.collect(output)


def watch_among(handlers: Iterable[BaseCallbackHandler]) -> Watch | None:
    """Return the innermost watch among the handlers of a run."""
    return next((h for h in reversed(list(handlers)) if isinstance(h, Watch)), None)


def documents_in(value: object, depth: int = _MAX_DEPTH) -> Iterator[Document]:
    """Yield the documents in a value: itself, or within mappings, sequences and messages.

    Args:
        value: Any value.
        depth: The number of levels to search.
    """
    if isinstance(value, Document):
        yield value
    elif not depth:
        return
    elif isinstance(value, ToolMessage):
        # Retrieving tools put their documents here.
        yield from documents_in(value.artifact, depth - 1)
    elif isinstance(value, (str, bytes, BaseMessage)):
        return
    elif isinstance(value, Mapping):
        for item in cast("Mapping[Any, object]", value).values():
            yield from documents_in(item, depth - 1)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[object]", value):
            yield from documents_in(item, depth - 1)
