"""The choice of `chain: auto`."""

from __future__ import annotations

import itertools
import re
from math import inf

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from resay import ConfigurationError, Guard, Policy, PolicyError, Usage
from resay.adapters import GuardRuntime
from resay.cli.app import app
from resay.plugins import Completion, Completions
from resay.policy import ChainBudget, policy_schema
from resay.policy.auto import choose
from resay.policy.candidates import Candidate, candidates
from resay.policy.measurements import MEASUREMENTS, Measurements, measurements_of
from support.frontier import on_frontier

NAMES = sorted(candidates())
KINDS = ("any", "long", "short")
BUDGETS = [
    ChainBudget(calls_per_answer=calls, latency_s=latency, free_only=free, answers=answers)
    for calls, latency, free, answers in itertools.product(
        (*range(1, 13), 20, 40, None), (1, 3, None), (True, False), KINDS
    )
]


def test_every_candidate_is_in_the_tables():
    assert all(set(table) == set(candidates()) for table in MEASUREMENTS.values())
    assert set(measurements_of("any")) == set(candidates())


def test_every_choice_is_on_the_frontier_of_the_table():
    """Of all chains; where time or judges are ruled out, of those that are left."""
    chosen = set()
    for budget in BUDGETS:
        table = measurements_of(budget.answers)
        allowed = [
            name
            for name, candidate in candidates().items()
            if not (budget.free_only and candidate.judges)
            and table[name].latency_s <= (budget.latency_s or inf)
        ]
        marks = on_frontier((table[name].calls, table[name].roc_auc) for name in allowed)
        choice = choose(budget)
        assert choice.name in itertools.compress(allowed, marks), budget
        chosen.add((budget.answers, choice.candidate.judges > 0))
    # Long answers are worth a judge.
    assert chosen == {("any", False), ("short", False), ("long", False), ("long", True)}


class Uninstalled(Candidate):
    """A chain that needs a package that is not installed."""

    def missing_package(self):
        return "is not installed"


@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.builds(
            Measurements,
            st.floats(50, 100),
            st.floats(1, 40),
            st.floats(0, 6),
            st.floats(0, 500),
        ),
        min_size=1,
    ),
    st.builds(
        ChainBudget,
        calls_per_answer=st.none() | st.integers(1, 40),
        latency_s=st.none() | st.floats(0.01, 15),
        free_only=st.booleans(),
    ),
    st.integers(1, 6),
    st.sets(st.sampled_from(NAMES)),
)
def test_the_best_fitting_chain_is_chosen_from_any_table(table, budget, min_samples, uninstalled):
    chains = dict(candidates())
    for name in uninstalled:
        chains[name] = Uninstalled(chains[name].steps, chains[name].samples)

    def fits(name):
        return (
            chains[name].calls <= (budget.calls_per_answer or inf)
            and table[name].latency_s <= (budget.latency_s or inf)
            and not (budget.free_only and chains[name].judges)
            and chains[name].samples >= min_samples
            and name not in uninstalled
        )

    fitting = [name for name in table if fits(name)]
    if not fitting:
        with pytest.raises(ValueError, match="no known chain fits"):
            choose(budget, min_samples=min_samples, chains=chains, measurements=table)
        return
    choice = choose(budget, min_samples=min_samples, chains=chains, measurements=table)
    assert choice.name in fitting
    assert choice.measurements.roc_auc == max(table[name].roc_auc for name in fitting)
    assert not set(choice.rejected) & set(fitting)
    better = {name for name in table if table[name].roc_auc > choice.measurements.roc_auc}
    assert better <= set(choice.rejected)


ANSWER = "The bridge opened in 1932. It is 1149 metres long. Its designer was John Bradfield."


class Simple:
    """Says the same every time, and of every claim that all samples support it."""

    def __init__(self):
        self.calls = 0

    async def takes_n(self, query):
        return False

    async def complete(self, query, *, n=1):
        self.calls += 1
        prompt = str(query.messages[-1]["content"])
        claims = re.findall(r"^(\d+)\. ", prompt, re.MULTILINE)
        samples = ", ".join(re.findall(r'<sample-\w+ number="(\d+)">', prompt))
        text = "\n".join(f"{i}: supported by samples {samples}" for i in claims)
        text = text or f"{ANSWER} Sample {self.calls} says so."
        return Completions((Completion(text),), Usage(calls=1))


@pytest.mark.parametrize("calls", [1, 3, 5, 10, None])
def test_a_check_takes_no_more_calls_than_the_budget(calls):
    provider = Simple()
    guard = Guard(
        {
            "chain": "auto",
            "budget": {"calls_per_answer": calls, "answers": "long"},
            "cache": {"store": "none"},
        },
        model="m",
        provider=provider,
    )
    verdict = guard.check(ANSWER, question="Tell me about the bridge.")
    assert 0 < verdict.usage.calls == provider.calls <= (calls or 40)
    assert not verdict.inconclusive
    assert [step.method for step in verdict.steps] == [s.method_name for s in guard.policy.chain]


def test_the_policy_has_the_chosen_chain():
    policy = Policy.of({"chain": "auto", "budget": {"free_only": True}, "sampling": {"ahead": 1}})
    choice = choose(ChainBudget(free_only=True))
    assert [step.method_name for step in policy.chain] == ["facts", "leaning"]
    assert (policy.sampling.max, policy.sampling.ahead) == (choice.candidate.samples, 1)
    assert Policy.of(policy.model_dump()) == policy == Policy.of(policy)
    assert Policy(chain="auto", budget=ChainBudget(free_only=True)).chain == policy.chain
    assert Policy.parse("chain: auto").budget == ChainBudget()


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("chain: auto\nbudget: {calls: 1}", "2: budget.calls", "unknown key 'calls'"),
        ("chain: auto\nbudget: {calls_per_answer: x}", "2: budget.calls_per_answer", "'x'"),
        ("chain: auto\nbudget: 3", "2: budget", "a mapping"),
        ("chain: auto\nsampling: 3", "2: sampling", "a mapping"),
        ("chain: auto\nsampling: {max: 3}", "2: sampling", "calls_per_answer"),
        ("chain: auto\nsampling: {min: 90}", "1: chain", "sampling.min is 90"),
        ("chain: auto\nbudget: {latency_s: 0.00001}", "1: chain", "latency_s is 1e-05"),
        ("chain: [{method: facts}]\nbudget: {free_only: true}", "2: budget", "`chain: auto`"),
        ("chain: automatic", "1: chain", "'automatic'"),
    ],
)
def test_problems_name_their_line(text, position, message):
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text, source="p")
    (problem,) = caught.value.problems
    assert problem.startswith(f"p:{position}: ")
    assert message in problem


def test_the_schema_accepts_auto_and_a_list():
    schema = jsonschema.Draft202012Validator(policy_schema())
    for chain in ("auto", [{"method": "facts"}]):
        assert schema.is_valid({"chain": chain, "budget": {"free_only": True}})
    for other in ({"chain": "other"}, {"chain": []}, {"chain": "auto", "budget": {"calls": 1}}):
        assert not schema.is_valid(other)


def test_a_chain_with_a_missing_package_is_not_chosen(monkeypatch):
    nli = Candidate(({"method": "nli", "model": "someone/unheard-of"},), 2)
    monkeypatch.setattr("resay._internal.importing.find_spec", lambda _: None)
    monkeypatch.setattr("resay.models.loading.find_spec", lambda _: None)
    assert "resay[nli]" in nli.missing_package()
    chains = {**candidates(), "nli, 2": nli}
    table = {**measurements_of("any"), "nli, 2": Measurements(99.0, 2.0, 0.0, 10.0)}
    choice = choose(ChainBudget(free_only=True), chains=chains, measurements=table)
    assert choice.name == choose(ChainBudget(free_only=True)).name
    assert "resay[nli]" in choice.rejected["nli, 2"]


def test_without_a_model_for_the_judge_the_message_names_the_budget():
    guard = Guard({"chain": "auto", "budget": {"answers": "long"}})
    assert GuardRuntime(guard).required_by("judge")
    with pytest.raises(ConfigurationError, match="free_only: true"):
        guard.check("It opened in 1932.", samples=["It opened in 1932."] * 5)


def test_policy_check_explains_the_choice(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("chain: auto\nbudget: {free_only: true, answers: long}\n")
    shown = " ".join(CliRunner().invoke(app, ["policy", "check", str(path)]).output.split())
    choice = choose(ChainBudget(free_only=True, answers="long"))
    assert f"chain: auto chose '{choice.name}'" in shown
    assert choice.rejected
    for name, reason in choice.rejected.items():
        assert f"not '{name}': {reason}" in shown
