"""The loop once through, over HTTP: check, label, calibrate, and check better."""

from __future__ import annotations

from pathlib import Path

from performance.loop import run


def test_labels_lead_to_fewer_false_alarms(tmp_path: Path) -> None:
    found = run(tmp_path, requests=300, new=60, labels=60, seed=0)
    (alarms, hits), (fewer, kept) = found.before, found.after
    assert alarms.of + hits.of == 300
    counts = found.calibration.counts
    assert counts.correct + counts.hallucinated == 60
    assert fewer.value < alarms.value / 2
    assert kept.value > 0.75
    # The file was changed, and nothing but its thresholds.
    text = (tmp_path / "policy.yaml").read_text()
    assert "from journal.db: 60 labelled responses, thresholds rest on 60" in text
    assert "sampling: {max: 5, confidence: null, start: after}\n" in text
