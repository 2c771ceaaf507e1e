"""Renders the dashboard's templates."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment

from resay.adapters import pages
from resay_server.dashboard import figures, plots, texts, verdict
from resay_server.dashboard.pages import Site
from resay_server.journal.export import answer_of
from resay_server.labelling import ANSWERS, QUESTION, rating_text

_ORDERS = {
    "newest": "newest first",
    "score": "highest score first",
    "cost": "highest cost first",
    "latency": "longest latency first",
}
_ACTIONS = {
    "allow": "allowed",
    "annotate": "annotated",
    "block": "blocked",
    "regenerate": "regenerated",
}


def render(template: str, site: Site, **values: Any) -> str:
    """Render a template with some values.

    Args:
        template: The template's name, without its extension.
        site: The location of the pages.
        values: What it shows.
    """
    return _environment().get_template(f"{template}.html").render(site=site, **values)


@cache
def _environment() -> Environment:
    return pages.environment(
        "resay_server.dashboard",
        filters={
            "answer": answer_of,
            "checked": figures.checked,
            "checks_share": plots.checks_share,
            "claim_in_place": verdict.claim_in_place,
            "cost_of": plots.cost_of,
            "number": "{:,}".format,
            "counted": texts.counted,
            "dollars": texts.dollars,
            "duration": texts.duration,
            "evidence": verdict.evidence,
            "first_line": texts.first_line,
            "flag_rate": figures.flag_rate,
            "iso_time": texts.iso_time,
            "percent": texts.percent,
            "pixels": "{:.1f}".format,
            "plots": plots.plots,
            "rating_text": rating_text,
            "short_time": texts.short_time,
            "stamp": texts.stamp,
            "trend": plots.trend,
        },
        values={
            "actions": _ACTIONS,
            "answers": ANSWERS,
            "orders": _ORDERS,
            "question": QUESTION,
            "reported_verdict": pages.Reported,
            "share": texts.share,
        },
    )
