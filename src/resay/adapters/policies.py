"""Guards for adapters, from the policies that they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from resay.adapters.runtime import GuardRuntime
from resay.core.verdict import OnVerdict
from resay.engine.regeneration.rechecking import reference_steps
from resay.errors import ConfigurationError, MissingDependencyError, ProviderRefusedError
from resay.guard import Guard
from resay.policy import Policy, Regenerate, Sampling
from resay.providers.batching import BatchCallsConfig
from resay.providers.default import DefaultProvider
from resay.providers.litellm_problems import problem_if_not_installed
from resay.retrieval import Retriever, as_retriever

PolicyLike = Guard | Policy | str | PathLike[str] | Mapping[str, Any] | None


def guard_of(
    policy: PolicyLike,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
    *,
    convert: Callable[[object], Retriever] = as_retriever,
) -> Guard:
    """Return a guard unchanged, or create one from a policy.

    Args:
        policy: A guard, or a policy.
        retriever: The source of documents, for a policy that regenerates; None for the policy's
            own.
        on_verdict: A callback for verdicts, in addition to those of a given guard.
        convert: Converts `retriever` to a Retriever; a framework's own converter knows its classes.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy regenerates, and there is no retriever; or both a guard,
            which has its own retriever, and a retriever were given; or the policy uses Batch APIs,
            which are too slow for callers that wait for an answer.
    """
    if isinstance(policy, Guard):
        if retriever is not None:
            raise ConfigurationError(
                f"`retriever` is a {type(retriever).__name__!r}, but a Guard has its own; wrap it"
                " with `as_retriever` and pass it to the Guard, or pass the policy instead of the"
                " Guard"
            )
        _refuse_batches(policy)
        return policy if on_verdict is None else GuardRuntime(policy).with_listener(on_verdict)
    converted = None if retriever is None else convert(retriever)
    guard = Guard(policy, retriever=converted, on_verdict=on_verdict)
    _refuse_batches(guard)
    return guard


def _refuse_batches(guard: Guard) -> None:
    if isinstance(guard.policy.calls, BatchCallsConfig):
        raise ConfigurationError(
            "the policy uses Batch APIs (`calls.via` is 'batch'), which take up to a day; use them"
            " for recorded answers with `Guard.check`, and omit `calls` here"
        )


def refuse_without_writer(guard: Guard, answering: object, remedy: str = "") -> None:
    """Refuse a policy that needs the response's own model if that cannot be found.

    Args:
        guard: The guard.
        answering: The object that answers.
        remedy: An additional remedy, for the message.

    Raises:
        ConfigurationError: The policy needs that model to judge or to write.
    """
    where = f"which cannot be found in this {type(answering).__name__};{remedy} name"
    GuardRuntime(guard).require_inputs({"model": f", {where} a judge in the policy with `judge:`"})
    action, missing = guard.policy.action, None
    if isinstance(action, Regenerate):
        steps = reference_steps(action.recheck or guard.policy.chain)
        if action.writer is None:
            missing = "a `writer`"
        elif action.from_ == "documents" and any(step.asks_response_model for step in steps):
            missing = "a judge for the checks of `recheck`"
    if missing is not None:
        raise ConfigurationError(
            f"the policy regenerates by the model that wrote the response, {where} {missing} in its"
            " `action`"
        )


def check_client_policy(guard: Guard, client: str, *, gives_references: bool = False) -> None:
    """Check that a guard's policy works for a client's answers.

    Args:
        guard: The guard.
        client: The guarded client, for the error.
        gives_references: Whether references may come with the checked answers.

    Raises:
        ConfigurationError: The policy needs something that a client cannot provide.
        MissingDependencyError: The policy names a model, and litellm is not installed.
    """
    sampling = guard.policy.sampling
    if not gives_references:
        remedy = f", and {client} has none; use `evidence: documents`, or call"
        GuardRuntime(guard).require_inputs(
            {"references": f"{remedy} `Guard.check` with `references`"}
        )
    check_via(sampling, f"{client} draws its samples itself")
    settings = {model: setting for setting, model in guard.policy.named_models}
    for request in guard.policy.named_requests:
        if not DefaultProvider().needs_litellm(request):
            continue
        setting = settings.get(request.model or "", "a judge")
        problem = problem_if_not_installed(request)
        if isinstance(problem, ProviderRefusedError):
            raise ConfigurationError(f"{setting}: {problem}")
        if problem is not None:
            purpose = f"the model {request.model!r} that the policy names ({setting})"
            raise MissingDependencyError("litellm", "litellm", purpose)


def check_via(sampling: Sampling, reason: str | None) -> None:
    """Check that samples can be drawn in the way that a policy says.

    Args:
        sampling: How the policy samples.
        reason: Why samples of the response's own model cannot go through litellm; None if they can.

    Raises:
        ConfigurationError: They cannot.
    """
    if sampling.via == "litellm" and sampling.model is None and reason is not None:
        raise ConfigurationError(
            f"`sampling.via` is 'litellm', but {reason}; omit it, or set `sampling.model`"
        )
    if sampling.via == "native" and sampling.model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {sampling.model!r}, which is called through litellm; omit `via:"
            " native`"
        )
