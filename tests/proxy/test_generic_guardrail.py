"""LiteLLM's own proxy, which has a gateway check its answers by configuration alone.

The gateway's upstream is the proxy itself, so that samples come back to the guardrail.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.known_world import MADE_UP, WORLD

if os.environ.get("RESAY_TEST_PROXY") != "1":
    pytest.skip("needs LiteLLM's proxy: make test-proxy", allow_module_level=True)
pytest.importorskip("litellm_proxy_extras", reason="litellm[proxy] is not installed")

import anthropic
import openai

from resay_server.gateway import Gateway, GatewayConfig, Observation, serving
from simulation import SimulatedProvider
from support.proxy import KEY, free_port, running

ASKED: Any = [{"role": "user", "content": MADE_UP}]
NGRAM = {"chain": [{"method": "ngram"}], "sampling": {"max": 3, "min": 3}}
STRICT = {**NGRAM, "threshold": {"passage": 0.0, "sentence": 0.0}, "cache": {"store": "none"}}
POLICIES: dict[str, Any] = {
    "annotate": {**STRICT, "action": {"do": "annotate"}},
    "message": {**STRICT, "action": {"do": "block", "message": "Withheld."}},
    "raise": {**STRICT, "action": {"do": "block", "exit": "raise"}},
    "strict": {**STRICT, "action": {"do": "block", "exit": "raise"}},
    "cached": NGRAM,
}
JUDGED = {
    "chain": [{"method": "prompt", "mode": "per_sample"}],
    "sampling": {"max": 3, "confidence": None},
    "cache": {"store": "none"},
}
# What the page tells users to write.
PAGE = Path(__file__).resolve().parents[2] / "docs" / "checking.md"
BLOCK, *_ = re.findall(r"^```yml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
PARAMS: dict[str, Any] = yaml.safe_load(BLOCK)["guardrails"][0]["litellm_params"]
# One check at the end of a stream, before any of it is shown.
AT_THE_END = {name: value for name, value in PARAMS.items() if name.startswith("streaming_")}
GATEWAY_KEY = "one of the gateway's own"


@pytest.fixture(scope="module")
def upstream() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


class Seen(list[Observation]):
    """What the gateway's observer was told."""

    @property
    def verdicts(self) -> list[Observation]:
        return [one for one in self if one.verdict is not None]


@pytest.fixture(scope="module")
def all_seen() -> Seen:
    return Seen()


@pytest.fixture
def seen(all_seen: Seen) -> Seen:
    all_seen.clear()
    return all_seen


@contextmanager
def proxied(
    upstream: SimulatedProvider,
    folder: Path,
    observer: Callable[[Observation], None],
    policies: Mapping[str, Any],
    guardrails: Callable[[str, Iterable[str]], Mapping[str, Mapping[str, Any]]],
) -> Generator[str]:
    """Run a proxy, and the gateway it asks, whose upstream is that proxy."""
    for name, policy in policies.items():
        (folder / f"{name}.yaml").write_text(json.dumps(policy))
    port = free_port()
    told = {
        "upstream": {"url": f"http://127.0.0.1:{port}/v1", "api_key": KEY},
        "policies": {name: str(folder / f"{name}.yaml") for name in policies},
        "keys": [{"name": "litellm", "sha256": sha256(GATEWAY_KEY.encode()).hexdigest()}],
    }
    gateway = Gateway(GatewayConfig.of(told), on_verdict=observer)
    with serving(gateway) as url:
        config = _config(upstream, guardrails(url, policies))
        with running(config, folder, port) as address:
            yield address


@pytest.fixture(scope="module")
def proxy(
    upstream: SimulatedProvider, all_seen: Seen, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("generic")
    shelf = folder / "shelf"
    shelf.mkdir()
    (shelf / "zorblatt.md").write_text("The Zorblatt was built in 1631 by Ada Kling.\n")
    repairing = {"do": "regenerate", "retriever": {"kind": "folder", "path": str(shelf)}}
    policies = {**POLICIES, "repair": {**JUDGED, "action": repairing}}
    with proxied(upstream, folder, all_seen.append, policies, _guardrails) as address:
        yield address


@pytest.fixture(scope="module")
def always(
    upstream: SimulatedProvider, all_seen: Seen, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A proxy whose guardrail is always on, so that its own samples come to it too."""

    def guardrails(gateway: str, _: Iterable[str]) -> dict[str, dict[str, Any]]:
        return {"always": {**PARAMS, "api_base": gateway, "api_key": "os.environ/RESAY_KEY"}}

    folder = tmp_path_factory.mktemp("always")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESAY_KEY", GATEWAY_KEY)
        with proxied(upstream, folder, all_seen.append, POLICIES, guardrails) as address:
            yield address


def _policy(name: str) -> dict[str, Any]:
    return {"additional_provider_specific_params": {"policy": name}}


def _config(
    upstream: SimulatedProvider, guardrails: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    models = {
        "chat": ("openai/chat", upstream.base_url),
        "claude": ("anthropic/claude-sim", upstream.root_url),
    }
    return {
        "model_list": [
            {
                "model_name": name,
                "litellm_params": {"model": model, "api_base": base, "api_key": "simulated"},
            }
            for name, (model, base) in models.items()
        ],
        "guardrails": [
            {
                "guardrail_name": name,
                "litellm_params": {
                    "guardrail": "generic_guardrail_api",
                    "mode": ["pre_call", "post_call"],
                    "default_on": False,
                    "timeout": 30,
                    "api_key": GATEWAY_KEY,
                    **params,
                },
            }
            for name, params in guardrails.items()
        ],
        "router_settings": {"disable_cooldowns": True, "num_retries": 0},
    }


def _guardrails(gateway: str, policies: Iterable[str]) -> dict[str, dict[str, Any]]:
    named = {
        name: {
            "api_base": gateway,
            **_policy(name),
            **AT_THE_END,
        }
        for name in policies
    }
    gone = f"http://127.0.0.1:{free_port()}"
    return {
        **named,
        "by-header": {"api_base": gateway, "headers": {"x-resay-policy": "raise"}},
        "shown": {**named["message"], "streaming_transform_mode": "block_only"},
        "shown-raise": {**named["raise"], "streaming_transform_mode": "block_only"},
        "post-only": {**named["raise"], "mode": "post_call"},
        "gone": {"api_base": gone},
        "gone-open": {"api_base": gone, "unreachable_fallback": "fail_open"},
        "pieces": {"api_base": gateway, **_policy("cached")},
    }


@pytest.fixture
def client(proxy: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{proxy}/v1", api_key=KEY, max_retries=0) as client:
        yield client


@pytest.fixture
def sent(upstream: SimulatedProvider) -> Callable[[], int]:
    before = upstream.calls
    return lambda: upstream.calls - before


def chat(client: Any, guardrail: str, **params: Any) -> Any:
    asked = {"model": "chat", "messages": ASKED, **params}
    return client.chat.completions.create(**asked, extra_body={"guardrails": [guardrail]})


def shown(chunks: list[Any]) -> str:
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def test_an_annotated_answer_passes(client: Any, seen: Seen, sent: Any) -> None:
    response = chat(client, "annotate")

    text = response.choices[0].message.content
    (one,) = seen.verdicts
    assert (one.policy, one.model, one.question) == ("annotate", "chat", MADE_UP)
    assert one.client == "litellm"
    assert one.verdict
    assert one.verdict.samples == 3
    assert one.verdict.flagged
    assert one.answer
    assert one.answer.response == text


def test_a_blocked_answer_is_an_error(client: Any, seen: Seen) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        chat(client, "raise")

    assert caught.value.status_code == 400
    assert "withheld" in caught.value.response.text
    assert all(word not in caught.value.response.text for word in ("built", "visit", "copy"))
    assert [one.action for one in seen.verdicts] == ["block"]


def test_a_message_stands_in_place_of_an_answer(client: Any) -> None:
    assert chat(client, "message").choices[0].message.content == "Withheld."


def test_an_answer_is_written_again(client: Any, seen: Seen) -> None:
    response = chat(client, "repair")

    assert "1631 by Ada Kling" in response.choices[0].message.content
    assert [one.action for one in seen.verdicts] == ["regenerate"]


def test_each_of_several_answers_is_checked(client: Any, seen: Seen) -> None:
    response = chat(client, "message", n=2)

    assert [choice.message.content for choice in response.choices] == ["Withheld."] * 2
    assert [len(one.answers) for one in seen.verdicts] == [2]


def test_a_header_of_the_configuration_names_a_policy(client: Any) -> None:
    with pytest.raises(openai.APIStatusError):
        chat(client, "by-header")


def test_without_what_was_asked_nothing_is_decided(client: Any, seen: Seen, sent: Any) -> None:
    response = chat(client, "post-only")

    assert response.choices[0].message.content
    (one,) = seen.verdicts
    assert one.verdict
    assert one.verdict.inconclusive
    assert "pre_call" in one.verdict.reason
    assert sent() == 1


def test_a_stream_is_shown_once_it_is_checked(client: Any, seen: Seen) -> None:
    chunks = list(chat(client, "annotate", stream=True))

    (one,) = seen.verdicts
    assert one.answer
    assert shown(chunks) == one.answer.response
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_stream_is_blocked_before_any_of_it_is_shown(client: Any) -> None:
    chunks: list[Any] = []
    with pytest.raises(openai.APIError) as caught:
        chunks.extend(iter(chat(client, "raise", stream=True)))

    assert "withheld" in str(caught.value)
    assert not shown(chunks)


def test_a_message_stands_in_place_of_a_stream(client: Any) -> None:
    assert shown(list(chat(client, "message", stream=True))) == "Withheld."


def test_a_stream_is_written_again(client: Any) -> None:
    text = shown(list(chat(client, "repair", stream=True)))
    assert "1631 by Ada Kling" in text


def test_of_a_stream_that_is_shown_only_a_block_is_done(client: Any, seen: Seen) -> None:
    """`streaming_transform_mode: block_only`, which is LiteLLM's default."""
    text = shown(list(chat(client, "shown", stream=True)))
    assert text
    assert text != "Withheld."
    assert seen.verdicts[-1].action == "block"
    chunks: list[Any] = []
    with pytest.raises(openai.APIError) as caught:
        chunks.extend(iter(chat(client, "shown-raise", stream=True)))
    assert "withheld" in str(caught.value)
    assert shown(chunks)


def test_a_gateway_that_is_gone_fails_closed_or_open(client: Any) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        chat(client, "gone")
    assert caught.value.status_code == 500
    assert chat(client, "gone-open").choices[0].message.content


def test_responses_are_checked(client: Any, seen: Seen) -> None:
    extra = {"guardrails": ["message"]}
    response = client.responses.create(model="chat", input=MADE_UP, extra_body=extra)

    assert response.output_text == "Withheld."
    (one,) = seen.verdicts
    assert one.question == MADE_UP


def test_messages_are_checked(proxy: str, seen: Seen) -> None:
    with anthropic.Anthropic(base_url=proxy, api_key=KEY, max_retries=0) as client:
        message = client.messages.create(
            model="claude",
            max_tokens=400,
            messages=ASKED,
            extra_body={"guardrails": ["message"]},
        )

    told: list[Any] = list(message.content)
    assert [block.text for block in told] == ["Withheld."]
    (one,) = seen.verdicts
    assert (one.question, one.model) == (MADE_UP, "claude")


def test_a_stream_in_pieces_is_checked_again_and_again(
    client: Any, seen: Seen, sent: Callable[[], int]
) -> None:
    """LiteLLM's default. The samples are drawn once, as far as the policy caches them."""
    assert shown(list(chat(client, "pieces", stream=True)))
    assert len(seen.verdicts) > 2
    assert sent() <= 1 + 3


def test_samples_that_come_back_to_the_guardrail_are_not_checked(
    always: str, seen: Seen, sent: Callable[[], int]
) -> None:
    with (
        openai.OpenAI(base_url=f"{always}/v1", api_key=KEY, max_retries=0) as client,
        pytest.raises(openai.APIStatusError) as caught,
    ):
        client.chat.completions.create(model="chat", messages=ASKED)

    assert "with 3 samples" in caught.value.response.text
    (one,) = seen.verdicts
    assert one.verdict
    assert one.verdict.samples == 3
    # The answer and its samples, and nothing for the samples.
    assert sent() <= 1 + 3
