from __future__ import annotations

import gc
import os
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import certifi
import pytest
from hypothesis import HealthCheck, settings

from resay._internal.event_loops import run_sync
from resay.adapters.upstream import litellm_provider
from resay.providers.caching import close_caches
from resay.providers.prices import _litellm_rates
from simulation import SimulatedProvider
from support.covering import covering
from support.tiny_models import tiny

__all__ = ["tiny"]

# The workers have the cores busy already. Read when torch and numpy are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says more about the machine than about the code. In CI the examples are
# the same each time, so that a red run is about the change. `RESAY_EXAMPLES=1000` looks harder.
settings.register_profile(
    "resay",
    deadline=None,
    max_examples=int(os.environ.get("RESAY_EXAMPLES", "30")),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("resay")


# Where a test asks a real client over real HTTP, in several ways, of several kinds of it.
FEWEST = ("_internal", "gateway", "integrations", "simulation", "testing")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector,
) -> Generator[None, Any, Any]:
    """Leave out cases that add no value, or no pair of values, and those of values that take turns.

    `RESAY_CASES=all` runs them all.
    """
    items = yield
    if os.environ.get("RESAY_CASES") == "all" or not isinstance(items, list) or len(items) < 2:
        return items
    room = collector.path.relative_to(Path(__file__).parent).parts[0]
    return covering(items, 1 if room in FEWEST else 2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the collector of garbage what stays: the modules that the tests import.

    To look through them again for every test that collects garbage takes a third of a second. What
    is imported later stays too, so it is to be looked through seldom: at Python's own threshold
    that takes a sixth of all time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 10, 10)
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Clients trust one certificate authority, as hundreds of clients each read the list of all.

    Nothing here speaks TLS: all that is asked is on loopback.
    """
    bundle = Path(certifi.where()).read_text(encoding="utf-8")
    first, end, _ = bundle.partition("-----END CERTIFICATE-----\n")
    path = tmp_path_factory.mktemp("authority") / "one.pem"
    path.write_text(first + end, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def forget_answers() -> Iterator[None]:
    """No test finds what another was answered."""
    yield
    run_sync(close_caches)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data, which is not part of the project."""
    folder = os.environ.get("RESAY_DATA")
    if folder is None:
        pytest.skip("set RESAY_DATA to the folder with the benchmark files")
    return Path(folder)


@pytest.fixture
def simulated() -> Iterator[SimulatedProvider]:
    """A provider on loopback that knows a little and makes up the rest."""
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def no_litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """litellm as good as not installed."""
    forget: list[Callable[[], None]] = [litellm_provider.cache_clear, _litellm_rates.cache_clear]
    monkeypatch.setitem(sys.modules, "litellm", None)
    for clear in forget:
        clear()
    yield
    for clear in forget:
        clear()


@pytest.fixture
async def litellm(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """litellm with clients of the test's own, closed at the end.

    Those that the application makes by itself stay open, and so do their connections.
    """
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = pytest.importorskip("litellm")
    # Whoever imports it first decides whether it prints its advertisements on stdout.
    monkeypatch.setattr(litellm, "suppress_debug_info", True)
    cache = type(litellm.in_memory_llm_clients_cache)()
    monkeypatch.setattr(litellm, "in_memory_llm_clients_cache", cache)
    yield litellm
    await litellm.close_litellm_async_clients()
