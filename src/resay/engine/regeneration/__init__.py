"""Writing a flagged answer again, from what is found about it."""

from resay.engine.regeneration.rechecking import Rechecking
from resay.engine.regeneration.regenerator import Regenerator

__all__ = ["Rechecking", "Regenerator"]
