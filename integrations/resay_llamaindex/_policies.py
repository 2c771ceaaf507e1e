"""The guard that does what a policy says, and where it searches."""

from __future__ import annotations

from resay.adapters import OnVerdict, PolicyLike, guard_of
from resay.guard import Guard
from resay.policy import Policy, Regenerate
from resay_llamaindex._retrieving import as_retriever

__all__ = ["guarding"]


def guarding(
    policy: PolicyLike,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
    *,
    own: object = None,
) -> Guard:
    """Return a guard as `guard_of` does; its retriever may be one of LlamaIndex's.

    Args:
        policy: The policy, or a guard.
        retriever: Where documents are found, for a policy that regenerates; see `as_retriever`.
        on_verdict: Who is told of verdicts.
        own: Where they are found if nobody says so.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: As for `guard_of`.
    """
    if retriever is None and own is not None and not isinstance(policy, Guard):
        policy = Policy.of(policy)
        action = policy.action
        if isinstance(action, Regenerate) and action.retriever is None:
            retriever = own
    return guard_of(policy, retriever, on_verdict, convert=as_retriever)
