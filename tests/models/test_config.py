from __future__ import annotations

from typing import Any

import pytest

from resay import Guard, Policy
from resay.errors import PolicyError
from resay.models import config_of
from resay.plugins import ModelConfig


def test_a_name_alone_is_a_model() -> None:
    assert config_of("some/model") == ModelConfig(name="some/model")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({}, "`name` is missing"),
        ({"backend": "tei"}, "needs `url`"),
        ({"backend": "rerank"}, "needs `url`"),
        ({"backend": "vllm", "url": "http://127.0.0.1:1"}, "needs `name`"),
        ({"backend": "torch", "name": "m", "url": "http://127.0.0.1:1"}, "`url` is for tei"),
        ({"backend": "torch", "name": "m", "precision": "int8"}, "resay models export --int8"),
        ({"name": "m", "device": "tpu"}, "device"),
        ({"name": "m", "batch_tokens": 1}, "batch_tokens"),
        ({"name": "m", "widow_ms": 1}, "widow_ms"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(PolicyError, match=problem):
        Policy.of({"chain": [{"method": "nli", "model": settings}]})


def test_a_key_is_never_shown() -> None:
    config = ModelConfig(url="http://127.0.0.1:1", api_key="sk-secret")
    assert "sk-secret" not in repr(config)
    in_the_address = ModelConfig(url="https://user:sk-secret@models.example:8080/nli")
    assert in_the_address.display_name == "models.example:8080"


def test_a_missing_extra_is_told_when_the_guard_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.util import find_spec

    def without(name: str) -> Any:
        return None if name in {"torch", "onnxruntime"} else find_spec("json")

    for module in ("resay._internal.importing", "resay.models.loading"):
        monkeypatch.setattr(f"{module}.find_spec", without)
    with pytest.raises(Exception, match=r"needs 'torch'.*resay\[nli\]"):
        Guard({"chain": [{"method": "nli", "model": "a/model-nobody-has-asked-for"}]})
    onnx = {"name": "a/model-nobody-has-asked-for", "backend": "onnx"}
    with pytest.raises(Exception, match=r"needs 'onnxruntime'.*resay\[onnx\]"):
        Guard({"chain": [{"method": "nli", "model": onnx}]})
