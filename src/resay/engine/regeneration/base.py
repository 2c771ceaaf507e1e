"""The interface of what repairs flagged answers."""

from __future__ import annotations

from typing import Protocol

from resay.core.verdict import Verdict
from resay.engine.actions import Regenerated
from resay.engine.check import Check


class Regenerator(Protocol):
    """Repairs flagged answers, without keeping state between them."""

    async def prepare(self) -> None:
        """Load everything the first regeneration would otherwise wait for.

        Raises:
            ConfigurationError: Something is not available as configured.
        """
        ...

    async def run(self, text: str, verdict: Verdict, check: Check, *, shown: int) -> Regenerated:
        """Repair an answer.

        Failures never lose the answer: the best one so far is returned.

        Args:
            text: The flagged answer.
            verdict: The result of the check.
            check: The check, whose samples, limits, deadline and metering continue.
            shown: The length of the text already shown, which cannot change, in code points.

        Returns:
            The best answer, with its verdict.
        """
        ...
