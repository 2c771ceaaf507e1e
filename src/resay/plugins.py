"""What people who extend Resay import: the one place whose names stay.

A distribution adds scorers, providers, retrievers, sinks and commands with entry points in the
groups `resay.scorers`, `resay.providers`, `resay.retrievers`, `resay.sinks` and `resay.commands`.
One that records verdicts lets others read them with an entry point in `resay.records`.
"""

from __future__ import annotations

from resay.core.claims import Claim
from resay.core.contradiction import Contradiction
from resay.core.documents import Document
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage, Sentence
from resay.core.query import Query
from resay.core.records import (
    RecordedLabels,
    RecordedVerdict,
    SamplingMethod,
    Unlabelled,
    VerdictRecords,
    open_records,
)
from resay.core.scores import Scores
from resay.core.usage import Usage
from resay.lang.detection import detect
from resay.lang.language import Language
from resay.lang.language import load as load_language
from resay.providers.base import (
    Chunk,
    Completion,
    Completions,
    Layer,
    Provider,
    Sources,
    Streams,
    ToolCall,
)
from resay.retrieval.base import Retriever
from resay.retrieval.function import as_retriever
from resay.scorers import (
    Column,
    Contradicts,
    Corrects,
    JudgeConfig,
    JudgedConfig,
    Need,
    Prepares,
    SampleConfig,
    SampleScorer,
    Scorer,
    ScorerConfig,
    ScorerTraits,
    Settle,
    Skips,
)
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge
from resay.scorers.samples import Sample, Samples

__all__ = [
    "Chunk",
    "Claim",
    "Column",
    "Completion",
    "Completions",
    "Contradiction",
    "Contradicts",
    "Corrects",
    "Document",
    "Evidence",
    "Judge",
    "JudgeConfig",
    "JudgedConfig",
    "Language",
    "Layer",
    "Need",
    "Passage",
    "Prepares",
    "Provider",
    "Query",
    "RecordedLabels",
    "RecordedVerdict",
    "Retriever",
    "Sample",
    "SampleConfig",
    "SampleScorer",
    "Samples",
    "SamplingMethod",
    "Scorer",
    "ScorerConfig",
    "ScorerTraits",
    "Scores",
    "Sentence",
    "Settle",
    "Skips",
    "Sources",
    "Streams",
    "TokenLogprob",
    "ToolCall",
    "Unlabelled",
    "Usage",
    "VerdictRecords",
    "as_retriever",
    "detect",
    "load_language",
    "open_records",
]
