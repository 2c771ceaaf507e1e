"""Where the questions of a check to its judges are recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from resay.core.recorded_evidence import JudgeCall

# Of all calls of a check together.
_MAX_CHARS = 400_000


@dataclass(slots=True)
class _Calls:
    """The recorded calls of a check, in the order of their answers."""

    recorded: list[JudgeCall] = field(default_factory=list[JudgeCall])
    chars: int = 0
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class JudgeLog:
    """Records questions to judges and their answers, for one method of a check.

    Attributes:
        method: The method that asks.
    """

    method: str
    _calls: _Calls = field(default_factory=_Calls, repr=False)

    def of(self, method: str) -> JudgeLog:
        """Return the same log, for another method."""
        return replace(self, method=method)

    @property
    def calls(self) -> Sequence[JudgeCall]:
        """The calls of all methods."""
        return self._calls.recorded

    @property
    def omitted(self) -> int:
        """The number of calls that were left out because the log is full."""
        return self._calls.omitted

    def add(self, call: JudgeCall) -> None:
        """Record a call, or count it if the log is full."""
        calls = self._calls
        if calls.omitted or calls.chars + call.chars > _MAX_CHARS:
            calls.omitted += 1
            return
        calls.chars += call.chars
        calls.recorded.append(call)
