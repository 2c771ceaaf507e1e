from __future__ import annotations

import re
from pathlib import Path

import pytest

from resay_server.gateway import GatewayConfig, GatewayLimits

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "gateway.md").read_text()


def test_the_gateway_files_of_the_page_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("RESAY_OPERATOR_KEY", "an-operators-key")
    files = re.findall(r"^```yml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    opened, whole, quotas, state, models = files
    config = loaded(tmp_path, whole)
    assert config.keys[0].name == "search-team"
    assert config.limits == GatewayLimits()
    assert config.journal is not None
    assert config.journal.content == "none"
    upstream = "upstream: {url: https://api.openai.com/v1}\n"
    assert len(loaded(tmp_path, upstream + opened).pass_through) == 3
    assert sorted(loaded(tmp_path, upstream + quotas).quotas) == ["acme", "default", "search-team"]
    shared = loaded(tmp_path, upstream + state).state
    assert shared is not None
    assert shared.url == "redis://localhost:6379/1"
    assert sorted(loaded(tmp_path, models).models) == ["cheap", "claude", "local"]


def loaded(folder: Path, text: str) -> GatewayConfig:
    file = folder / "gateway.yaml"
    file.write_text(text)
    return GatewayConfig.load(file)


def test_the_page_names_all_limits() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert set(GatewayLimits.model_fields) <= named
