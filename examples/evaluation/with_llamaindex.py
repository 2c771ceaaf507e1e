"""An evaluator for LlamaIndex, where 1 is good."""

import asyncio

from llama_index.core.evaluation import BaseEvaluator, BatchEvalRunner, EvaluationResult
from rows import ANSWERS, QUESTION, REFERENCE

from resay import Guard


class GroundedEvaluator(BaseEvaluator):
    """Passes where the verdict is that the response is consistent with its contexts."""

    def __init__(self, guard: Guard):
        self.guard = guard

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    async def aevaluate(self, query=None, response=None, contexts=None, **kwargs):
        verdict = await self.guard.acheck(response, question=query, references=contexts or ())
        return EvaluationResult(
            query=query,
            response=response,
            contexts=contexts,
            passing=verdict.decision == "consistent",
            score=None if verdict.score is None else 1.0 - verdict.score,
            feedback=verdict.reason,
            invalid_result=verdict.inconclusive,
            invalid_reason=verdict.reason if verdict.inconclusive else None,
        )


runner = BatchEvalRunner({"grounded": GroundedEvaluator(Guard({"chain": [{"method": "facts"}]}))})
results = asyncio.run(
    runner.aevaluate_response_strs(
        queries=[QUESTION] * len(ANSWERS),
        response_strs=ANSWERS,
        contexts_list=[[REFERENCE]] * len(ANSWERS),
    )
)
for result in results["grounded"]:
    print(result.response, result.passing)
