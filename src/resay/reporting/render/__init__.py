"""Render verdicts on the terminal and as HTML."""

from resay.reporting.render.terminal import print_answer, print_part, print_verdict

__all__ = ["print_answer", "print_part", "print_verdict"]
