"""Many calls of one guarded chain at the same time."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler

from resay_langchain import guard_runnable
from simulation import Invention, SimulatedProvider, Subject, World
from support.langchain import PROMPT, UNJUDGED, N

pytestmark = pytest.mark.anyio

MANY = 20
# Letters only, so that no name is part of another.
NAMES = [f"Zorb{chr(97 + i // 26)}{chr(97 + i % 26)}x" for i in range(MANY)]
WORLD = World(
    [
        Subject(
            name,
            inventions=[
                Invention(f"The {name} was built in {{year}} by {{person}}."),
                Invention(f"People from {{place}} come to the {name}."),
            ],
        )
        for name in NAMES
    ]
)


class Pairs(AsyncCallbackHandler):
    """The runs of one call, each begun and ended."""

    def __init__(self) -> None:
        self.parents: dict[UUID, UUID | None] = {}
        self.names: dict[UUID, str] = {}
        self.ended: Counter[UUID] = Counter()
        self.texts: list[str] = []

    async def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self._begin(kwargs, kwargs["name"])

    async def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.texts.append(messages[0][-1].text)
        self._begin(kwargs, kwargs["name"])

    def _begin(self, kwargs: dict[str, Any], name: str) -> None:
        assert kwargs["run_id"] not in self.names
        self.names[kwargs["run_id"]] = name
        self.parents[kwargs["run_id"]] = kwargs["parent_run_id"]

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.ended[run_id] += 1

    async def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.texts.append(response.generations[0][0].text)
        self.ended[run_id] += 1


def tree(pairs: Pairs) -> Counter[tuple[str, ...]]:
    """How often each path of names from the top leads to a run."""

    def path(run: UUID) -> tuple[str, ...]:
        parent = pairs.parents[run]
        return (*(path(parent) if parent else ()), pairs.names[run])

    return Counter(path(run) for run in pairs.names)


@pytest.mark.parametrize("way", ["litellm", "native"])
async def test_calls_at_the_same_time_do_not_touch_each_other(way, make_model_at, litellm):
    with SimulatedProvider(seed=3, world=WORLD, latency_s=0.02, jitter_s=0.02) as provider:
        model = make_model_at(provider, plain=way == "litellm")
        policy = UNJUDGED | {"sampling": {"max": N, "via": way}}
        chain = guard_runnable(PROMPT | model, policy)
        watchers = [Pairs() for _ in NAMES]
        messages = await asyncio.gather(
            *(
                chain.ainvoke({"question": f"What is the {name}?"}, {"callbacks": [watcher]})
                for name, watcher in zip(NAMES, watchers, strict=True)
            )
        )
        # One request asks for all samples.
        assert provider.calls == MANY * (1 + 1)
    for name, message, watcher in zip(NAMES, messages, watchers, strict=True):
        verdict = message.response_metadata["hallucination"]
        assert (verdict["samples"], verdict["via"]) == (N, way)
        assert set(re.findall(r"Zorb\w+", repr(message))) == {name}
        assert set(re.findall(r"Zorb\w+", " ".join(watcher.texts))) == {name}
        assert set(watcher.ended.values()) == {1}
        assert watcher.ended.keys() == watcher.names.keys()
        top = ("GuardedRunnable", "RunnableSequence")
        assert tree(watcher) == {
            top[:1]: 1,
            top: 1,
            (*top, "ChatPromptTemplate"): 1,
            (*top, "GuardedChatModel"): 1,
            (*top, "GuardedChatModel", "ChatOpenAI"): 1,
            (*top, "GuardedChatModel", "resay:sample"): 1,
        }
