"""Guarded LLMs, query engines and chat engines for LlamaIndex.

```python
from llama_index.llms.openai import OpenAI
from resay_llamaindex import GuardedLLM, verdict_of

llm = GuardedLLM(OpenAI(model="gpt-4.1-mini"), "policy.yaml")
response = llm.complete("Who designed the Sydney Harbour Bridge?")
if verdict := verdict_of(response):
    print(verdict.decision)  # consistent, flagged, inconclusive or skipped
```
"""

from __future__ import annotations

from resay.adapters import require_optional
from resay.adapters.verdicts import VERDICT_KEY, verdict_of

require_optional(
    "llama_index.core", package="llama-index-core", extra="llamaindex", purpose="resay_llamaindex"
)

from resay_llamaindex._engines import GuardedChatEngine, GuardedQueryEngine  # noqa: E402 - see above
from resay_llamaindex._llm import GuardedLLM  # noqa: E402 - see above
from resay_llamaindex._outcome import HallucinationVerdictEvent  # noqa: E402 - see above
from resay_llamaindex._policies import as_retriever  # noqa: E402 - see above

__all__ = [
    "VERDICT_KEY",
    "GuardedChatEngine",
    "GuardedLLM",
    "GuardedQueryEngine",
    "HallucinationVerdictEvent",
    "as_retriever",
    "verdict_of",
]
