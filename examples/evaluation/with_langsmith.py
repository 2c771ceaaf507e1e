"""An evaluator for LangSmith. With `upload_results=False` nothing leaves the process."""

from datetime import datetime, timezone
from uuid import uuid4

from langsmith import evaluate
from langsmith.schemas import Example
from rows import ANSWERS, QUESTION, REFERENCE

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}]})


def hallucination(inputs: dict, outputs: dict, reference_outputs: dict) -> dict:
    verdict = guard.check(
        outputs["answer"],
        question=inputs["question"],
        references=reference_outputs["references"],
    )
    return {"score": verdict.score, "value": verdict.decision, "comment": verdict.reason}


def target(inputs: dict) -> dict:
    return {"answer": inputs["answer"]}  # your application here


examples = [
    Example(
        id=uuid4(),
        dataset_id=uuid4(),
        created_at=datetime.now(timezone.utc),
        inputs={"question": QUESTION, "answer": answer},
        outputs={"references": [REFERENCE]},
    )
    for answer in ANSWERS
]
results = evaluate(target, data=examples, evaluators=[hallucination], upload_results=False)
for row in results:
    (found,) = row["evaluation_results"]["results"]
    print(row["run"].outputs["answer"], found.value, round(found.score, 2))
