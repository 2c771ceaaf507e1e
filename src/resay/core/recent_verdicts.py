"""The verdicts of guarded calls in this thread or task."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from resay._internal.notify import collecting, last
from resay.core.verdict import Verdict


def last_verdict() -> Verdict | None:
    """Return the verdict of the last guarded call in this thread or task.

    That is the verdict of the last answer that was returned, checked, or withheld with an
    exception; for a stream, once it has been read to its end. Other threads and tasks have their
    own, and a verdict from a child task stays in that task: use `verdicts` if a framework runs its
    model in one.

    Returns:
        The verdict; None if there is none yet.

    Example:
        ```python
        text = agent.run_sync("Who designed the Sydney Harbour Bridge?").output
        print(resay.last_verdict().reason)
        ```
    """
    return last()


@contextmanager
def verdicts() -> Generator[list[Verdict], None, None]:
    """Collect the verdicts of guarded calls in this context.

    Includes those of tasks started in it, and of threads that run in a copy of the context, as with
    `asyncio.to_thread`. Other requests are not affected.

    Yields:
        A list to which each verdict is appended.

    Example:
        ```python
        with resay.verdicts() as collected:
            agent.run_sync("Who designed the Sydney Harbour Bridge?")
        print([verdict.decision for verdict in collected])
        ```
    """
    with collecting() as collected:
        yield collected
