"""Resay for LangChain: chat models, chains and agents, guarded.

```python
from langchain_openai import ChatOpenAI
from resay_langchain import GuardedChatModel

model = GuardedChatModel(ChatOpenAI(model="gpt-4.1-mini"), "policy.yaml")
message = model.invoke("Who designed the Sydney Harbour Bridge?")
message.response_metadata["hallucination"]["decision"]  # consistent, flagged, …
```
"""

from resay_langchain._guard import GuardedRunnable, guard
from resay_langchain._model import GuardedChatModel
from resay_langchain._outcome import VERDICT_KEY, verdict_of
from resay_langchain._request import VERDICT_EVENT

__all__ = [
    "VERDICT_EVENT",
    "VERDICT_KEY",
    "GuardedChatModel",
    "GuardedRunnable",
    "guard",
    "verdict_of",
]

