"""What a gateway does where litellm is not installed."""

from __future__ import annotations

from typing import Any

import pytest

from resay.errors import MissingDependencyError
from simulation import SimulatedProvider
from support.gateway import ASKED, POLICY, Gateways

CHECKED: dict[str, Any] = {"question": "How many lamps has the bridge?", "model": "simulated"}
JUDGED = "chain: [{method: prompt, mode: per_sample}]\nsampling: {max: 2, min: 2}\n"
OTHERS = {
    "sampling.model": "chain: [{method: ngram}]\nsampling: {model: mistral/m}\n",
    "the judge of method 'prompt'": "chain: [{method: prompt, judge: mistral/m}]\n",
    "the judge of method 'zero_shot'": "chain: [{method: zero_shot, judge: {model: mistral/m}}]\n",
    "the judge of method 'ensemble'": (
        "chain: [{method: ensemble, parts: [{scorer: {method: prompt, judge: mistral/m}}]}]\n"
    ),
    "action.writer": POLICY
    + "action: {do: regenerate, retriever: {kind: folder, path: .}, writer: mistral/m}\n",
}


pytestmark = pytest.mark.usefixtures("no_litellm")


def test_an_upstream_gives_samples_and_judges(gateways: Gateways) -> None:
    served = gateways.start(JUDGED)
    for path in ASKED:
        response = served.post(path)
        assert response.status_code == 200, response.text
        assert response.headers["x-resay-decision"] in ("consistent", "flagged")
    checked = served.post("/v1/check", json={"response": "It has 31 lamps.", **CHECKED})
    assert checked.json()["hallucination"]["decision"] in ("consistent", "flagged")


@pytest.mark.parametrize("named", OTHERS)
def test_a_policy_that_names_another_model_is_refused_at_the_start(
    gateways: Gateways, named: str
) -> None:
    with pytest.raises(MissingDependencyError) as caught:
        gateways.start(OTHERS[named])
    said = str(caught.value)
    assert named in said
    assert "'mistral/m'" in said
    assert "pip install 'resay[litellm]'" in said


def test_models_by_name_are_refused_at_the_start(gateways: Gateways) -> None:
    with pytest.raises(MissingDependencyError, match=r"`models` needs 'litellm'; install it"):
        gateways.start(models={"claude": {"model": "anthropic/claude-sonnet-5"}})


def test_a_judge_at_an_address_needs_none(gateways: Gateways, simulated: SimulatedProvider) -> None:
    with SimulatedProvider(seed=7) as other:
        judge = f"{{model: m, params: {{api_base: '{other.base_url}'}}}}"
        served = gateways.start(
            f"chain: [{{method: prompt, judge: {judge}}}]\nsampling: {{max: 3, min: 3}}\n"
        )
        response = served.post("/v1/chat/completions")
        assert response.status_code == 200, response.text
        assert response.headers["x-resay-decision"] in ("consistent", "flagged")
        assert other.calls > 0
    assert simulated.calls > 0
