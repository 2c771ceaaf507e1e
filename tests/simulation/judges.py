"""The simulated judge of `resay.testing`, with two verdicts in place of three.

Published costs were measured with a judge that says of a claim either that a sample supports it, or
that it contradicts it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from resay.testing import judges
from resay.testing.judges import knows, recall
from resay.testing.tasks import Task, items_in, numbered
from resay.testing.world import World, supports

__all__ = ["find_task", "knows", "recall"]


def find_task(texts: Sequence[str]) -> Task | None:
    """Return the task in the last user message; see `resay.testing.judges.find_task`."""
    task = judges.find_task(texts)
    if task is not None and {"context", "claims"} <= task.parts.keys():
        return replace(task, answer=partial(_judge_claims, task.parts))
    return task


def _judge_claims(parts: Mapping[str, str], world: World, rng: random.Random) -> str:
    """Judge claims by a sample."""
    del world, rng
    context = parts["context"]
    return numbered(
        "supported" if supports(context, claim) else "contradicted"
        for claim in items_in(parts["claims"])
    )
