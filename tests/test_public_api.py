from __future__ import annotations

import subprocess
import sys

import pytest

import resay

HEAVY = ("litellm", "torch", "transformers", "openai", "anthropic", "langchain_core", "httpx")


def test_every_name_is_there() -> None:
    assert sorted(resay.__all__) == resay.__all__
    for name in resay.__all__:
        assert getattr(resay, name) is not None
    assert set(dir(resay)) == set(resay.__all__)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Gaurd'"):
        resay.Gaurd  # noqa: B018 - the access is the test


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import resay", "import resay; resay.Guard(); resay.Verdict"])
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert not loaded_by(code) & set(HEAVY)


def test_importing_loads_almost_nothing() -> None:
    ours = loaded_by("import resay") - loaded_by("pass")
    assert not {name for name in ours if name.startswith(("pydantic", "yaml", "anyio", "rich"))}
