"""Verdicts and other people's text on a terminal."""

from __future__ import annotations

from resay.reporting.render.terminal import print_verdict
from resay.reporting.render.texts import clean

__all__ = ["clean", "print_verdict"]
