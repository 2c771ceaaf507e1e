"""Resay's server: the gateway, the journal of verdicts, and the dashboard that shows it."""
