"""What the soak bench draws: policies, faults, and what each client does."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from performance.load_servers import MODEL
from simulation import (
    CutConnection,
    Fault,
    Hang,
    MalformedJson,
    RateLimited,
    ServerError,
    Slow,
    Stall,
)

__all__ = ["DRAIN_S", "FAULTS", "POLICIES", "Ask", "Plan", "draw", "write_files"]

Ask = Literal["chat", "responses", "messages", "passed"]
"""What is asked for: one of the APIs that are guarded, or what is passed on."""

DRAIN_S = 20
"""How long the gateway's answers may go on once it is told to stop, in seconds."""

_PATHS: Mapping[Ask, str] = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "passed": "/v1/messages/count_tokens",
}
_TENANTS = ("red", "green", "blue", "none")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MARKED = 6
_MOST_WORDS = 97
_LEAVING, _STREAMED = 0.08, 0.4
_LONGEST_LEAVE_S = 0.25

_NGRAM = [{"method": "ngram"}]
_LISTS = [{"method": "prompt", "mode": "per_sample"}]
_STRICT = {"threshold": {"passage": 0.2, "sentence": 0.2}}
_USUAL: Mapping[str, Any] = {
    "sampling": {"max": 3, "min": 2},
    "limits": {"deadline_s": 2.5, "timeout_s": 0.8, "retries": 1},
    "cache": {"store": "none"},
}
_CACHE = {"store": "memory", "max_entries": 100}
_BLOCK = {"do": "block", "message": "Withheld."}
_RAISE = {"do": "block", "exit": "raise"}
_REGENERATE = {
    "do": "regenerate",
    "mode": "repair",
    "retriever": {"kind": "folder", "path": "documents"},
}

POLICIES: Mapping[str, Mapping[str, Any]] = {
    "default": {"chain": _NGRAM, **_USUAL},
    "off": {"chain": _NGRAM, **_USUAL, "when": {"roles": ["tool"]}},
    "cached": {"chain": _NGRAM, **_USUAL, "cache": _CACHE},
    "after": {"chain": _NGRAM, **_USUAL, "stream_mode": "after"},
    "buffer": {"chain": _NGRAM, **_USUAL, "stream_mode": "buffer", "on_error": "allow"},
    "block": {"chain": _NGRAM, **_USUAL, **_STRICT, "action": _BLOCK},
    "strict": {"chain": _NGRAM, **_USUAL, "action": _BLOCK, "on_error": "block"},
    "raise": {"chain": _NGRAM, **_USUAL, **_STRICT, "action": _RAISE, "stream_mode": "buffer"},
    "judged": {"chain": _LISTS, **_USUAL},
    "regenerate": {"chain": _NGRAM, **_USUAL, "action": _REGENERATE},
}
"""Policies by name."""

FAULTS: tuple[Fault, ...] = (
    RateLimited(retry_after_s=0.05, probability=0.02),
    ServerError(probability=0.02),
    ServerError(status=503, probability=0.01),
    CutConnection(probability=0.02),
    MalformedJson(probability=0.02),
    Hang(probability=0.005),
    Stall(probability=0.005),
    Slow(0.3, probability=0.02),
)
"""What goes wrong at the provider."""

_DOCUMENT = """# Mills

A mill stands at the river and grinds corn. It has a wheel and two stones.

Its second account followed from nobody, and it was described by no one.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one client does.

    Attributes:
        number: Tells the request apart from all others.
        ask: What is asked for.
        streamed: Whether the answer is to come as a stream.
        policy: By which policy it is guarded.
        tenant: On whose behalf it is asked.
        leave_s: After how many seconds the client goes away; None where it does not.
    """

    number: int
    ask: Ask
    streamed: bool = False
    policy: str = "default"
    tenant: str = "none"
    leave_s: float | None = None

    @property
    def request_id(self) -> str:
        """What the request is called."""
        return f"soak-{self.number}"

    @property
    def marker(self) -> str:
        """A name that no other request asks about, and that every answer to it says."""
        letters, number = "", self.number
        for _ in range(_MARKED):
            number, digit = divmod(number, len(_LETTERS))
            letters = _LETTERS[digit] + letters
        return f"Z{letters}"

    @property
    def tokens(self) -> int:
        """How many tokens what is passed on has."""
        return 1 + self.number % _MOST_WORDS

    @property
    def path(self) -> str:
        """Where it is sent."""
        return _PATHS[self.ask]

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers it is sent with."""
        return {
            "content-type": "application/json",
            "x-request-id": self.request_id,
            "x-resay-policy": self.policy,
            "x-resay-tenant": self.tenant,
        }

    @property
    def body(self) -> bytes:
        """What is asked."""
        question = f"Tell me about the {self.marker} Mill."
        if self.ask == "passed":
            question = " ".join(["word"] * self.tokens)
        body: dict[str, Any] = {"model": MODEL}
        if self.ask == "responses":
            body["input"] = question
        else:
            body["messages"] = [{"role": "user", "content": question}]
        if self.ask == "messages":
            body["max_tokens"] = 500
        return json.dumps({**body, "stream": True} if self.streamed else body).encode()


def draw(count: int, seed: int) -> list[Plan]:
    """Draw what clients do.

    Args:
        count: How many of them.
        seed: Equal seeds give equal plans.
    """
    # What a pretended client does is no secret.
    rng = random.Random(f"soak {seed}")
    return [_plan(number, rng) for number in range(count)]


def _plan(number: int, rng: random.Random) -> Plan:
    asks: Sequence[Ask] = ("chat", "chat", "responses", "messages", "passed")
    ask = rng.choice(asks)
    streamed = rng.random() < _STREAMED and ask != "passed"
    policy, tenant = rng.choice(list(POLICIES)), rng.choice(_TENANTS)
    leave_s = rng.uniform(0.0, _LONGEST_LEAVE_S) if rng.random() < _LEAVING else None
    return Plan(number, ask, streamed, policy, tenant, leave_s)


def write_files(folder: Path, upstream: str) -> Path:
    """Write a gateway file with its policies and documents, as JSON, which is YAML.

    Args:
        folder: Where; the journal's file is to be there too.
        upstream: The upstream's base URL.

    Returns:
        The gateway file.
    """
    documents = folder / "documents"
    documents.mkdir()
    (documents / "mills.md").write_text(_DOCUMENT)
    for name, policy in POLICIES.items():
        text = json.dumps(policy).replace('"documents"', json.dumps(str(documents)))
        (folder / f"{name}.yaml").write_text(text)
    config = {
        "upstream": {"url": upstream, "timeout_s": 3},
        "policies": {name: f"{name}.yaml" for name in POLICIES},
        "limits": {"drain_s": DRAIN_S},
        "journal": {"url": f"sqlite:///{folder / 'journal.db'}", "content": "none"},
    }
    path = folder / "gateway.yaml"
    path.write_text(json.dumps(config))
    return path
