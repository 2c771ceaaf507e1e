"""Streams that a reader leaves without closing them."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from resay_openai import GuardedAsyncOpenAI
from simulation import SimulatedProvider
from support.known_world import MADE_UP


@pytest.mark.skipif(
    int(openai.VERSION.partition(".")[0]) >= 3, reason="the SDK's own streams complain"
)
@pytest.mark.parametrize("mode", ["after", "hold", "buffer"])
def test_the_end_of_the_event_loop_has_nothing_to_complain_about(
    provider: SimulatedProvider, mode: str
) -> None:
    complaints: list[dict[str, Any]] = []
    policy = {"chain": [{"method": "prompt"}], "stream_mode": mode, "cache": {"store": "none"}}

    async def leave() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        client = GuardedAsyncOpenAI(policy=policy, base_url=provider.base_url, api_key="x")
        stream = await client.chat.completions.create(
            model="simulated", messages=[{"role": "user", "content": MADE_UP}], stream=True
        )
        async for _ in stream:
            break
        await client.close()

    asyncio.run(leave())
    assert not complaints
