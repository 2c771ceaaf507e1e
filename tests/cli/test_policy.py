"""The command that writes, checks and describes policy files."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from resay import Guard
from resay.policy import Policy
from resay.scorers.step import registry
from resay.testing import SimulatedProvider
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


QUESTION = [{"role": "user", "content": "Tell me about the Sydney Harbour Bridge."}]
SAVED = [
    *QUESTION,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "save", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "1", "content": '{"saved": true}'},
]
DOCUMENT = "The Sydney Harbour Bridge was opened on 19 March 1932."
JUDGE = "{{model: simulated, params: {{api_base: '{url}', api_key: x}}}}"
SECOND_JUDGE = JUDGE.replace("simulated", "another")
# Chains with a judge, each with the calls that its page promises beside samples: a number, one for
# each of the claims, or None where it depends on the answers.
JUDGED: dict[str, int | str | None] = {
    "prompt": 1,
    "{{method: prompt, mode: per_sample}}": None,
    "{{method: prompt, mode: per_pair}}": None,
    "{{method: prompt, evidence: documents}}": 1,
    "{{method: prompt, evidence: conversation}}, prompt": 1,
    "references": 1,
    "direct_question": "claims",
    "zero_shot": 1,
    "fibe": None,
    "reverse_validation": None,
    "cross_examination": None,
    f"{{{{method: panel, judges: [{JUDGE}, {SECOND_JUDGE}]}}}}": 2,
    "{{method: semantic, by: judge, measure: entailment}}": None,
    "{{method: semantic, by: judge, measure: entropy}}": None,
    f"{{{{method: actions, judge: {JUDGE}}}}}": 1,
    f"{{{{method: actions, judge: {JUDGE}}}}}, prompt": 2,
}


@pytest.mark.parametrize("chain", JUDGED)
def test_the_calls_that_are_printed_are_those_of_a_check(chain: str, tmp_path: Path) -> None:
    with SimulatedProvider(seed=7) as provider:
        text = f"chain: [{chain.format(url=provider.base_url)}]\n"
        stdout, _ = checked(tmp_path, text)
        assert provider.calls == 0
        guard = Guard(Policy.parse(text), model="simulated", params=provider.params)
        answer = guard.ask(
            SAVED if "actions" in chain else QUESTION,
            references=[DOCUMENT] if "documents" in chain or chain == "references" else (),
        )
        requests = provider.requests
    total, of_check = map(
        int, re.findall(r"(\d+) calls?\b", stdout.partition("cost per answer")[2])
    )
    assert total == len(requests)
    assert of_check == len(requests) - 1
    # Otherwise questions would have been repeated, which a real judge seldom makes necessary.
    assert not any(step.undetermined for step in answer.verdict.steps)
    samples = [record for record in requests if (record.body or {}).get("n", 1) > 1]
    promised = len(answer.verdict.sentences) if JUDGED[chain] == "claims" else JUDGED[chain]
    assert promised in (None, of_check - len(samples))


def test_every_method_that_asks_a_judge_is_counted_or_says_that_it_is_not(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    counted = " ".join(JUDGED)
    for method, scorer in registry().items():
        # Corrections have no judge of their own, and compositions that of their parts.
        asks = "judge" in scorer.Config.model_fields or "judges" in scorer.Config.model_fields
        if not asks or method in counted:
            continue
        stdout, _ = checked(tmp_path, f"chain: [{{method: {method}}}]")
        assert "cost per answer: not measured" in stdout, method


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
        ("chain: [facts]\nthreshold: 1", "nothing is ever flagged"),
        (
            "chain: [facts]\nthreshold: {sentence: 1.0, passage: null}\naction: block",
            "nothing is ever flagged",
        ),
    ],
)
def test_what_is_probably_not_meant_is_warned_of(tmp_path: Path, text: str, warning: str) -> None:
    _, stderr = checked(tmp_path, text)
    assert f"warning: {warning}" in stderr or f"warning: the policy {warning}" in stderr


MISSPELT_MODELS = {
    "a judge": "chain:\n- method: prompt\n  judge: opnai/gpt-4.1",
    "a judge of a panel": "chain:\n- method: panel\n  judges: [openai/gpt-4.1, opnai/gpt-4.1]",
    "samples": "chain: [facts]\nsampling: {model: opnai/gpt-4.1}",
    "a second opinion": "chain: [facts]\nsecond_opinion: opnai/gpt-4.1",
}


@pytest.mark.parametrize("where", MISSPELT_MODELS)
def test_a_model_of_an_unknown_provider_is_refused_where_it_is_named(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MISSPELT_MODELS[where]
    (tmp_path / "p.yaml").write_text(text)
    done = resay_here("policy", "check", "p.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "valid" not in done.stdout
    assert re.search(r"p\.yaml:\d: ", done.stderr)
    assert "'opnai' is not a known provider; did you mean 'openai/gpt-4.1'?" in done.stderr
    monkeypatch.setenv("RESAY_POLICY", str(tmp_path / "p.yaml"))
    doctor = resay_here("doctor", cwd=tmp_path)
    assert doctor.returncode != 0
    assert "'opnai' is not a known provider" in doctor.stdout


def test_a_model_without_a_provider_is_valid_but_noted(tmp_path: Path) -> None:
    note = "the model 'gpt4' names no provider"
    _, stderr = checked(tmp_path, "chain: [{method: prompt, judge: gpt4}]")
    assert note in stderr
    server = "{model: gpt4, params: {api_base: 'http://127.0.0.1:9/v1'}}"
    for judge in (server, "openai/gpt4", "gpt-4.1"):
        _, stderr = checked(tmp_path, f"chain: [{{method: prompt, judge: {judge}}}]")
        assert "names no provider" not in stderr


def test_a_calibrated_policy_has_no_warnings(tmp_path: Path) -> None:
    _, stderr = checked(
        tmp_path,
        "chain: [facts]\n#: calibrated 2026-01-01\nthreshold: 0.5\nwhen: {checkable: true}",
    )
    assert stderr == ""
    _, stderr = checked(tmp_path, "chain: [facts]\nthreshold: 0.4\nwhen: {checkable: true}")
    assert stderr == ""
    _, stderr = checked(tmp_path, "chain: [actions]\nthreshold: {sentence: 1, passage: 0.4}")
    assert stderr == ""
