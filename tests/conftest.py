from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from resay.testing import SimulatedProvider


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
