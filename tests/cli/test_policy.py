"""The command that writes, checks and describes policy files."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from resay.policy import Policy
from support.cli import resay_here


def test_a_written_policy_is_valid_and_known_to_editors(tmp_path: Path) -> None:
    done = resay_here("policy", "init", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "policy.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=policy.schema.json\n")
    policy = Policy.load(tmp_path / "policy.yaml")
    assert [step.method_name for step in policy.chain] == ["facts", "prompt"]
    schema = json.loads((tmp_path / "policy.schema.json").read_text())
    if find_spec("jsonschema") is not None:
        import jsonschema

        jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(text))
    done = resay_here("policy", "init", cwd=tmp_path)
    assert done.returncode == 2
    assert "'policy.yaml' exists; name another file, or pass --force" in done.stderr
    assert resay_here("policy", "init", "--force", cwd=tmp_path).returncode == 0


def checked(tmp_path: Path, text: str, *options: str) -> tuple[str, str]:
    (tmp_path / "p.yaml").write_text(text)
    done = resay_here("policy", "check", "p.yaml", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_effective_policy_can_be_read_again(tmp_path: Path) -> None:
    stdout, _ = checked(
        tmp_path, "chain: [facts]\nthreshold: 0.4\nprices: {m: {input: 1, output: 2}}"
    )
    effective = stdout.partition("\n\n")[2].partition("\n\ncost per answer")[0]
    assert Policy.parse(effective) == Policy.load(tmp_path / "p.yaml")
    assert "threshold: {passage: 0.4, sentence: 0.4}\n" in effective
    assert "splitter: builtin  # default\n" in effective


def test_secrets_and_variables_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEADLINE", "31")
    stdout, _ = checked(
        tmp_path,
        "chain: [{method: prompt, judge: {model: m, params: {api_key: sk-secret,"
        " api_base: 'http://127.0.0.1:9/v1'}}}]\nlimits:\n  deadline_s: ${DEADLINE}",
    )
    assert "sk-secret" not in stdout
    assert "31" not in stdout.partition("cost per answer")[0]
    assert "${DEADLINE}" in stdout


def test_the_cost_of_an_answer_is_measured(tmp_path: Path) -> None:
    free, _ = checked(tmp_path, "chain: [facts]")
    judged, _ = checked(tmp_path, "chain: [prompt]\nprices: {m: {input: 1, output: 2}}", "-m", "m")
    calls = [int(output.partition("cost per answer: ")[2].split()[0]) for output in (free, judged)]
    assert 2 <= calls[0] < calls[1]
    assert "  with m: $0.00" in judged
    unknown, _ = checked(tmp_path, "chain: [prompt]", "-m", "nobody/knows-it")
    assert "  with nobody/knows-it: unknown; set it in `prices`" in unknown


def test_a_model_that_is_not_named_is_not_loaded(tmp_path: Path) -> None:
    stdout, _ = checked(tmp_path, "chain: [actions]")
    assert "0 calls and 0 tokens are the check's" in stdout


@pytest.mark.parametrize("chain", ["[nli]", "[facts, {method: semantic, by: nli}]"])
def test_no_neural_model_is_loaded_for_an_estimate(tmp_path: Path, chain: str) -> None:
    pytest.importorskip("torch")
    stdout, _ = checked(tmp_path, f"chain: {chain}")
    assert "cost per answer: not measured, because method" in stdout


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("chain: [ngram]", "`ngram` compares words"),
        ("chain: [facts]", "the thresholds are not calibrated"),
        ("chain: [facts]", "greetings and thanks are checked as well"),
        ("chain: [prompt]\naction: regenerate", "regenerates without a retriever"),
    ],
)
def test_what_is_probably_not_meant_is_warned_of(tmp_path: Path, text: str, warning: str) -> None:
    _, stderr = checked(tmp_path, text)
    assert f"warning: {warning}" in stderr or f"warning: the policy {warning}" in stderr


def test_a_calibrated_policy_has_no_warnings(tmp_path: Path) -> None:
    _, stderr = checked(
        tmp_path,
        "chain: [facts]\n#: calibrated 2026-01-01\nthreshold: 0.5\nwhen: {checkable: true}",
    )
    assert stderr == ""
    _, stderr = checked(tmp_path, "chain: [facts]\nthreshold: 0.4\nwhen: {checkable: true}")
    assert stderr == ""
