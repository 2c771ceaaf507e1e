"""Who made an evaluation, and by which policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from resay._internal._version import __version__
from resay._internal.telemetry.outcome import AttributeValue

NAME: Final = "resay"
DRAFTS: Final = "RESAY_OTEL_DRAFTS"
"""The environment variable that lists the drafts of OpenTelemetry's conventions to follow."""


class Evaluator:
    """This version of Resay with one policy.

    Args:
        policy_name: The policy's name.
        methods: Its methods.
        digest: Returns what distinguishes it from other policies of the name; called once, and only
            if an event needs it.

    Attributes:
        policy_name: The policy's name.
        methods: Its methods.
    """

    def __init__(self, policy_name: str, methods: Sequence[str], digest: Callable[[], str]) -> None:
        self.policy_name = policy_name
        self.methods = tuple(methods)
        self._digest = digest

    @cached_property
    def policy_version(self) -> str:
        """A text that differs for policies with other settings."""
        return self._digest()

    @property
    def evaluation_attributes(self) -> dict[str, AttributeValue]:
        """Its attributes on the event of an evaluation.

        `gen_ai.evaluation.evaluator` is proposed in semantic-conventions-genai, pull request 359.
        """
        return {
            "gen_ai.evaluation.evaluator.id": NAME,
            "gen_ai.evaluation.evaluator.version": __version__,
            "resay.policy": self.methods,
            "resay.policy.name": self.policy_name,
            "resay.policy.version": self.policy_version,
        }

    @property
    def guardrail_attributes(self) -> dict[str, AttributeValue]:
        """Its attributes on the span and the event of a guardrail.

        They are those of the draft in semantic-conventions-genai, pull request 427.
        """
        return {
            "gen_ai.guardrail.component.name": NAME,
            "gen_ai.guardrail.policy.id": self.policy_name,
            "gen_ai.guardrail.policy.version": self.policy_version,
            "gen_ai.guardrail.source": "output",
        }


def follows_guardrail_draft() -> bool:
    """Return whether the draft for guardrails is to be followed too."""
    return "guardrail" in os.environ.get(DRAFTS, "").replace(",", " ").split()
