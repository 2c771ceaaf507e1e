"""The text of an answer, with colours and marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from resay.core.claim_verdict import ClaimVerdict
from resay.core.highlighting import pieces
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict
from resay.reporting.render.html.markup import (
    LEVELS,
    Html,
    chip,
    hidden,
    joined,
    level,
    score_text,
    tag,
)


def has_text(verdict: Verdict) -> bool:
    """Return whether the text of the answer was stored."""
    return any(part.text for part in (*verdict.sentences, *verdict.unscored))


def answer(verdict: Verdict, text: str | None, key: str) -> Html:
    """Render the answer, each sentence as a link to its details.

    Args:
        verdict: The verdict, with its text stored.
        text: The text of the answer. If the sentences do not match it at their offsets, they and
            the unscored spans are shown without the text between them.
        key: The prefix of the ids of the verdict's elements.
    """
    whole = text if text is not None and _matches_text(verdict, text) else None
    return tag("div", *_parts(verdict, whole, key), class_="answer", dir="auto")


def summary_of(sentence: SentenceVerdict) -> str:
    """Summarize the result for a sentence in a few words."""
    if sentence.score is None:
        return "no score"
    summary = f"score {methods_of(sentence)}"
    if sentence.flagged:
        return f"{summary}, flagged"
    return f"{summary}, doubtful" if sentence.band == "doubtful" else summary


def methods_of(sentence: SentenceVerdict) -> str:
    """Format each method's score of a sentence, and whose score counts."""
    if len(sentence.scores) < 2:
        return score_text(sentence.score) + (f" by {sentence.by}" if sentence.by else "")
    scores = (f"{name} {score_text(score)}" for name, score in sentence.scores.items())
    return f"{score_text(sentence.score)} by {sentence.by} ({', '.join(scores)})"


@cache
def legend(*, unscored: bool = False) -> Html:
    """Render the legend of the colours and marks.

    Args:
        unscored: Whether to explain unscored text.
    """
    colours: list[str] = [hidden("Colours: ")]
    for i in range(LEVELS):
        scores = f"{i / LEVELS:.1f}–{(i + 1) / LEVELS:.1f}"
        colours += [tag("span", scores, class_=f"chip l{i}"), " "]
    return tag(
        "p",
        *colours,
        tag("span", "?", class_="chip none"),
        " no score, ",
        tag("b", "!"),
        " and a wavy line: flagged, with the line under what is in doubt; "
        "a dotted line: doubtful. Scores: from 0, supported, to 1.",
        tag("span", " Grey: not scored.", class_="unscored") if unscored else None,
        class_="legend",
    )


def citation_marks(verdict: Verdict, names: tuple[str, ...], key: str) -> Html | None:
    """Render citations such as [1] that link to the documents; None if none of them is known."""
    sources = verdict.regeneration.sources if verdict.regeneration else ()
    numbers = {source.id: number for number, source in enumerate(sources, 1)}
    marks = [
        tag("a", f"[{numbers[name]}]", href=f"#{key}-d{numbers[name]}", class_="cite")
        for name in names
        if name in numbers
    ]
    return joined(marks) if marks else None


def _matches_text(verdict: Verdict, text: str) -> bool:
    position = 0
    for sentence in verdict.sentences:
        if sentence.start < position or text[sentence.start : sentence.end] != sentence.text:
            return False
        position = sentence.end
    return True


def _parts(verdict: Verdict, whole: str | None, key: str) -> Iterator[str]:
    position = 0
    claims = verdict.claims_by_sentence
    indexes = {sentence.start: index for index, sentence in enumerate(verdict.sentences)}
    parts = (*verdict.sentences, *verdict.unscored_blocks)
    for part in sorted(parts, key=lambda part: part.start):
        if whole is not None:
            yield _between(whole[position : part.start])
        elif position:
            # The text between is unknown; a longer gap may be a paragraph break or list marker.
            apart = part.start - position > 1 or verdict.structured
            yield "\n" if apart else " "
        if isinstance(part, Unscored):
            yield _unscored_text(part)
        else:
            index = indexes[part.start]
            yield _linked(verdict, index, claims.get(index, ()), key)
        position = part.end
    if whole is not None:
        yield _between(whole[position:])


def _unscored_text(span: Unscored) -> Html:
    return tag("span", span.text, class_="unscored", title=f"{span.called}, not scored")


def _between(text: str) -> str:
    return tag("span", text, class_="unscored") if re.search(r"\w{2}", text) else text


def _linked(verdict: Verdict, i: int, claims: Sequence[ClaimVerdict], key: str) -> Html:
    sentence = verdict.sentences[i]
    status = ""
    if sentence.flagged:
        status = " flagged"
    elif sentence.band == "doubtful":
        status = " doubtful"
    linked = tag(
        "a",
        tag("span", _with_marks(sentence, claims), class_="said"),
        chip(sentence.score, flagged=sentence.flagged),
        tag("span", summary_of(sentence), class_="tip", role="tooltip", id=f"{key}-t{i + 1}"),
        href=f"#{key}-s{i + 1}",
        class_=f"sentence {level(sentence.score)}{status}",
        aria_describedby=f"{key}-t{i + 1}",
    )
    return joined([linked, citation_marks(verdict, sentence.citations, key)])


def _with_marks(sentence: SentenceVerdict, claims: Sequence[ClaimVerdict]) -> Html:
    """Render the text of a sentence with what is in doubt marked."""
    spans = [span for claim in claims for span in claim.spans_in_doubt]
    if not spans or not sentence.has_text:
        # Without claims, all of a flagged sentence is in doubt.
        return tag("mark", sentence.text) if sentence.flagged else joined([sentence.text])
    return joined(
        tag("mark", piece) if is_in_doubt else piece
        for piece, is_in_doubt in pieces(sentence.text, sentence.start, spans)
    )
