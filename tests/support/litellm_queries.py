"""Queries to the simulated provider, through litellm."""

from __future__ import annotations

from typing import Any

from resay import Request
from simulation.provider import SimulatedProvider

__all__ = ["QUESTION", "query"]

QUESTION = "Tell me about Marie Curie."


def query(simulated: SimulatedProvider, model: str = "openai/simulated", **params: Any) -> Request:
    """Return a query about the simulated world."""
    return Request.of(QUESTION, model=model, params={**simulated.params, **params})
