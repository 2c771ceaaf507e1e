"""A verdict as Markdown."""

from __future__ import annotations

from resay._internal.patterns import lazy_pattern
from resay.core.claim_verdict import ClaimVerdict
from resay.core.display.spans import spans_of
from resay.core.display.texts import clean
from resay.core.display.view import VerdictView
from resay.core.sentence_verdict import SentenceVerdict

_SPECIAL = lazy_pattern(r"([\\`*_{}\[\]<>#|~])")


def markdown(verdict: VerdictView, response: str | None = None) -> str:
    """Return a verdict as Markdown: the decision, the text, and a table of what is flagged.

    Args:
        verdict: The verdict.
        response: The checked text; without it, only its sentences are shown.
    """
    score = "" if verdict.score is None else f" {verdict.score:.2f}"
    blocks = [f"**{verdict.decision}**{score}: {_escaped(verdict.reason)}"]
    text = ""
    rows: list[str] = []
    for span in spans_of(verdict, response):
        sentence = span.sentence
        if sentence is None or not sentence.flagged:
            text += _escaped(span.text)
            continue
        rows.append(_row(len(rows) + 1, sentence))
        text += f"**{_in_one_line(span.text)}** [{len(rows)}]"
    if text:
        blocks.append("\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n")))
    if rows:
        head = ["| | score | sentence | why |", "|--:|--:|---|---|"]
        blocks.append("\n".join([*head, *rows]))
    return "\n\n".join(blocks)


def _row(number: int, sentence: SentenceVerdict) -> str:
    score = "" if sentence.score is None else f"{sentence.score:.2f}"
    return f"| {number} | {score} | {_in_one_line(sentence.text)} | {_in_one_line(why(sentence))} |"


def why(sentence: SentenceVerdict | ClaimVerdict) -> str:
    """Return what speaks against a flagged sentence."""
    contradiction = sentence.contradicted_by
    reason = sentence.reason or ""
    if contradiction is None:
        return f"{sentence.band}: {reason}" if sentence.band and reason else reason
    statement = f"{contradiction.speaker} says “{contradiction.text}”"
    return f"{sentence.band}: {statement}" if sentence.band else statement


def _in_one_line(text: str) -> str:
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", clean(text))
