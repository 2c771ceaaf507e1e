"""Leaves out what takes long: benches of speed, load and memory, run as users would run them."""

from __future__ import annotations

import os

_RIGS = ("clients", "gpu", "inference", "latency", "load", "regenerate", "soak", "speed")

collect_ignore = (
    [] if os.environ.get("RESAY_TEST_BENCHES") else [f"test_{name}.py" for name in _RIGS]
)
