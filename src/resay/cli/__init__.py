"""The command line.

Exit codes: 0 fine, 1 flagged, 2 bad input, 3 inconclusive, 4 the model gave no answer.
"""

from resay.cli.app import app, main

__all__ = ["app", "main"]
