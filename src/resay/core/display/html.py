"""A verdict as HTML for notebooks and apps: the text in colours, with the evidence beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from resay.core.claim_verdict import ClaimVerdict
from resay.core.display.highlighting import pieces
from resay.core.display.markdown import why
from resay.core.display.spans import Label, Span, spans_of
from resay.core.display.templates import escaping_environment
from resay.core.display.view import VerdictView
from resay.core.sentence_verdict import SentenceVerdict

if TYPE_CHECKING:
    from jinja2 import Template

_DECISION_COLOURS = {
    "flagged": "#a31d17",
    "consistent": "#14693c",
    "inconclusive": "#8a5a00",
    "skipped": "#45617d",
}
# On a background of its own, text needs a colour of its own, or it is unreadable on dark pages.
_STYLES: dict[Label, str] = {
    "supported": "background: #dff3e4; color: #10291a",
    "doubtful": "background: #fdf0c4; color: #33270a; border-bottom: 2px dotted #b9770e",
    "unsupported": "background: #fbdcd7; color: #3a100b; border-bottom: 2px dashed #c0392b",
    "contradicted": "background: #f6c3bb; color: #3a100b; border-bottom: 2px solid #c0392b",
    "not checked": "opacity: .6",
}


@dataclass(frozen=True, slots=True)
class _Shown:
    """A span as the template shows it."""

    text: str
    pieces: list[tuple[str, bool]]
    style: str
    title: str
    number: int | None


def html(verdict: VerdictView, response: str | None = None, message: str = "") -> str:
    """Return a verdict as an HTML fragment, with all text escaped.

    Args:
        verdict: The verdict.
        response: The checked text; without it, only its sentences are shown.
        message: The message that replaces the text, if it was withheld.
    """
    spans: list[_Shown] = []
    evidence: list[tuple[str, str]] = []
    for span in () if message else spans_of(verdict, response):
        number = None
        if span.sentence is not None and span.sentence.flagged:
            evidence.append(_evidence(span.sentence))
            number = len(evidence)
        spans.append(_shown(verdict, span, number))
    if not message:
        names = verdict.flagged_names
        evidence += ((f"{name.text}: {name.band}", name.reason or "") for name in names)
    return _render(verdict, spans, evidence, message)


def sentences_html(sentences: Iterable[SentenceVerdict | ClaimVerdict]) -> str:
    """Return sentences or claims as an HTML list, each with what speaks against it."""
    rows: list[tuple[str, str, str, str]] = []
    for sentence in sentences:
        label, words = _evidence(sentence)
        rows.append((sentence.text, _STYLES[_label(sentence)], label, words))
    return _template("sentences.html").render(rows=rows)


def _label(sentence: SentenceVerdict | ClaimVerdict) -> Label:
    if sentence.band is not None:
        return sentence.band
    return "unsupported" if sentence.flagged else "not checked"


def _evidence(sentence: SentenceVerdict | ClaimVerdict) -> tuple[str, str]:
    label = _label(sentence)
    score = "" if sentence.score is None else f" {sentence.score:.2f}"
    return f"{label}{score}", why(sentence).removeprefix(f"{label}: ")


def _shown(verdict: VerdictView, span: Span, number: int | None) -> _Shown:
    sentence = span.sentence
    label = span.label
    title = label or ""
    cut = [(span.text, False)]
    if sentence is not None and sentence.flagged and sentence.has_text:
        claims = verdict.claims_by_sentence.get(span.index, ())
        in_doubt = [span for claim in claims for span in claim.spans_in_doubt]
        whole = (sentence.start, sentence.end)
        # What is in doubt is underlined, unless that is all of the sentence.
        if in_doubt and in_doubt != [whole]:
            cut = list(pieces(sentence.text, sentence.start, in_doubt))
    if sentence is not None and sentence.score is not None:
        title = f"{title} {sentence.score:.2f}".strip()
    return _Shown(span.text, cut, _STYLES[label] if label else "", title, number)


def _render(
    verdict: VerdictView, spans: list[_Shown], evidence: list[tuple[str, str]], message: str
) -> str:
    return _template("verdict.html").render(
        verdict=verdict,
        spans=spans,
        evidence=evidence,
        message=message,
        colours=_DECISION_COLOURS,
    )


@cache
def _template(name: str) -> Template:
    from jinja2 import PackageLoader

    return escaping_environment(PackageLoader("resay.core.display", "")).get_template(name)
