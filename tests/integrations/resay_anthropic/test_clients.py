"""Guarding clients that are there already."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic

from resay.errors import ConfigurationError
from resay_anthropic import HallucinationMiddleware, guard_client, verdict_of
from support.known_world import KNOWN

POLICY: dict[str, Any] = {"chain": [{"method": "ngram"}], "sampling": {"max": 2}}
ASKED: Any = {
    "model": "simulated",
    "max_tokens": 300,
    "messages": [{"role": "user", "content": KNOWN}],
}


class Own(Anthropic):
    """A class of the application's."""


@pytest.mark.parametrize("kind", [Anthropic, AsyncAnthropic, Own])
def test_a_client_keeps_its_class_and_settings(kind: Any) -> None:
    client = kind(api_key="k", base_url="http://127.0.0.1:9", max_retries=7, timeout=3)
    guarded = guard_client(client, POLICY)
    assert type(guarded) is kind
    assert guarded is not client
    assert client.middleware == ()
    assert (guarded.api_key, guarded.base_url) == (client.api_key, client.base_url)
    assert (guarded.max_retries, guarded.timeout) == (7, 3)
    assert guarded._client is client._client


@pytest.mark.parametrize("name", ["AnthropicVertex", "AnthropicFoundry", "AnthropicBedrock"])
@pytest.mark.parametrize("side", ["", "Async"])
def test_clients_of_clouds_are_clients(name: str, side: str) -> None:
    given: dict[str, dict[str, Any]] = {
        "AnthropicVertex": {"project_id": "p", "region": "r", "access_token": "t"},
        "AnthropicFoundry": {"resource": "r", "api_key": "k"},
        "AnthropicBedrock": {"aws_region": "r", "aws_access_key": "a", "aws_secret_key": "s"},
    }
    kind: Any = getattr(anthropic, side + name)
    guarded = guard_client(kind(**given[name]), POLICY)
    assert type(guarded) is kind
    assert [type(m) for m in guarded.middleware] == [HallucinationMiddleware]


def test_a_guarded_client_gets_another_policy(sync_client: Anthropic, line: Any) -> None:
    guarded = guard_client(guard_client(sync_client, POLICY), {**POLICY, "sampling": {"max": 4}})
    assert guarded.messages.create(**ASKED).hallucination["samples"] == 4
    assert (line.sent, len(line.samples)) == (1, 4)


def test_other_middleware_stays(sync_client: Anthropic) -> None:
    guarded = guard_client(sync_client, POLICY)
    assert guarded.middleware[1:] == sync_client.middleware


def test_copies_are_guarded_and_ask_where_they_should(sync_client: Anthropic, line: Any) -> None:
    guarded = guard_client(sync_client, POLICY)
    copy = guarded.with_options(default_headers={"x-tenant": "other"})
    assert verdict_of(copy.messages.create(**ASKED)) is not None
    assert {sample.headers["x-tenant"] for sample in line.samples} == {"other"}


@pytest.mark.parametrize("thing", [None, object(), Anthropic])
def test_only_clients_are_clients(thing: Any) -> None:
    with pytest.raises(ConfigurationError, match="Anthropic's SDK"):
        guard_client(thing, POLICY)
