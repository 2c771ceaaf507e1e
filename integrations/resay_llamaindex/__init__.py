"""Resay for LlamaIndex: LLMs, query engines and chat engines, guarded.

```python
from llama_index.llms.openai import OpenAI
from resay_llamaindex import GuardedLLM, verdict_of

llm = GuardedLLM(OpenAI(model="gpt-4.1-mini"), "policy.yaml")
response = llm.complete("Who designed the Sydney Harbour Bridge?")
verdict_of(response).decision  # consistent, flagged, inconclusive or skipped
```
"""

from resay.adapting import VERDICT_KEY
from resay_llamaindex._chat_engine import GuardedChatEngine
from resay_llamaindex._llm import GuardedLLM
from resay_llamaindex._outcome import HallucinationVerdictEvent, verdict_of
from resay_llamaindex._query_engine import GuardedQueryEngine
from resay_llamaindex._retrieving import as_retriever

__all__ = [
    "VERDICT_KEY",
    "GuardedChatEngine",
    "GuardedLLM",
    "GuardedQueryEngine",
    "HallucinationVerdictEvent",
    "as_retriever",
    "verdict_of",
]
