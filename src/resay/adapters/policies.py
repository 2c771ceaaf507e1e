"""Making a guard of whatever an adapter is given, and a verdict as frameworks pass it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any, cast

from resay._internal.importing import require_optional
from resay.core.logprobs import field_of
from resay.core.verdict import OnVerdict, Verdict
from resay.engine.regeneration.rechecking import comparing_with_references
from resay.errors import ConfigurationError, DeadlineExceededError
from resay.guard import Guard
from resay.policy import Policy, Regenerate
from resay.providers.batching import BatchCallsConfig
from resay.retrieval import Retriever, as_retriever

NO_ANSWER = "the provider's response contains no readable answer"
"""Why the check of what is no answer is inconclusive."""
VERDICT_KEY = "hallucination"
"""Where the verdict appears in what a framework says of an answer beside its words."""


def verdict_data(verdict: Verdict, action: str) -> dict[str, Any]:
    """Return what users of a framework see of a verdict.

    Args:
        verdict: The verdict.
        action: What was done. When the answer was withheld, its words are left out here too.

    Returns:
        The verdict as JSON-ready values, with `action`.
    """
    return {**verdict.to_dict(content=action != "block"), "action": action}


def failed_check(error: Exception) -> Verdict:
    """Return what is known of an answer whose check broke."""
    why = f"the check failed with {type(error).__name__}"
    if isinstance(error, DeadlineExceededError):
        why = "the answer was not complete within `limits.deadline_s`"
    return Verdict("inconclusive", None, why)


def verdict_in(response: object) -> Verdict | None:
    """Return the verdict that a guard left in a provider's response.

    Args:
        response: A response, a message, an event of a stream, one of several answers, or what a
            chain or an agent gave; an object or a mapping. It may hold its verdict in what it is
            about, or in what a framework has for such things.

    Returns:
        The verdict; None where there is none.
    """
    for holder in _holders(response):
        data = field_of(holder, VERDICT_KEY)
        if isinstance(data, Mapping):
            try:
                return Verdict.from_dict(cast("dict[str, Any]", data))
            # Somebody else's entry of the same name.
            except ConfigurationError:
                continue
    return None


# Where frameworks keep what an answer has beside its words.
_BESIDE = ("response_metadata", "additional_kwargs", "metadata")


def _holders(response: object) -> Iterator[object]:
    yield response
    # An agent's output keeps the message alone.
    for holder in (response, field_of(response, "response")):
        yield from (field_of(holder, name) for name in _BESIDE)
    # The last event of a stream holds the whole response, or what is said of one answer.
    yield from (field_of(response, name) for name in ("response", "chunk", "message", "delta"))
    choices = field_of(response, "choices")
    for choice in cast("list[object]", choices) if isinstance(choices, list) else []:
        delta = field_of(choice, "delta")
        yield from (choice, field_of(choice, "message"), delta)
        # The one place that litellm sends on of what it does not know.
        yield field_of(delta, "provider_specific_fields")


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
            which has its own, and a retriever besides; or the policy asks through Batch APIs, for
            which nobody who waits for an answer can wait.
    """
    listeners = () if on_verdict is None else (on_verdict,)
    if isinstance(policy, Guard):
        if retriever is not None:
            raise ConfigurationError(
                f"`retriever` is a {type(retriever).__name__!r}, but a Guard has its own; wrap it"
                " with `as_retriever` and pass it to the Guard, or pass the policy instead of the"
                " Guard"
            )
        _refuse_batches(policy)
        return policy.notifying(*listeners) if listeners else policy
    guard = Guard(policy, retriever=None if retriever is None else convert(retriever))
    _refuse_batches(guard)
    return guard.notifying(*listeners)


def _refuse_batches(guard: Guard) -> None:
    if isinstance(guard.policy.calls, BatchCallsConfig):
        raise ConfigurationError(
            "the policy uses Batch APIs (`calls.via` is 'batch'), which take up to a day; use them"
            " for recorded answers with `Guard.check`, and omit `calls` here"
        )


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
    action, missing = guard.policy.action, None
    if isinstance(action, Regenerate):
        steps = comparing_with_references(action.recheck or guard.policy.chain)
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
        rest = f", and {client} has none; leave `evidence: references` out, or call"
        guard.refuse({"references": f"{rest} `Guard.check` with `references`"})
    if sampling.via == "litellm" and sampling.model is None:
        raise ConfigurationError(
            f"`sampling.via` is 'litellm', but {client} draws its samples itself; omit it, or set"
            " `sampling.model`"
        )
    if sampling.via == "native" and sampling.model is not None:
        raise ConfigurationError(
            f"`sampling.model` is {sampling.model!r}, which is called through litellm; omit `via:"
            " native`"
        )
    for setting, model in guard.policy.named_models:
        require_optional(
            "litellm",
            package="litellm",
            extra="litellm",
            purpose=f"the model {model!r} that the policy names ({setting})",
        )
