"""The command line.

Exit codes: 0 fine or skipped, 1 flagged, 2 bad input, 3 inconclusive, 4 the model gave no answer, 5
an internal error or output that cannot be written, 130 interrupted, 141 closed pipe.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit."""
    # The import is slow enough for a user to interrupt it.
    try:
        from resay.cli.app import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
