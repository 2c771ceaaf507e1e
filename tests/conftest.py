from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import certifi
import pytest
from anyio._backends._asyncio import AsyncIOBackend
from hypothesis import HealthCheck, settings
from tenacity import wait_random_exponential

from resay.adapters import run_sync
from resay.adapters.upstream import litellm_provider
from resay.providers.caching import close_caches
from resay.providers.litellm_client import clients
from resay.providers.litellm_problems import _installed_names
from resay.providers.prices import _litellm_rates, litellm_entries
from simulation import SimulatedProvider
from support.alone import missing_packages
from support.covering import covering
from support.tiny_models import tiny

__all__ = ["tiny"]

# The test workers keep the cores busy already. torch and numpy read this when they are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The time an example takes depends more on the machine than on the code. In CI the examples are the
# same each time, so that a red run is due to the change. `RESAY_EXAMPLES=1000` searches harder, and
# elsewhere each time.
settings.register_profile(
    "resay",
    deadline=None,
    max_examples=int(os.environ.get("RESAY_EXAMPLES", "20")),
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ and "RESAY_EXAMPLES" not in os.environ,
)
settings.load_profile("resay")


ALONE = find_spec("resay_server") is None
# Folders whose tests run many kinds of real clients over real HTTP: no pairs of values there.
FEWEST = ("_internal", "gateway", "integrations", "simulation", "testing")


def pytest_configure(config: pytest.Config) -> None:
    """Leave out files that are named on the command line, for which pytest asks nobody."""
    config.args = [arg for arg in config.args if not _needs_more(Path(arg))]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what needs more than `resay` where nothing else is installed."""
    return True if _needs_more(collection_path) else None


def _needs_more(path: Path) -> bool:
    # What a folder's conftest imports, all of its tests need.
    file = path / "conftest.py" if path.is_dir() else path
    is_test = file.name.startswith(("test_", "conftest")) and file.suffix == ".py"
    return ALONE and is_test and file.is_file() and bool(missing_packages(file))


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector,
) -> Generator[None, Any, Any]:
    """Leave out redundant cases of tests with parameters; see `covering`.

    `RESAY_CASES=all` runs them all.
    """
    items = yield
    if os.environ.get("RESAY_CASES") == "all" or not isinstance(items, list) or len(items) < 2:
        return items
    folders = collector.path.relative_to(Path(__file__).parent).parts
    return covering(items, 1 if {*FEWEST} & {*folders} else 2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exempt from garbage collection the modules that the tests import, because they stay.

    Scanning them for every test that collects garbage takes a third of a second. Modules imported
    later stay too, so collections are made rare: at Python's default threshold they take a sixth of
    the total time.
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
    """Trust a single certificate authority: each of hundreds of clients reads the full list.

    Nothing here uses TLS: all requests go to loopback.
    """
    bundle = Path(certifi.where()).read_text(encoding="utf-8")
    first, end, _ = bundle.partition("-----END CERTIFICATE-----\n")
    path = tmp_path_factory.mktemp("authority") / "one.pem"
    path.write_text(first + end, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


_BACKOFF = wait_random_exponential.__call__


@pytest.fixture(scope="session", autouse=True)
def no_backoff_between_retries() -> Iterator[None]:
    """Retry at once, unless the server asks for a delay: the random ones only take time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wait_random_exponential, "__call__", lambda *_: 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def prompt_waits_for_other_tasks() -> Iterator[None]:
    """Look every millisecond whether all other tasks wait; anyio sleeps for a tenth of a second."""

    def is_busy(task: asyncio.Task[Any]) -> bool:
        waited_for = task._fut_waiter  # as anyio does
        return waited_for is None or waited_for.done()

    async def wait_all_tasks_blocked(_: type[AsyncIOBackend]) -> None:
        await anyio.lowlevel.checkpoint()
        this = asyncio.current_task()
        # Tasks tell nobody that they wait.
        while any(is_busy(task) for task in asyncio.all_tasks() - {this}):  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    with pytest.MonkeyPatch.context() as patch:
        method = classmethod(wait_all_tasks_blocked)
        patch.setattr(AsyncIOBackend, "wait_all_tasks_blocked", method)
        yield


class _PromptAsyncio:
    """asyncio with short sleeps."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.005))


@pytest.fixture(scope="session", autouse=True)
def prompt_shutdowns() -> Iterator[None]:
    """Stop servers at once; uvicorn sleeps for a tenth of a second after it closed connections."""
    with pytest.MonkeyPatch.context() as patch:
        if find_spec("uvicorn") is not None:
            patch.setattr("uvicorn.server.asyncio", _PromptAsyncio())
        yield


@pytest.fixture
def backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait between retries after all."""
    monkeypatch.setattr(wait_random_exponential, "__call__", _BACKOFF)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def forget_answers() -> Iterator[None]:
    """Close the caches, so that no test gets another's cached answers."""
    yield
    run_sync(close_caches)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data, which is not part of the project."""
    folder = os.environ.get("RESAY_DATA")
    if folder is None:
        pytest.skip("set RESAY_DATA to the folder with the benchmark files")
    return Path(folder)


# Found once, because a test may make litellm appear not to be installed.
_MISSING = [package for package in ("uvicorn", "litellm") if find_spec(package) is None]


@pytest.fixture
def simulated() -> Iterator[SimulatedProvider]:
    """A loopback provider that knows a little and makes up the rest."""
    if _MISSING:
        pytest.skip(f"needs {', '.join(_MISSING)}")
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def no_litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make litellm appear not to be installed."""
    forget: list[Callable[[], None]] = [
        litellm_provider.cache_clear,
        _litellm_rates.cache_clear,
        litellm_entries.cache_clear,
        _installed_names.cache_clear,
    ]
    monkeypatch.setitem(sys.modules, "litellm", None)
    for clear in forget:
        clear()
    yield
    for clear in forget:
        clear()


@pytest.fixture
async def litellm(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """litellm with clients of the test's own, closed at the end.

    Clients that litellm creates by itself stay open, and so do their connections.
    """
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = pytest.importorskip("litellm")
    # The first importer decides whether litellm prints its advertisements on stdout.
    monkeypatch.setattr(litellm, "suppress_debug_info", True)
    cache = type(litellm.in_memory_llm_clients_cache)()
    monkeypatch.setattr(litellm, "in_memory_llm_clients_cache", cache)
    # Made anew, it is in that cache. That of an earlier test, which is closed, would open
    # connections that nothing closes.
    vars(litellm).pop("module_level_aclient", None)
    yield litellm
    # Those of blocking callers belong to the background loop. Closed from here, their sockets would
    # stay open until that loop happens to wake up.
    run_sync(clients.aclose)
    await litellm.close_litellm_async_clients()
