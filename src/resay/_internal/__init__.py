"""Foundations of the other packages; not part of the public API."""
