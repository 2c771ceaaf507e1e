from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulation import SimulatedProvider
from support.repaired import WORLD


@pytest.fixture
def simulated() -> Iterator[SimulatedProvider]:
    """A provider that makes up when the Zorblatt was built."""
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider
