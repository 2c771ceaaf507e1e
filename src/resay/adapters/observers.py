"""What people import who push verdicts to a tracing tool that has a place for each."""

from __future__ import annotations

from resay.reporting.observers import Finding, Observer, Place, place

__all__ = ["Finding", "Observer", "Place", "place"]
