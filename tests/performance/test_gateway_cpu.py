"""The bench of the gateway's processor time must compare like with like, and say what failed."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from performance.__main__ import app

TINY = ["--concurrency", "2", "--rounds", "1", "--requests", "4"]


@pytest.fixture
def asked() -> None:
    for name in ("aiohttp", "uvicorn"):
        pytest.importorskip(name)
    if not sys.platform.startswith("linux"):
        pytest.skip("the clocks of other processes are read as Linux has them")


@pytest.mark.usefixtures("asked")
def test_each_way_is_compared_with_a_bare_proxy() -> None:
    result = CliRunner().invoke(app, ["gateway-cpu", "--json", *TINY])
    assert result.exit_code == 0, result.output
    rows = {(row["subject"], row["answer"]): row for row in json.loads(result.stdout)["rows"]}
    for answer in ("whole", "streamed"):
        bare = rows["bare proxy", answer]
        assert (bare["ratio"], bare["target"], bare["met"]) == (1.0, None, None)
        sampling = rows["bare proxy, sampling", answer]
        assert (sampling["target"], sampling["met"]) == (None, None)
    ways = {
        ("gateway, off", "whole"): "<= 2.5",
        ("gateway, ngram", "whole"): "<= 8",
        ("gateway, off", "streamed"): "<= 2.5",
        ("gateway, ngram, held", "streamed"): "<= 8",
    }
    gateways = {key: row for key, row in rows.items() if not key[0].startswith("bare proxy")}
    assert {key: row["target"] for key, row in gateways.items()} == ways
    checked = {key for key, row in gateways.items() if row["as_many"] is not None}
    assert checked == {key for key in ways if "ngram" in key[0]}
    for row in rows.values():
        assert row["remark"] is None
        assert row["cpu_ms"] > 0
        assert row["per_core"] > 0


@pytest.mark.usefixtures("asked")
def test_a_part_may_be_measured_alone() -> None:
    result = CliRunner().invoke(app, ["gateway-cpu", "--json", "--only", "held", *TINY])
    assert result.exit_code == 0, result.output
    subjects = [row["subject"] for row in json.loads(result.stdout)["rows"]]
    bare = ["bare proxy", "bare proxy", "bare proxy, sampling", "bare proxy, sampling"]
    assert subjects == [*bare, "gateway, ngram, held"]
