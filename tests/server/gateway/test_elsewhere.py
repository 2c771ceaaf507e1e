from __future__ import annotations

from typing import Any

import pytest

from resay import Policy, Request, Usage
from resay.errors import ProviderRefusedError
from resay.plugins import Completion, Completions
from resay_server.gateway.harmless_params import HarmlessParams

POLICY = Policy.of(
    {
        "chain": [{"method": "ngram"}],
        "sampling": {"model": "openai/m", "params": {"api_base": "http://ours/v1"}},
    }
)
EVIL = "http://169.254.169.254/"
HOSTILE: dict[str, Any] = {
    "fallbacks": [{"model": "openai/x", "api_base": EVIL}],
    "model_list": [{"litellm_params": {"api_base": EVIL}}],
    **dict.fromkeys(("api_base", "base_url", "custom_llm_provider", "proxy"), EVIL),
    "extra_headers": {"host": EVIL},
    "extra_body": {"api_base": EVIL},
    "mock_response": "Fine.",
    "metadata": {"model": EVIL},
}


class Recording:
    def __init__(self) -> None:
        self.queries: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.queries.append(request)
        return Completions((Completion("x"),) * n, Usage(1))


def sample_of(asked: Request) -> Request:
    return asked.for_sampling(model="openai/m", params=POLICY.sampling.params)


@pytest.mark.anyio
async def test_what_says_where_to_ask_is_the_policys_alone() -> None:
    asked = Request.of("Who?", params={**HOSTILE, "temperature": 0.5, "max_tokens": 7, "tools": []})
    recording = Recording()
    await HarmlessParams(recording, asked, POLICY).complete(sample_of(asked), n=2)
    assert recording.queries[0].params == {
        "temperature": 0.5,
        "max_tokens": 7,
        "tools": [],
        "api_base": "http://ours/v1",
    }


@pytest.mark.anyio
async def test_judges_keep_the_parameters_that_the_policy_gave_them() -> None:
    judged = Request.of(
        "Is it?", model="openai/j", params={"api_base": "http://judge/v1", "extra_headers": {}}
    )
    recording = Recording()
    await HarmlessParams(recording, Request.of("Who?"), POLICY).complete(judged)
    assert recording.queries == [judged]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("part", "refers"),
    [
        ({"type": "text", "text": f"What is {EVIL}?"}, False),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0//8="}}, False),
        ({"type": "image_url", "image_url": {"url": EVIL}}, True),
        ({"type": "image_url", "image_url": EVIL}, True),
        ({"type": "file", "file": {"file_data": "file:///etc/passwd"}}, True),
        ({"type": "odd", "odd": [[{"a": EVIL}]]}, True),
    ],
)
async def test_nothing_is_fetched_for_a_client(part: dict[str, Any], refers: bool) -> None:
    asked = Request.of([{"role": "user", "content": [part]}])
    recording = Recording()
    asking = HarmlessParams(recording, asked, POLICY).complete(sample_of(asked))
    if refers:
        with pytest.raises(ProviderRefusedError, match="the messages contain URLs"):
            await asking
    else:
        await asking
    assert bool(recording.queries) is not refers
