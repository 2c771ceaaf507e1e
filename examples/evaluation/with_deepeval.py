"""A metric for DeepEval, where 1 is good."""

from deepeval import evaluate
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from rows import ANSWERS, QUESTION, REFERENCE

from resay import Guard, Verdict


class GroundedMetric(BaseMetric):
    """Succeeds where the verdict is that the output is consistent with the retrieval context."""

    def __init__(self, guard: Guard, threshold: float = 0.5):
        self.guard = guard
        self.threshold = threshold

    def measure(self, test_case: LLMTestCase, *args, **kwargs) -> float:
        return self._keep(self.guard.check(**self._given(test_case)))

    async def a_measure(self, test_case: LLMTestCase, *args, **kwargs) -> float:
        return self._keep(await self.guard.acheck(**self._given(test_case)))

    def _given(self, test_case: LLMTestCase) -> dict:
        return {
            "response": test_case.actual_output,
            "question": test_case.input,
            "references": test_case.retrieval_context or (),
        }

    def _keep(self, verdict: Verdict) -> float:
        self.score = 0.0 if verdict.score is None else 1.0 - verdict.score
        self.success = verdict.decision == "consistent"
        self.reason = verdict.reason
        return self.score

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self):
        return "Grounded"


cases = [
    LLMTestCase(input=QUESTION, actual_output=answer, retrieval_context=[REFERENCE])
    for answer in ANSWERS
]
result = evaluate(cases, [GroundedMetric(Guard({"chain": [{"method": "facts"}]}))])
for test in result.test_results:
    print(test.actual_output, test.success)
