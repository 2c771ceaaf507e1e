"""The steps of a policy, and the groups in which they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, cast

from resay.errors import ConfigurationError
from resay.policy import Policy
from resay.scorers import Scorer, Step

if TYPE_CHECKING:
    from resay.scorers.common.judge_config import JudgedConfig


def steps_of(policy: Policy) -> tuple[Step, ...]:
    """Return the steps of a policy, with its second model last."""
    steps: tuple[Step, ...] = ()
    for index, config in enumerate(policy.chain):
        with policy.locating("chain", index):
            steps += (Step.of(config, where=f"chain[{index}]"),)
    second = policy.second_opinion
    if second is None:
        return steps
    compare = None
    if second.ask == "samples":
        compare = next((step for step in steps if "samples" in step.needs), None)
        if compare is None:
            raise ConfigurationError(
                "`second_opinion.ask` is 'samples', but no method of the chain compares with"
                " samples; add one, or use 'verification'"
            )
    # Loaded here and below, because few policies use them.
    from resay.scorers.cross_model import CrossModel

    config = CrossModel.Config(second_opinion=second)
    return (*steps, Step(config, cast("Scorer", CrossModel(config, compare))))


def compares_with_references(policy: Policy, steps: Sequence[Step]) -> bool:
    """Return whether claims are compared with references before the steps run.

    They are not if the policy compares with none, or configures the comparison itself.
    """
    refer = any("references" in step.needs or step.reads_documents for step in steps)
    return bool(policy.references.from_ and not refer and automatic_steps(steps))


def automatic_steps(steps: Sequence[Step]) -> list[Step]:
    """Return the steps that compare with samples, and with references where there are some."""
    compare = [step for step in steps if "samples" in step.needs]
    return [step for step in compare if getattr(step.config, "evidence", "auto") == "auto"]


def judged_step(steps: Sequence[Step]) -> JudgedConfig | None:
    """Return the settings of the step whose judge compares with references too; None if none."""
    # The first guard does not need it.
    from resay.scorers.common.judge_config import JudgedConfig

    configs = [step.config for step in automatic_steps(steps)]
    return next((config for config in configs if isinstance(config, JudgedConfig)), None)


def leading_steps(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the leading steps that need only a sentence and its evidence."""
    return tuple(takewhile(lambda s: not (s.needs_whole_passage or "logprobs" in s.needs), steps))


def concurrent_groups(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Yield groups of steps that can run concurrently, in order.

    A step that settles sentences limits the sentences of the next one, and a correction needs the
    scores that it corrects.
    """
    group: list[Step] = []
    for step in steps:
        if group and (step.corrects or group[-1].corrects or group[-1].config.settle):
            yield group
            group = []
        group.append(step)
    if group:
        yield group
