"""The exception for a withheld answer."""

from __future__ import annotations

from typing import ClassVar

from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.errors import ResayError


class HallucinationBlocked(ResayError):  # noqa: N818 - an outcome on request, not an error
    """The policy withheld the answer and says `exit: raise`.

    Attributes:
        verdict: The verdict. Contains the withheld text; do not show it to end users.
        usage: The total cost, main call and check together.
    """

    is_failure: ClassVar[bool] = False

    def __init__(self, verdict: Verdict, usage: Usage | None = None) -> None:
        super().__init__(f"the answer was withheld: {verdict.reason}")
        self.verdict = verdict
        self.usage = usage or verdict.usage
