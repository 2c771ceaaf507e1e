"""The gateway files of the load bench."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["POLICIES", "SAMPLES", "write_gateway"]

SAMPLES = 3
_SMALLEST_LIMIT = 1024
_LONG_S = 600
_NO_CACHE = {"cache": {"store": "none"}}
_NGRAM = [{"method": "ngram"}]

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "off": {"when": {"roles": ["tool"]}, "chain": _NGRAM, **_NO_CACHE},
    "ngram": {
        "chain": _NGRAM,
        "sampling": {"max": SAMPLES, "min": SAMPLES, "start": "together", "temperature": 1.0},
        "limits": {"deadline_s": _LONG_S, "timeout_s": _LONG_S},
        "stream_mode": "hold",
        **_NO_CACHE,
    },
}
"""By which policies the gateway is asked."""


def write_gateway(
    folder: Path,
    upstream: str,
    concurrency: int,
    *,
    journal: bool = False,
    state: str | None = None,
) -> Path:
    """Write a gateway file and its policies, as JSON, which is YAML.

    Args:
        folder: Where.
        upstream: The upstream's address, without a path.
        concurrency: How many requests the gateway is to guard at the same time.
        journal: Whether verdicts are written down, in a file of the folder.
        state: The Redis in which gateways share quotas and limits; they have wide ones then.

    Returns:
        The gateway file.
    """
    wide = {"url": state, "concurrency": 10_000} if state else None
    for name, policy in POLICIES.items():
        limits = {"limits": {**policy.get("limits", {}), "shared": wide}} if wide else {}
        (folder / f"{name}.yaml").write_text(json.dumps({**policy, **limits}))
    guarded = max(_SMALLEST_LIMIT, 2 * concurrency)
    config = {
        "upstream": {"url": f"{upstream}/v1"},
        "policies": {"default": "off.yaml", **{name: f"{name}.yaml" for name in POLICIES}},
        "journal": {"url": f"sqlite:///{folder / 'journal.db'}"} if journal else None,
        "state": {"url": state} if state else None,
        "quotas": {"default": {"concurrency": 10_000, "calls_per_day": 10**9}} if state else {},
        "limits": {"concurrency": guarded, "queue": guarded, "connections": 4 * guarded},
    }
    path = folder / "gateway.yaml"
    path.write_text(json.dumps(config))
    return path
