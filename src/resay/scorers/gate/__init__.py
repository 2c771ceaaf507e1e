"""Which responses are checked at all: the `when` of a policy and of its steps."""

from resay.scorers.gate.gate import nothing_to_check
from resay.scorers.gate.rules import When

__all__ = ["When", "nothing_to_check"]
