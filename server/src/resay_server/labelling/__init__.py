"""Labels for recorded verdicts: which entries to rate, and how far raters agree."""

from __future__ import annotations

from resay_server.labelling.agreement import Agreement, agreements, aread_agreements
from resay_server.labelling.questions import ANSWERS, QUESTION, claims_of, feedback_on, rating_text
from resay_server.labelling.sampling import SamplingCandidate, sample_entries

__all__ = [
    "ANSWERS",
    "QUESTION",
    "Agreement",
    "SamplingCandidate",
    "agreements",
    "aread_agreements",
    "claims_of",
    "feedback_on",
    "rating_text",
    "sample_entries",
]
