"""What Kong's plugin AI Custom Guardrail sends to `/v1/check` with the settings of the page."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from simulation import SimulatedProvider
from support.docs import ROOT
from support.gateway import Gateways

PAGE = (ROOT / "docs" / "checking.md").read_text()
SETTINGS: dict[str, Any] = yaml.safe_load(
    re.search(r"```yml\n(guarding_mode.*?)```", PAGE, re.DOTALL)[1]
)


@pytest.mark.parametrize(
    ("content", "action"),
    [
        ("The Zorblatt was built in 1931 by Marta Vogel.", "block"),
        ("The Zorblatt is a clock in Riga.", "allow"),
    ],
)
def test_it_gets_what_its_function_reads(
    gateways: Gateways,
    simulated: SimulatedProvider,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    action: str,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", simulated.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "simulated")
    memory = "chain: [{method: zero_shot, judge: openai/simulated}]\naction: block\n"
    served = gateways.start(policies={"memory": gateways.policy(memory, "memory.yaml")})
    request = SETTINGS["request"]
    sent = json.loads(json.dumps(request["body"]).replace("$(content)", content))
    path = request["url"].removeprefix("http://127.0.0.1:8100")
    response = served.post(path, json=sent, headers=request["headers"])
    assert response.status_code == 200, response.text
    assert response.json()["action"] == action, response.json()
    for field in re.findall(r"resp\.(\w+)", SETTINGS["functions"]["blocked"]):
        assert field in response.json()
