"""A guardrail for LiteLLM's proxy, and a callback for its SDK.

```yaml
guardrails:
  - guardrail_name: hallucination
    litellm_params:
      guardrail: resay_litellm.HallucinationGuardrail
      mode: post_call
      default_on: true
      policy: policy.yaml
```
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

from resay.adapters import require_optional
from resay.adapters.verdicts import VERDICT_KEY, verdict_of

require_optional("litellm", package="litellm", extra="litellm", purpose="resay_litellm")


@contextmanager
def _with_own_prices() -> Generator[None]:
    """Let litellm, if it is imported here for the first time, read the prices that it brings.

    Otherwise it asks its home for newer ones while it is imported. The application's own setting
    counts.
    """
    if "litellm" in sys.modules or _PRICES in os.environ:
        yield
        return
    os.environ[_PRICES] = "True"
    try:
        yield
    finally:
        os.environ.pop(_PRICES, None)


_PRICES = "LITELLM_LOCAL_MODEL_COST_MAP"

with _with_own_prices():
    from resay_litellm._callback import HallucinationCallback
    from resay_litellm._guardrail import HallucinationGuardrail

__all__ = ["VERDICT_KEY", "HallucinationCallback", "HallucinationGuardrail", "verdict_of"]
