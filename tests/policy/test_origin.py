"""Errors about what a policy names say where in its file."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import pytest

from resay import Guard, Policy
from resay.errors import ConfigurationError, MissingDependencyError
from support.cli import resay_here

FOLDER = """version: 1
chain: [facts]
action:
  do: regenerate
  retriever: {kind: folder, path: nohandbook}
"""
FUNCTION = """version: 1
chain:
  - facts
references:
  from: [nothing.at:all]
"""
GATE = """version: 1
chain:
  - facts
  - method: prompt
    when: {call: nothing.at:all}
"""
NEURAL = """version: 1
chain:
  - facts
  - method: nli
    model: {name: nobody/nothing, backend: torch}
"""
MISSING = {
    "a folder": (FOLDER, ":5: action.retriever: no folder 'nohandbook'; set `path`"),
    "a function": (FUNCTION, ":5: references.from: cannot import 'nothing.at:all'"),
    "a gate": (GATE, ":5: chain[1].when: cannot import 'nothing.at:all'"),
}


@pytest.mark.parametrize(("text", "problem"), MISSING.values(), ids=MISSING)
def test_what_a_policy_names_and_is_missing_has_a_place(
    text: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        Guard(file)
    assert str(caught.value).startswith(f"{file}{problem}")
    done = resay_here("policy", "check", "policy.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert f"policy.yaml{problem}" in done.stderr


def test_a_missing_package_has_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, package, None)
    file = tmp_path / "policy.yaml"
    file.write_text(NEURAL)
    with pytest.raises(MissingDependencyError, match="pip install") as caught:
        Guard(file)
    assert str(caught.value).startswith(f"{file}:4: chain[1]: running the model 'nobody/nothing'")
    assert caught.value.extra == "nli"


def test_a_policy_that_is_from_no_file_has_no_place() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Guard(Policy.parse(FOLDER))
    assert str(caught.value).startswith("no folder 'nohandbook'")


def test_policies_from_different_files_are_equal(tmp_path: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(FUNCTION)
    one, two = Policy.load(tmp_path / "one.yaml"), Policy.load(tmp_path / "two.yaml")
    assert one == two == Policy.parse(FUNCTION)
    assert hash(one) == hash(two)
    assert one.digest == two.digest
    assert repr(one) == repr(two)
    for copied in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert copied == one
        with pytest.raises(ConfigurationError, match=r"one\.yaml:5: references\.from"):
            Guard(copied)
