"""What a policy wants done with answers, and the guard that does it."""

from __future__ import annotations

from resay.adapters import OnVerdict, PolicyLike, guard_of
from resay.guard import Guard
from resay.policy import Block, Policy, Regenerate
from resay_langchain._retrieving import as_retriever

__all__ = ["guarding", "withholding"]


def guarding(
    policy: PolicyLike, retriever: object = None, on_verdict: OnVerdict | None = None
) -> Guard:
    """Return a guard as `guard_of` does; its retriever may be one of LangChain's.

    Args:
        policy: The policy, or a guard.
        retriever: Where documents are found, for a policy that regenerates; see `as_retriever`.
        on_verdict: Who is told of verdicts.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: As for `guard_of`.
    """
    return guard_of(policy, retriever, on_verdict, convert=as_retriever)


def withholding(policy: Policy) -> Block | None:
    """Return how flagged answers are withheld; None where they are not.

    What is regenerated may be withheld when it is flagged still.
    """
    action = policy.action
    last = action.otherwise if isinstance(action, Regenerate) else action
    return last if isinstance(last, Block) else None
