from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from resay.testing import SimulatedProvider

# How long an example takes says more about the machine than about the code. In CI the examples are
# the same each time, so that a red run is about the change.
settings.register_profile(
    "resay",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("resay")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data, which is not part of the project."""
    here = Path(__file__).resolve().parents[1]
    path = Path(os.environ.get("RESAY_DATA", here.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip("no data: set RESAY_DATA to the folder with the benchmark files")
    return path


@pytest.fixture
def simulated() -> Iterator[SimulatedProvider]:
    """A provider on loopback that knows a little and makes up the rest."""
    with SimulatedProvider(seed=7) as provider:
        yield provider
