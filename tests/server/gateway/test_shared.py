"""Quotas, and what several gateways share: two gateways and a real Redis server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from resay import PolicyError
from resay.errors import ConfigurationError
from resay.providers import shared_limits
from resay_server.gateway import GatewayConfig, shared
from simulation import Hang, SimulatedProvider
from support.cli import resay_here
from support.gateway import POLICY, Gateways, Served
from support.redis import RedisServer, needs_redis, redis_server

TENANT = "x-resay-tenant"
CONVERSATION = [{"role": "user", "content": "When did the Sydney Harbour Bridge open?"}]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    # However busy this machine is.
    monkeypatch.setattr(shared_limits, "_TIMEOUT_S", 20.0)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


def asked(served: Served, tenant: str | None = None, **headers: str) -> httpx.Response:
    return served.post(headers=headers | ({} if tenant is None else {TENANT: tenant}))


def error(response: httpx.Response) -> dict[str, Any]:
    assert response.status_code == 429
    return response.json()["error"]


def test_a_tenant_that_has_used_its_calls_is_refused_until_midnight(gateways: Gateways) -> None:
    # A request by this policy makes two calls: the main one, and one for three samples.
    served = gateways.start(quotas={"acme": {"calls_per_day": 3}})
    for count in (1, 2):
        assert asked(served, "acme").status_code == 200
        served.seen(count)
    refused = asked(served, "acme")
    assert error(refused)["code"] == "quota_exceeded"
    told = "the tenant 'acme' has used the 3 calls of its quota until midnight (UTC)"
    assert error(refused)["message"] == told
    assert refused.headers["x-should-retry"] == "false"
    left_s = 86_400 - time.time() % 86_400
    assert abs(int(refused.headers["retry-after"]) - left_s) < 60
    # Nobody else is concerned.
    assert [asked(served, tenant).status_code for tenant in ("other", None)] == [200, 200]


def test_the_default_is_for_each_tenant_by_itself(gateways: Gateways) -> None:
    quotas = {"default": {"requests_per_minute": 1}, "large": {"requests_per_minute": 2}}
    served = gateways.start(quotas=quotas)
    for tenant, allowed in (("one", 1), ("two", 1), ("large", 2), (None, 1)):
        statuses = [asked(served, tenant).status_code for _ in range(allowed + 1)]
        assert statuses == [*[200] * allowed, 429]
    message = error(asked(served, "one"))["message"]
    assert message == "the tenant 'one' may make 1 request a minute"


def test_no_flood_of_names_resets_a_quota(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "_MOST_ACCOUNTS", 2)
    day = {"calls_per_day": 1}
    served = gateways.start(quotas={"default": day, "acme": day})
    for count, tenant in enumerate(("one", "two"), 1):
        assert asked(served, tenant).status_code == 200
        served.seen(count)
    refused = asked(served, "three")
    assert "2 other tenants have used their quotas" in error(refused)["message"]
    assert "until midnight" in error(asked(served, "one"))["message"]
    # Those that the file names always have their place, and so has who names none.
    assert [asked(served, tenant).status_code for tenant in ("acme", None)] == [200, 200]


def test_tenants_that_use_nothing_make_room(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "_MOST_ACCOUNTS", 2)
    served = gateways.start(quotas={"default": {"concurrency": 1}})
    for count, tenant in enumerate("abcd", 1):
        assert asked(served, tenant).status_code == 200
        served.seen(count)


def test_a_client_cannot_leave_its_quota_by_naming_another_tenant(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_APP", "sk-app")
    keys = [{"name": "app", "env": "KEY_OF_APP"}]
    served = gateways.start(keys=keys, quotas={"default": {"requests_per_minute": 2}})
    key = {"authorization": "Bearer sk-app"}
    statuses = [asked(served, tenant, **key).status_code for tenant in ("a", "b", "c")]
    assert statuses == [200, 200, 429]


def test_what_is_asked_at_the_same_time_is_limited(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(quotas={"acme": {"concurrency": 1}})
    simulated.set_faults(Hang(first=1))
    with ThreadPoolExecutor() as pool:
        first = pool.submit(asked, served, "acme")
        simulated.wait_calls(1)
        refused = asked(served, "acme")
        simulated.release()
        assert first.result().status_code == 200
    assert error(refused)["message"] == "the tenant 'acme' may make 1 request at the same time"
    assert asked(served, "acme").status_code == 200


def test_dollars_need_prices(gateways: Gateways) -> None:
    served = gateways.start(quotas={"acme": {"cost_usd_per_day": 1.0}})
    assert asked(served, "acme").status_code == 200
    served.seen(1)
    assert "whose price is unknown" in error(asked(served, "acme"))["message"]
    priced = POLICY + "prices: {simulated: {input: 1000, output: 1000}}\n"
    served = gateways.start(priced, quotas={"acme": {"cost_usd_per_day": 0.01}})
    assert asked(served, "acme").status_code == 200
    served.seen(1)
    assert "$0.01" in error(asked(served, "acme"))["message"]


@needs_redis
def test_gateways_that_share_count_together(gateways: Gateways, redis: RedisServer) -> None:
    told = {
        "state": {"url": redis.url, "prefix": "together"},
        "quotas": {"acme": {"tokens_per_day": 1}, "fast": {"requests_per_minute": 3}},
    }
    one, other = gateways.start(**told), gateways.start(**told)
    assert asked(one, "acme").status_code == 200
    one.seen(1)
    assert error(asked(other, "acme"))["code"] == "quota_exceeded"
    statuses = [asked(served, "fast").status_code for served in (one, other, one, other)]
    assert statuses == [200, 200, 200, 429]


@needs_redis
def test_what_was_asked_through_one_is_known_to_the_other(
    gateways: Gateways, redis: RedisServer
) -> None:
    state = {"url": redis.url, "prefix": "asked"}
    one, other = (gateways.start(state=state) for _ in range(2))
    path = "/beta/litellm_basic_guardrail_api"
    call = {"litellm_call_id": "call-1", "model": "simulated"}
    asked = {**call, "input_type": "request", "structured_messages": CONVERSATION}
    answered = {**call, "input_type": "response", "texts": ["It opened in 1932."]}
    assert one.post(path, json=asked).status_code == 200
    verdict = other.post(path, json=answered).json()["hallucination"][0]
    assert verdict["decision"] != "inconclusive"
    unknown = other.post(path, json=answered | {"litellm_call_id": "call-2"}).json()
    assert "does not know the question" in unknown["hallucination"][0]["reason"]
    # Nobody who looks at the keys learns whose they are.
    assert not any("call-1" in key for key in redis.found())


@needs_redis
def test_without_redis_answers_go_on_and_the_limits_hold(gateways: Gateways) -> None:
    with redis_server() as redis:
        told = {
            "state": {"url": redis.url, "members": 2},
            "quotas": {"acme": {"requests_per_minute": 4}},
        }
        one, other = gateways.start(**told), gateways.start(**told)
        redis.stop()
        statuses = [asked(served, "acme").status_code for served in (one, other) for _ in range(3)]
        assert statuses == [200, 200, 429] * 2
        ready = httpx.get(f"{one.url}/readyz")
        assert (ready.status_code, ready.json()["state"]) == (200, "degraded")
        metrics = httpx.get(f"{one.url}/metrics").text
        assert "resay_gateway_state_degraded 1.0" in metrics


@needs_redis
def test_readiness_says_who_is_there_and_which_policies_they_use(
    gateways: Gateways, redis: RedisServer
) -> None:
    state = {"url": redis.url, "prefix": "ready"}
    one = gateways.start(state=state)

    def ready(served: Served) -> dict[str, Any]:
        response = httpx.get(f"{served.url}/readyz")
        assert response.status_code == 200
        return response.json()

    # The first beat says it; others are seen with the next.
    while not ready(one).get("policy_versions"):
        time.sleep(0.01)
    found = ready(one)
    assert found["status"] == "ready"
    assert found["state"] == "ok"
    assert found["policy_versions"] == {found["policies"]: found["members"]}
    assert "resay_gateway_policy_versions 1.0" in httpx.get(f"{one.url}/metrics").text


def test_several_workers_cannot_count_apart(tmp_path: Any) -> None:
    config = tmp_path / "gateway.yaml"
    told = {"upstream": {"url": "http://127.0.0.1:9/v1"}, "quotas": {"a": {"calls_per_day": 1}}}
    config.write_text(json.dumps(told))
    result = resay_here("serve", "--config", str(config), "--workers", "2", "--port", "0")
    assert result.returncode == 2
    assert "several workers must share their quotas; set `state`" in result.stderr


@pytest.mark.parametrize(
    ("spoilt", "problem"),
    [
        ({"quotas": {"a b": {}}}, "quotas"),
        ({"quotas": {"a": {"calls_per_day": 0}}}, "must be at least 1, not 0"),
        ({"state": {"url": "http://s3cret"}}, "redis://localhost:6379/0"),
        ({"state": {"url": "redis://x", "members": 0}}, "must be at least 1, not 0"),
    ],
)
def test_what_cannot_be_is_refused(spoilt: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError, match=problem) as refused:
        GatewayConfig.of({"upstream": {"url": "http://127.0.0.1:9/v1"}, **spoilt})
    assert "s3cret" not in str(refused.value)
    assert issubclass(PolicyError, ConfigurationError)
