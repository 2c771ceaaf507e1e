from __future__ import annotations

import subprocess
import sys

import pytest

import resay

HEAVY = (
    *("litellm", "openai", "anthropic", "langchain_core", "httpx", "opentelemetry"),
    *("torch", "transformers", "onnxruntime", "tokenizers", "huggingface_hub", "numpy"),
)
NEURAL = """
from resay import Guard, Policy
methods = "nli", "bertscore", "mqag", "similarity", "grounding"
Policy.of({"chain": [{"method": m} for m in methods]})
"""


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


def test_a_policy_with_models_loads_none_of_what_they_run_on() -> None:
    assert not loaded_by(NEURAL) & set(HEAVY)
    guard = "Guard({'chain': [{'method': 'nli'}], 'threshold': {'passage': 0.4}})"
    assert not loaded_by(f"{NEURAL}{guard}") & {"torch", "transformers", "onnxruntime"}


def test_importing_loads_almost_nothing() -> None:
    ours = loaded_by("import resay") - loaded_by("pass")
    assert not {name for name in ours if name.startswith(("pydantic", "yaml", "anyio", "rich"))}
