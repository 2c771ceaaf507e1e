"""The sinks that a policy names: its journal and its observers."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, cast

from resay._internal.construction import create, load_plugin
from resay._internal.entry_points import installed_names, load_installed
from resay.core.verdict_record import Sink
from resay.errors import ConfigurationError, MissingDependencyError
from resay.policy import Policy
from resay.policy.journal import JournalConfig
from resay.policy.observers import ObserverConfig
from resay.reporting.delivery import Delivery
from resay.reporting.outbox import Outbox, SinkOutbox

# Reentrant because creating a sink may create a guard.
_lock = threading.RLock()
# Guards with the same settings share a sink, which stays open until the process ends.
_shared: dict[JournalConfig | ObserverConfig, Outbox] = {}


def outboxes_of(policy: Policy) -> tuple[Outbox, ...]:
    """Return the outboxes of the sinks that a policy names, shared by all guards of the process.

    Raises:
        ConfigurationError: A sink cannot be created.
        MissingDependencyError: What a sink needs is not installed.
    """
    configs: Sequence[JournalConfig | ObserverConfig] = policy.observers
    if policy.journal is not None:
        configs = (policy.journal, *configs)
    with _lock:
        if policy.journal is not None and policy.journal not in _shared:
            _shared[policy.journal] = _open_journal(policy.journal)
        for index, config in enumerate(policy.observers):
            if config not in _shared:
                _shared[config] = _open_observer(config, f"observers[{index}]")
        return tuple(_shared[config] for config in configs)


def check_sink(sink: object, where: str) -> Sink:
    """Return a sink.

    Args:
        sink: The object.
        where: Where it was given, for the error.

    Raises:
        ConfigurationError: It is no sink.
    """
    if isinstance(sink, type):
        raise ConfigurationError(f"{where} is the class {sink.__name__!r}; pass an object of it")
    if not callable(getattr(sink, "on_verdict", None)):
        raise ConfigurationError(
            f"{where} is a {type(sink).__name__!r}, which has no method `on_verdict`; derive it"
            " from `resay.plugins.Sink`"
        )
    return cast("Sink", sink)


def _open_journal(config: JournalConfig) -> Outbox:
    if "journal" not in installed_names("resay.sinks"):
        raise MissingDependencyError("resay-server", "server", "the policy's `journal`")
    return SinkOutbox(load_installed("resay.sinks", "journal")(config))


def _open_observer(config: ObserverConfig, where: str) -> Outbox:
    plugin = load_plugin("resay.sinks", config.to)
    observer: Any = create(plugin, config.settings, f"{where}: the sink {config.to!r}")
    if not hasattr(observer, "send"):
        sink = check_sink(observer, f"{config.to!r} in `observers`")
        return SinkOutbox(sink, content=config.content, max_waiting=config.max_waiting)
    for method in ("place", "flush"):
        if not hasattr(observer, method):
            raise ConfigurationError(
                f"{config.to!r} in `observers` has no method {method!r}; derive it from"
                " `resay.adapters.observers.Observer`"
            )
    return Delivery(config, observer)


def _renew() -> None:
    global _lock
    _lock = threading.RLock()


# Windows has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
