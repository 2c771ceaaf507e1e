"""Core value types (queries, passages, verdicts) and text analysis without model calls."""
