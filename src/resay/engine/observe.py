"""Tells operators of a request, from its beginning to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar, cast

from resay._internal.telemetry import Outcome, checking
from resay.core.verdict import HallucinationBlocked, Verdict
from resay.engine.actions import Answer
from resay.policy import Policy
from resay.providers.base import Completion

__all__ = ["observed"]

T = TypeVar("T", Answer, Verdict)


async def observed(policy: Policy, model: str | None, work: Callable[[], Awaitable[T]]) -> T:
    """Do the work of a request, and tell of it.

    Args:
        policy: The policy.
        model: Who is asked, where that is known.
        work: What is to be done.

    Returns:
        What the work returns.

    Raises:
        BaseException: What the work raises.
    """
    methods = [config.method_name for config in policy.chain]
    with checking(model=model, policy=methods) as check:
        try:
            result = await work()
        except HallucinationBlocked as error:
            check.ended(_outcome(error.verdict, "block"))
            raise
        if isinstance(result, Answer):
            check.ended(_outcome(result.verdict, result.action, result.completion))
        else:
            check.ended(_outcome(result))
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
    """Return what a provider calls its response, or None."""
    pieces = cast("tuple[object, ...]", raw) if isinstance(raw, tuple) else (raw,)
    found = _fields(pieces[0]) if pieces else (None, None)
    # Responses name their model; other things with an id are a framework's own.
    return found[0] if isinstance(found[0], str) and found[1] else None


def _fields(raw: object) -> tuple[object, object]:
    if isinstance(raw, Mapping):
        named = cast("Mapping[str, object]", raw)
        return named.get("id"), named.get("model")
    return getattr(raw, "id", None), getattr(raw, "model", None)
