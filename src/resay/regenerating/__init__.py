"""Writing a flagged answer again, from what is found about it."""

from resay.regenerating.rechecking import Rechecking
from resay.regenerating.regenerator import Regenerated, Regenerator

__all__ = ["Rechecking", "Regenerated", "Regenerator"]
