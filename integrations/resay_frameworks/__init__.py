"""Guard objects of agent frameworks, a module for each.

Each module needs its framework, and imports it when it is imported itself.
"""

from __future__ import annotations

from resay.adapters.verdicts import verdict_of

__all__ = ["verdict_of"]
