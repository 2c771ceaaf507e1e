"""Problems name their position, the value and a remedy."""

from __future__ import annotations

import errno
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resay import Policy
from resay.errors import PolicyError
from resay.plugins import registry
from support.policies import FULL, problems_of_text, with_chain

METHODS = ", ".join(repr(name) for name in registry())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version: 1", "1: chain: required, but missing"),
        ("chain: []", "1: chain: must not be empty"),
        ("chain: {method: ngram}", "1: chain: must be a list, not a mapping"),
        ("chain:\n  - 5", "2: chain[0]: must be a mapping, not 5"),
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
            with_chain("action: {doo: block}"),
            "2: action.do: required, but missing; is 'doo' a misspelling of it?",
        ),
        (
            with_chain("action: {do: annotate, exit: raise}"),
            "2: action.exit: unknown key 'exit'; there are 'do', 'marks'",
        ),
        (with_chain("action: blok"), "2: action: unknown action 'blok'; did you mean 'block'?"),
        ("chain: factz", "1: chain: unknown method 'factz'; did you mean 'facts'?"),
        ("chain: atuo", "1: chain: unknown method 'atuo'; did you mean 'auto'?"),
        (
            "chain: [{methd: facts}]",
            "1: chain[0].method: required, but missing; is 'methd' a misspelling of it?",
        ),
        (
            "chain: [{mode: per_sample}]",
            f"1: chain[0].method: required, but missing; there are {METHODS}",
        ),
        (
            with_chain("threshold: '0.5'"),
            "2: threshold: must be a number, not '0.5'; write it without quotes",
        ),
        (with_chain("threshold: high"), "2: threshold: must be a number, not 'high'"),
        (
            "chain: [second_opinion]",
            "1: chain[0]: unknown method 'second_opinion'; it is a key of the policy: write"
            " `second_opinion: …` beside `chain`, not in it",
        ),
        (
            "chain: [{method: sampling}]",
            "1: chain[0].method: unknown method 'sampling'; it is a key of the policy: write"
            " `sampling: …` beside `chain`, not in it",
        ),
        (
            "chain: [facts, block]",
            "1: chain[1]: unknown method 'block'; it is an action: write `action: block` beside"
            " `chain`",
        ),
        ("chain: [factz]", "1: chain[0]: unknown method 'factz'; did you mean 'facts'?"),
        (with_chain("threshold: 1.4"), "2: threshold: must be at most 1, not 1.4"),
        (
            with_chain("model: openai/gpt-4.1-mini"),
            "2: model: unknown key 'model'; it is no part of a policy: pass it to `Guard`, or as an"
            " option of the command",
        ),
        *(
            (
                with_chain(f"{key}: x"),
                f"2: {key}: unknown key '{key}'; write `action: {{do: block, message: …}}`",
            )
            for key in ("on_flag", "message")
        ),
        (
            with_chain("marks: inline"),
            "2: marks: unknown key 'marks'; write `action: {do: annotate, marks: inline}`",
        ),
        (
            with_chain("judge: openai/gpt-4.1-mini"),
            "2: judge: unknown key 'judge'; write it in a step of the `chain`: {method: prompt,"
            " judge: …}",
        ),
        (
            with_chain("deadline_s: 5"),
            "2: deadline_s: unknown key 'deadline_s'; write it under `limits`",
        ),
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
    (line,) = problems_of_text(text)
    if expected.endswith("there are "):
        assert line.startswith(f"p.yaml:{expected}")
    else:
        assert line == f"p.yaml:{expected}"


def test_all_problems_come_at_once_and_in_order():
    problems = problems_of_text(
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
    (problem,) = problems_of_text(with_chain("threshold:\n  passage: ${NOPE}\n  sentence: null"))
    assert "'NOPE' is not set" in problem


def test_a_quoted_variable_is_text():
    (line,) = problems_of_text(with_chain("sampling: {max: '${N}'}"), N="7")
    assert line == (
        "p.yaml:2: sampling.max: must be a whole number, not the value of '${N}'; "
        "write it without quotes"
    )


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
