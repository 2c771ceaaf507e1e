"""A self-contained page of verdicts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from resay._internal._version import __version__
from resay.core.verdict import Verdict
from resay.reporting.render.html.markup import Html, badge, chip, scrolling, tag
from resay.reporting.render.html.reported import Reported
from resay.reporting.render.html.section import verdict_section

_MEANING = (
    "Scores lie between 0, supported, and 1. Consistent does not mean true: a model"
    " that is wrong the same way every time agrees with itself."
)


def stylesheet() -> str:
    """Return the style sheet for the page and its parts."""
    file = resources.files("resay.reporting.render.html") / "style.css"
    return file.read_text(encoding="utf-8")


def _policy_of(style: str) -> str:
    """Return the Content-Security-Policy for a page that loads only one style element.

    Args:
        style: The exact content of the element.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def page(verdicts: Sequence[Verdict | Reported], *, title: str = "Verdicts") -> str:
    """Render a page with verdicts.

    Args:
        verdicts: The verdicts, with or without their context.
        title: The title of the page.
    """
    reports = [shown if isinstance(shown, Reported) else Reported(shown) for shown in verdicts]
    several = len(reports) > 1
    titles = [_title(one, i, several) for i, one in enumerate(reports, 1)]
    sections = [
        verdict_section(one, key=f"v{i}", title=name)
        for i, (one, name) in enumerate(zip(reports, titles, strict=True), 1)
    ]
    body = [
        tag("a", "Skip to the verdicts", href="#main", class_="skip") if several else None,
        tag("header", tag("h1", tag("bdi", title)), tag("p", _counted(reports))),
        _overview(reports, titles) if several else None,
        tag("main", *sections, id="main"),
        tag("footer", tag("p", _MEANING), tag("p", f"Resay {__version__}")),
    ]
    return document(title, *body)


def document(title: str, *body: Html | None) -> str:
    """Return a whole page that loads nothing and runs nothing, in the style of `stylesheet`.

    Args:
        title: Its title.
        body: The elements of its body.
    """
    style = stylesheet()
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy_of(style)),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("title", f"{title} – Resay"),
        tag("style", Html(style)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', *body), lang='en')}\n"


def _title(reported: Reported, number: int, several: bool) -> str:
    if reported.id is not None:
        return reported.id
    return f"Verdict {number}" if several else "Verdict"


def _counted(reports: Sequence[Reported]) -> str:
    decisions = [one.verdict.decision for one in reports]
    kinds = ", ".join(f"{decisions.count(kind)} {kind}" for kind in dict.fromkeys(decisions))
    return f"{len(reports)} verdict{'' if len(reports) == 1 else 's'}: {kinds}"


def _overview(reports: Sequence[Reported], titles: Sequence[str]) -> Html:
    heads = ("Verdict", "Decision", "Score", "Flagged", "Why")
    rows = [
        tag(
            "tr",
            tag("th", tag("a", tag("bdi", name), href=f"#v{i}"), scope="row"),
            tag("td", badge(one.verdict.decision)),
            tag("td", chip(one.verdict.score)),
            tag("td", _share(one.verdict), class_="number"),
            tag("td", one.verdict.reason, class_="long"),
        )
        for i, (one, name) in enumerate(zip(reports, titles, strict=True), 1)
    ]
    columns = tag("tr", *(tag("th", name, scope="col") for name in heads))
    table = tag("table", tag("thead", columns), tag("tbody", *rows))
    return tag("nav", tag("h2", "Overview"), scrolling(table, "Overview"), aria_label="Verdicts")


def _share(verdict: Verdict) -> str:
    return f"{len(verdict.flagged_sentences)} of {len(verdict.sentences)}"
