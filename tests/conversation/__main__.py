"""`python -m conversation`: how well contradictions of earlier answers are found by words."""

from __future__ import annotations

from functools import partial

from actions.seams import SEAMS, asked_by
from conversation.judging import POLICY, cases, judged
from support.judged_cases import print_figures

if __name__ == "__main__":
    print_figures(cases(), judged, partial(asked_by, policy=POLICY), SEAMS)
