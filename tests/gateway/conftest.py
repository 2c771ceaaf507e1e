from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from simulation import SimulatedProvider
from support.gateway import Gateways


@pytest.fixture(scope="module")
def stack() -> Iterator[ExitStack]:
    """What is closed at the end of a module."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def gateways(simulated: SimulatedProvider, tmp_path: Path) -> Iterator[Gateways]:
    """Gateways to the simulated provider."""
    with ExitStack() as stack:
        yield Gateways(tmp_path, simulated.root_url, stack)
