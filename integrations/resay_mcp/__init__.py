"""A server with which agents check answers and claims, over the Model Context Protocol.

`resay mcp` runs it. To serve it together with tools of your own, over a transport of your choice:

```python
from resay import Guard
from resay_mcp import create_server

server = create_server(Guard("policy.yaml", model="openai/gpt-4.1-mini"))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resay.adapters import require_optional

# The versions of the SDK before 2, whose servers are made otherwise, have no such module.
require_optional("mcp_types", package="mcp>=2", extra="mcp", purpose="`resay mcp`")

from resay_mcp._command import app  # noqa: E402 - after the check above

if TYPE_CHECKING:
    from resay_mcp._server import create_server

__all__ = ["app", "create_server"]


def __getattr__(name: str) -> Any:
    # It imports the SDK, which the command needs only when it runs.
    if name != "create_server":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from resay_mcp._server import create_server

    return create_server
