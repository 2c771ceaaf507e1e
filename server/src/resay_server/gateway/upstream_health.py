"""Whether the upstream has been answering, by what the last requests to it came to.

Nothing is sent to find out: a request of our own would cost money, and say little of others.
"""

from __future__ import annotations

import time

from resay_server.journal.export import timestamp

_FAILED = 500


class UpstreamHealth:
    """Counts the requests to the upstream that have failed since the last one that did not."""

    def __init__(self) -> None:
        self._failures = 0
        self._since_s = 0.0
        self._error: str | None = None
        self._is_known = False

    def answered(self, status: int) -> None:
        """Take note of an answer.

        Args:
            status: Its HTTP status. One from 500 on is a failure of the upstream.
        """
        if status >= _FAILED:
            return self.failed(f"status {status}")
        self._is_known, self._failures, self._error = True, 0, None
        return None

    def failed(self, error: str) -> None:
        """Take note of a request without a whole answer.

        Args:
            error: The code of the error, which everybody may read.
        """
        if not self._failures:
            self._since_s = time.time()
        self._is_known = True
        self._failures += 1
        self._error = error

    def to_dict(self) -> dict[str, object]:
        """Return what `/readyz` says of the upstream."""
        if not self._failures:
            return {"status": "ok" if self._is_known else "unknown"}
        return {
            "status": "failing",
            "failures": self._failures,
            "since": timestamp(self._since_s),
            "error": self._error,
        }
