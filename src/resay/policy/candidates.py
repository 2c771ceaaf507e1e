"""The chains that `chain: auto` chooses from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from resay.errors import MissingDependencyError
from resay.scorers import JudgedConfig, ScorerConfig, build, registry

Steps = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chain to choose from.

    Attributes:
        steps: The steps, as in a policy.
        samples: The maximum number of samples.
    """

    steps: Steps
    samples: int

    @property
    def judges(self) -> int:
        """The number of judge calls per sample: one for each step that asks a judge."""
        return sum(_judges(step) for step in self.steps)

    @property
    def calls(self) -> int:
        """The maximum number of samples and judge's answers."""
        return self.samples * (1 + self.judges)

    def configs(self) -> list[ScorerConfig]:
        """Return the settings of the steps."""
        return [registry()[step["method"]].Config.model_validate(step) for step in self.steps]

    def missing_package(self) -> str | None:
        """Return an error message if a package that the chain needs is not installed, or None."""
        try:
            for config in self.configs():
                build(config)
        except MissingDependencyError as error:
            return str(error)
        return None


def _judges(step: Mapping[str, Any]) -> int:
    parts: Sequence[Mapping[str, Any]] = step.get("parts", ())
    if parts:
        return sum(_judges(part["scorer"]) for part in parts)
    return issubclass(registry()[step["method"]].Config, JudgedConfig)


@cache
def candidates() -> Mapping[str, Candidate]:
    """Return the available chains by their names in the tables of measurements."""
    facts: Mapping[str, Any] = {"method": "facts"}
    leaning: Mapping[str, Any] = {"method": "leaning", "lean": 0.5}
    judge = _default_judge()
    facts_and_judge = {
        "method": "ensemble",
        "parts": [{"scorer": facts, "weight": 0.5}, {"scorer": judge, "weight": 0.5}],
    }
    chains: Mapping[str, tuple[Steps, Sequence[int]]] = {
        "ngram": (({"method": "ngram"},), (2, 5)),
        "facts": ((facts,), (2,)),
        "facts, leaning 0.5": ((facts, leaning), (1, 2, 3, 5, 10)),
        "prompt": ((judge,), (2, 5)),
        "prompt, leaning 0.5": ((judge, leaning), (2, 5, 10)),
        "facts > 0.9, prompt": (({**facts, "settle": {"above": 0.9}}, judge), (5,)),
        "facts + prompt": ((facts_and_judge,), (1, 2, 3, 5, 10)),
    }
    return {
        f"{name}, {samples}": Candidate(steps, samples)
        for name, (steps, counts) in chains.items()
        for samples in counts
    }


def _default_judge() -> Mapping[str, Any]:
    """Return the step of the default policy, so that its numbers are defined in one place."""
    text = (resources.files("resay.policy") / "default.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["chain"][0]
