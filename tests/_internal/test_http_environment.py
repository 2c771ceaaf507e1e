"""Malformed variables that HTTP clients read: named by whatever sends a request."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

from resay import Guard
from resay.errors import ConfigurationError, ProviderRefusedError
from resay_lab.benchmarks.fetching import client

pytestmark = pytest.mark.anyio

PASSWORD = "hunter2"
MALFORMED = "is not the address of a proxy; write it as `http://host:port`, or unset it"
ADDRESSES = [f"foo://user:{PASSWORD}@host:1", f"http://user:{PASSWORD}@host:port"]
# Nothing listens at this port.
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{scheme}_proxy", raising=False)
        monkeypatch.delenv(f"{scheme}_PROXY".upper(), raising=False)


async def refused(url: str = NOWHERE) -> ProviderRefusedError:
    guard = Guard({"chain": ["facts"]}, model="m", api_base=f"{url}/v1")
    with pytest.raises(ProviderRefusedError) as caught:
        await guard.aask("Who?")
    assert caught.value.unusable
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "http_proxy"])
async def test_a_malformed_proxy_is_named_by_its_variable_and_its_value_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str, address: str
) -> None:
    monkeypatch.setenv(variable, address)
    assert str(await refused()) == f"`{variable}` {MALFORMED}"


async def test_of_both_spellings_the_one_that_counts_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", ADDRESSES[0])
    assert str(await refused()) == f"`https_proxy` {MALFORMED}"


async def test_a_list_of_hosts_without_a_proxy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intranet.example:port")
    message = str(await refused())
    assert message == "`NO_PROXY` has an entry that is no host; correct or unset it"


async def test_a_proxy_that_can_be_used_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "host:3128")
    guard = Guard({"chain": ["facts"]}, model="m", api_base=f"{NOWHERE}/v1")
    with pytest.raises(Exception, match=r"nothing listens at 127\.0\.0\.1:9"):
        await guard.aask("Who?")


async def test_a_judge_that_cannot_be_asked_says_so_in_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", ADDRESSES[0])
    judge = {"model": "acme/judge", "params": {"api_base": f"{NOWHERE}/v1", "api_key": "x"}}
    guard = Guard({"chain": [{"method": "zero_shot", "judge": judge}]})
    verdict = await guard.acheck("It opened in 1932.", question="When?")
    problem = f"the judge 'acme/judge' cannot be asked: `HTTPS_PROXY` {MALFORMED}"
    assert verdict.reason.endswith(problem)


async def test_model_servers_and_look_ups_name_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", ADDRESSES[0])
    model = {"backend": "chat", "name": "checker", "url": NOWHERE}
    step = {"method": "grounding", "format": "bespoke", "model": model}
    inputs: dict[str, Any] = {"question": "When?", "references": ["It opened in 1932."]}
    verdict = await Guard({"chain": [step]}).acheck("It opened in 1932.", **inputs)
    assert f"`HTTPS_PROXY` {MALFORMED}" in verdict.reason
    policy = {
        "chain": [{"method": "facts", "evidence": "documents"}],
        "lookups": {"packages": {"pypi": NOWHERE}},
    }
    verdict = await Guard(policy).acheck("Install it: `pip install httpx`.", **inputs)
    assert f"`HTTPS_PROXY` {MALFORMED}" in (verdict.steps[-1].error or "")


@pytest.mark.parametrize("create", [client])
def test_downloads_name_it_too(
    monkeypatch: pytest.MonkeyPatch, create: Callable[[], object]
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", ADDRESSES[0])
    with pytest.raises(ConfigurationError, match="`HTTPS_PROXY` is not the address of a proxy"):
        create()


@pytest.mark.usefixtures("litellm")
async def test_litellm_s_failure_to_create_a_client_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", ADDRESSES[1])
    guard = Guard({"chain": ["facts"]}, model="anthropic/claude-x", api_key="x")
    with pytest.raises(ProviderRefusedError, match="`HTTPS_PROXY` is not the address of a proxy"):
        await guard.aask("Who?")
