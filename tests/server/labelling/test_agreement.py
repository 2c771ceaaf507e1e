"""How far raters agree."""

from __future__ import annotations

from typing import Any

import pytest

from resay_server.journal import Feedback
from resay_server.labelling import Agreement, agreements
from support.labelling import rated


def test_cohens_kappa() -> None:
    """The example of Cohen's paper has three categories; this one is worked by hand."""
    decisions: dict[str, Any] = {f"e{i}": "flagged" for i in range(50)}
    feedback: list[Feedback] = []
    cells = [("right", "right")] * 20 + [("right", "wrong")] * 5
    cells += [("wrong", "right")] * 10 + [("wrong", "wrong")] * 15
    for i, pair in enumerate(cells):
        feedback += [rated(f"e{i}", pair[0]), rated(f"e{i}", pair[1], "ben")]
    feedback.append(rated("e0", "right", "user", about="answer", source="api"))
    feedback.append(rated("e1", "wrong", "ben", claim=0))
    (agreement,) = agreements(feedback, decisions)
    assert (agreement.raters, agreement.entries, agreement.agreed) == (("ann", "ben"), 50, 35)
    assert agreement.kappa == pytest.approx(0.4)
    assert "35 of 50 entries alike (70.0 %), Cohen's kappa 0.40" in str(agreement)
    # Ratings of a verdict and of an answer are one where they mean the same.
    feedback = [rated("e0", "right"), rated("e0", "wrong", "c", about="answer")]
    (same,) = agreements(feedback, decisions)
    assert (same.both_hallucinated, same.kappa) == (1, None)
    assert "not defined" in str(same)
    assert Agreement(("a", "b"), unsure=2).kappa is None
