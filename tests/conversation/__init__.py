"""Contradictions of earlier answers: cases, and the ways in which conversations get to a guard."""
