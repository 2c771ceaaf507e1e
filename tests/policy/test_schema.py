"""The schema accepts the same as the policy."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from resay import Policy
from resay.errors import PolicyError
from resay.policy import policy_schema
from support.policies import FULL, resolved, steps

VALIDATOR = jsonschema.Draft202012Validator(policy_schema())


def takes(data):
    return VALIDATOR.is_valid(data)


def is_policy(data):
    try:
        Policy.of(data)
    except PolicyError:
        return False
    return True


def test_the_schema_is_valid():
    schema = policy_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "$id" not in schema
    assert schema == policy_schema()
    json.dumps(schema)


def test_every_key_in_the_schema_is_described():
    schema = policy_schema()
    _names, *actions = schema["properties"]["action"]["oneOf"]
    branches = [resolved(action, schema) for action in actions]
    models = [schema, *schema["$defs"].values(), *steps(schema), *branches]
    for model in models:
        for name, part in model.get("properties", {}).items():
            assert "description" in {**resolved(part, schema), **part}, name


def test_no_pattern_is_slow_to_compile():
    # Of many repetitions of all letters, which take longer than all else that a guard begins with.
    assert not re.search(r'"pattern": "[^"]*\{\d', json.dumps(policy_schema()))


def test_the_schema_stays_small_enough_for_an_editor():
    assert len(json.dumps(policy_schema(), separators=(",", ":"))) < 100_000


GOOD = [
    {"chain": ["facts"]},
    {"chain": "facts"},
    {"chain": "facts", "cache": "none"},
    {"chain": ["facts", {"method": "prompt"}], "threshold": 0.4, "action": "block"},
    {"chain": [{"method": "facts", "settle": 0.2}, "prompt"], "action": "regenerate"},
    yaml.safe_load(FULL.replace("${N:-6}", "6")),
    {"chain": [{"method": "ngram"}]},
    {"chain": [{"method": "ngram", "settle": None}], "sampling": {"temperature": None}},
    {"chain": [{"method": "prompt", "judge": None}], "version": 1, "limits": {}},
    {"chain": [{"method": "prompt", "judge": {}}], "action": {"do": "block"}},
    {"chain": [{"method": "prompt", "judge": "a"}], "threshold": {"passage": 1, "sentence": 0}},
]


BAD = [
    {},
    [],
    None,
    {"chain": []},
    {"chain": [{}]},
    {"chain": [{"n": 1}]},
    {"chain": [{"method": "x"}]},
    {"chain": ["x"]},
    {"chain": "x"},
    {"chain": "facts", "cache": "nowhere"},
    {"chain": [5]},
    {"chain": ["facts"], "threshold": 1.4},
    {"chain": ["facts"], "threshold": "0.4"},
    {"chain": ["facts"], "threshold": True},
    {"chain": ["facts"], "action": "blok"},
    {"chain": [{"method": "facts", "settle": "0.2"}]},
    {"chain": [{"method": "ngram", "judge": "x"}]},
    {"chain": [{"method": "ngram", "n": "3"}]},
    {"chain": [{"method": "ngram", "n": True}]},
    {"chain": [{"method": "prompt", "judge": {"api_key": "x"}}]},
    *(
        {"chain": [{"method": "ngram"}], **section}
        for section in (
            {"version": 2},
            {"version": True},
            {"sampling": None},
            {"sampling": {"max": 0}},
            {"sampling": {"max": 5.5}},
            {"sampling": {"temperature": 0}},
            {"sampling": {"params": None}},
            {"threshold": {"passage": 2}},
            {"threshold": {"passage": "0.5"}},
            {"action": {}},
            {"action": {"do": "annotate", "exit": "raise"}},
            {"action": {"do": "block", "message": ""}},
            {"limits": {"deadline_s": 0}},
            {"limits": {"concurrency": None}},
            {"limits": {"calls": "none"}},
            {"limits": {"tokens": 0}},
            {"splitter": "x"},
            {"on_error": None},
            {"extra": 1},
        )
    ),
]


@pytest.mark.parametrize("data", GOOD)
def test_schema_and_policy_take_the_same(data):
    assert takes(data)
    assert is_policy(data)


@pytest.mark.parametrize("data", BAD)
def test_schema_and_policy_refuse_the_same(data):
    assert not takes(data)
    assert not isinstance(data, dict) or not is_policy(data)


def test_the_schema_accepts_variables_for_anything_but_structure():
    data = yaml.safe_load(FULL)
    data["chain"][0] |= {"n": "${N}", "settle": {"below": "${B:-0.1}"}, "pool": "${P}"}
    data["threshold"] = {"passage": "${P:-0.5}", "sentence": "${S:-}"}
    data["limits"] |= {"retries": "${R}", "calls": "${C}"}
    data["on_error"] = "${E:-block}"
    assert takes(data)
    assert not takes({**data, "on_error": "$E"})
    assert not takes({**data, "chain": "${CHAIN}"})
    assert not takes({**data, "chain": [{"method": "${METHOD}"}]})


UNIT = st.floats(0, 1)


MODELS = st.none() | st.text(min_size=1)


PARAMS = st.dictionaries(
    st.text(st.characters(codec="utf-8", exclude_characters="$")),
    st.recursive(st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4),
)


def some_of(**fields):
    return st.fixed_dictionaries({}, optional=fields)


def tagged(key, name, **fields):
    return st.fixed_dictionaries({key: st.just(name)}, optional=fields)


STEPS = tagged(
    "method", "ngram", n=st.integers(1, 5), settle=st.none() | some_of(below=UNIT)
) | tagged(
    "method",
    "prompt",
    judge=MODELS | some_of(model=MODELS, params=PARAMS),
    mode=st.sampled_from(["together", "per_pair", "per_sample"]),
)


POLICIES = st.fixed_dictionaries(
    {"chain": st.lists(STEPS, min_size=1, max_size=3)},
    optional={
        "version": st.just(1),
        "sampling": some_of(
            max=st.integers(50, 100),
            min=st.integers(1, 5),
            temperature=st.none() | st.floats(0.1, 2),
            start=st.sampled_from(["together", "after"]),
            model=MODELS,
            params=PARAMS,
        ),
        "threshold": some_of(passage=UNIT, sentence=st.none() | UNIT),
        "action": tagged("do", "annotate")
        | tagged(
            "do",
            "block",
            exit=st.sampled_from(["replace", "raise"]),
            message=st.text(min_size=1),
        ),
        "limits": some_of(
            deadline_s=st.none() | st.floats(0.1, 1e6),
            timeout_s=st.none() | st.integers(1, 100),
            concurrency=st.integers(1, 1000),
            retries=st.integers(0, 10),
            calls=st.sampled_from([None, "auto", 1]),
            tokens=st.sampled_from([None, "auto", 50_000]),
        ),
        "splitter": st.sampled_from(["builtin", "sentencex"]),
        "on_error": st.sampled_from(["allow", "annotate", "block"]),
    },
)


@given(POLICIES)
def test_policies_round_trip(data):
    policy = Policy.of(data)
    dumped = policy.model_dump(mode="json")
    assert Policy.of(dumped) == policy
    assert hash(Policy.of(dumped)) == hash(policy)
    # DEL is the one character that JSON takes as it is and YAML does not.
    text = json.dumps(dumped).replace("$", "$$").replace("\x7f", "\\u007f")
    assert Policy.parse(text, env={}) == policy
    assert VALIDATOR.is_valid(data)
    assert VALIDATOR.is_valid(dumped)
