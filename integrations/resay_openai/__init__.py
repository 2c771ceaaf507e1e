"""Guarded clients for OpenAI's SDK.

```python
from resay_openai import GuardedOpenAI, verdict_of

client = GuardedOpenAI(policy="policy.yaml")  # takes the arguments of `OpenAI`
response = client.chat.completions.create(
    model="gpt-4.1-mini",
    messages=[{"role": "user", "content": "Who designed the Sydney Harbour Bridge?"}],
)
if verdict := verdict_of(response):
    print(verdict.decision)  # consistent, flagged, inconclusive or skipped
```
"""

from __future__ import annotations

from resay.adapters import require_optional
from resay.adapters.verdicts import VERDICT_KEY, verdict_of

require_optional("openai", package="openai", extra="openai", purpose="resay_openai")

from resay_openai._clients import (  # noqa: E402 - after the check above
    GuardedAsyncAzureOpenAI,
    GuardedAsyncOpenAI,
    GuardedAzureOpenAI,
    GuardedOpenAI,
    guard_client,
)
from resay_openai._http_clients import guard_http_client  # noqa: E402 - after the check above

__all__ = [
    "VERDICT_KEY",
    "GuardedAsyncAzureOpenAI",
    "GuardedAsyncOpenAI",
    "GuardedAzureOpenAI",
    "GuardedOpenAI",
    "guard_client",
    "guard_http_client",
    "verdict_of",
]
