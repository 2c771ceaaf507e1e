"""The policy: its defaults, its types, and how it is read."""

from __future__ import annotations

import copy
import pickle

import pytest
from pydantic import ValidationError

from resay import Policy
from resay.adapters import Block, Sampling, Threshold
from resay.errors import PolicyError
from resay.policy import Annotate, Limits, default_text
from resay.scorers.ngram import Ngram
from resay.scorers.prompt import Prompt
from support.policies import FULL, problems_of_text, with_chain


def test_a_short_policy_is_complete():
    policy = Policy.parse("chain: [{method: prompt, mode: per_sample}]")
    assert policy.chain == (Prompt.Config(mode="per_sample"),)
    assert policy.sampling == Sampling(
        max=5, min=3, temperature=None, start="together", model=None, params={}
    )
    assert policy.threshold == Threshold(passage=0.5, sentence=0.5)
    assert policy.action == Annotate()
    assert policy.limits == Limits(deadline_s=120, timeout_s=60, concurrency=16, retries=2)
    assert (policy.version, policy.splitter, policy.on_error) == (1, "builtin", "annotate")


def test_the_default_policy_is_that_of_its_file():
    policy = Policy.default()
    assert policy == Policy.of(None) == Policy.parse(default_text(), env={})
    (judged,) = policy.chain
    assert isinstance(judged, Prompt.Config)
    assert judged.mode == "together"
    # All that is not fitted is as in any other policy.
    others = {"chain", "threshold"}
    short = Policy.parse("chain: [{method: prompt}]")
    assert policy.model_dump(exclude=others) == short.model_dump(exclude=others)


def test_the_default_policy_names_the_origin_of_its_numbers():
    text = default_text()
    for line in ("#: fitted: ", "#: data: ", "#: command: python -m research defaults"):
        assert line in text


def test_a_full_policy_is_typed():
    policy = Policy.parse(FULL, env={})
    first, second = policy.chain
    assert isinstance(first, Ngram.Config)
    assert first.settle is not None
    assert first.settle.below == 0.15
    assert isinstance(second, Prompt.Config)
    assert policy.action == Block(exit="raise", message="Sorry.")
    assert policy.sampling.max == 6
    assert policy.sampling.params == {"max_tokens": 200, "stop": ["a", "b"]}
    assert policy.limits.deadline_s is None
    assert Policy.parse(FULL, env={"N": "9"}).sampling.max == 9


def test_the_environment_is_the_process_environment_by_default(monkeypatch):
    monkeypatch.setenv("RESAY_TEST_N", "4")
    assert Policy.parse(with_chain("sampling:\n  max: ${RESAY_TEST_N}")).sampling.max == 4


def test_the_default_min_is_never_more_than_max():
    assert Policy.parse(with_chain("sampling: {max: 2}")).sampling.min == 2
    assert problems_of_text(with_chain("sampling: {max: 2, min: 3}")) == [
        "p.yaml:2: sampling: min (3) must not be greater than max (2)"
    ]


def test_a_blocked_answer_has_a_polite_message():
    action = Policy.parse(with_chain("action: {do: block}")).action
    assert isinstance(action, Block)
    assert action.exit == "replace"
    assert action.message.startswith("Sorry, this answer was withheld")


def test_a_file_is_read(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(FULL, "utf-8-sig")
    assert Policy.load(path) == Policy.of(path) == Policy.of(str(path)) == Policy.parse(FULL)


def test_other_types_are_refused():
    with pytest.raises(PolicyError, match="must be a path, a mapping or a Policy, not 'int'"):
        Policy.of(5)


def test_scorer_configurations_can_be_given_as_such():
    config = Ngram.Config(n=2)
    assert Policy(chain=(config,)).chain == (config,)
    assert Policy.of({"chain": [config]}).chain == (config,)
    policy = Policy.parse(FULL)
    assert Policy.of(policy) is policy
    with pytest.raises(ValidationError):
        Policy(chain=(Limits(),))


def test_a_policy_cannot_be_changed():
    source = {"chain": [{"method": "ngram"}], "sampling": {"params": {"stop": ["a"]}}}
    policy = Policy.of(source)
    source["sampling"]["params"]["stop"].append("b")
    assert policy.sampling.params == {"stop": ["a"]}
    with pytest.raises(ValidationError):
        policy.splitter = "sentencex"
    with pytest.raises(TypeError):
        policy.sampling.params["stop"] = []


def test_equal_policies_hash_alike_and_survive_copying():
    policy = Policy.parse(FULL)
    for twin in (Policy.parse(FULL), pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        assert twin == policy
        assert hash(twin) == hash(policy)
    assert policy != Policy.default()


def test_single_values_are_short_for_sections():
    short = Policy.parse(
        "chain: [{method: facts, settle: 0.2}, prompt]\nthreshold: 0.4\naction: block"
    )
    written = Policy.parse(
        "chain: [{method: facts, settle: {below: 0.2}}, {method: prompt}]\n"
        "threshold: {passage: 0.4, sentence: 0.4}\naction: {do: block}"
    )
    assert short == written
    assert short.model_dump() == written.model_dump()
    assert Policy.of({"chain": ["facts"]}) == Policy.of({"chain": [{"method": "facts"}]})
