"""A model that reasons before it answers, on a server that leaves the reasoning in the text."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from resay.testing.world import Reply, Statement, Subject, World

BRIDGE = Subject(
    "the Sydney Harbour Bridge",
    facts=(
        ("The bridge opened in March 1932.", "It was in March 1932 that the bridge opened."),
        ("It is a steel arch.", "It is an arch of steel."),
        ("John Bradfield oversaw its design.", "Its design was overseen by John Bradfield."),
    ),
)
DRAFT = "Was it opened in 1612 by Fenella Marwick? No, that is made up."


@dataclass(frozen=True, slots=True)
class ReasoningWorld(World):
    """A world whose answers begin with reasoning that names what is not so.

    Attributes:
        opening: The mark before the reasoning; empty if the prompt has it.
        closing: The mark after it.
    """

    opening: str = "<think>\n"
    closing: str = "\n</think>\n\n"

    def answer(
        self, question: str, rng: random.Random, *, before: Sequence[str] = (), context: str = ""
    ) -> Reply:
        reply = World.answer(self, question, rng, before=before, context=context)
        reasoning = Statement(f"{self.opening}{DRAFT}{self.closing}".strip(), invented=False)
        return Reply((reasoning, *reply.statements))


def reasoning_world(opening: str = "<think>\n", closing: str = "\n</think>\n\n") -> ReasoningWorld:
    """Return a world that knows a bridge, with reasoning before each answer."""
    return ReasoningWorld((BRIDGE,), opening, closing)
