"""Verdicts as people read them: as text, HTML, Markdown, a table, and spans."""
