"""What people import whose connections belong to event loops."""

from __future__ import annotations

from resay._internal.event_loops import PerLoop, on_exit
from resay._internal.forks import unforkable

__all__ = ["PerLoop", "on_exit", "unforkable"]
