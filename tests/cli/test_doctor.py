"""The command that shows what is installed and configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation import SimulatedProvider
from support.cli import resay_here


def test_keys_are_shown_by_name_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("RESAY_POLICY", raising=False)
    done = resay_here("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "OPENAI_API_KEY is set" in done.stdout
    assert "ANTHROPIC_API_KEY is not set" in done.stdout
    assert "sk-secret" not in done.stdout + done.stderr
    assert "the default policy: prompt; action: annotate" in done.stdout
    assert "Python 3." in done.stdout


def test_a_policy_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text("chain: [factz]")
    monkeypatch.setenv("RESAY_POLICY", "p.yaml")
    done = resay_here("doctor", cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown method 'factz'; did you mean 'facts'?" in done.stdout


def test_what_is_wrong_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RESAY_POLICY", raising=False)
    done = resay_here("doctor", "--api-base", "http://127.0.0.1:9/v1", cwd=tmp_path)
    begins = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert begins[:4] == ["resay", "Server:", "Policy:", "Keys"]


def test_the_models_of_a_server_are_listed(tmp_path: Path) -> None:
    with SimulatedProvider(seed=7) as server:
        done = resay_here("doctor", "--api-base", server.base_url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{server.base_url} answers; models: 'simulated" in done.stdout
        done = resay_here("doctor", "--api-base", server.root_url, cwd=tmp_path)
        assert done.returncode == 4
        assert f"did you mean the `api_base` '{server.base_url}'?" in done.stdout
    done = resay_here("doctor", "--api-base", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert done.returncode == 4
    assert "nothing listens at 127.0.0.1:9" in done.stdout
