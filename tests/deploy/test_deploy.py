"""What deploys the gateway: its files name what is there. Tools run where they are installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from resay import Policy
from resay_server.gateway import GatewayConfig
from resay_server.gateway.metrics import Metrics, Readings

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHART = DEPLOY / "helm" / "resay"
LABELS = {
    *("action", "api", "code", "decision", "job", "kind", "le", "method", "model"),
    *("part", "policy", "status", "stream", "version"),
}
KEYS = ("RESAY_UPSTREAM_KEY", "RESAY_APP_KEY", "RESAY_OPERATOR_KEY")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def queries() -> list[str]:
    rules = [rule for group in read(DEPLOY / "alerts.yaml")["groups"] for rule in group["rules"]]
    board = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    return [*(rule["expr"] for rule in rules), *(target["expr"] for target in targets)]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, "k" * 16)
    for name in ("RESAY_REDIS", "RESAY_STATE"):
        monkeypatch.setenv(name, "redis://127.0.0.1:6379/0")
    monkeypatch.setenv("RESAY_JOURNAL", "postgresql://resay:secret@127.0.0.1/resay")


def test_alerts_and_dashboard_ask_for_metrics_and_labels_that_there_are() -> None:
    told = Metrics(
        Readings(
            guarded=int, waiting=int, journal_lost=int, reload_succeeded=bool, reloaded_at=float
        )
    ).render()[0]
    known = set(re.findall(r"^# TYPE (\w+)", told.decode(), re.MULTILINE))
    asked = queries()
    assert len(asked) > 20
    for query in asked:
        assert query.count("(") == query.count(")")
        for name in re.findall(r"\bresay_gateway_\w+", query):
            assert re.sub(r"_(bucket|sum|count)$", "", name) in known, name
        assert set(re.findall(r"(\w+)(?:=~|!=|=)\"", query)) <= LABELS


def test_the_gateway_and_its_policy_can_be_used() -> None:
    config = GatewayConfig.load(DEPLOY / "gateway.yaml")
    assert config.keys
    assert config.operator_key
    assert config.limits.shutdown_delay_s
    assert config.state
    assert Policy.load(config.policies["default"]).cache.store == "redis"


def test_the_gateway_and_the_policies_of_the_chart_can_be_used(tmp_path: Path) -> None:
    values = read(CHART / "values.yaml")
    for name, text in values["policies"].items():
        (tmp_path / name).write_text(text)
    (tmp_path / "gateway.yaml").write_text(yaml.safe_dump(values["gateway"]))
    config = GatewayConfig.load(tmp_path / "gateway.yaml")
    assert config.limits.shutdown_delay_s
    assert config.state
    for path in config.policies.values():
        assert Policy.load(path).chain


def test_compose_takes_pinned_images_and_keys_from_the_environment() -> None:
    composed = read(DEPLOY / "compose.yaml")
    for name, service in composed["services"].items():
        assert re.search(r":(?!latest)[\w.-]+$", service["image"]), name
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "TLS comes first"
    needed = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    given = set(re.findall(r"^(\w+)=", (DEPLOY / "example.env").read_text(), re.MULTILINE))
    assert needed == given
    read_by_gateway = set(
        re.findall(r"\$\{(\w+)|env: (\w+)", (DEPLOY / "gateway.yaml").read_text())
    )
    names = {one or other for one, other in read_by_gateway}
    assert names <= set(composed["x-gateway"]["environment"])


def test_compose_mounts_files_that_there_are() -> None:
    for service in read(DEPLOY / "compose.yaml")["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith("./") and source != "./operator.key":
                assert (DEPLOY / source).is_file(), source


def checked(*command: str | Path) -> None:
    """Run a tool that checks files, where it is installed."""
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_alerts() -> None:
    checked("promtool", "check", "rules", DEPLOY / "alerts.yaml")


def test_helm_takes_the_chart() -> None:
    checked("helm", "lint", "--strict", CHART)


def test_hadolint_takes_the_dockerfile() -> None:
    checked("hadolint", DEPLOY / "Dockerfile")
