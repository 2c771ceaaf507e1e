"""The child runs of a guarded call, as callbacks and tracing see them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

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
from langchain_core.runnables import RunnableConfig, ensure_config, patch_config
from langchain_core.runnables.config import var_child_runnable_config

from resay._internal.telemetry import Place, inside, place_of
from resay.adapters import marked

__all__ = ["JUDGE", "RETRIEVAL", "SAMPLE", "VERDICT_EVENT", "Manager", "RunManager", "Runs"]

VERDICT_EVENT = "resay_verdict"
"""The name of the custom event that carries the verdict on every answer."""

SAMPLE = "resay:sample"
JUDGE = "resay:judge"
RETRIEVAL = "resay:retrieval"

# LangGraph leaves runs with this tag out of its streams of messages.
_UNSEEN = "nostream"

Manager: TypeAlias = CallbackManager | AsyncCallbackManager
RunManager: TypeAlias = (
    CallbackManagerForChainRun
    | AsyncCallbackManagerForChainRun
    | CallbackManagerForLLMRun
    | AsyncCallbackManagerForLLMRun
)


class Runs:
    """Makes the child runs of one guarded call.

    What feeds a stream (`astream_events`, `astream_log`, LangGraph's stream modes) hears nothing of
    samples, judges and searches; tracers and other callbacks do.

    Args:
        run_manager: The guarded call's own run.
        config: Its configuration.
    """

    def __init__(self, run_manager: RunManager | None, config: RunnableConfig | None) -> None:
        self.child = _child_of(run_manager)
        self._config = ensure_config(config)
        self._place = _place_of(run_manager)
        self.handlers: Sequence[BaseCallbackHandler] = (
            run_manager.inheritable_handlers if run_manager else ()
        )

    @contextmanager
    def around(self) -> Generator[None]:
        """Let a guard work meanwhile: guards inside do nothing.

        What runs in there without a configuration of its own is a search, for words of the draft:
        no stream shows it.
        """
        config = patch_config(self._config, callbacks=self.manager(RETRIEVAL))
        token = var_child_runnable_config.set(config)
        try:
            with inside(self._place), marked():
                yield
        finally:
            var_child_runnable_config.reset(token)

    def plain(self) -> RunnableConfig:
        """Return a configuration for what nobody may hear of, not even who hears of all runs."""
        return patch_config(self._config, callbacks=_Nobody())  # pyright: ignore[reportArgumentType] - a list is taken too

    def tell(self, verdict: dict[str, Any]) -> None:
        """Dispatch the event that carries a verdict, where there is a run that it belongs to."""
        config = self._own()
        if config is not None:
            dispatch_custom_event(VERDICT_EVENT, verdict, config=config)

    async def atell(self, verdict: dict[str, Any]) -> None:
        """Do what `tell` does, on the caller's event loop."""
        config = self._own()
        if config is not None:
            await adispatch_custom_event(VERDICT_EVENT, verdict, config=config)

    def _own(self) -> RunnableConfig | None:
        manager = self.child()
        if manager.parent_run_id is None:
            return None
        return patch_config(self._config, callbacks=manager)

    def main(self, handler: BaseCallbackHandler, *, hidden: bool) -> RunnableConfig:
        """Return the configuration of the run that gives the answer.

        Args:
            handler: A handler that hears of it too.
            hidden: Whether no stream may show it, because the answer may be withheld.
        """
        manager = self.child()
        if hidden:
            _hide(manager)
        manager.add_handler(handler)
        return patch_config(self._config, callbacks=manager)

    def manager(self, name: str) -> Manager:
        """Return the callbacks of a child run that no stream shows.

        Args:
            name: The run's name, which is among its tags too.
        """
        manager = self.child()
        _hide(manager)
        manager.add_tags([name])
        manager.add_metadata({"resay_call": name})
        return manager

    def config(self, name: str, handler: BaseCallbackHandler) -> RunnableConfig:
        """Return the configuration of a child run that no stream shows.

        Args:
            name: The run's name.
            handler: A handler that hears of it too.
        """
        manager = self.manager(name)
        manager.add_handler(handler)
        return patch_config(self._config, callbacks=manager, run_name=name)


class _Nobody(list[BaseCallbackHandler]):
    """Handlers of which there are none, whoever adds some.

    To every run LangChain adds tracers that the environment asks for, those of
    `register_configure_hook` and `set_debug`; instrumentations add their own in other ways.
    """

    def __bool__(self) -> bool:
        # LangChain takes an empty list for none given, and makes one of its own.
        return True

    def copy(self) -> _Nobody:
        return self

    def append(self, handler: BaseCallbackHandler, /) -> None:
        del handler


def _place_of(run_manager: RunManager | None) -> Place | None:
    """Return the place of a run among the spans of whoever makes spans of runs.

    OpenTelemetry itself does not know of it: a run may begin and end in different contexts.
    """
    if run_manager is None:
        return None
    # The name that OpenInference has for it.
    finders = (getattr(handler, "get_span", None) for handler in run_manager.handlers)
    places = (place_of(find(run_manager.run_id)) for find in finders if callable(find))
    return next((place for place in places if place is not None), None)


def _child_of(run_manager: RunManager | None) -> Callable[[], Manager]:
    if isinstance(run_manager, (CallbackManagerForChainRun, AsyncCallbackManagerForChainRun)):
        return run_manager.get_child
    if run_manager is None:
        return lambda: CallbackManager(handlers=[])

    def child() -> Manager:
        # The run of a language model has no children of its own making.
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
    manager.add_tags([_UNSEEN])


def _unstreamed(handlers: Sequence[BaseCallbackHandler]) -> list[Any]:
    # LangChain's own mark of a handler that feeds a stream.
    return [h for h in handlers if not hasattr(h, "tap_output_iter")]
