from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from resay import Policy
from resay.adapters.settings import read_yaml
from resay.errors import PolicyError
from resay_server.gateway import GatewayConfig

ENV = {"N": "7", "NAME": "a: b # [not] {yaml}", "EMPTY": "", "YES": "true", "SPACED": " 5 "}


def read(text):
    document = read_yaml(text, source="p.yaml", env=ENV)
    assert document.problems == []
    return document.data


def problems(text):
    try:
        document = read_yaml(text, source="p.yaml", env=ENV)
    except PolicyError as error:
        return error.problems
    return [problem.text("p.yaml") for problem in document.problems]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("No", "No"),
        ("true", True),
        ("False", False),
        ("010", "010"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31 10:00:00", "2026-01-31 10:00:00"),
        ("7", 7),
        ("-7", -7),
        ("0", 0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("'7'", "7"),
        ('"true"', "true"),
        ("~", None),
        ("null", None),
        ("", None),
        ("9" * 301, int("9" * 301)),
        ("9" * 5000, "9" * 5000),
        ('"\\ud83d\\ude00"', "😀"),
        ("|\n  a\n  b\n", "a\nb\n"),
    ],
)
def test_scalars_are_read_without_surprises(written, value):
    converted = read(f"a: {written}")["a"]
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${N}", 7),
        ('"${N}"', "7"),
        ("'${N}'", "7"),
        ("|-\n  ${N}", "7"),
        ("${YES}", True),
        ("${M:-7}", 7),
        ("${M:-}", None),
        ("${EMPTY}", None),
        ('"${EMPTY}"', ""),
        ("${EMPTY:-8}", 8),
        ("${SPACED}", " 5 "),
        ("x${N}y${M:-z}", "x7yz"),
        ("${NAME}", "a: b # [not] {yaml}"),
        ("$$", "$"),
        ("$${N}", "${N}"),
        ("$N costs $5", "$N costs $5"),
        ("${M:-a:-b$}", "a:-b$"),
        ("${M:-[1, 2]}", "[1, 2]"),
    ],
)
def test_variables_are_replaced_in_scalars(written, value):
    converted = read(f"a: {written}")["a"]
    assert converted == value
    assert type(converted) is type(value)


def test_values_of_variables_are_not_interpolated_again():
    document = read_yaml("a: ${A}", source="p", env={"A": "${B}$$", "B": "no"})
    assert document.data == {"a": "${B}$$"}


def test_keys_contain_no_variables():
    assert read('"${N}": 1') == {"${N}": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: ${NOPE}", "p.yaml:2: b: the environment variable 'NOPE' is not set; "),
        ("a:\n - x\n - ${1X}", "p.yaml:3: a[1]: invalid '${'; write ${NAME}"),
        ("a: ${X:-${N}}", "p.yaml:1: a: invalid '${'; write"),
        ("a: ${N", "p.yaml:1: a: invalid '${'; write"),
        ("a: 1\nb: 2\na: 3", "p.yaml:3: a: duplicate key 'a', first used on line 1"),
        ("a:\n  x: 1\n  x: 1", "p.yaml:3: a.x: duplicate key 'x', first used on line 2"),
        ("1: a", "p.yaml:1: a key must be text; write it as '1'"),
        ("a:\n  null: b", "p.yaml:2: a: a key must be text; write it as 'null'"),
        ("[a]: b", "p.yaml:1: a key must be text, not a list or a mapping"),
        ("? {a: 1}\n: b", "p.yaml:1: a key must be text, not a list or a mapping"),
        ("a: .nan", "p.yaml:1: a: must be a finite number, not nan"),
        ("a: [-.inf]", "p.yaml:1: a[0]: must be a finite number, not -inf"),
        ("a: 1e999", "p.yaml:1: a: must be a finite number, not inf"),
        ('a: "\\ud83d"', "p.yaml:1: a: contains an unpaired surrogate"),
        ("a: !!python/object:os.system x", "p.yaml:1: a: tags (!name) are not supported"),
        ("a: !!int '5'", "p.yaml:1: a: tags (!name) are not supported"),
        ("a: !env [x]", "p.yaml:1: a: tags (!name) are not supported"),
        ("a: !x!y z", "p.yaml:1: tags (!name) are not supported"),
        ("a: 1\nb: *c", "p.yaml:2: an alias (*name) without its anchor"),
        ("<<: 3", "p.yaml:1: ['<<']: only a mapping, or a list of them, can be merged in"),
        ("a: 1\nb: [1, 2", "p.yaml:2: not valid YAML: "),
        ("a: [${N}]", "p.yaml:1: not valid YAML: "),
        ("a: '\n", "p.yaml:2: not valid YAML: "),
        ("\ta: 1", "p.yaml:1: not valid YAML: "),
        ("a: 1\n\x07", "p.yaml:2: a character that YAML does not allow"),
        ('a: "\\U99999999"', "p.yaml:1: not valid YAML: an escape or a number is out of range"),
        ("", "p.yaml:1: the policy is empty"),
        ("# nothing\n---\n", "p.yaml:1: the policy is empty"),
        ("- a", "p.yaml:1: a policy must be a mapping (key: value), not a list"),
        ("\n\nhello", "p.yaml:3: a policy must be a mapping (key: value), not a single value"),
        ("a: 1\n---\nb: 1", "p.yaml:2: a second document begins here"),
    ],
)
def test_problems_have_a_line_and_a_message(text, expected):
    (line,) = problems(text)
    assert line.startswith(expected)


def test_all_problems_are_reported_at_once():
    lines = problems("a: ${NOPE}\nb: .inf\na: 2\nc: !t 3\n4: 5")
    assert [line.split(":")[1] for line in lines] == ["1", "2", "3", "4", "5"]


def test_messages_do_not_repeat_a_broken_alias_or_tag():
    for text in ("password: *hunter22", "password: !hunter22", "password: !hunter22!x y"):
        assert "hunter" not in "".join(problems(text))


def test_aliases_and_merges():
    text = """\
base: &base {x: 1, y: {z: 2}}
more: &more
  <<: *base
  x: 3
list: &list [1, 2]
again: *list
both: {<<: [*more, *base], w: 4}
last: {w: 5, <<: *base}
"""
    data = read(text)
    assert data["again"] == [1, 2]
    assert data["more"] == {"x": 3, "y": {"z": 2}}
    assert data["both"] == {"w": 4, "x": 3, "y": {"z": 2}}
    assert data["last"] == {"w": 5, "x": 1, "y": {"z": 2}}


def test_a_quoted_merge_key_is_a_key():
    assert read("'<<': {a: 1}") == {"<<": {"a": 1}}


def test_merged_values_keep_their_lines():
    text = "a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2\n"
    positions = read_yaml(text, source="p", env={}).positions
    assert (positions["b", "x"].value, positions["b", "y"].value) == (2, 5)


def bomb(innermost, level):
    lines = [f"a0: &a0 {innermost}"]
    lines += [f"a{i}: &a{i} {level.replace('*', f'*a{i - 1}')}" for i in range(1, 12)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        bomb("[x, x, x, x, x]", f"[{', '.join('*' * 10)}]"),
        bomb("{x: 1}", f"{{{', '.join(f'k{i}: *' for i in range(10))}}}"),
        bomb("{x: 1}", f"{{<<: [{', '.join('*' * 10)}]}}"),
        bomb("{}", f"{{<<: [{', '.join('*' * 10)}]}}"),
        "a:\n" + "- x\n" * 20_000,
    ],
)
def test_alias_bombs_are_refused(text):
    (line,) = problems(text)
    assert "more than 10000 values" in line


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 5000,
        "- " * 5000,
        "a: " + "[" * 60 + "]" * 60,
        "\n".join(" " * i + f"k{i}:" for i in range(300)),
    ],
)
def test_deep_nesting_is_refused(text):
    (line,) = problems(text)
    assert line.endswith("nested more than 50 levels deep")


def test_aliases_cannot_nest_deeper_either():
    text = "\n".join(["a0: &a0 x", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 80))])
    (line,) = problems(text)
    assert line.endswith("nested more than 50 levels deep")


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}"])
def test_an_alias_inside_its_own_anchor_is_refused(text):
    assert "refers to itself" in problems(text)[0]


# A plain number in YAML 1.2 that PyYAML, which reads 1.1, writes as text without quotes.
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# PyYAML does not quote these line breaks as it must.
BREAKS = "\x85\u2028\u2029"
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters=BREAKS), max_size=20).filter(
    lambda text: not NUMBER.fullmatch(text)
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
) | TEXTS


def trees(keys):
    return st.dictionaries(
        keys,
        st.recursive(
            SCALARS,
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
            max_leaves=12,
        ),
        max_size=5,
    ).filter(bool)


def escaped(data):
    if isinstance(data, str):
        return data.replace("$", "$$")
    if isinstance(data, list):
        return [escaped(item) for item in data]
    if isinstance(data, dict):
        return {key: escaped(value) for key, value in data.items()}
    return data


@given(trees(TEXTS), st.sampled_from([None, False, True]), st.booleans())
def test_documents_written_by_pyyaml_round_trip(data, flow, unicode):
    text = yaml.safe_dump(escaped(data), default_flow_style=flow, allow_unicode=unicode)
    converted = read(text)
    assert converted == data
    # 1, 1.0 and True are equal, and not the same.
    assert json.dumps(converted, sort_keys=True) == json.dumps(data, sort_keys=True)


def numbered(data, names):
    """Give every key a name of its own, so that it can be found in the text."""
    if isinstance(data, list):
        return [numbered(item, names) for item in data]
    if isinstance(data, dict):
        return {f"key{next(names)}end": numbered(value, names) for value in data.values()}
    return data


@given(trees(st.text("ab", max_size=3)), st.sampled_from([None, False, True]))
def test_every_key_has_its_line(data, flow):
    data = numbered(data, iter(range(10_000)))
    text = yaml.safe_dump(escaped(data), default_flow_style=flow, sort_keys=False)
    positions = read_yaml(text, source="p", env={}).positions
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        lines |= dict.fromkeys(re.findall(r"key\d+end", line), number)
    for path, position in positions.items():
        if path and isinstance(path[-1], str):
            assert position.key == lines[path[-1]]
            assert position.value >= position.key
    assert {path[-1] for path in positions if path and isinstance(path[-1], str)} == set(lines)


YAMLISH = st.text("ab:-?[]{}&*!|>'\"#%@,<~01.$_\\Uux\n\t \u2028\ufeff\ud800", max_size=60)


@given(st.text() | YAMLISH)
def test_any_text_is_read_or_refused(text):
    assert all("\n" not in line and line.startswith("p.yaml:") for line in problems(text))


@given(st.text() | YAMLISH.filter(lambda text: "\ud800" not in text))
def test_a_variable_never_becomes_structure(value):
    document = read_yaml('a: ${A}\nb: "${A}"\nc: [1]', source="p", env={"A": value})
    assert set(document.data) == {"a", "b", "c"}
    assert not isinstance(document.data["a"], (dict, list))
    assert document.data["b"] == value


def test_large_files_are_refused_without_reading_them_whole(tmp_path: Path) -> None:
    large = "chain: [{method: ngram}]\n#" + 2**20 * "x"
    with pytest.raises(
        PolicyError, match="<policy>: larger than 1,048,576 bytes; check that it is a policy"
    ):
        Policy.parse(large, source="<policy>")
    endless = tmp_path / "endless.yaml"
    endless.symlink_to("/dev/zero")
    with pytest.raises(PolicyError, match=r"endless\.yaml: larger than 1,048,576 bytes; check"):
        Policy.load(endless)
    with pytest.raises(
        PolicyError, match="larger than 1,048,576 bytes; check that it is a gateway file"
    ):
        GatewayConfig.load(endless)
    assert Policy.parse(large[: 2**20]).chain
