from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulation import SimulatedInference


@pytest.fixture(params=["tei", "vllm"])
def server(request: pytest.FixtureRequest) -> Iterator[SimulatedInference]:
    with SimulatedInference(api=request.param) as server:
        yield server
