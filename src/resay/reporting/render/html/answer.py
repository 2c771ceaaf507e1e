"""The answer as it reads, its sentences coloured by their scores."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resay.core.verdict import SentenceVerdict, Unscored, Verdict
from resay.reporting.render.html.figures import LEVELS, chip, hidden, level, score_text
from resay.reporting.render.html.markup import Html, joined, tag

__all__ = ["answer", "citation_marks", "kept", "legend", "summary_of"]


def kept(verdict: Verdict) -> bool:
    """Return whether the words of the answer were kept."""
    return any(part.text for part in (*verdict.sentences, *verdict.unscored))


def answer(verdict: Verdict, text: str | None, key: str) -> Html:
    """Return the answer; each sentence is a link to what is known of it.

    Args:
        verdict: What was found; its words were kept.
        text: The text the sentences are of. Where they do not stand in it at their offsets, they
            and what was not scored are shown without what lies between them.
        key: What the ids of the verdict's elements begin with.
    """
    whole = text if text is not None and _stands_in(verdict, text) else None
    return tag("div", *_parts(verdict, whole, key), class_="answer", dir="auto")


def summary_of(sentence: SentenceVerdict) -> str:
    """Return in a few words what is known of a sentence."""
    if sentence.score is None:
        return "no score"
    return f"score {methods_of(sentence)}{', flagged' if sentence.flagged else ''}"


def methods_of(sentence: SentenceVerdict) -> str:
    """Return what each method said of a sentence, and whose score counts."""
    if len(sentence.scores) < 2:
        return score_text(sentence.score) + (f" by {sentence.by}" if sentence.by else "")
    said = (f"{name} {score_text(score)}" for name, score in sentence.scores.items())
    return f"{score_text(sentence.score)} by {sentence.by} ({', '.join(said)})"


def legend(*, unscored: bool = False) -> Html:
    """Return what the colours and marks mean.

    Args:
        unscored: Whether there is something that was not scored.
    """
    steps = [
        tag("span", f"{i / LEVELS:.1f}–{(i + 1) / LEVELS:.1f}", class_=f"chip l{i}")
        for i in range(LEVELS)
    ]
    colours = [hidden("Colours: "), *(part for step in steps for part in (step, " "))]
    return tag(
        "p",
        *colours,
        tag("span", "?", class_="chip none"),
        " no score, ",
        tag("b", "!"),
        " and a wavy line: flagged. 1 = surely hallucinated.",
        tag("span", " Grey: not scored.", class_="unscored") if unscored else None,
        class_="legend",
    )


def citation_marks(verdict: Verdict, names: tuple[str, ...], key: str) -> Html | None:
    """Return marks such as [1] that lead to the documents, or None where none is known."""
    sources = verdict.regeneration.sources if verdict.regeneration else ()
    numbers = {source.id: number for number, source in enumerate(sources, 1)}
    marks = [
        tag("a", f"[{numbers[name]}]", href=f"#{key}-d{numbers[name]}", class_="cite")
        for name in names
        if name in numbers
    ]
    return joined(marks) if marks else None


def _stands_in(verdict: Verdict, text: str) -> bool:
    position = 0
    for sentence in verdict.sentences:
        if sentence.start < position or text[sentence.start : sentence.end] != sentence.text:
            return False
        position = sentence.end
    return True


def _parts(verdict: Verdict, whole: str | None, key: str) -> Iterator[str]:
    position = 0
    known = (*enumerate(verdict.sentences), *((-1, part) for part in verdict.unscored_blocks))
    for i, part in sorted(known, key=lambda known: known[1].start):
        if whole is not None:
            yield _between(whole[position : part.start])
        elif position:
            # Two of them, or a list's marker: what was there is not known, only that it was.
            apart = part.start - position > 1 or verdict.structured
            yield "\n" if apart else " "
        yield _told(part) if isinstance(part, Unscored) else _linked(verdict, i, key)
        position = part.end
    if whole is not None:
        yield _between(whole[position:])


def _told(stretch: Unscored) -> Html:
    return tag("span", stretch.text, class_="unscored", title=f"{stretch.called}, not scored")


def _between(text: str) -> str:
    return tag("span", text, class_="unscored") if re.search(r"\w{2}", text) else text


def _linked(verdict: Verdict, i: int, key: str) -> Html:
    sentence = verdict.sentences[i]
    marked = " flagged" if sentence.flagged else ""
    shown = tag(
        "a",
        tag("span", sentence.text, class_="said"),
        chip(sentence.score, flagged=sentence.flagged),
        tag("span", summary_of(sentence), class_="tip", role="tooltip", id=f"{key}-t{i + 1}"),
        href=f"#{key}-s{i + 1}",
        class_=f"sentence {level(sentence.score)}{marked}",
        aria_describedby=f"{key}-t{i + 1}",
    )
    return joined([shown, citation_marks(verdict, sentence.citations, key)])
