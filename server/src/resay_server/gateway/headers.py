"""Headers of requests and responses, as they are on the wire."""

from __future__ import annotations

import re

Headers = list[tuple[bytes, bytes]]
"""The headers in their order, names in lower case."""
CONTROL_CHARACTER = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header's value may contain: servers interpret it differently (RFC 9110, section 5.5)."""
