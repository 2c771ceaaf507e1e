"""Scores, decisions and costs, for people who see colours and for those who do not."""

from __future__ import annotations

import math

from resay.core.verdict import Decision
from resay.reporting.render.html.markup import Html, joined, tag

__all__ = [
    "LEVELS",
    "badge",
    "chip",
    "definition",
    "hidden",
    "level",
    "meter",
    "score_text",
    "scrolling",
    "seconds",
]

LEVELS = 5
"""How many colours scores have."""

_MARKS = {"consistent": "✓", "flagged": "!", "inconclusive": "?", "skipped": "–"}


def score_text(score: float | None) -> str:
    """Return a score with two digits, or `?` where there is none."""
    known = _known(score)
    return "?" if known is None else f"{known:.2f}"


def level(score: float | None) -> str:
    """Return the class that colours a score."""
    known = _known(score)
    return "none" if known is None else f"l{min(LEVELS - 1, int(known * LEVELS))}"


def chip(score: float | None, *, flagged: bool = False) -> Html:
    """Return a coloured score, with a mark where it is flagged."""
    mark = joined([tag("b", "!", aria_hidden="true"), hidden(" flagged")]) if flagged else None
    return tag(
        "span", hidden("score "), score_text(score), mark, class_=f"chip {level(score)}", dir="ltr"
    )


def badge(decision: Decision) -> Html:
    """Return a decision, with a sign of its own."""
    mark = tag("span", _MARKS[decision], aria_hidden="true", class_="sign")
    return tag("span", mark, decision, class_=f"badge {decision}")


def meter(score: float | None) -> Html | None:
    """Return a bar as long as a score, or None where there is none."""
    if _known(score) is None:
        return None
    text = score_text(score)
    limits = {"min": "0", "low": "0.25", "high": "0.5", "max": "1", "optimum": "0"}
    # The number stands beside it, so it need not be read out.
    return tag("meter", text, value=text, aria_hidden="true", **limits)


def seconds(elapsed_s: float) -> str:
    """Return a time in words."""
    return f"{elapsed_s:.1f} s"


def hidden(text: str) -> Html:
    """Return words for those who listen to the page."""
    return tag("span", text, class_="sr")


def definition(term: str, *said: str | None) -> Html:
    """Return a term of a `dl` with what is said of it."""
    return tag("div", tag("dt", term), tag("dd", *said))


def scrolling(table: Html, label: str) -> Html:
    """Return a table that scrolls by itself where it is wider than the screen."""
    return tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=label)


def _known(score: float | None) -> float | None:
    # Files may hold what no scorer gives.
    if score is None or not math.isfinite(score):
        return None
    return min(1.0, max(0.0, score))
