"""Who is told of a guard's verdicts."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from resay._internal.sync import wait_for
from resay._internal.telling import atell, tell
from resay.core.verdict import HallucinationBlocked, OnVerdict, Verdict
from resay.engine.actions import Answer

__all__ = ["Listeners"]

T = TypeVar("T", Answer, Verdict)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told of verdicts.

    Attributes:
        functions: The application's own functions.
    """

    functions: tuple[OnVerdict, ...] = ()

    def tell(self, verdict: Verdict) -> None:
        """Tell of a verdict that no guard came to, such as that on what is not checked."""
        tell(verdict, self.functions, wait_for)

    async def hearing(self, work: Awaitable[T]) -> T:
        """Tell of what some work comes to.

        Args:
            work: Gives an answer, or a verdict.

        Returns:
            What it gives.

        Raises:
            BaseException: What it raises.
        """
        try:
            result = await work
        except HallucinationBlocked as error:
            await atell(error.verdict, self.functions)
            raise
        verdict = result.verdict if isinstance(result, Answer) else result
        await atell(verdict, self.functions)
        return result
