"""A self-contained page of verdicts, and the section of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from jinja2 import Environment
from markupsafe import Markup

from resay._internal.plurals import counted
from resay.core.verdict import Verdict
from resay.reporting.render.html.environment import environment
from resay.reporting.render.html.reported import Reported


def page(verdicts: Sequence[Verdict | Reported], *, title: str = "Verdicts") -> str:
    """Render a page with verdicts.

    Args:
        verdicts: The verdicts, with or without their context.
        title: The title of the page.
    """
    reports: list[tuple[str, Reported]] = []
    for number, shown in enumerate(verdicts, 1):
        reported = shown if isinstance(shown, Reported) else Reported(shown)
        name = f"Verdict {number}" if len(verdicts) > 1 else "Verdict"
        reports.append((name if reported.id is None else reported.id, reported))
    decisions = Counter(reported.verdict.decision for _, reported in reports)
    counts = ", ".join(f"{count} {decision}" for decision, count in decisions.items())
    summary = f"{counted(len(reports), 'verdict')}: {counts}"
    template = _environment().get_template("resay/page.html")
    return template.render(title=title, summary=summary, reports=reports)


def verdict_section(
    shown: Verdict | Reported, *, key: str = "verdict", title: str = "Verdict", level: int = 2
) -> Markup:
    """Render a whole verdict as an `article` for a page that includes `stylesheet()`.

    Args:
        shown: The verdict, with or without its context.
        key: The prefix of the ids of its elements; it must be unique on the page.
        title: Its heading, beside the decision.
        level: The level of its heading, 1 to 4; subheadings follow from it.
    """
    reported = shown if isinstance(shown, Reported) else Reported(shown)
    template = _environment().get_template("resay/section.html")
    html = template.render(reported=reported, key=key, title=title, level=level)
    return Markup(html.strip())  # noqa: S704 - the template escapes all text


@cache
def _environment() -> Environment:
    return environment()
