"""Programs of DSPy whose answers are scored by a metric, and written again for a reward."""

from __future__ import annotations

from typing import Any

import cases
import dspy

from resay_frameworks.dspy import HallucinationMetric

dspy.configure(lm=dspy.LM("openai/simulated", api_base=cases.BASE_URL, cache=False))
WRONG = "The Zorblatt was built in 1712 by Kim Nobody."


class Plain(dspy.Module):
    """A program that asks in plain words, and whose n-th answer may be a given one."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.predict = dspy.Predict("question -> answer")
        self.answers = answers
        self.calls = [0]

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def deepcopy(self) -> Any:
        return self

    def forward(self, question: str) -> Any:
        self.calls[0] += 1
        if self.calls[0] <= len(self.answers):
            return dspy.Prediction(answer=self.answers[self.calls[0] - 1])
        text = dspy.settings.lm(messages=[{"role": "user", "content": question}])[0]
        return dspy.Prediction(answer=text)


def guarded(guard: Any, question: str, **options: Any) -> Any:
    metric = HallucinationMetric(guard)
    prediction = Plain()(question=question)
    if "[[" in question:
        prediction.trajectory = {
            "thought_0": "I need the year.",
            "tool_name_0": "clock_year",
            "tool_args_0": {},
            "observation_0": cases.RIGHT,
            "tool_name_1": "finish",
            "tool_args_1": {},
            "observation_1": "Completed.",
        }
    example = dspy.Example(question=question).with_inputs("question")
    verdict = metric.check(example, prediction)
    action = "allow" if verdict.decision == "consistent" else "annotate"
    data = {**verdict.to_dict(), "action": action}
    return prediction.answer, {"hallucination": data}


def check_scores() -> None:
    """Answers are scored, also while demonstrations are collected, and with documents."""
    metric = HallucinationMetric(cases.policy("block"))
    example = dspy.Example(question=cases.KNOWN).with_inputs("question")
    right = dspy.Prediction(answer="The Quibble is a lamp in Bonn.")
    wrong = dspy.Prediction(answer="The Quibble is a chair in Oslo, built in 1712.")
    assert metric(example, right) == 1.0
    assert metric(example, wrong) < 0.5
    assert (metric(example, right, []), metric(example, wrong, [])) == (True, False)
    nothing = HallucinationMetric(cases.unreachable())
    assert (nothing(example, right), nothing(example, right, [])) == (0.0, False)
    words = HallucinationMetric(
        {"chain": [{"method": "references", "by": "words"}]}, context="context"
    )
    found = dspy.Prediction(answer=cases.RIGHT, context=[cases.RIGHT])
    assert words(example, found) == 1.0
    assert (
        words({"question": cases.ABOUT, "context": cases.RIGHT}, dspy.Prediction(answer=WRONG))
        < 0.5
    )


def check_programs() -> None:
    """DSPy's own programs call the metric."""
    metric = HallucinationMetric(cases.policy("annotate"))
    examples = [dspy.Example(question=cases.KNOWN).with_inputs("question")] * 2
    evaluated = dspy.Evaluate(devset=examples, metric=metric, num_threads=2)(Plain())
    assert evaluated.score == 100.0
    wrong = "The Quibble is a chair in Oslo, built in 1712."
    for kind in (dspy.BestOfN, dspy.Refine):
        program = Plain(wrong)
        best = kind(module=program, N=3, reward_fn=metric, threshold=0.5)
        assert best(question=cases.KNOWN).answer.startswith("The Quibble is a lamp in Bonn.")
        assert program.calls[0] == 2


check_scores()
check_programs()
cases.run(guarded)
