"""A metric of DSPy, which is a reward too."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import dspy

from resay import Verdict
from resay.adapters import Message, OnVerdict, field_of, run_sync
from resay.adapters.apis import as_json
from resay.adapters.policies import PolicyLike
from resay_frameworks._checker import Checker, call_message, in_threads

__all__ = ["HallucinationMetric"]


class HallucinationMetric:
    """Scores a program's answers from 0, hallucinated, to 1, supported.

    It is a metric of `dspy.Evaluate` and of optimizers, and a reward of `dspy.Refine` and
    `dspy.BestOfN`, which ask a program again until an answer reaches a threshold. It changes no
    answer, whatever the policy's action is.

    The score of an answer whose check decided nothing is 0. While an optimizer collects
    demonstrations, an answer passes if it is not flagged, and was checked.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: The name of the model that draws samples and judges; None for DSPy's current one,
            without its cache, unless a given guard has one.
        on_verdict: Called with each `resay.Verdict`.
        question: The input field with the question; the other inputs are not sent.
        answer: The output field with the answer. One that is no text cannot be checked.
        context: The field with documents to compare with, in the prediction or the inputs; None for
            none.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a metric does not get.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        on_verdict: OnVerdict | None = None,
        question: str = "question",
        answer: str = "answer",
        context: str | None = None,
    ) -> None:
        self._question = question
        self._answer = answer
        self._context = context
        self._checker = Checker(
            policy,
            self,
            model=model,
            retriever=None,
            on_verdict=on_verdict,
            asks_own_model=True,
            takes_references=context is not None,
            acts=False,
        )

    def __call__(
        self,
        example: Any,
        pred: Any,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Any = None,
    ) -> float | bool:
        """Score an answer.

        Args:
            example: The inputs: an example, or a mapping.
            pred: The prediction.
            trace: The calls of the program, which optimizers pass while they collect
                demonstrations.
            pred_name: The predictor that an optimizer asks about.
            pred_trace: Its calls.

        Returns:
            The score; with a trace, whether the answer passes.
        """
        verdict = self.check(example, pred)
        if trace is not None and pred_name is None:
            return verdict.decision in ("consistent", "skipped")
        return _score_of(verdict)

    def check(self, example: Any, pred: Any) -> Verdict:
        """Return the verdict on an answer.

        Args:
            example: The inputs: an example, or a mapping.
            pred: The prediction.
        """
        documents: Any = None
        if self._context is not None:
            documents = field_of(pred, self._context) or field_of(example, self._context)
        references = [documents] if isinstance(documents, str) else [*(documents or ())]
        lm = dspy.settings.lm
        result = run_sync(
            self._checker.acheck,
            field_of(pred, self._answer),
            lambda: self._conversation(example, pred),
            ask=None if lm is None else in_threads(lambda messages: _ask(lm, messages)),
            references=[str(reference) for reference in references],
        )
        return result.answer.verdict

    def _conversation(self, example: Any, pred: Any) -> Iterator[Message]:
        question = field_of(example, self._question)
        yield {"role": "user", "content": str(question or "")}
        yield from _tool_messages(field_of(pred, "trajectory"))


def _tool_messages(trajectory: Any) -> Iterator[Message]:
    """Return the steps of `dspy.ReAct` in OpenAI's format."""
    step = 0
    while (name := field_of(trajectory, f"tool_name_{step}")) is not None:
        if name != "finish":
            call_id = f"call_{step}"
            arguments = as_json(field_of(trajectory, f"tool_args_{step}") or {})
            yield call_message("", [(call_id, str(name), arguments)])
            observed = str(field_of(trajectory, f"observation_{step}"))
            yield {"role": "tool", "tool_call_id": call_id, "content": observed}
        step += 1


def _ask(lm: Any, messages: Sequence[Message]) -> str:
    output = lm(messages=[dict(message) for message in messages], cache=False)[0]
    # Reasoning models' outputs are mappings.
    return str(output if isinstance(output, str) else output["text"])


def _score_of(verdict: Verdict) -> float:
    if verdict.skipped:
        return 1.0
    return 0.0 if verdict.score is None else 1.0 - verdict.score
