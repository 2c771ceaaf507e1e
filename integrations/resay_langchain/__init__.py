"""Resay for LangChain: any runnable that gives text, guarded.

```python
from langchain_openai import ChatOpenAI
from resay_langchain import guard

model = guard(ChatOpenAI(model="gpt-4.1-mini"), "policy.yaml")
message = model.invoke("Who designed the Sydney Harbour Bridge?")
message.response_metadata["hallucination"]["decision"]  # consistent, flagged or inconclusive
```
"""

from resay_langchain._guard import VERDICT_EVENT, GuardedRunnable, guard
from resay_langchain._outcome import VERDICT_KEY

__all__ = ["VERDICT_EVENT", "VERDICT_KEY", "GuardedRunnable", "guard"]
