"""Regeneration of flagged answers from the evidence found."""
