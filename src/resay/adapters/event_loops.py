"""What people import whose connections and background tasks belong to event loops."""

from __future__ import annotations

from resay._internal.event_loops import PerLoop, in_background, on_exit
from resay._internal.forks import unforkable

__all__ = ["PerLoop", "in_background", "on_exit", "unforkable"]
