"""Tells a person at a terminal that a command waits for a model, and until when."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta

import typer

from resay.guard import Guard
from resay.providers.base_urls import shown

NOTICE_AFTER_S = 3.0
"""Seconds that a command waits in silence."""


@contextmanager
def notice_of_waiting(
    guard: Guard, model: str | None, api_base: str | None
) -> Generator[Callable[[], None]]:
    """Say on stderr what the code inside waits for, if it takes seconds; only on a terminal.

    Args:
        guard: The guard that asks.
        model: The model that the command names; None for none.
        api_base: Its address; None for the provider's own.

    Yields:
        A function that ends the waiting early, before anything is printed on stdout.
    """
    deadline_s = guard.policy.limits.deadline_s
    text = f"waiting for {_awaited(guard, model, api_base)}{_limit(deadline_s)}; Ctrl-C stops"
    timer = threading.Timer(NOTICE_AFTER_S, typer.echo, [text], {"err": True})
    # A command that ends waits for no thread.
    timer.daemon = True
    # A process can be started without a stderr.
    if sys.stderr is not None and sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison]
        timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


def _awaited(guard: Guard, model: str | None, api_base: str | None) -> str:
    if model is not None:
        return repr(model) if api_base is None else f"{model!r} at {shown(api_base)}"
    others = dict.fromkeys(repr(name) for _, name in guard.policy.named_models)
    return " and ".join(others) or "the check"


def _limit(deadline_s: float | None) -> str:
    if deadline_s is None:
        return ", without a limit (`limits.deadline_s`)"
    end = datetime.now() + timedelta(seconds=deadline_s)
    return f", until {end:%H:%M:%S} at the latest (`limits.deadline_s`)"
