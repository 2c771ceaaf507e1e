"""Middleware that guards the clients of Anthropic's SDK.

```python
from anthropic import Anthropic
from resay_anthropic import guard_client, verdict_of

client = guard_client(Anthropic(), "policy.yaml")
message = client.messages.create(
    model="claude-sonnet-5",
    max_tokens=300,
    messages=[{"role": "user", "content": "Who designed the Sydney Harbour Bridge?"}],
)
if verdict := verdict_of(message):
    print(verdict.decision)  # consistent, flagged, inconclusive or skipped
```
"""

from __future__ import annotations

from resay.adapters import require_optional
from resay.adapters.verdicts import VERDICT_KEY

require_optional("anthropic", package="anthropic", extra="anthropic", purpose="resay_anthropic")

from resay_anthropic._middleware import HallucinationMiddleware, guard_client  # noqa: E402 - after the check above
from resay_anthropic._responses import verdict_of  # noqa: E402 - after the check above

__all__ = ["VERDICT_KEY", "HallucinationMiddleware", "guard_client", "verdict_of"]
