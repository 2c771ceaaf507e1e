from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from resay import ConfigurationError, Policy
from resay.scorers import Ngram, ScorerConfig, build, registry

PLUGIN = '''
from typing import Literal
from resay.scorers import ScorerConfig
from resay.core.verdict import Scores

class Coin:
    name = "coin"
    needs = frozenset()

    class Config(ScorerConfig):
        method: Literal["coin"] = "coin"
        side: str = "heads"

    def __init__(self, config):
        self.side = config.side

    async def score(self, passage, evidence):
        return Scores(passage=0.5)

class Misnamed(Coin):
    pass

class Ngram(Coin):
    """Must not take the place of a built-in method."""
'''
POINTS = """\
[resay.scorers]
coin = coin_plugin:Coin
wrong_name = coin_plugin:Misnamed
no_config = builtins:dict
missing = no_such_module:Scorer
ngram = coin_plugin:Ngram
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a distribution with plug-ins, good and bad."""
    (tmp_path / "coin_plugin.py").write_text(PLUGIN)
    info = tmp_path / "coin_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: coin-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.cache_clear()
    yield
    registry.cache_clear()


def test_the_built_in_methods() -> None:
    assert registry()["ngram"] is Ngram
    for name, scorer in registry().items():
        assert scorer.name == name
        assert scorer.Config.model_fields["method"].default == name
        assert scorer.__module__ == f"resay.scorers.{name}"


@pytest.mark.usefixtures("installed")
def test_an_installed_method_is_found_and_built() -> None:
    (step,) = Policy.of({"chain": [{"method": "coin", "side": "tails"}]}).chain
    assert step.method_name == "coin"
    scorer = build(step)
    assert (type(scorer).__name__, vars(scorer)) == ("Coin", {"side": "tails"})


@pytest.mark.usefixtures("installed")
def test_what_is_broken_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="resay"):
        found = {n for n, s in registry().items() if not s.__module__.startswith("resay.")}
        assert found == {"coin"}
    assert {word for r in caplog.records for word in ("wrong_name", "no_config", "missing")} <= {
        str(r.args[0]) for r in caplog.records if isinstance(r.args, tuple)
    }


@pytest.mark.usefixtures("installed")
def test_a_built_in_method_cannot_be_replaced() -> None:
    assert registry()["ngram"] is Ngram


def test_a_configuration_of_nobody_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no scorer is registered for 'ScorerConfig'"):
        build(ScorerConfig())
