"""A scorer for Inspect AI."""

from inspect_ai import Task, eval  # noqa: A004 - Inspect's own name
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score, accuracy, scorer
from inspect_ai.solver import solver
from rows import ANSWERS, QUESTION, REFERENCE

from resay import Guard

guard = Guard({"chain": [{"method": "facts"}]})


@scorer(metrics=[accuracy()])
def grounded():
    async def score(state, target) -> Score:
        verdict = await guard.acheck(
            state.output.completion,
            question=state.input_text,
            references=state.metadata["references"],
        )
        values = {"consistent": CORRECT, "flagged": INCORRECT}
        return Score(
            value=values.get(verdict.decision, NOANSWER),
            answer=state.output.completion,
            explanation=verdict.reason,
            metadata={"hallucination": verdict.score},
        )

    return score


@solver
def recorded():
    """Answer as it was recorded; leave it out to ask a model."""

    async def solve(state, generate):
        state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
        return state

    return solve


samples = [
    Sample(QUESTION, metadata={"references": [REFERENCE], "answer": answer}) for answer in ANSWERS
]
task = Task(samples, solver=recorded(), scorer=grounded())
(log,) = eval(task, model="mockllm/model", display="none")
for sample in log.samples:
    print(sample.output.completion, sample.scores["grounded"].value)
