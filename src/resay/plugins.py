"""What people who extend Resay import: the one place whose names stay.

A distribution adds scorers, providers, retrievers, sinks and commands with entry points in the
groups `resay.scorers`, `resay.providers`, `resay.retrievers`, `resay.sinks` and `resay.commands`.
One that records verdicts lets others read them with an entry point in `resay.records`.
"""

from __future__ import annotations

from resay.core.claims import Claim
from resay.core.claims import Rules as ClaimRules
from resay.core.contradiction import Contradiction
from resay.core.documents import Document
from resay.core.grounds import Grounds
from resay.core.ids import new_id
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage, Sentence
from resay.core.recorded_evidence import JudgeCall, RecordedEvidence
from resay.core.records import (
    RecordedLabels,
    RecordedVerdict,
    SamplingMethod,
    Unlabelled,
    VerdictRecords,
    open_records,
)
from resay.core.references import Reference
from resay.core.request import Request
from resay.core.scores import Scores, UnsupportedSpan, mean_score, over, without_noise
from resay.core.usage import Usage
from resay.core.verdict_record import ApiName, Sink, VerdictRecord
from resay.lang.detection import detect
from resay.lang.language import Language
from resay.lang.language import load as load_language
from resay.models import ModelConfig
from resay.providers.base import (
    Chunk,
    Completion,
    Completions,
    Layer,
    Provider,
    Streams,
    ToolCall,
)
from resay.providers.sources import Sources
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
    Step,
    build,
    registry,
)
from resay.scorers.common.judge_config import judge_for
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge
from resay.scorers.samples import Sample, Samples

__all__ = [
    "ApiName",
    "Chunk",
    "Claim",
    "ClaimRules",
    "Column",
    "Completion",
    "Completions",
    "Contradiction",
    "Contradicts",
    "Corrects",
    "Document",
    "Evidence",
    "Grounds",
    "Judge",
    "JudgeCall",
    "JudgeConfig",
    "JudgedConfig",
    "Language",
    "Layer",
    "ModelConfig",
    "Need",
    "Passage",
    "Prepares",
    "Provider",
    "RecordedEvidence",
    "RecordedLabels",
    "RecordedVerdict",
    "Reference",
    "Request",
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
    "Sink",
    "Skips",
    "Sources",
    "Step",
    "Streams",
    "TokenLogprob",
    "ToolCall",
    "Unlabelled",
    "UnsupportedSpan",
    "Usage",
    "VerdictRecord",
    "VerdictRecords",
    "as_retriever",
    "build",
    "detect",
    "judge_for",
    "load_language",
    "mean_score",
    "new_id",
    "open_records",
    "over",
    "registry",
    "without_noise",
]
