"""A world with two subjects, of which the simulated provider knows one and invents the other."""

from __future__ import annotations

from simulation import Invention, Subject, World

__all__ = ["KNOWN", "MADE_UP", "WORLD"]

MADE_UP, KNOWN = "What is the Zorblatt?", "What is Canberra?"
WORLD = World(
    [
        Subject(
            "Zorblatt",
            inventions=[
                Invention("The Zorblatt was built in {year} by {person}."),
                Invention("Every year {number:1000-90000} people visit it."),
                Invention("A copy of it stands in {place}, made by {person}."),
            ],
        ),
        Subject(
            "Canberra",
            facts=[
                ["Canberra is the capital of Australia.", "The capital of Australia is Canberra."],
                ["The city was founded in 1913.", "In 1913 the city was founded."],
                ["Its lake was made in 1963.", "In 1963 its lake was made."],
                ["Parliament sits in Canberra.", "In Canberra sits Parliament."],
            ],
        ),
    ]
)
