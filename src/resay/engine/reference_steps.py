"""The steps that compare an answer's claims with references before all others."""

from __future__ import annotations

from collections.abc import Sequence

from resay.engine.policy_steps import automatic_steps
from resay.policy import Policy
from resay.scorers import Step
from resay.scorers.common.judge_config import JudgedConfig
from resay.scorers.references import References


def reference_steps_of(policy: Policy, steps: Sequence[Step]) -> tuple[Step, Step]:
    """Return the steps that compare claims with references.

    The first flags claims that no reference mentions, the second does not. They use the first judge
    of the chain, or words if it has none.
    """
    configs = [step.config for step in automatic_steps(steps)]
    judged = next((config for config in configs if isinstance(config, JudgedConfig)), None)
    config = References.Config(by="words")
    if judged is not None and policy.references.by != "words":
        config = References.Config(judge=judged.judge, restate=judged.restate)
    elif policy.references.by == "judge":
        config = References.Config()
    config = config.model_copy(update={"words_first": policy.references.words_first})
    lenient = config.model_copy(update={"unmentioned": None})
    return Step.of(config), Step.of(lenient)
