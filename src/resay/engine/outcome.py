"""Reports the outcome of a request to telemetry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from resay._internal.telemetry import Evaluator, Outcome, check_span
from resay.core.blocked import HallucinationBlocked
from resay.core.logprobs import field_of
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.providers.base import Completion

T = TypeVar("T", Answer, Verdict)


async def run_with_telemetry(
    evaluator: Evaluator, model: str | None, work: Callable[[], Awaitable[T]]
) -> T:
    """Run a request and report its outcome to telemetry.

    Args:
        evaluator: Who makes the check.
        model: The model that is called, if known.
        work: The request.

    Returns:
        The result of the request.

    Raises:
        BaseException: The error of the request.
    """
    with check_span(model=model, evaluator=evaluator) as check:
        try:
            result = await work()
        except HallucinationBlocked as error:
            check.report(_outcome(error.verdict, "block"))
            raise
        if isinstance(result, Answer):
            check.report(_outcome(result.verdict, result.action, result.completion))
        else:
            check.report(_outcome(result))
        return result


def _outcome(
    verdict: Verdict, action: str | None = None, completion: Completion | None = None
) -> Outcome:
    return Outcome(
        decision=verdict.decision,
        reason=verdict.reason,
        score=verdict.score,
        action=action,
        samples=verdict.samples,
        calls=verdict.usage.calls,
        tokens=verdict.usage.tokens,
        cost_usd=verdict.usage.cost_usd,
        elapsed_s=verdict.elapsed_s,
        response_id=_response_id(completion.raw) if completion else None,
        flagged=tuple(sentence.text for sentence in verdict.flagged_sentences),
    )


def _response_id(raw: object) -> str | None:
    """Return the provider's id of its response, or None."""
    if isinstance(raw, tuple):
        # The chunks of a stream.
        raw = next(iter(cast("tuple[object, ...]", raw)), None)
    id_, model = field_of(raw, "id"), field_of(raw, "model")
    # A provider's response names its model; other objects with an id belong to frameworks.
    return id_ if isinstance(id_, str) and model else None
