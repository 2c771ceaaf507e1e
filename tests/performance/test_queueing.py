from __future__ import annotations

import pytest

from performance.queueing import expect


def test_few_clients_get_what_the_provider_takes_and_the_core_takes() -> None:
    found = expect(0.004, 0.2, clients=1)
    assert found.median_s == pytest.approx(0.204, rel=0.02)
    assert found.rate == pytest.approx(1 / 0.204, rel=0.02)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_many_clients_get_what_the_cores_can_do(workers: int) -> None:
    found = expect(0.004, 0.2, clients=1024, workers=workers, requests=8000)
    assert found.rate == pytest.approx(workers / 0.004, rel=0.05)
    # Little's law: so many are under way, at that rate.
    assert found.rate * found.median_s == pytest.approx(1024, rel=0.1)


def test_each_round_waits_for_the_provider() -> None:
    found = expect(0.002, 0.2, clients=1, rounds=3)
    assert found.median_s == pytest.approx(0.602, rel=0.02)
