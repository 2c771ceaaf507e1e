"""The loop once through, in a real browser: check, label by clicking, calibrate, check better."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from performance.loop import Rate, run
from resay_server.journal import Entry
from support.chromium import BROWSER, Tab

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")

# Where the middle of a button is, once it can be seen.
PLACE = """(() => {
  const button = document.querySelector('#feedback-form button[value="%s"]');
  button.scrollIntoView({block: 'center', behavior: 'instant'});
  const box = button.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""


@pytest.mark.timeout(300)
def test_labels_lead_to_fewer_false_alarms(tmp_path: Path, tab: Tab) -> None:
    @contextmanager
    def clicking(address: str) -> Iterator[Rate]:
        def rate(entry: Entry, hallucinated: bool) -> None:
            tab.open(f"{address}/ui/verdicts/{entry.id}")
            x, y = tab.run(PLACE % ("wrong" if hallucinated else "right"))
            mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
            with tab.loading():
                for kind in ("mousePressed", "mouseReleased"):
                    tab.send("Input.dispatchMouseEvent", type=kind, **mouse)

        yield rate
        assert tab.troubles() == []

    looped = run(tmp_path, requests=300, new=60, labels=60, seed=0, rate=clicking)
    (alarms, hits), (fewer, kept) = looped.before, looped.after
    assert alarms.of + hits.of == 300
    counts = looped.calibration.counts
    assert counts.correct + counts.hallucinated == 60
    assert fewer.value < alarms.value / 2
    assert kept.value > 0.75
    # The file was changed, and nothing but its thresholds.
    text = (tmp_path / "policy.yaml").read_text()
    assert "from journal.db: 60 labelled responses, thresholds rest on 60" in text
    assert "sampling: {max: 5, confidence: null, start: after}\n" in text
