"""No secret is in a message, a representation or a traceback."""

from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Policy
from resay.errors import ConfigurationError, PolicyError
from support.policies import problems_of_text, with_chain


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
    problems = problems_of_text(text.replace("password: *secret\n", ""), KEY="sk-secret")
    assert len(problems) == 8
    assert "sk-secret" not in "\n".join(problems)
    assert "secret" not in "\n".join(problems_of_text(text, KEY="sk-secret"))


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
    message = "\n".join(problems_of_text(f"chain: [{{method: '{value}'}}]", KEY=secret))
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
    problems = problems_of_text(with_chain(template.format(secret)), KEY=secret)
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


@pytest.mark.parametrize("cache", ["redis://:hunter22@host", {"stoer": "redis://u:hunter22@h/0"}])
def test_a_password_in_an_address_is_not_shown(cache: object) -> None:
    with pytest.raises(PolicyError) as caught:
        Policy.of({"chain": [{"method": "ngram"}], "cache": cache})
    assert "hunter22" not in str(caught.value)
