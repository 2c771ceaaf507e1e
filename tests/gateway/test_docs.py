from __future__ import annotations

import re
from pathlib import Path

from resay.gateway import GatewayConfig, GatewayLimits

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text()


def test_the_gateway_file_of_the_page_is_valid(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```yml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    config = GatewayConfig.load(file)
    assert config.keys[0].name == "search-team"
    assert config.limits == GatewayLimits()


def test_the_page_names_all_limits() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert set(GatewayLimits.model_fields) <= named
