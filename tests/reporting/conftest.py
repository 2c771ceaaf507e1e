from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.chromium import Chromium, Tab, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture
def tab(browser: Chromium) -> Iterator[Tab]:
    one = Tab(browser)
    one.looks()
    yield one
    one.close()
