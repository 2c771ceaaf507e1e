"""Verdicts on the terminal, as HTML, in a journal and in a dashboard."""
