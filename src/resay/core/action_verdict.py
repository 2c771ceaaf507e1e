"""The verdict on a claim of an action."""

from __future__ import annotations

from typing import Literal

ActionVerdict = Literal["done", "failed", "not_done", "invented"]
"""`done`: a call bears it out. `failed`: a call was made, but it, its result or a later call says
otherwise. `not_done`: there is no such call. `invented`: a value that stands nowhere."""
