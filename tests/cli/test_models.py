from __future__ import annotations

import re
import socket
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from resay.cli.app import app
from resay.errors import ConfigurationError, MissingDependencyError
from support.tiny_models import make_deberta, make_roberta, make_t5, with_shape


@pytest.fixture(autouse=True)
def needed() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("torch")


def resay(*words: str | Path) -> str:
    done = CliRunner().invoke(app, ["models", *map(str, words)])
    if done.exception is not None:
        raise done.exception
    return done.stdout


def test_export_and_check(tiny: Callable[..., Path], tmp_path: Path) -> None:
    target = tmp_path / "target"
    lines = resay("export", tiny(make_deberta), target, "--int8").splitlines()
    assert len(lines) == 2
    form = r": \d\.\d MB; largest difference from torch \d\S*"
    assert re.fullmatch(re.escape(str(target / "model.onnx")) + form, lines[0])
    assert re.fullmatch(re.escape(str(target / "model_int8.onnx")) + form, lines[1])

    said = dict(line.split(": ") for line in resay("check", target).splitlines())
    speed = said.pop("speed")
    assert re.fullmatch(r"[\d,]+ tokens/s", speed)
    assert said == {
        "backend": "onnx",
        "device": "cpu",
        "precision": "int8",
        "labels": "contradiction, entailment, neutral",
        "longest pair": "61 tokens",
    }
    assert "precision: fp32\n" in resay("check", target, "--precision", "fp32")
    with pytest.raises(ConfigurationError, match="not empty"):
        resay("export", tiny(make_deberta), target)
    resay("export", tiny(make_deberta), target, "--overwrite")
    with pytest.raises(ConfigurationError, match="--int8"):
        resay("check", target, "--precision", "int8")


def test_a_layer_is_exported_and_asked_for(tiny: Callable[..., Path], tmp_path: Path) -> None:
    words = ("--kind", "embedding", "--layer", "2")
    resay("export", tiny(make_roberta), tmp_path / "target", *words)
    assert "labels" not in resay("check", tmp_path / "target", *words)
    with pytest.raises(ConfigurationError, match="--layer 3"):
        resay("check", tmp_path / "target")


def test_a_model_that_cannot_compute_is_bad_input(
    tiny: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot compute a text .*--kind"):
        resay("check", tiny(make_t5), "--kind", "embedding")
    target = tmp_path / "target"
    resay("export", tiny(make_deberta), target)
    with_shape(target, target / "fixed", items=2, tokens=24)
    said = resay("check", target / "fixed", "--kind", "classification")
    assert "longest pair: 21 tokens\n" in said


def test_check_runs_torch(tiny: Callable[..., Path]) -> None:
    said = resay("check", tiny(make_deberta), "--device", "cpu")
    assert said.startswith("backend: torch\ndevice: cpu\nprecision: fp32\nlabels: contradiction,")


def test_settings_that_cannot_work_are_bad_input(tiny: Callable[..., Path]) -> None:
    with pytest.raises(ConfigurationError, match="invalid value 'tpu'"):
        resay("check", tiny(make_deberta), "--device", "tpu")
    with pytest.raises(ConfigurationError, match="resay models export --int8"):
        resay("check", tiny(make_deberta), "--backend", "torch", "--precision", "int8")


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        ("numpy", ("export", "some/model", "folder"), "export"),
        ("onnx", ("export", "some/model", "folder"), "export"),
        ("numpy", ("check", "some/model"), "nli"),
    ],
)
def test_what_is_not_installed_is_named(
    missing: str, words: tuple[str, ...], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "resay._internal.importing.find_spec",
        lambda name: None if name == missing else find_spec(name),
    )
    with pytest.raises(MissingDependencyError, match=rf"needs '{missing}'.*resay\[{extra}\]"):
        resay(*words)


def test_a_model_that_cannot_be_fetched_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    with pytest.raises(
        ConfigurationError, match="hub cannot be reached; download it first"
    ) as error:
        resay("check", "nobody/has-this-model")
    assert "HF_HUB_OFFLINE" not in str(error.value)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"there is no folder './nli-onnx'"):
        resay("check", "./nli-onnx")
