"""What a notebook shows of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_COLOURS = {"flagged": "#a31d17", "consistent": "#14693c", "inconclusive": "#8a5a00"}


def shown_in_notebook(
    decision: str,
    score: float | None,
    reason: str,
    parts: Sequence[tuple[str, float | None, bool, str | None]],
) -> str:
    """Return a piece of HTML; whatever a model says in it is escaped.

    Args:
        decision: What was decided.
        score: The passage score.
        reason: Why, in one line.
        parts: The sentences: the text, its score, whether it is flagged, and why.
    """
    colour = _COLOURS.get(decision, "#45617d")
    head = f'<b style="color:{colour}">{escape(decision)}</b> {_score(score)} {escape(reason)}'
    rows = "".join(
        f"<tr><td>{_score(value)}</td><td>{'!' if flagged else ''}</td>"
        f'<td style="text-align:left" dir="auto">{_text(text, flagged)}</td>'
        f'<td style="text-align:left">{escape(why or "")}</td></tr>'
        for text, value, flagged, why in parts
    )
    table = f"<table><tr><th>score</th><th></th><th>sentence</th><th>why</th></tr>{rows}</table>"
    return f"<div><p>{head}</p>{table if parts else ''}</div>"


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2f}"


def _text(text: str, flagged: bool) -> str:
    return f"<b>{escape(text)}</b>" if flagged else escape(text)
