"""Reverse Validation: searches for the entity that a response is about, from what it says of it."""

from resay.scorers.reverse_validation.prompts import Variant, render_construct, render_search
from resay.scorers.reverse_validation.scorer import Entity, ReverseValidation, without

__all__ = ["Entity", "ReverseValidation", "Variant", "render_construct", "render_search", "without"]
