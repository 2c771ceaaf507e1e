"""What an agent does with an answer that is flagged."""

from __future__ import annotations

from typing import Literal

from resay.adapters import PolicyLike
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Block, Policy, Regenerate
from resay_langchain._policies import withholding

__all__ = ["ExitBehavior", "exiting"]

ExitBehavior = Literal["error", "end", "replace"]


def exiting(
    policy: PolicyLike, exit_behavior: ExitBehavior | None, violation_message: str | None
) -> PolicyLike:
    """Return a policy that withholds answers as it is told here.

    Args:
        policy: The policy, or a guard.
        exit_behavior: What a flagged answer leads to; None for what the policy says.
        violation_message: What is said in its place; None for what the policy says.

    Returns:
        The policy, changed; as it is where nothing is to change.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: What it is told makes no sense, or the retriever of a guard would be
            lost.
    """
    if exit_behavior not in (None, "error", "end", "replace"):
        raise ConfigurationError(
            f"exit_behavior must be 'error', 'end', 'replace' or None, not {exit_behavior!r}"
        )
    if exit_behavior is None and violation_message is None:
        return policy
    if violation_message == "":
        raise ConfigurationError("violation_message is ''; give some words, or None")
    known = policy.policy if isinstance(policy, Guard) else Policy.of(policy)
    known_block = withholding(known)
    if exit_behavior is None and known_block is None:
        raise ConfigurationError(
            "violation_message stands in place of a withheld answer, and this policy withholds"
            " none; pass exit_behavior too, or set `action: {do: block}`"
        )
    block = known_block or Block()
    leaving = {"error": "raise", None: block.exit}.get(exit_behavior, "replace")
    message = block.message if violation_message is None else violation_message
    changed = Block.model_validate({"exit": leaving, "message": message})
    if not isinstance(known.action, Regenerate):
        return known.model_copy(update={"action": changed})
    if isinstance(policy, Guard):
        raise ConfigurationError(
            "a Guard that regenerates cannot be told here what to do with answers that stay"
            " flagged; say it in its policy with `otherwise`, or pass the policy and a `retriever`"
        )
    action = known.action.model_copy(update={"otherwise": changed})
    return known.model_copy(update={"action": action})
