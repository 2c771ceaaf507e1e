"""Verdicts shown and kept: in a terminal, as HTML, in a journal, in a browser."""
