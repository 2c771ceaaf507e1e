"""A guardrail for LiteLLM's proxy, and a callback for its SDK.

```yaml
guardrails:
  - guardrail_name: hallucination
    litellm_params:
      guardrail: resay_litellm.ResayGuardrail
      mode: post_call
      default_on: true
      policy: policy.yaml
```
"""

from __future__ import annotations

from resay._internal.importing import require_optional
from resay.adapters.policies import VERDICT_KEY
from resay.adapters.policies import verdict_in as verdict_of

require_optional("litellm", package="litellm", extra="litellm", purpose="resay_litellm")

from resay_litellm._hooks import HallucinationCallback, ResayGuardrail  # noqa: E402

__all__ = ["VERDICT_KEY", "HallucinationCallback", "ResayGuardrail", "verdict_of"]
