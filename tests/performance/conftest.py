"""Leaves these tests to `make test-benches`: they take long."""

from __future__ import annotations

import os

from support.chromium import browser, tab

__all__ = ["browser", "tab"]

collect_ignore_glob = [] if os.environ.get("RESAY_TEST_BENCHES") else ["test_*.py"]
