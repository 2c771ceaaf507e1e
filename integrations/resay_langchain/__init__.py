"""Guarded chat models, chains and agents for LangChain.

```python
from langchain_openai import ChatOpenAI
from resay_langchain import GuardedChatModel

model = GuardedChatModel(ChatOpenAI(model="gpt-4.1-mini"), "policy.yaml")
message = model.invoke("Who designed the Sydney Harbour Bridge?")
message.response_metadata["hallucination"]["decision"]  # consistent, flagged, …
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resay.adapters import require_optional
from resay.adapters.verdicts import VERDICT_KEY, verdict_of

require_optional(
    "langchain_core", package="langchain-core", extra="langchain", purpose="resay_langchain"
)

from resay_langchain._callback import (  # noqa: E402 - after the check above
    HallucinationCallback,
    VerdictCollector,
)
from resay_langchain._policies import as_retriever  # noqa: E402 - see above
from resay_langchain._runnables import GuardedChatModel, GuardedRunnable, guard_runnable  # noqa: E402 - see above
from resay_langchain._runs import VERDICT_EVENT  # noqa: E402 - see above

if TYPE_CHECKING:
    from resay_langchain._middleware import HallucinationMiddleware

__all__ = [
    "VERDICT_EVENT",
    "VERDICT_KEY",
    "GuardedChatModel",
    "GuardedRunnable",
    "HallucinationCallback",
    "HallucinationMiddleware",
    "VerdictCollector",
    "as_retriever",
    "guard_runnable",
    "verdict_of",
]


def __getattr__(name: str) -> Any:
    # Agents need the package langchain; models and chains do not.
    if name != "HallucinationMiddleware":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from resay_langchain._middleware import HallucinationMiddleware

    return HallucinationMiddleware
