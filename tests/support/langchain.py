"""Helpers for the tests of the LangChain adapter."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple
from uuid import UUID

import langchain_core
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from packaging.version import Version

from simulation import SimulatedProvider
from support.known_world import KNOWN, MADE_UP, WORLD

__all__ = [
    "JUDGED",
    "KNOWN",
    "MADE_UP",
    "MESSAGE",
    "PATIENT",
    "PROMPT",
    "RAISE",
    "REPLACE",
    "UNCACHED",
    "UNJUDGED",
    "WORLD",
    "N",
    "Recorder",
    "Start",
    "bodies",
    "needs_events_v3",
    "needs_hearing_agents",
    "since",
    "verdict_of",
]


def since(version: str) -> bool:
    """Return whether langchain-core has at least a version."""
    return Version(langchain_core.__version__) >= Version(version)


needs_events_v3 = pytest.mark.skipif(
    not since("1.4"), reason="the third kind of events came with langchain-core 1.4"
)

needs_hearing_agents = pytest.mark.skipif(
    sys.version_info < (3, 11),
    reason="before Python 3.11 agents hand their configuration to no asynchronous call",
)

N = 3
# Calls are counted, so answers must not come from a cache.
UNCACHED = {"cache": {"store": "none"}}
# Samples are counted; comparison with documents has its own tests.
BY_SAMPLES = UNCACHED | {"sampling": {"max": N}, "references": {"from": []}}
JUDGED = BY_SAMPLES | {"chain": [{"method": "prompt", "mode": "per_sample"}]}
PATIENT = JUDGED | {"sampling": {"max": N, "start": "after"}}
UNJUDGED = BY_SAMPLES | {"chain": [{"method": "ngram"}]}
MESSAGE = "No answer today."
REPLACE = JUDGED | {"action": {"do": "block", "message": MESSAGE}}
RAISE = JUDGED | {"action": {"do": "block", "exit": "raise"}}

PROMPT = ChatPromptTemplate.from_messages([("system", "Be brief."), ("user", "{question}")])


class Start(NamedTuple):
    name: str
    parent: UUID | None
    tags: list[str]
    metadata: dict[str, Any]


class Recorder(BaseCallbackHandler):
    """Records the runs and the verdicts it is notified of."""

    run_inline = True

    def __init__(self):
        self.runs: dict[UUID, Start] = {}
        self.messages: dict[UUID, AIMessage] = {}
        self.verdicts: list[dict[str, Any]] = []
        self.failed: dict[UUID, BaseException] = {}

    def on_chain_start(self, serialized, inputs, *, run_id, **kwargs):
        self._add(run_id, kwargs, kwargs["name"])

    def on_chat_model_start(self, serialized, messages, *, run_id, **kwargs):
        self._add(run_id, kwargs, kwargs["name"] or serialized["name"])

    def _add(self, run_id, kwargs, name):
        self.runs[run_id] = Start(name, kwargs["parent_run_id"], kwargs["tags"], kwargs["metadata"])

    def on_llm_end(self, response, *, run_id, **kwargs):
        self.messages[run_id] = response.generations[0][0].message

    def on_llm_error(self, error, *, run_id, **kwargs):
        self.failed[run_id] = error

    def on_custom_event(self, name, data, **kwargs):
        assert name == "resay_verdict"
        self.verdicts.append(data)

    def named(self, name: str) -> dict[UUID, Start]:
        return {run_id: run for run_id, run in self.runs.items() if run.name == name}


def verdict_of(message: AIMessage) -> dict[str, Any]:
    return message.response_metadata["hallucination"]


def bodies(provider: SimulatedProvider, *, judged: bool = False) -> list[dict[str, Any]]:
    """Return the bodies of the requests for answers and samples, or of those to the judge."""
    sent = [dict(request.body or {}) for request in provider.requests]
    return [b for b in sent if ("<claims-" in b["messages"][-1]["content"]) is judged]
