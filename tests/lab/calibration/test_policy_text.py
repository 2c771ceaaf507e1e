from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError, Policy
from resay.adapters import Threshold
from resay_lab.calibration.policy_text import Change, changed_text

NEW = Threshold(passage=0.83, sentence=1.0)
COMMENT = ("calibrated 2025-01-31 from labels.jsonl", "target: something")
BLOCK = """# resay
version: 1
chain:
- method: ngram   # cheap

# where to stop
threshold:
    passage: 0.50       # responses
    sentence:   5.0e-1  # sentences

action: {do: block, message: 'no "way"'}
"""


def written(text, threshold=NEW, env=None, comment=COMMENT):
    old = Policy.parse(text, env=env)
    new = old.model_copy(update={"threshold": threshold})
    changes = [Change(("threshold",), tuple(comment))]
    result = changed_text(text, old, new, changes, env=env)
    assert Policy.parse(result, env=env) == new
    return result


def without_comment(text):
    return "".join(x for x in text.splitlines(keepends=True) if not x.lstrip().startswith("#:"))


def test_only_the_values_change_and_a_comment_comes():
    expected = (
        BLOCK.replace("0.50  ", "0.83  ")
        .replace("5.0e-1", "1.0")
        .replace(
            "threshold:",
            "#: calibrated 2025-01-31 from labels.jsonl\n#: target: something\nthreshold:",
        )
    )
    assert written(BLOCK) == expected


def test_a_second_calibration_takes_the_place_of_the_first():
    once = written(BLOCK)
    newer = ("calibrated 2025-02-01 from more.jsonl",)
    twice = written(once, Threshold(passage=0.7), comment=newer)
    assert twice.count("#: ") == 1
    assert "2025-01-31" not in twice
    assert (
        without_comment(twice)
        == without_comment(BLOCK.replace("0.50  ", "0.7  ").replace("5.0e-1", "0.5"))
        or "sentence:   0.5" in twice
    )
    assert "# where to stop\n#: calibrated 2025-02-01" in twice


def test_notes_between_an_old_comment_and_the_key_stay():
    text = written(BLOCK).replace("threshold:", "# agreed with Kim\n\nthreshold:")
    again = written(text, Threshold(), comment=("calibrated 2025-03-01 from x",))
    assert "2025-01-31" not in again
    assert "# agreed with Kim\n\n#: calibrated 2025-03-01 from x\nthreshold:" in again


LAYOUTS = {
    "no threshold": "chain: [{method: ngram}]\n",
    "no line break at the end": "chain:\n  - method: ngram\n    # last words",
    "flow": "version: 1\nchain: [{method: ngram}]\nthreshold: {passage: 0.4, sentence: .5} # x\n",
    "a number for both": "threshold: 0.4  # x\nchain: [ngram]\n",
    "a quoted method": "chain:\n- 'ngram'\nthreshold: 4.0e-1\n",
    "one of two": "threshold: {sentence: 0.5}\nchain: [{method: ngram}]\n",
    "one of two in a block": "chain: [{method: ngram}]\nthreshold:\n  # which\n  passage: 0.4\n",
    "empty": "threshold: {}\nchain: [{method: ngram}]\n",
    "all on one line": "{version: 1, chain: [{method: ngram}], threshold: {passage: 0.4}}",
    "one line without threshold": "{chain: [{method: ngram}]}\n",
    "document marks": "%YAML 1.2\n---\nchain: [{method: ngram}]\n...\n",
    "a variable": 'threshold: \n  passage: ${LIMIT:-0.4}\nchain: [{method: "ngram"}]\n',
    "quoted keys": "\"threshold\": {'passage': 0.4}\nchain: [{method: ngram}]\n",
    "indented": "  chain:\n  - {method: ngram}\n  on_error: allow\n",
    "windows": "chain:\r\n- method: ngram\r\nthreshold:\r\n  passage: 0.4\r\n",
    "merged": "threshold: {<<: {passage: 0.4, sentence: 0.3}}\nchain: [{method: ngram}]\n",
    "an anchor of its own": "threshold: &t {passage: 0.4}\nchain: [{method: ngram}]\n",
    "a block at the end": (
        "chain: [{method: ngram}]\n"
        "action:\n  do: block\n  message: |+\n    no\n    #: calibrated x\n\n"
    ),
    "other scripts": "chain: [{method: ngram}]\naction: {do: block, message: '世界 🌉'}\n",
    "explicit keys": "? chain\n: [{method: ngram}]\n? threshold\n: {passage: 0.4}\n",
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_can_be_changed_and_changed_again(text):
    once = written(text, env={})
    assert "#: calibrated 2025-01-31" in once
    twice = written(
        once, Threshold(passage=0.111111, sentence=None), env={}, comment=("calibrated 2",)
    )
    assert twice.count("#: calibrated 2") == 1
    # Nothing that was there is lost, but for the numbers.
    words = re.findall(r"[^\W\d]{3,}|[^\s\w.,{}:?]", re.sub(r"\$\{[^}]*\}", "", text))
    for word in words:
        assert twice.count(word) >= text.count(word) - 2 * (word in "${}-")


def test_line_ends_stay_those_of_the_file():
    text = written(LAYOUTS["windows"])
    assert text.count("\n") == text.count("\r\n")


def test_another_policy_is_refused():
    old = Policy.of({"chain": [{"method": "ngram"}]})
    with pytest.raises(ConfigurationError, match="not that of the policy"):
        changed_text("chain: [{method: prompt}]", old, old, [])


def test_what_two_keys_share_is_left_to_the_user():
    text = "sampling: {temperature: &x 0.4}\nthreshold: {passage: *x}\nchain: [{method: ngram}]\n"
    with pytest.raises(
        ConfigurationError, match=r"set these yourself: .*threshold\.passage: 0\.83"
    ):
        written(text)


def test_steps_of_the_chain_change_in_place():
    text = """chain:
  - method: ngram
    settle: {below: 0.2}     # the obvious
  # both
  - method: combination
    parts:
      - {scorer: {method: ngram}, mean: 1, deviation: 2.5, weight: 1}
      - scorer:
          method: prompt
          judge: ${JUDGE:-openai/x}
        mean: 0.5
        deviation: 0.1
"""
    old = Policy.parse(text, env={})
    first, second = old.chain
    parts = tuple(
        part.model_copy(update={"mean": 0.00001, "weight": 2.0 + i})
        for i, part in enumerate(second.parts)
    )
    chain = (
        first.model_copy(update={"settle": first.settle.model_copy(update={"above": 0.9})}),
        second.model_copy(update={"parts": parts, "lean": 0.5, "intercept": -1.5}),
    )
    changes = [Change(("chain", i), ("calibrated now",)) for i in (0, 1)]
    new = old.model_copy(update={"chain": chain})
    result = changed_text(text, old, new, changes, env={})
    assert (
        result
        == """chain:
  #: calibrated now
  - method: ngram
    settle: {above: 0.9, below: 0.2}     # the obvious
  # both
  #: calibrated now
  - intercept: -1.5
    lean: 0.5
    method: combination
    parts:
      - {scorer: {method: ngram}, mean: 0.00001, deviation: 2.5, weight: 2.0}
      - weight: 3.0
        scorer:
          method: prompt
          judge: ${JUDGE:-openai/x}
        mean: 0.00001
        deviation: 0.1
"""
    )


comments = st.sampled_from(["", "  # a note", " # threshold: 0.5"])
blanks = st.sampled_from(["", "\n", "# between\n", "\n# a\n\n"])
numbers = st.sampled_from(["0.5", ".25", "0", "1", "5e-1", "0.50", "${T:-0.4}", "null"])


@st.composite
def layouts(draw):
    indent = " " * draw(st.integers(1, 5))
    dash = " " * draw(st.integers(0, 3))
    chain = f"chain:{draw(comments)}\n{draw(blanks)}{dash}- method: ngram{draw(comments)}\n"
    passage, sentence = draw(numbers), draw(numbers.filter(lambda n: n != "null"))
    keys = draw(st.sampled_from([[], ["passage"], ["sentence"], ["passage", "sentence"]]))
    values = {"passage": passage, "sentence": sentence}
    if not keys:
        threshold = ""
    elif draw(st.booleans()) and "$" not in passage + sentence:
        inner = ", ".join(f"{key}: {values[key]}" for key in keys)
        threshold = f"threshold: {{{inner}}}{draw(comments)}\n"
    else:
        lines = [f"{indent}{key}:  {values[key]}{draw(comments)}\n" for key in keys]
        threshold = f"threshold:{draw(comments)}\n{draw(blanks)}{''.join(lines)}"
    other = f"on_error: allow{draw(comments)}\n"
    parts = draw(st.permutations([part for part in (chain, threshold, other) if part]))
    return "".join(part + draw(blanks) for part in parts)


VALUE = re.compile(r"(passage|sentence):\s*(\$\{[^}]*\}|[^\s,}#]+)(, )?")
unit = st.integers(0, 10**6).map(lambda n: n / 10**6)


@given(layouts(), unit, unit)
def test_any_layout_keeps_every_other_byte(text, passage, sentence):
    old = Policy.parse(text, env={})
    new = Threshold(
        passage=None if old.threshold.passage is None else passage,
        sentence=None if old.threshold.sentence is None else sentence,
    )
    result = written(text, new, env={})
    # Without the numbers, nothing is lost, and only keys that were missing are new.
    before, after = (
        [line for line in VALUE.sub("", x).splitlines() if line.strip()]
        for x in (text, without_comment(result))
    )
    assert [line for line in after if line in before] == before
    assert {line.strip() for line in after if line not in before} <= {"threshold: {}"}
