"""A metric for Ragas."""

from dataclasses import dataclass, field

from ragas import EvaluationDataset, evaluate
from ragas.metrics.base import MetricType, SingleTurnMetric
from rows import ANSWERS, QUESTION, REFERENCE

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}]})


@dataclass
class Hallucination(SingleTurnMetric):
    """1 is surely hallucinated; not a number where the check was inconclusive."""

    name: str = "hallucination"
    _required_columns: dict = field(
        default_factory=lambda: {
            MetricType.SINGLE_TURN: {"user_input", "response", "retrieved_contexts"}
        }
    )

    def init(self, run_config):
        pass

    async def _single_turn_ascore(self, sample, callbacks) -> float:
        verdict = await guard.acheck(
            sample.response,
            question=sample.user_input,
            references=sample.retrieved_contexts,
        )
        return float("nan") if verdict.score is None else verdict.score


rows = [
    {"user_input": QUESTION, "response": answer, "retrieved_contexts": [REFERENCE]}
    for answer in ANSWERS
]
result = evaluate(EvaluationDataset.from_list(rows), metrics=[Hallucination()], show_progress=False)
print("hallucination:", [round(score, 2) for score in result["hallucination"]])
