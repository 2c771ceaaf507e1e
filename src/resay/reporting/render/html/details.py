"""The details of a verdict, in cards and tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from resay.core.claim_verdict import ClaimVerdict
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
from resay.core.verdict import Verdict
from resay.reporting.render.html.answer import citation_marks, has_text
from resay.reporting.render.html.markup import (
    Html,
    chip,
    definition,
    meter,
    score_text,
    scrolling,
    seconds,
    tag,
)
from resay.reporting.render.texts import cost, doubts


def flagged_cards(verdict: Verdict, key: str) -> Html:
    """Render the flagged parts, each beside the contradicting text of a sample or reference.

    These are sentences, and names in code blocks.

    Args:
        verdict: The verdict, with its text stored.
        key: The prefix of the ids of the verdict's elements.
    """
    claims = verdict.claims_by_sentence
    cards = [
        _card(sentence, doubts(sentence, claims.get(i, ())), f"{key}-s{i + 1}")
        for i, sentence in enumerate(verdict.sentences)
        if sentence.flagged
    ]
    names = (name for name in verdict.flagged_names if name.sentence < 0)
    cards += [_card(name, (), f"{key}-n{i + 1}") for i, name in enumerate(names)]
    return tag("ol", *cards, class_="cards")


def sentence_table(verdict: Verdict, key: str) -> Html:
    """Render one row per sentence: offsets, score, method, reason.

    Args:
        verdict: The verdict.
        key: The prefix of the ids of the verdict's elements.
    """
    shown = has_text(verdict)
    words = ("Sentence", "Reason") if shown else ()
    columns = ("Characters", "Score", "Method", *words, "Sources")
    rows = [_sentence_row(verdict, i, key, shown) for i in range(len(verdict.sentences))]
    table = tag("table", tag("thead", _heads(columns)), tag("tbody", *rows))
    return scrolling(table, "All sentences")


def unscored_table(verdict: Verdict) -> Html:
    """Render one row per unscored span: offsets, kind, text.

    Args:
        verdict: The verdict.
    """
    shown = has_text(verdict)
    rows = [
        tag(
            "tr",
            tag("th", f"{span.start}–{span.end}", scope="row", class_="number"),
            tag("td", span.called),
            tag("td", span.text, dir="auto") if shown else None,
        )
        for span in verdict.unscored
    ]
    heads = _heads(("Characters", "What", *(("Text",) if shown else ())))
    return scrolling(tag("table", tag("thead", heads), tag("tbody", *rows)), "Not scored")


@cache
def _heads(columns: tuple[str, ...]) -> Html:
    return tag("tr", *(tag("th", name, scope="col") for name in columns))


def _card(sentence: SentenceVerdict | ClaimVerdict, in_doubt: Sequence[str], name: str) -> Html:
    contradiction = sentence.contradicted_by
    sides = [definition("The answer says", tag("span", sentence.text, dir="auto"))]
    sides += [definition("In doubt", tag("span", doubt, dir="auto")) for doubt in in_doubt]
    if contradiction is not None:
        statement = tag("span", contradiction.text, dir="auto")
        speaker = contradiction.model or contradiction.speaker.capitalize()
        sides.append(definition(f"{speaker} says", statement))
    reason = (
        tag("p", sentence.reason, class_="score-reason", dir="auto") if sentence.reason else None
    )
    by = tag("span", f"by {_methods(sentence)}", class_="by") if sentence.by else None
    head = tag("p", chip(sentence.score, flagged=True), " ", meter(sentence.score), " ", by)
    return tag("li", head, tag("dl", *sides, class_="pair"), reason, id=name, class_="card")


def _sentence_row(verdict: Verdict, i: int, key: str, shown: bool) -> Html:
    sentence = verdict.sentences[i]
    # If its text was stored, a flagged sentence has a card with that id.
    name = None if shown and sentence.flagged else f"{key}-s{i + 1}"
    of_words = (
        [tag("td", sentence.text, dir="auto"), tag("td", sentence.reason, dir="auto")]
        if shown
        else []
    )
    return tag(
        "tr",
        tag("th", f"{sentence.start}–{sentence.end}", scope="row", class_="number"),
        tag("td", chip(sentence.score, flagged=sentence.flagged)),
        tag("td", _methods(sentence)),
        *of_words,
        tag("td", citation_marks(verdict, sentence.citations, key) or _names(sentence.citations)),
        id=name,
    )


def _methods(sentence: SentenceVerdict | ClaimVerdict) -> str:
    if len(sentence.scores) < 2:
        return sentence.by or "none"
    return ", ".join(f"{name} {score_text(score)}" for name, score in sentence.scores.items())


def _names(citations: Sequence[str]) -> str:
    return ", ".join(citations)


_COLUMNS = ("Step", "Sentences", "Score", "Cost", "Time", "Failed calls", "Unreadable", "Reason")


def step_table(steps: Sequence[StepRecord]) -> Html:
    """Render one row per step.

    Args:
        steps: The steps, in order.
    """
    table = tag("table", tag("thead", _heads(_COLUMNS)), tag("tbody", *map(_step_row, steps)))
    return scrolling(table, "Steps")


def _step_row(step: StepRecord) -> Html:
    failures = ", ".join(f"{kind} x{count}" for kind, count in step.failures.items())
    skipped = f"skipped: {step.skip_reason}" if step.skip_reason else None
    reasons = [reason for reason in (skipped, step.error, step.reason) if reason]
    return tag(
        "tr",
        tag("th", step.method, scope="row"),
        tag("td", str(step.sentences), class_="number"),
        tag("td", chip(step.score)),
        tag("td", cost(step.usage)),
        tag("td", seconds(step.elapsed_s), class_="number"),
        tag("td", failures or "none"),
        tag("td", str(step.undetermined), class_="number"),
        tag("td", *(tag("p", reason, dir="auto") for reason in reasons), class_="long"),
    )
