"""One gateway for all attacks of a module, in front of an upstream that says what a test wants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from support.attacks import ANSWER, Upstream, http_response, is_well
from support.gateway import POLICY, Gateways, Served

UNCACHED = POLICY + "cache: {store: none}\n"
# Nothing of an answer is to be seen anywhere.
HIDDEN = UNCACHED + "stream_mode: buffer\naction: {do: block}\n"
HIDDEN += "threshold: {passage: 0.01, sentence: 0.01}\non_error: block\n"
LIMITS = {
    "header_bytes": 8192,
    "body_bytes": 200_000,
    "upload_bytes": 200_000,
    "answer_bytes": 1_000_000,
}


@pytest.fixture(scope="module")
def shared_upstream(stack: ExitStack) -> Upstream:
    return stack.enter_context(Upstream())


@pytest.fixture(scope="module")
def starter(
    stack: ExitStack, shared_upstream: Upstream, tmp_path_factory: pytest.TempPathFactory
) -> Gateways:
    """Starts gateways in front of the upstream."""
    folder = tmp_path_factory.mktemp("gateway")
    return Gateways(folder, shared_upstream.root_url, stack, reloads=False)


@pytest.fixture(scope="module")
def patience() -> dict[str, float]:
    """How long the gateway waits for a client, and for the upstream, in seconds.

    It is short, because many attacks end only then. A module without such attacks waits longer, so
    that nothing depends on the machine's load.
    """
    return {"client_s": 0.3, "upstream_s": 0.25}


@pytest.fixture(scope="module")
def shared(starter: Gateways, patience: dict[str, float]) -> Served:
    modes = {mode: f"{UNCACHED}stream_mode: {mode}\n" for mode in ("after", "hold", "buffer")}
    policies = modes | {"hidden": HIDDEN}
    return starter.start(
        UNCACHED,
        policies={name: starter.policy(text, f"{name}.yaml") for name, text in policies.items()},
        limits=LIMITS | dict.fromkeys(("header_s", "body_s", "write_s"), patience["client_s"]),
        upstream={"timeout_s": patience["upstream_s"]},
        pass_through=["/v1/files"],
    )


@pytest.fixture
def upstream(shared_upstream: Upstream) -> Upstream:
    shared_upstream.says(http_response(ANSWER))
    return shared_upstream


@pytest.fixture
def served(shared: Served, upstream: Upstream) -> Iterator[Served]:
    """The gateway, which is well after whatever was done to it."""
    yield shared
    assert is_well(shared)
