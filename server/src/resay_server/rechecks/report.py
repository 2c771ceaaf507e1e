"""A comparison as text, and as a self-contained page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

from jinja2 import Template
from markupsafe import Markup

from resay.adapters import pages
from resay_server.rechecks.comparison import ComparedAnswer, Comparison

# Each has two whole verdicts.
_MAX_ANSWERS = 200


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Yield lines about the scores and the labels, and about what could not be compared.

    Args:
        comparison: The comparison.
    """
    mean = comparison.mean_change
    if mean is not None:
        changed = _counted(comparison.changed_scores, "score changes", "scores change")
        yield f"{changed} by 0.05 or more; the mean change is {mean:+.2f}."
    labelled = comparison.sides[0].labelled
    if labelled:
        yield (
            f"Precision and recall are those on {_counted(labelled, 'labelled answer')}:"
            f" {comparison.hallucinated} hallucinated."
        )
    else:
        yield "None of the answers is labelled, so nothing says which side is right."
    for reason, count in comparison.left_out.most_common():
        yield f"{_counted(count, 'answer')} left out: {reason}."


def html_of(comparison: Comparison, answers: Sequence[ComparedAnswer] | None = None) -> str:
    """Return a comparison as a self-contained page.

    Args:
        comparison: The comparison.
        answers: The answers to show with both verdicts; None for those with different decisions.
    """
    first, second = comparison.names
    if answers is None:
        answers = comparison.disagreements
        heading = f"Decided differently ({len(answers)})"
    else:
        heading = _counted(len(answers), "answer").capitalize()
    style = pages.stylesheet() + _style()
    return _template().render(
        title=f"{first} and {second}",
        summary=_counted(len(comparison.answers), "answer"),
        comparison=comparison,
        lines=list(comparison_lines(comparison)),
        heading=heading,
        answers=answers[:_MAX_ANSWERS],
        omitted=max(len(answers) - _MAX_ANSWERS, 0),
        # It is ours, and escaping would change its hash.
        stylesheet=Markup(style),  # noqa: S704
        content_security_policy=pages.content_security_policy(style),
    )


def share(part: float | None) -> str:
    """Return a share as text; a dash for None."""
    return "–" if part is None else f"{part:.0%}"


def dollars(cost_usd: float | None) -> str:
    """Return a cost as text."""
    return "unknown" if cost_usd is None else f"${cost_usd:.4f}" if cost_usd else "$0"


def _counted(count: int, singular: str, plural: str | None = None) -> str:
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


@cache
def _style() -> str:
    file = resources.files("resay_server.rechecks") / "static" / "comparison.css"
    return file.read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = pages.environment(
        "resay_server.rechecks",
        filters={"share": share, "dollars": dollars},
        values={"reported": pages.Reported},
    )
    return environment.get_template("comparison.html")
