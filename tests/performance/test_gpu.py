from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from performance import gpu
from performance.gpu_checks import measure_checks

pytest.importorskip("torch")
pytest.importorskip("transformers")

FILE = Path(gpu.__file__)
# Installed here, and not where only torch, transformers and what `resay` needs are.
MISSING = ("litellm", "onnx", "onnxruntime", "rich", "scipy")
PROGRAM = """
import runpy, sys
file, source, *missing = sys.argv[1:]
sys.modules.update(dict.fromkeys(missing))
# As where nothing of ours is installed and a file in this folder is run.
sys.path = [file.rpartition("/")[0], *(path for path in sys.path if path != source)]
sys.argv = [file, "--shape", "tiny", "--pairs", "3", "--repeats", "1", "--device", "cpu"]
runpy.run_path(file, run_name="__main__")
"""


@pytest.fixture(scope="module")
def document():
    """What the plain file prints."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, FILE, FILE.parents[2] / "src", *MISSING],
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)


def test_one_document_says_what_was_measured_and_where(document):
    assert document["benchmark"] == "gpu"
    assert document["device"]
    assert set(document["versions"]) == {"python", "resay", "torch", "transformers", "cuda"}
    assert document["shape"] == "deberta-v3-tiny, random weights"
    assert document["pairs"] == 3
    tokens = document["tokens"]
    assert 68 < tokens["shortest"] <= tokens["mean"] <= tokens["longest"] <= 512


def test_every_way_in_both_precisions(document):
    rows = document["rows"]
    ways = [
        "one pair at a time",
        "a loop over sorted batches of 128",
        *(f"resay, batches of {n} tokens" for n in (8192, 32768, 131072)),
        "resay with disentangled-flash, if installed",
        "flashdeberta's network",
        "an encoder of that size with plain attention",
    ]
    assert [(row["precision"], row["way"]) for row in rows] == [
        (precision, way) for precision in ("fp32", "bf16") for way in ways
    ]
    same = {"fp32": 1e-4, "bf16": 0.1}
    for row in rows:
        assert row["way"] == "flashdeberta's network" or row["pairs_per_s"] > 0, row
        # Figures of a GPU's memory stand only where there is one.
        assert "peak_gpu_memory_mb" not in row
        if "largest_difference" in row:
            assert row["largest_difference"] < same[row["precision"]]
        if row["way"].startswith("resay"):
            assert row["met"] == (row["ratio"] >= 60 and row["loop_ratio"] >= 3)


def test_whole_checks_are_compared_with_their_networks(document):
    rows = document["checks"]
    assert [row["part"] for row in rows] == ["grounded", "bertscore"]
    for row in rows:
        assert row["checks"] == 11
        assert 0 < row["network_ms"] < row["slowest_check_ms"]
        assert row["met"] == (row["ratio"] <= 2)


def test_what_there_is_no_time_for_is_left_out(tmp_path):
    assert measure_checks(tmp_path, ["tiny"], "cpu", seconds=0) == []


def test_the_command_line_is_checked(capsys):
    with pytest.raises(SystemExit) as end:
        gpu.main(["--shape", "giant"])
    assert end.value.code == 2
    assert "giant" in capsys.readouterr().err
