"""`python -m actions`: how well claims of actions are judged, by language and by seam."""

from __future__ import annotations

from actions.judging import cases, judged
from actions.seams import SEAMS, asked_by
from support.judged_cases import print_figures

if __name__ == "__main__":
    print_figures(cases(), judged, asked_by, SEAMS)
