"""Questions of several tasks, asked together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import anyio

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Questions(Generic[T]):
    """The questions of one task.

    Attributes:
        texts: The questions.
        results: One for each text, once there are any.
    """

    texts: Sequence[str]
    results: Sequence[T] | None = None


class Gathering:
    """Asks for several tasks at once; belongs to one check.

    Whoever comes while others are asked for waits, and is asked for together with everybody who
    came in the meantime: the sentences of a stream are scored one by one, and a question to a model
    costs a call.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, list[_Questions[Any]]] = {}
        self._locks: dict[Hashable, anyio.Lock] = {}

    async def ask(
        self,
        source: Hashable,
        texts: Sequence[str],
        ask: Callable[[Sequence[str]], Awaitable[Sequence[T]]],
    ) -> Sequence[T]:
        """Return the results for texts.

        Args:
            source: What is asked; each source has its own queue.
            texts: What to ask about.
            ask: Returns one result for each of the texts, which may be those of other tasks too.
        """
        questions: _Questions[T] = _Questions(texts)
        waiting = self._waiting.setdefault(source, [])
        waiting.append(questions)
        try:
            async with self._locks.setdefault(source, anyio.Lock()):
                if questions.results is None:
                    of_all_tasks = list(waiting)
                    results = await ask([text for task in of_all_tasks for text in task.texts])
                    start = 0
                    for task in of_all_tasks:
                        end = start + len(task.texts)
                        task.results = results[start:end]
                        start = end
        finally:
            # Whoever was cancelled while asking leaves the others to ask for themselves.
            waiting.remove(questions)
        return questions.results or ()
