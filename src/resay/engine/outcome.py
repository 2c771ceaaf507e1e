"""Reports the outcome of a request to telemetry."""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Mapping,
)
from typing import TYPE_CHECKING, TypeVar, cast

from resay._internal.telemetry import Outcome, check_span
from resay.core.blocked import HallucinationBlocked
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.policy import Policy
from resay.providers.base import Completion

if TYPE_CHECKING:
    pass


T = TypeVar("T", Answer, Verdict)


async def run_with_telemetry(
    policy: Policy, model: str | None, work: Callable[[], Awaitable[T]]
) -> T:
    """Run a request and report its outcome to telemetry.

    Args:
        policy: The policy.
        model: The model that is called, if known.
        work: The request.

    Returns:
        The result of the request.

    Raises:
        BaseException: The error of the request.
    """
    methods = [config.method_name for config in policy.chain]
    with check_span(model=model, policy=methods) as check:
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
    pieces = cast("tuple[object, ...]", raw) if isinstance(raw, tuple) else (raw,)
    id_and_model = _id_and_model(pieces[0]) if pieces else (None, None)
    # A provider's response names its model; other objects with an id belong to frameworks.
    return id_and_model[0] if isinstance(id_and_model[0], str) and id_and_model[1] else None


def _id_and_model(raw: object) -> tuple[object, object]:
    if isinstance(raw, Mapping):
        named = cast("Mapping[str, object]", raw)
        return named.get("id"), named.get("model")
    return getattr(raw, "id", None), getattr(raw, "model", None)
