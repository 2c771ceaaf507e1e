from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from simulation import SimulatedProvider
from support.attacks import Upstream
from support.gateway import POLICY, Gateways, Served


@pytest.fixture(scope="module")
def stack() -> Iterator[ExitStack]:
    """What is closed at the end of a module."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def provider() -> Iterator[SimulatedProvider]:
    """The simulated provider that the tests of a module share."""
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def gateways(simulated: SimulatedProvider, tmp_path: Path) -> Iterator[Gateways]:
    """Gateways to the simulated provider."""
    with ExitStack() as stack:
        yield Gateways(tmp_path, simulated.root_url, stack)


@pytest.fixture(scope="module")
def upstream(stack: ExitStack) -> Upstream:
    """An upstream that says what a test wants."""
    return stack.enter_context(Upstream())


@pytest.fixture(scope="module")
def served(
    request: pytest.FixtureRequest,
    stack: ExitStack,
    upstream: Upstream,
    tmp_path_factory: pytest.TempPathFactory,
) -> Served:
    """A gateway to it, with the policies that the module names."""
    starter = Gateways(tmp_path_factory.mktemp("gateway"), upstream.root_url, stack)
    policies: dict[str, str] = request.module.POLICIES
    paths = {name: starter.policy(text, f"{name}.yaml") for name, text in policies.items()}
    return starter.start(POLICY + "cache: {store: none}\n", policies=paths)
