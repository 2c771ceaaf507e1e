"""A scorer for `mlflow.genai.evaluate`."""

import mlflow
from mlflow.entities import AssessmentError, Feedback
from mlflow.genai import scorer
from rows import ANSWERS, QUESTION, REFERENCE

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}]})


@scorer
def hallucination(inputs, outputs, expectations) -> Feedback:
    verdict = guard.check(
        outputs, question=inputs["question"], references=expectations["references"]
    )
    if verdict.inconclusive:
        return Feedback(error=AssessmentError("INCONCLUSIVE", verdict.reason))
    return Feedback(value=verdict.score, rationale=verdict.reason)


rows = [
    {
        "inputs": {"question": QUESTION},
        "outputs": answer,
        "expectations": {"references": [REFERENCE]},
    }
    for answer in ANSWERS
]
mlflow.set_experiment("resay")
result = mlflow.genai.evaluate(data=rows, scorers=[hallucination])
print("hallucination/mean:", round(result.metrics["hallucination/mean"], 2))
