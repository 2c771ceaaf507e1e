"""Answers that the examples evaluate: the first agrees with its reference, the second does not."""

QUESTION = "When did the Sydney Harbour Bridge open?"
REFERENCE = "The Sydney Harbour Bridge opened in March 1932."
ANSWERS = ["The bridge opened in 1932.", "The bridge opened in 1947."]
