"""Scorers of other packages as steps."""

from __future__ import annotations

import re
import textwrap

import pytest

from resay import Policy
from resay.plugins import registry
from resay.policy import policy_schema
from support.installed import installed
from support.policies import problems_of_text, resolved, steps

METHODS = ", ".join(repr(name) for name in registry())


PLUGIN = """\
from typing import Literal
from pydantic import Field, field_validator
from resay.scorers import ScorerConfig

class Acme:
    name = "acme"
    needs = frozenset()

    class Config(ScorerConfig):
        method: Literal["acme"] = "acme"
        weights: tuple[float, ...] = Field((), max_length=2)
        url: str | int = ""
        mode: str = "a"

        @field_validator("mode")
        @classmethod
        def _check(cls, value):
            if value != "a":
                raise ValueError(f"mode is\\nnot {value}")
            return value
"""


@pytest.fixture
def acme(tmp_path):
    points = {"resay.scorers": "acme = acme_scorer:Acme\nbroken = no_such_module:Nothing"}
    with installed(tmp_path, textwrap.dedent(PLUGIN), points, name="acme_scorer"):
        yield


@pytest.mark.usefixtures("acme")
def test_a_scorer_of_another_package_can_be_a_step():
    policy = Policy.parse("chain: [{method: acme, weights: [1, 0.5], settle: {below: 0.1}}]")
    step = policy.chain[0]
    assert step.model_dump()["weights"] == (1.0, 0.5)
    assert Policy.of(policy.model_dump(mode="json")) == policy
    assert isinstance(hash(policy), int)
    schema = policy_schema()
    *methods, imported = [resolved(b["properties"]["method"], schema) for b in steps(schema)]
    methods = [method["const"] for method in methods]
    assert methods == [*registry()]
    assert re.search(imported["pattern"], "acme_scorer:Acme")
    assert methods[-1] == "acme"


@pytest.mark.usefixtures("acme")
def test_problems_with_settings_of_another_packages_scorer_are_readable():
    assert problems_of_text(
        "chain:\n - {method: acme, weights: [1, 2, 3]}\n - {method: acme, url: 1.5}"
    ) == [
        "p.yaml:2: chain[0].weights: must have at most 2, not 3",
        "p.yaml:3: chain[1].url: must be text or a whole number, not 1.5",
    ]
    (line,) = problems_of_text("chain:\n - method: acme\n   mode: ${KEY}", KEY="sk-secret")
    assert line == "p.yaml:3: chain[0].mode: mode is not ***"


@pytest.mark.usefixtures("acme")
def test_a_scorer_that_cannot_be_imported_is_left_out_and_says_why():
    assert problems_of_text("chain: [{method: broken}]") == [
        "p.yaml:1: chain[0].method: cannot load the scorer 'broken' from 'no_such_module:Nothing':"
        " ModuleNotFoundError"
    ]
    assert problems_of_text("chain: [{method: unheard}]") == [
        f"p.yaml:1: chain[0].method: unknown method 'unheard'; there are {METHODS}, 'acme',"
        " 'broken'"
    ]
