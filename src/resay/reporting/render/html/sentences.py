"""What is known of each sentence, and what contradicts the flagged ones."""

from __future__ import annotations

from collections.abc import Sequence

from resay.core.verdict import SentenceVerdict, Verdict
from resay.reporting.render.html.answer import citation_marks, kept
from resay.reporting.render.html.figures import chip, definition, meter, score_text, scrolling
from resay.reporting.render.html.markup import Html, tag

__all__ = ["flagged_cards", "sentence_table", "unscored_table"]


def flagged_cards(verdict: Verdict, key: str) -> Html:
    """Return the flagged sentences, each beside what a sample or a reference says instead.

    Args:
        verdict: What was found; its words were kept.
        key: What the ids of the verdict's elements begin with.
    """
    cards = [
        _card(sentence, f"{key}-s{i}")
        for i, sentence in enumerate(verdict.sentences, 1)
        if sentence.flagged
    ]
    return tag("ol", *cards, class_="cards")


def sentence_table(verdict: Verdict, key: str) -> Html:
    """Return one row per sentence: place, score, method, explanation.

    Args:
        verdict: What was found.
        key: What the ids of the verdict's elements begin with.
    """
    shown = kept(verdict)
    columns = ["Characters", "Score", "Method", *(["Sentence", "Why"] if shown else []), "Sources"]
    rows = [_row(verdict, i, key, shown) for i in range(len(verdict.sentences))]
    table = tag("table", tag("thead", _heads(columns)), tag("tbody", *rows))
    return scrolling(table, "All sentences")


def unscored_table(verdict: Verdict) -> Html:
    """Return one row for each stretch that was not scored: place, kind, text.

    Args:
        verdict: What was found.
    """
    shown = kept(verdict)
    rows = [
        tag(
            "tr",
            tag("th", f"{stretch.start}–{stretch.end}", scope="row", class_="number"),
            tag("td", stretch.called),
            tag("td", stretch.text, dir="auto") if shown else None,
        )
        for stretch in verdict.unscored
    ]
    heads = _heads(["Characters", "What", *(["Text"] if shown else [])])
    return scrolling(tag("table", tag("thead", heads), tag("tbody", *rows)), "Not scored")


def _heads(columns: Sequence[str]) -> Html:
    return tag("tr", *(tag("th", name, scope="col") for name in columns))


def _card(sentence: SentenceVerdict, name: str) -> Html:
    said = sentence.contradicted_by
    sides = [definition("The answer says", tag("span", sentence.text, dir="auto"))]
    if said is not None:
        other = tag("span", said.text, dir="auto")
        sides.append(definition(f"{said.source.capitalize()} {said.index + 1} says", other))
    why = tag("p", sentence.why, class_="why", dir="auto") if sentence.why else None
    by = tag("span", f"by {_methods(sentence)}", class_="by") if sentence.by else None
    head = tag("p", chip(sentence.score, flagged=True), " ", meter(sentence.score), " ", by)
    return tag("li", head, tag("dl", *sides, class_="pair"), why, id=name, class_="card")


def _row(verdict: Verdict, i: int, key: str, shown: bool) -> Html:
    sentence = verdict.sentences[i]
    # A flagged sentence whose words are there has a card of that name.
    name = None if shown and sentence.flagged else f"{key}-s{i + 1}"
    of_words = (
        [tag("td", sentence.text, dir="auto"), tag("td", sentence.why, dir="auto")] if shown else []
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


def _methods(sentence: SentenceVerdict) -> str:
    if len(sentence.scores) < 2:
        return sentence.by or "none"
    return ", ".join(f"{name} {score_text(said)}" for name, said in sentence.scores.items())


def _names(citations: Sequence[str]) -> str:
    return ", ".join(citations)
