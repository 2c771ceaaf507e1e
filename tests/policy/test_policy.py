from __future__ import annotations

import copy
import errno
import importlib
import json
import os
import pickle
import re
import sys
import textwrap
import traceback

import jsonschema
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import Guard
from resay.errors import ConfigurationError, PolicyError
from resay.policy import (
    Annotate,
    Block,
    Limits,
    Policy,
    Sampling,
    Threshold,
    default_text,
    policy_schema,
)
from resay.scorers import Ngram, Prompt, registry

METHODS = ", ".join(repr(name) for name in registry())

FULL = """\
version: 1
sampling:
  max: ${N:-6}
  min: 2
  temperature: 0.9
  start: after
  model: openai/gpt-4.1-mini
  params: {max_tokens: 200, stop: [a, b]}
chain:
  - method: ngram
    settle: {below: 0.15}
  - method: prompt
    judge: {model: openai/gpt-4.1, params: {temperature: 0}}
    mode: per_sample
threshold: {passage: 0.7, sentence: null}
action: {do: block, exit: raise, message: Sorry.}
limits: {deadline_s: null, timeout_s: 5, concurrency: 4, retries: 0}
splitter: sentencex
on_error: block
"""


def lines(text, **env):
    with pytest.raises(PolicyError) as caught:
        Policy.parse(text, source="p.yaml", env=env)
    return caught.value.problems


def with_chain(text):
    return f"chain: [{{method: ngram}}]\n{text}"


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
    assert lines(with_chain("sampling: {max: 2, min: 3}")) == [
        "p.yaml:2: sampling: min (3) must not be greater than max (2)"
    ]


def test_a_blocked_answer_has_a_polite_message():
    action = Policy.parse(with_chain("action: {do: block}")).action
    assert isinstance(action, Block)
    assert action.exit == "replace"
    assert action.message.startswith("Sorry, this answer was withheld")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: 1", "1: chain: required, but missing"),
        ("chain: []", "1: chain: must not be empty"),
        ("chain: {method: ngram}", "1: chain: must be a list, not a mapping"),
        ("chain:\n  - ngram", "2: chain[0]: must be a mapping, not 'ngram'"),
        (
            "chain:\n  - method: ngrm",
            "2: chain[0].method: unknown method 'ngrm'; did you mean 'ngram'?",
        ),
        (
            "chain:\n  - method: [ngram]",
            f"2: chain[0].method: unknown method a list; there are {METHODS}",
        ),
        (
            "chain:\n  - {}",
            f"2: chain[0].method: required, but missing; there are {METHODS}",
        ),
        (
            "chain:\n  - method: prompt\n    jugde: x",
            "3: chain[0].jugde: unknown key 'jugde'; did you mean 'judge'?",
        ),
        (
            "chain:\n  - method: prompt\n    judge: 4",
            "3: chain[0].judge: must be text or a mapping, not 4",
        ),
        (
            "chain:\n  - method: prompt\n    judge: {modle: x}",
            "3: chain[0].judge.modle: unknown key 'modle'; did you mean 'model'?",
        ),
        (
            "chain:\n  - method: prompt\n    judge:\n      model: 4",
            "4: chain[0].judge.model: must be text, not 4",
        ),
        (
            "chain:\n  - method: ngram\n    settle: {below: 0.9, above: 0.1}",
            "3: chain[0].settle: below (0.9) must not be greater than above (0.1)",
        ),
        (
            "chain:\n  - method: ngram\n    n: '3'",
            "3: chain[0].n: must be a whole number, not '3'; write it without quotes",
        ),
        (
            with_chain("treshold: 1"),
            "2: treshold: unknown key 'treshold'; did you mean 'threshold'?",
        ),
        (
            with_chain("threshold: {zzz: 1}"),
            "2: threshold.zzz: unknown key 'zzz'; there are 'passage', 'sentence', 'doubtful'",
        ),
        (
            with_chain("threshold:\n  passage: null\n  sentence: null"),
            (
                "3: threshold: passage and sentence must not both be null, or nothing is ever"
                " flagged; set one"
            ),
        ),
        (
            with_chain("threshold: {sentence: 0.3, doubtful: 0.3}"),
            "2: threshold: doubtful (0.3) must be less than sentence (0.3)",
        ),
        (
            with_chain("threshold: {sentence: null, doubtful: 0.3}"),
            "2: threshold: doubtful (0.3) must be less than sentence (None)",
        ),
        (
            with_chain("threshold: {passage: 1.5}"),
            "2: threshold.passage: must be at most 1, not 1.5",
        ),
        (
            with_chain("threshold: {passage: .inf}"),
            "2: threshold.passage: must be a finite number, not inf",
        ),
        (with_chain("sampling: {max: 0}"), "2: sampling.max: must be at least 1, not 0"),
        (with_chain("sampling: {max: 101}"), "2: sampling.max: must be at most 100, not 101"),
        (with_chain("sampling: {max: 010}"), "2: sampling.max: must be a whole number, not '010'"),
        (with_chain("sampling: {max: true}"), "2: sampling.max: must be a whole number, not true"),
        (with_chain("sampling: {max: 2.5}"), "2: sampling.max: must be a whole number, not 2.5"),
        (
            with_chain("sampling: {temperature: 0}"),
            "2: sampling.temperature: must be greater than 0, not 0",
        ),
        (with_chain("sampling: {model: ''}"), "2: sampling.model: must not be empty"),
        (with_chain("sampling: {params: x}"), "2: sampling.params: must be a mapping, not '***'"),
        (with_chain("sampling:"), "2: sampling: must be a mapping, not null"),
        (
            with_chain("sampling: {start: togther}"),
            "2: sampling.start: must be 'together' or 'after', not 'togther'; "
            "did you mean 'together'?",
        ),
        (with_chain("splitter: on"), "2: splitter: must be 'builtin' or 'sentencex', not 'on'"),
        (
            with_chain("limits: {deadline_s: 1:30}"),
            "2: limits.deadline_s: must be a number, not '1:30'",
        ),
        (
            with_chain("limits: {timeout_s: 0}"),
            "2: limits.timeout_s: must be greater than 0, not 0",
        ),
        (with_chain("limits: {retries: 11}"), "2: limits.retries: must be at most 10, not 11"),
        (
            with_chain("action: {do: blok}"),
            "2: action.do: unknown action 'blok'; did you mean 'block'?",
        ),
        (
            with_chain("action: {exit: raise}"),
            "2: action.do: required, but missing; there are 'annotate', 'block', 'regenerate'",
        ),
        (
            with_chain("action: {do: annotate, exit: raise}"),
            "2: action.exit: unknown key 'exit'; there are 'do'",
        ),
        (with_chain("action: block"), "2: action: must be a mapping, not 'block'"),
        (with_chain("version: 2"), "2: version: must be 1, not 2"),
        (with_chain("version: true"), "2: version: must be 1, not true"),
        (
            with_chain("on_error: blokc"),
            "2: on_error: must be 'allow', 'annotate' or 'block', not 'blokc'; "
            "did you mean 'block'?",
        ),
        (
            with_chain(f"on_error: {'x' * 200}"),
            f"2: on_error: must be 'allow', 'annotate' or 'block', not '{'x' * 58}…",
        ),
        (with_chain("'a b': 1"), "2: ['a b']: unknown key 'a b'; there are "),
    ],
)
def test_problems_name_position_value_and_remedy(text, expected):
    (line,) = lines(text)
    if expected.endswith("there are "):
        assert line.startswith(f"p.yaml:{expected}")
    else:
        assert line == f"p.yaml:{expected}"


def test_all_problems_come_at_once_and_in_order():
    problems = lines(
        """\
chain:
  - method: ngrm
  - method: prompt
    judge: 4
sampling:
  max: ${NOPE}
  min: -1
limits: {retries: many}
limits: {}
1: 2
"""
    )
    assert [problem.split(": ")[:2] for problem in problems] == [
        ["p.yaml:2", "chain[0].method"],
        ["p.yaml:4", "chain[1].judge"],
        ["p.yaml:6", "sampling.max"],
        ["p.yaml:7", "sampling.min"],
        ["p.yaml:8", "limits.retries"],
        ["p.yaml:9", "limits"],
        ["p.yaml:10", "a key must be text; write it as '1'"],
    ]


def test_consequences_of_an_unset_variable_are_not_reported():
    (problem,) = lines(with_chain("threshold:\n  passage: ${NOPE}\n  sentence: null"))
    assert "'NOPE' is not set" in problem


def test_a_quoted_variable_is_text():
    (line,) = lines(with_chain("sampling: {max: '${N}'}"), N="7")
    assert line == (
        "p.yaml:2: sampling.max: must be a whole number, not the value of '${N}'; "
        "write it without quotes"
    )


def test_a_file_is_read(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(FULL, "utf-8-sig")
    assert Policy.load(path) == Policy.of(path) == Policy.of(str(path)) == Policy.parse(FULL)


def test_problems_name_the_file_as_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text("chain: []")
    (tmp_path / "latin.yaml").write_bytes(b"# caf\xe9\nchain: []")
    (tmp_path / "empty.yaml").write_bytes(b"")
    for name, expected in {
        "policy.yaml": "policy.yaml:1: chain: must not be empty",
        "./latin.yaml": "./latin.yaml: not UTF-8 (byte 5); save the file as UTF-8",
        "empty.yaml": "empty.yaml:1: the policy is empty; "
        "the shortest is: chain: [{method: prompt}]",
        "none.yaml": "none.yaml: no such file",
        ".": ".: is a directory; pass a file",
        "none\0.yaml": "<policy>: 'none\\x00.yaml' is not a path",
        "chain: []\n": "<policy>: expected a path, not text; use Policy.parse for text",
        "x" * 5000: f"{'x' * 5000}: cannot be read: {os.strerror(errno.ENAMETOOLONG)}",
    }.items():
        with pytest.raises(PolicyError) as caught:
            Policy.of(name)
        assert caught.value.problems == [expected]


def test_a_mapping_has_no_lines_and_no_variables():
    with pytest.raises(PolicyError) as caught:
        Policy.of({"chain": [{"method": "ngram", "n": "${N}"}], "splitter": object(), 1: 2})
    assert sorted(caught.value.problems) == [
        "<policy>: a key must be text, not an object of type 'int'",
        "<policy>: chain[0].n: must be a whole number, not '${N}'",
        "<policy>: splitter: must be text, a number, true, false, null, a list or a mapping, "
        "not an object of type 'object'",
    ]


def test_a_mapping_that_holds_itself_is_refused():
    data = {"chain": [{"method": "ngram"}]}
    data["sampling"] = data
    with pytest.raises(PolicyError, match="nested more than 50 levels deep"):
        Policy.of(data)


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


# Secrets


def test_secrets_stay_out_of_messages():
    text = """\
chain:
  - method: prompt
    judge: {api_key: sk-secret, params: {api_key: sk-secret, x: .nan}, model: [sk-secret]}
sampling: {token: sk-secret, params: sk-secret}
action: {do: "${KEY}"}
on_error: x${KEY}
limits: sk${KEY}
password: *secret
"""
    problems = lines(text.replace("password: *secret\n", ""), KEY="sk-secret")
    assert len(problems) == 8
    assert "sk-secret" not in "\n".join(problems)
    assert "secret" not in "\n".join(lines(text, KEY="sk-secret"))


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("${KEY}:Scorer", "sk-secret-4711"),
        ("${KEY}.scorers:Scorer", "sk-secret-4711"),
        ("acme.${KEY}:Scorer", "sk-secret-4711"),
        ("json:${KEY}", "sk_secret_4711"),
        ("json:loads.${KEY}", "sk_secret"),
        ("${KEY}", "sk-secret-4711:Scorer"),
        ("${KEY}", "json:secret_4711"),
        ("${KEY}:x", "sk1"),
        ("${KEY}:x:y", "sk-secret"),
        ("x${KEY}:x", "sk-secret"),
    ],
)
def test_an_import_path_from_a_variable_stays_out_of_messages(value, secret):
    message = "\n".join(lines(f"chain: [{{method: '{value}'}}]", KEY=secret))
    assert message.startswith("p.yaml:1: chain[0].method: ")
    for part in secret.split(":"):
        assert part in ("json", "Scorer") or part not in message


@pytest.mark.parametrize(
    "text",
    [
        "non_claims: '${KEY}:x'",
        "when: {call: '${KEY}:x'}",
        "observers: [{to: '${KEY}:x'}]",
        "action: {do: regenerate, retriever: '${KEY}:x'}",
        "non_claims: 'json:${KEY}'",
    ],
)
def test_a_guard_names_an_import_path_from_a_variable_as_written(text, monkeypatch):
    monkeypatch.setenv("KEY", "sk_secret_4711")
    policy = Policy.parse(with_chain(text))
    with pytest.raises(ConfigurationError, match=r"the value of '.*\$\{KEY\}") as caught:
        Guard(policy)
    report = "".join(traceback.format_exception(caught.value, chain=True))
    assert "sk_secret" not in report


@given(
    st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=8, max_size=30).map("sk-{}".format),
    st.sampled_from(
        [
            "api_key: {}",
            "sampling: {{params: {}}}",
            "sampling: {{authorization: {}}}",
            "sampling: {{params: {{a: [.nan, {}]}}}}",
            "limits: {{access_token: {}}}",
            "threshold: [{}]",
            "action: {{do: block, message: [{}]}}",
            "on_error: ${{KEY}}",
            "limits:\n  deadline_s: 1${{KEY}}",
            "action:\n  do: ${{KEY}}",
            "version: '${{KEY}}'",
        ]
    ),
)
def test_no_secret_is_ever_in_a_message(secret, template):
    problems = lines(with_chain(template.format(secret)), KEY=secret)
    assert secret not in "\n".join(problems)


def test_secrets_stay_out_of_repr_and_tracebacks():
    policy = Policy.of(
        {"chain": [{"method": "ngram"}], "sampling": {"params": {"api_key": "sk-1"}}}
    )
    assert "sk-1" not in repr(policy)
    with pytest.raises(PolicyError) as caught:
        Policy.parse(with_chain("api_key: sk-1"))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


# Scorers of other packages

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
def acme(tmp_path, monkeypatch):
    (tmp_path / "acme_scorer.py").write_text(textwrap.dedent(PLUGIN))
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[resay.scorers]\nacme = acme_scorer:Acme\nbroken = no_such_module:Nothing\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    registry.cache_clear()
    yield
    registry.cache_clear()
    sys.modules.pop("acme_scorer", None)


@pytest.mark.usefixtures("acme")
def test_a_scorer_of_another_package_can_be_a_step():
    policy = Policy.parse("chain: [{method: acme, weights: [1, 0.5], settle: {below: 0.1}}]")
    step = policy.chain[0]
    assert step.model_dump()["weights"] == (1.0, 0.5)
    assert Policy.of(policy.model_dump(mode="json")) == policy
    assert isinstance(hash(policy), int)
    *methods, imported = [b["properties"]["method"] for b in steps(policy_schema())]
    methods = [method["const"] for method in methods]
    assert methods == [*registry()]
    assert re.search(imported["pattern"], "acme_scorer:Acme")
    assert methods[-1] == "acme"


@pytest.mark.usefixtures("acme")
def test_problems_with_settings_of_another_packages_scorer_are_readable():
    assert lines("chain:\n - {method: acme, weights: [1, 2, 3]}\n - {method: acme, url: 1.5}") == [
        "p.yaml:2: chain[0].weights: must have at most 2, not 3",
        "p.yaml:3: chain[1].url: must be text or a whole number, not 1.5",
    ]
    (line,) = lines("chain:\n - method: acme\n   mode: ${KEY}", KEY="sk-secret")
    assert line == "p.yaml:3: chain[0].mode: mode is not ***"


@pytest.mark.usefixtures("acme")
def test_a_scorer_that_cannot_be_imported_is_an_unknown_method():
    assert lines("chain: [{method: broken}]") == [
        f"p.yaml:1: chain[0].method: unknown method 'broken'; there are {METHODS}, 'acme'"
    ]


# The published schema


def steps(schema):
    auto, listed = schema["properties"]["chain"]["anyOf"]
    assert auto == {"const": "auto"}
    return [resolved(branch, schema) for branch in listed["items"]["oneOf"]]


def resolved(part, schema):
    return schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


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
    actions = schema["properties"]["action"]["oneOf"]
    models = [schema, *schema["$defs"].values(), *steps(schema), *actions]
    for model in models:
        for name, part in model["properties"].items():
            assert "description" in {**resolved(part, schema), **part}, name


GOOD = [
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


# Properties

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


WORDS = st.sampled_from(
    [
        *" \n:-[]{}'\"#&*!|>",
        *("${N}", "${", "chain", "method", "ngram", "prompt", "judge", "do", "sampling", "max"),
        *("settle", "below", "1", "0.5", "null", ".nan", "\n  ", ": ", "\n- "),
    ]
)


def problems_in(text):
    try:
        Policy.parse(text, source="p.yaml", env={"N": "1"})
    except PolicyError as error:
        return error.problems
    return None


@given(st.text() | st.lists(WORDS, max_size=40).map("".join))
@example("chain: [{method: ngram, settle: {below: {below: 1}}}]")
@example("action: {do: block, block: {do: 1}, exit: {exit: 2}}")
@example('"\\x00": {"a\\nb": [')
def test_any_text_is_a_policy_or_a_policy_error(text):
    problems = problems_in(text)
    assert problems is None or problems
    assert all(line.startswith("p.yaml:") and "\n" not in line for line in problems or ())


@given(st.data())
def test_a_damaged_policy_is_a_policy_or_a_policy_error(data):
    start = data.draw(st.integers(0, len(FULL)))
    end = data.draw(st.integers(start, min(start + 5, len(FULL))))
    problems = problems_in(FULL[:start] + data.draw(WORDS | st.text(max_size=3)) + FULL[end:])
    assert problems is None or problems
    assert all(line.startswith("p.yaml:") for line in problems or ())


def test_a_policy_made_in_python_may_contain_a_function() -> None:
    def worth_it(query: object, response: str) -> bool:
        return "1932" in response

    policy = Policy.of({"chain": [{"method": "ngram"}], "when": {"call": worth_it}})
    assert policy.when is not None
    assert policy.when.call is worth_it
    with pytest.raises(PolicyError, match="must be text"):
        Policy.of({"chain": [{"method": worth_it}]})


@pytest.mark.parametrize("cache", ["redis://:hunter22@host", {"stoer": "redis://u:hunter22@h/0"}])
def test_a_password_in_an_address_is_not_shown(cache: object) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.of({"chain": [{"method": "ngram"}], "cache": cache})
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("guess", "key"),
    [
        ("second: openai/gpt-5", "second_opinion"),
        ("stream: hold", "stream_mode"),
        ("unscored: block", "on_unscored"),
        ("uncheckable: refuse", "on_uncheckable"),
        ("action: {do: block, finish: stop}", "finish_reason"),
    ],
)
def test_a_guessed_key_gets_the_nearest_name(guess: str, key: str) -> None:
    with pytest.raises(PolicyError, match=f"did you mean '{key}'"):
        Policy.parse(f"chain: [{{method: ngram}}]\n{guess}")
