from __future__ import annotations

import httpx
import pytest

from resay.errors import ConfigurationError, PolicyError
from resay_server.gateway import Gateway, GatewayConfig, serving
from support.gateway import POLICY, Gateways, Served, logged

BLOCK = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\naction: {do: block}\n"
BAD = "chain:\n  - method: ngramm\n"


def action(served: Served, policy: str = "default") -> str:
    return served.post(headers={"x-resay-policy": policy}).headers["x-resay-action"]


def test_a_policy_that_changes_is_read_again(gateways: Gateways) -> None:
    served = gateways.start(reload_s=0.05)
    assert action(served) == "annotate"
    with logged("were reloaded"):
        gateways.policy(BLOCK)
    assert action(served) == "block"


def test_a_bad_file_keeps_all_the_old_ones_and_is_said_once(gateways: Gateways) -> None:
    other = gateways.policy(POLICY, "other.yaml")
    served = gateways.start(reload_s=0.05, policies={"other": other})
    with logged("policy.yaml:2: chain[0].method: unknown method 'ngramm'") as log:
        gateways.policy(BAD)
    assert action(served) == "annotate"
    # One that can be used does not come in alone.
    with logged("policy.yaml:2:"):
        gateways.policy(BLOCK, "other.yaml")
    assert action(served, "other") == "annotate"
    assert sum("policy.yaml:2" in line for line in log.said) == 1
    with logged("were reloaded"):
        gateways.policy(POLICY)
    assert action(served, "other") == "block"


def test_readiness_says_that_a_changed_policy_was_refused(gateways: Gateways) -> None:
    served = gateways.start(reload_s=0.05)
    assert httpx.get(f"{served.url}/readyz").json()["policy_reload"] == {"status": "ok"}
    with logged("policy.yaml:2:"):
        gateways.policy(BAD)
    response = httpx.get(f"{served.url}/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "ready")
    reload = response.json()["policy_reload"]
    assert reload.pop("since").endswith("Z")
    # Whoever may ask is not told what is in the file.
    assert reload == {"status": "refused"}
    with logged("were reloaded"):
        gateways.policy(BLOCK)
    assert httpx.get(f"{served.url}/readyz").json()["policy_reload"] == {"status": "ok"}


def test_a_file_that_goes_away_and_comes_back_is_taken_as_it_comes(gateways: Gateways) -> None:
    served = gateways.start(reload_s=0.05)
    with logged("no such file"):
        (gateways.folder / "policy.yaml").unlink()
    assert action(served) == "annotate"
    with logged("were reloaded"):
        gateways.policy(BLOCK)
    assert action(served) == "block"


def test_a_gateway_does_not_start_with_a_bad_policy(gateways: Gateways) -> None:
    file = gateways.policy(BAD)
    config = GatewayConfig.of({"upstream": {"url": "http://x"}, "policies": {"default": file}})
    with (
        pytest.raises(PolicyError, match=r"policy\.yaml:2: chain\[0\]\.method"),
        serving(Gateway(config)),
    ):
        pass


def test_a_policy_that_no_gateway_can_follow_is_refused(gateways: Gateways) -> None:
    file = gateways.policy("chain: [{method: ngram, evidence: references}]\n")
    config = GatewayConfig.of({"upstream": {"url": "http://x"}, "policies": {"default": file}})
    with (
        pytest.raises(ConfigurationError, match="a gateway's upstream has none"),
        serving(Gateway(config)),
    ):
        pass
