"""Making a guard of whatever an adapter is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from resay._internal.importing import require_optional
from resay.core.verdict import OnVerdict
from resay.engine.regeneration.rechecking import comparing_with_references
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Policy, Regenerate
from resay.retrieval import Retriever, as_retriever

PolicyLike = Guard | Policy | str | PathLike[str] | Mapping[str, Any] | None


def guard_of(
    policy: PolicyLike,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
    *,
    convert: Callable[[object], Retriever] = as_retriever,
) -> Guard:
    """Return a guard as it is, and make one of whatever describes a policy.

    Args:
        policy: A guard, or a policy.
        retriever: Where documents are found, for a policy that regenerates; None for where the
            policy says.
        on_verdict: Who is notified of verdicts, beside those that a given guard notifies.
        convert: Makes a retriever of what was given as one; a framework's own knows its classes.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy regenerates, and there is no retriever; or a guard was given,
            which has its own, and a retriever besides.
    """
    listeners = () if on_verdict is None else (on_verdict,)
    if isinstance(policy, Guard):
        if retriever is not None:
            raise ConfigurationError(
                f"retriever is a {type(retriever).__name__!r}, but a Guard has its own; give it to"
                " the Guard, with `as_retriever` around it, or pass the policy in place of the"
                " Guard"
            )
        return policy.notifying(*listeners) if listeners else policy
    guard = Guard(policy, retriever=None if retriever is None else convert(retriever))
    return guard.notifying(*listeners)


def refuse_without_writer(guard: Guard, answering: object, remedy: str = "") -> None:
    """Refuse a policy that asks the model that wrote the response, which cannot be found.

    Args:
        guard: The guard.
        answering: What answers.
        remedy: What else can be done about it.

    Raises:
        ConfigurationError: The policy asks that model to judge or to write.
    """
    where = f"which cannot be found in this {type(answering).__name__};{remedy} name"
    guard.refuse({"model": f", {where} a judge in the policy with `judge:`"})
    if asked := _asking_writer(guard.policy):
        missing = "a `writer`" if asked == "writer" else "a judge for the checks of `recheck`"
        raise ConfigurationError(
            f"the policy regenerates by the model that wrote the response, {where} {missing} in its"
            " `action`"
        )


def _asking_writer(policy: Policy) -> str | None:
    """Return what of regenerating asks the model that wrote the response.

    Args:
        policy: The policy.

    Returns:
        `writer` where that model writes the answer again, `recheck` where another does but it is
        asked about what was written; None for nothing.
    """
    action = policy.action
    if not isinstance(action, Regenerate):
        return None
    if action.writer is None:
        return "writer"
    steps = comparing_with_references(action.recheck or policy.chain)
    return "recheck" if any(step.asks_response_model for step in steps) else None


def check_client_policy(guard: Guard, client: str, *, gives_references: bool = False) -> None:
    """See whether a guard can check what a client is answered.

    Args:
        guard: The guard.
        client: What it guards, for the error.
        gives_references: Whether references may come with what is checked.

    Raises:
        ConfigurationError: The policy asks for what cannot be had of a client.
        MissingDependencyError: The policy names a model, and litellm is not installed.
    """
    sampling = guard.policy.sampling
    if not gives_references:
        rest = f", and {client} has none to give; leave `evidence: references` out, or call"
        guard.refuse({"references": f"{rest} `Guard.check` with `references`"})
    if sampling.via == "litellm" and sampling.model is None:
        raise ConfigurationError(
            f"`sampling.via` is 'litellm', but samples are asked for by {client} itself; leave it"
            " out, or name a `sampling.model`"
        )
    if sampling.via == "native" and sampling.model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {sampling.model!r}, which is asked through litellm; leave"
            " `via: native` out"
        )
    for setting, model in guard.policy.named_models:
        require_optional(
            "litellm",
            package="litellm",
            extra="litellm",
            purpose=f"the model {model!r} that the policy names ({setting})",
        )
