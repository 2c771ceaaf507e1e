"""The section of one verdict."""

from __future__ import annotations

from collections.abc import Iterator

from resay.core.verdict import Verdict
from resay.reporting.render.html.answer import answer, has_text, legend
from resay.reporting.render.html.details import (
    flagged_cards,
    sentence_table,
    step_table,
    unscored_table,
)
from resay.reporting.render.html.markup import (
    Html,
    badge,
    definition,
    meter,
    score_text,
    seconds,
    tag,
)
from resay.reporting.render.html.repair import headline, regeneration_parts
from resay.reporting.render.html.reported import Reported
from resay.reporting.render.texts import cost

_DONE = {
    "allow": "allowed: given as it is",
    "annotate": "annotated: given with its verdict",
    "block": "blocked: withheld",
    "regenerate": "regenerated: a repaired answer was given",
}


_WITHOUT_WORDS = "The text of this answer was not stored. Offsets and scores remain."


def verdict_section(
    shown: Verdict | Reported, *, key: str = "verdict", title: str = "Verdict", level: int = 2
) -> Html:
    """Render a whole verdict as an `article` for a page that includes `stylesheet()`.

    Args:
        shown: The verdict, with or without its context.
        key: The prefix of the ids of its elements; it must be unique on the page.
        title: Its heading, beside the decision.
        level: The level of its heading, 1 to 4; subheadings follow from it.
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
        _repair(verdict, key, level),
        _sentences(verdict, key, heading),
        _unscored(verdict, heading),
        _steps(verdict, heading),
    ]
    return tag("article", head, *parts, class_="verdict", aria_labelledby=key)


def _passage_reasons(verdict: Verdict) -> Iterator[Html]:
    """Yield the methods' reasons for the passage score that no sentence shows."""
    for step in verdict.steps:
        if step.reason and not any(sentence.by == step.method for sentence in verdict.sentences):
            yield tag(
                "p", f"{step.method}: ", tag("span", step.reason, dir="auto"), class_="score-reason"
            )


def _facts(reported: Reported) -> Html:
    verdict = reported.verdict
    total = definition("Total", cost(reported.usage)) if reported.usage else None
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
    none = None if verdict.sentences else tag("p", "No sentence was checked.", class_="note")
    if has_text(verdict):
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
    count = len(verdict.flagged_sentences)
    count += sum(name.sentence < 0 for name in verdict.flagged_names)
    if not count or not has_text(verdict):
        return None
    return tag("section", tag(heading, f"Flagged ({count})"), flagged_cards(verdict, key))


def _repair(verdict: Verdict, key: str, level: int) -> Html | None:
    if verdict.regeneration is None:
        return None
    title = tag(f"h{level + 1}", headline(verdict.regeneration))
    return tag("section", title, regeneration_parts(verdict, key, f"h{level + 2}"))


def _sentences(verdict: Verdict, key: str, heading: str) -> Html | None:
    if not verdict.sentences:
        return None
    title = f"All sentences ({len(verdict.sentences)})"
    return _folded(title, heading, sentence_table(verdict, key), opened=not has_text(verdict))


def _unscored(verdict: Verdict, heading: str) -> Html | None:
    if not verdict.unscored:
        return None
    title = f"Not scored ({len(verdict.unscored)})"
    return _folded(title, heading, unscored_table(verdict), opened=not has_text(verdict))


def _steps(verdict: Verdict, heading: str) -> Html | None:
    if not verdict.steps:
        return None
    return _folded(f"Steps ({len(verdict.steps)})", heading, step_table(verdict.steps))


def _folded(title: str, heading: str, body: Html, *, opened: bool = False) -> Html:
    return tag("details", tag("summary", tag(heading, title)), body, open=opened, class_="part")
