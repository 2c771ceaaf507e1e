"""Who compares with references before the chain: its judge, or the model that answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from resay import Guard
from resay.adapters import GuardRuntime
from resay.errors import ConfigurationError
from resay.testing import SimulatedProvider

DOCUMENTS = ["The Eiffel Tower opened in 1889."]
SAMPLES = ["It opened in 1889.", "The Eiffel Tower opened in 1889.", "1889 is when it opened."]
QUESTION = "When did the Eiffel Tower open?"
ANSWER = "The Eiffel Tower opened in 1889."
BY_JUDGE: dict[str, Any] = {
    "chain": ["facts"],
    "references": {"by": "judge"},
    "cache": {"store": "none"},
}


@pytest.fixture
def server() -> Iterator[SimulatedProvider]:
    with SimulatedProvider() as provider:
        yield provider


@pytest.mark.parametrize("samples", [None, SAMPLES])
def test_a_chain_without_a_judge_has_the_answers_model_compare_with_references(
    server: SimulatedProvider, samples: list[str] | None
) -> None:
    guard = Guard(BY_JUDGE, model="simulated", api_base=server.base_url, api_key="x")
    verdict = guard.check(ANSWER, question=QUESTION, references=DOCUMENTS, samples=samples)
    assert [claim.by for claim in verdict.claims] == ["references"]
    assert verdict.reason.endswith("by 1 reference")
    assert (verdict.usage.calls, len(server.requests)) == (1, 1)
    asked = guard.ask(
        [
            {"role": "system", "content": f"<documents>\n{DOCUMENTS[0]}\n</documents>"},
            {"role": "user", "content": QUESTION},
        ]
    )
    assert "references" in [step.method for step in asked.verdict.steps]
    assert all(step.error is None for step in asked.verdict.steps)


@pytest.mark.parametrize(
    "inputs", [{"references": DOCUMENTS}, {"samples": SAMPLES}, {"references": [], "samples": []}]
)
def test_without_a_model_it_is_refused_and_not_done_by_samples(inputs: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Guard(BY_JUDGE).check(ANSWER, question=QUESTION, **inputs)
    message = str(refused.value)
    assert message.startswith("`references.by` is 'judge' and the chain names no judge;")
    assert "pass `model`" in message
    assert "`references: {by: words}`" in message


def test_a_judge_that_the_chain_names_needs_no_model(server: SimulatedProvider) -> None:
    params = {"api_base": server.base_url, "api_key": "x"}
    judge = {"method": "prompt", "judge": {"model": "simulated", "params": params}}
    guard = Guard({**BY_JUDGE, "chain": ["facts", judge]})
    verdict = guard.check(ANSWER, question=QUESTION, references=DOCUMENTS)
    assert [claim.by for claim in verdict.claims] == ["references"]


@pytest.mark.parametrize(
    ("change", "asks"),
    [
        (lambda policy: policy, "references"),
        (lambda policy: {**policy, "references": {"by": "auto"}}, None),
        (lambda policy: {**policy, "references": {"by": "words"}}, None),
        (lambda policy: {**policy, "references": {"by": "judge", "from": []}}, None),
        (lambda policy: {**policy, "chain": [{"method": "facts", "evidence": "documents"}]}, None),
    ],
)
def test_adapters_are_told_that_a_judge_is_asked(
    change: Callable[[dict[str, Any]], dict[str, Any]], asks: str | None
) -> None:
    runtime = GuardRuntime(Guard(change(BY_JUDGE)))
    assert runtime.required_by("judge") == asks
    assert runtime.asking_response_model == asks
