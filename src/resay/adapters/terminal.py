"""Verdicts and other people's text on a terminal."""

from __future__ import annotations

from resay._internal.plurals import counted
from resay.core.display.texts import clean
from resay.reporting.render.terminal import print_verdict

__all__ = ["clean", "counted", "print_verdict"]
