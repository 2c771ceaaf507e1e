from __future__ import annotations

from support.chromium import browser, tab

__all__ = ["browser", "tab"]
