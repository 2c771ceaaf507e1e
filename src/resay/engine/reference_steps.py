"""The steps that compare an answer's claims with references before all others."""

from __future__ import annotations

from collections.abc import Sequence

from resay.engine.policy_steps import judged_step
from resay.policy import Policy
from resay.scorers import Step
from resay.scorers.references import References


def reference_steps_of(policy: Policy, steps: Sequence[Step]) -> tuple[Step, Step]:
    """Return the steps that compare claims with references.

    The first flags claims that no reference mentions, the second does not. They use the first judge
    of the chain; if it has none, words, or with `by: judge` the model that wrote the response.
    """
    judged = judged_step(steps)
    config = References.Config(by="words")
    if judged is not None and policy.references.by != "words":
        config = References.Config(judge=judged.judge, restate=judged.restate)
    elif policy.references.by == "judge":
        # As for any step that names no judge: the model that wrote the response.
        config = References.Config()
    config = config.model_copy(update={"words_first": policy.references.words_first})
    lenient = config.model_copy(update={"unmentioned": None})
    return Step.of(config), Step.of(lenient)
