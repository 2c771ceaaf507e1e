from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.registries import Registries, serving_registries


@pytest.fixture
def registries() -> Iterator[Registries]:
    with serving_registries() as registries:
        yield registries
