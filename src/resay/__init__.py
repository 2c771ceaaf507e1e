"""Resay: a hallucination guard for LLM applications.

It asks the model the same question several more times: statements that the model cannot repeat
consistently are probably made up.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from resay._internal._version import __version__

if TYPE_CHECKING:
    from resay._internal.telemetry import request_id
    from resay.core.logprobs import TokenLogprob
    from resay.core.passage import Passage, Sentence
    from resay.core.query import Query
    from resay.core.references import Document
    from resay.core.usage import Usage
    from resay.core.verdict import (
        ClaimVerdict,
        Contradiction,
        HallucinationBlocked,
        SentenceVerdict,
        StepRecord,
        Unscored,
        Verdict,
        last_verdict,
        verdicts,
    )
    from resay.engine.actions import Answer
    from resay.engine.stream import AnswerStream, Part, SyncAnswerStream
    from resay.errors import (
        BudgetExceededError,
        ConfigurationError,
        DeadlineExceededError,
        MissingDependencyError,
        PolicyError,
        ProviderError,
        ProviderRefusedError,
        ProviderTimeoutError,
        ResayError,
        ScorerError,
        StreamUnfinishedError,
        UncheckableError,
    )
    from resay.guard import Guard
    from resay.policy import Policy
    from resay.providers.base import Sources
    from resay.retrieval import Retriever

__all__ = [
    "Answer",
    "AnswerStream",
    "BudgetExceededError",
    "ClaimVerdict",
    "ConfigurationError",
    "Contradiction",
    "DeadlineExceededError",
    "Document",
    "Guard",
    "HallucinationBlocked",
    "MissingDependencyError",
    "Part",
    "Passage",
    "Policy",
    "PolicyError",
    "ProviderError",
    "ProviderRefusedError",
    "ProviderTimeoutError",
    "Query",
    "ResayError",
    "Retriever",
    "ScorerError",
    "Sentence",
    "SentenceVerdict",
    "Sources",
    "StepRecord",
    "StreamUnfinishedError",
    "SyncAnswerStream",
    "TokenLogprob",
    "UncheckableError",
    "Unscored",
    "Usage",
    "Verdict",
    "__version__",
    "last_verdict",
    "request_id",
    "verdicts",
]

_HOMES = {
    "Answer": "engine.actions",
    "AnswerStream": "engine.stream",
    "ClaimVerdict": "core.verdict",
    "Contradiction": "core.verdict",
    "Document": "core.verdict",
    "Guard": "guard",
    "HallucinationBlocked": "core.verdict",
    "Part": "engine.stream",
    "Passage": "core.passage",
    "Policy": "policy",
    "Query": "core.query",
    "Retriever": "retrieval",
    "Sentence": "core.passage",
    "SentenceVerdict": "core.verdict",
    "Sources": "providers.base",
    "StepRecord": "core.verdict",
    "SyncAnswerStream": "engine.stream",
    "TokenLogprob": "core.logprobs",
    "Unscored": "core.verdict",
    "Usage": "core.verdict",
    "Verdict": "core.verdict",
    "last_verdict": "core.verdict",
    "request_id": "_internal.telemetry",
    "verdicts": "core.verdict",
}


def __getattr__(name: str) -> object:
    # Import on first use, so that `import resay` is almost free.
    if name not in __all__:
        raise AttributeError(f"module 'resay' has no attribute {name!r}")
    return getattr(import_module(f"resay.{_HOMES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return __all__
