"""What the checks of one session have used, and may still use."""

from __future__ import annotations

from collections import OrderedDict

from resay import Usage
from resay.adapters.settings import SessionLimits
from resay.adapters.terminal import counted

_MAX_SESSIONS = 10_000


class Session:
    """The usage of one session. It is the ledger of the budgets of its checks.

    Args:
        limits: The limits of the policy.

    Attributes:
        usage: The calls so far, those in progress included, with their tokens and dollars.
        checking_s: The seconds that its finished checks have taken together.
    """

    def __init__(self, limits: SessionLimits) -> None:
        self._limits = limits
        self.usage = Usage()
        self.checking_s = 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long its next check may take; None for any time."""
        if self._limits.checking_s is None:
            return None
        return max(self._limits.checking_s - self.checking_s, 0.0)

    @property
    def reached(self) -> str | None:
        """Which limit is reached, in words; None if none is."""
        if self.seconds_left == 0.0:
            return (
                f"the session has used its {self._limits.checking_s:g} s of checking; raise"
                " `limits.session.checking_s`"
            )
        return self.refusal()

    def refusal(self) -> str | None:
        """Return why the next call would be refused; None if it would not."""
        limits, usage = self._limits, self.usage
        if limits.calls is not None and usage.calls >= limits.calls:
            return (
                f"the session has used its {counted(limits.calls, 'call')}; raise"
                " `limits.session.calls`"
            )
        if limits.cost_usd is None:
            return None
        if usage.cost_usd is None:
            return (
                "the price of a call is unknown, so `limits.session.cost_usd` cannot be enforced;"
                " set `prices` or `limits.session.calls` instead"
            )
        if usage.cost_usd >= limits.cost_usd:
            return f"the session has used its ${limits.cost_usd:g}; raise `limits.session.cost_usd`"
        return None

    def calls_left(self) -> int | None:
        """Return how many more calls may be sent; None for any number."""
        if self._limits.calls is None:
            return None
        return max(self._limits.calls - self.usage.calls, 0)

    def count(self, usage: Usage) -> None:
        """Count usage; negative for a call that was not sent after all."""
        self.usage += usage


class Sessions:
    """The sessions of a server, by their ids.

    The newest 10,000 are remembered. A client whose protocol has no sessions shares one with the
    other clients like it.

    Args:
        limits: The limits of the policy.
    """

    def __init__(self, limits: SessionLimits) -> None:
        self._limits = limits
        self._sessions: OrderedDict[str | None, Session] = OrderedDict()

    def find(self, session_id: str | None) -> Session:
        """Return the session with an id, or a new one.

        Args:
            session_id: The id; None if the transport has none.
        """
        session = self._sessions.setdefault(session_id, Session(self._limits))
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session
