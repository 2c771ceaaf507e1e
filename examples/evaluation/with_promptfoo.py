"""An assertion for promptfoo, named in with_promptfoo.yaml."""

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}]})


def get_assert(output: str, context: dict) -> dict:
    given = context["vars"]
    verdict = guard.check(output, question=given["question"], references=[given["reference"]])
    return {
        "pass": verdict.decision == "consistent",
        "score": 0.0 if verdict.score is None else 1.0 - verdict.score,
        "reason": verdict.reason,
    }
