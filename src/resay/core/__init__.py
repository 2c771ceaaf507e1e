"""The values that everything else is about: queries, passages, verdicts, and splitting text."""
