"""One verdict, as a part of a page."""

from __future__ import annotations

from collections.abc import Iterator

from resay.core.verdict import Verdict
from resay.reporting.render.html.answer import answer, kept, legend
from resay.reporting.render.html.figures import badge, definition, meter, score_text, seconds
from resay.reporting.render.html.markup import Html, tag
from resay.reporting.render.html.mended import headline, regeneration_parts
from resay.reporting.render.html.reported import Reported
from resay.reporting.render.html.sentences import flagged_cards, sentence_table, unscored_table
from resay.reporting.render.html.steps import step_table
from resay.reporting.render.texts import cost

__all__ = ["verdict_section"]

_DONE = {
    "allow": "allowed: given as it is",
    "annotate": "annotated: given with its verdict",
    "block": "blocked: withheld",
    "regenerate": "regenerated: a mended answer was given",
}
_WITHOUT_WORDS = "The words of this answer were not kept. Offsets and scores remain."


def verdict_section(
    shown: Verdict | Reported, *, key: str = "verdict", title: str = "Verdict", level: int = 2
) -> Html:
    """Return everything a verdict says, as an `article` of a page that has `stylesheet()`.

    Args:
        shown: The verdict, or one with what was written beside it.
        key: What the ids of its elements begin with; it must be the page's only one of that name.
        title: Its heading, beside the decision.
        level: The level of its heading, 1 to 4; those below it follow.
    """
    reported = shown if isinstance(shown, Reported) else Reported(shown)
    verdict = reported.verdict
    heading = f"h{level + 1}"
    head = tag(
        "header",
        tag(f"h{level}", badge(verdict.decision), " ", tag("bdi", title), id=key),
        tag("p", verdict.reason, class_="reason"),
        *_passage_reasons(verdict),
        _facts(reported),
    )
    parts = [
        _answer(reported, key, heading),
        _flagged(verdict, key, heading),
        _mended(verdict, key, level),
        _sentences(verdict, key, heading),
        _unscored(verdict, heading),
        _steps(verdict, heading),
    ]
    return tag("article", head, *parts, class_="verdict", aria_labelledby=key)


def _passage_reasons(verdict: Verdict) -> Iterator[Html]:
    """Say why methods scored the passage as they did, where no sentence tells."""
    for step in verdict.steps:
        if step.why and not any(sentence.by == step.method for sentence in verdict.sentences):
            yield tag("p", f"{step.method}: ", tag("span", step.why, dir="auto"), class_="why")


def _facts(reported: Reported) -> Html:
    verdict = reported.verdict
    total = definition("All together", cost(reported.usage)) if reported.usage else None
    via = f", through {verdict.via}" if verdict.via else ""
    rows = [
        definition("Score", tag("b", score_text(verdict.score)), " ", meter(verdict.score)),
        definition("Action", _DONE[reported.action]) if reported.action else None,
        definition("Samples", f"{verdict.samples}{via}"),
        definition("The check", f"{cost(verdict.usage)}, {seconds(verdict.elapsed_s)}"),
        total,
    ]
    return tag("dl", *rows, class_="facts")


def _answer(reported: Reported, key: str, heading: str) -> Html:
    verdict = reported.verdict
    given = None
    if reported.action == "block" and reported.text:
        given = tag("p", "Given in its place: ", tag("q", reported.text, dir="auto"))
    none = None if verdict.sentences else tag("p", "No sentence was looked at.", class_="note")
    if kept(verdict):
        words = answer(verdict, reported.text, key)
        body = [none, words, legend(unscored=bool(verdict.unscored))]
    elif verdict.sentences or verdict.unscored:
        body = [none, tag("p", _WITHOUT_WORDS, class_="note")]
    else:
        body = [none, _unchecked(reported)]
    return tag("section", tag(heading, "The answer"), given, *body)


def _unchecked(reported: Reported) -> Html | None:
    if not reported.text or reported.action == "block":
        return None
    return tag("div", reported.text, class_="answer unscored", dir="auto")


def _flagged(verdict: Verdict, key: str, heading: str) -> Html | None:
    if not verdict.flagged_sentences or not kept(verdict):
        return None
    count = len(verdict.flagged_sentences)
    return tag("section", tag(heading, f"Flagged ({count})"), flagged_cards(verdict, key))


def _mended(verdict: Verdict, key: str, level: int) -> Html | None:
    if verdict.regeneration is None:
        return None
    title = tag(f"h{level + 1}", headline(verdict.regeneration))
    return tag("section", title, regeneration_parts(verdict, key, f"h{level + 2}"))


def _sentences(verdict: Verdict, key: str, heading: str) -> Html | None:
    if not verdict.sentences:
        return None
    title = f"All sentences ({len(verdict.sentences)})"
    return _folded(title, heading, sentence_table(verdict, key), opened=not kept(verdict))


def _unscored(verdict: Verdict, heading: str) -> Html | None:
    if not verdict.unscored:
        return None
    title = f"Not scored ({len(verdict.unscored)})"
    return _folded(title, heading, unscored_table(verdict), opened=not kept(verdict))


def _steps(verdict: Verdict, heading: str) -> Html | None:
    if not verdict.steps:
        return None
    return _folded(f"Steps ({len(verdict.steps)})", heading, step_table(verdict.steps))


def _folded(title: str, heading: str, body: Html, *, opened: bool = False) -> Html:
    return tag("details", tag("summary", tag(heading, title)), body, open=opened, class_="part")
