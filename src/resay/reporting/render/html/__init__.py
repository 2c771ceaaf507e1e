"""Render verdicts as HTML: a self-contained page, and the parts it is made of.

All text of models and documents is escaped: `Html` marks the markup made here, and any other
string in an element is treated as text.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, cast, get_args

from resay._internal._version import __version__
from resay.core.claim_verdict import ClaimVerdict
from resay.core.documents import Document
from resay.core.highlighting import pieces
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.step_record import StepRecord
from resay.core.unscored import Unscored
from resay.core.usage import Usage
from resay.core.verdict import Verdict
from resay.engine.actions import Action
from resay.errors import ConfigurationError
from resay.reporting.render.html.markup import (
    LEVELS,
    Html,
    badge,
    chip,
    definition,
    hidden,
    joined,
    level,
    link,
    meter,
    score_text,
    scrolling,
    seconds,
    tag,
)
from resay.reporting.render.texts import cost, doubts

__all__ = [
    "Html",
    "Reported",
    "joined",
    "page",
    "policy_of",
    "stylesheet",
    "tag",
    "verdict_section",
]


def has_text(verdict: Verdict) -> bool:
    """Return whether the text of the answer was stored."""
    return any(part.text for part in (*verdict.sentences, *verdict.unscored))


def answer(verdict: Verdict, text: str | None, key: str) -> Html:
    """Render the answer, each sentence as a link to its details.

    Args:
        verdict: The verdict, with its text stored.
        text: The text of the answer. If the sentences do not match it at their offsets, they and
            the unscored stretches are shown without the text between them.
        key: The prefix of the ids of the verdict's elements.
    """
    whole = text if text is not None and _matches_text(verdict, text) else None
    return tag("div", *_parts(verdict, whole, key), class_="answer", dir="auto")


def summary_of(sentence: SentenceVerdict) -> str:
    """Summarize the result for a sentence in a few words."""
    if sentence.score is None:
        return "no score"
    found = "flagged" if sentence.flagged else "doubtful" if sentence.band == "doubtful" else None
    return f"score {methods_of(sentence)}{f', {found}' if found else ''}"


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
    known = (*enumerate(verdict.sentences), *((-1, part) for part in verdict.unscored_blocks))
    for i, part in sorted(known, key=lambda known: known[1].start):
        if whole is not None:
            yield _between(whole[position : part.start])
        elif position:
            # The text between is unknown; a longer gap may be a paragraph break or list marker.
            apart = part.start - position > 1 or verdict.structured
            yield "\n" if apart else " "
        if isinstance(part, Unscored):
            yield _unscored_text(part)
        else:
            yield _linked(verdict, i, claims.get(i, ()), key)
        position = part.end
    if whole is not None:
        yield _between(whole[position:])


def _unscored_text(stretch: Unscored) -> Html:
    return tag("span", stretch.text, class_="unscored", title=f"{stretch.called}, not scored")


def _between(text: str) -> str:
    return tag("span", text, class_="unscored") if re.search(r"\w{2}", text) else text


def _linked(verdict: Verdict, i: int, claims: Sequence[ClaimVerdict], key: str) -> Html:
    sentence = verdict.sentences[i]
    marked = " flagged" if sentence.flagged else ""
    marked = marked or (" doubtful" if sentence.band == "doubtful" else "")
    shown = tag(
        "a",
        tag("span", _with_marks(sentence, claims), class_="said"),
        chip(sentence.score, flagged=sentence.flagged),
        tag("span", summary_of(sentence), class_="tip", role="tooltip", id=f"{key}-t{i + 1}"),
        href=f"#{key}-s{i + 1}",
        class_=f"sentence {level(sentence.score)}{marked}",
        aria_describedby=f"{key}-t{i + 1}",
    )
    return joined([shown, citation_marks(verdict, sentence.citations, key)])


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


@dataclass(frozen=True, slots=True)
class Reported:
    """A verdict with its context. Unknown values are None.

    Attributes:
        verdict: The verdict.
        id: The id under which it was logged.
        text: The text that the user was shown.
        action: The action that was applied.
        usage: The total usage of the main call and the check.
    """

    verdict: Verdict
    id: str | None = None
    text: str | None = field(default=None, repr=False)
    action: Action | None = None
    usage: Usage | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reported:
        """Parse the output of `Verdict.to_dict` or `Answer.to_dict`.

        Args:
            data: A verdict, optionally with `id` and `action` beside its keys, or an object with
                a verdict under `verdict`.

        Raises:
            ConfigurationError: It contains no valid verdict.
        """
        inner = data.get("verdict")
        held = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else data
        identity, text, action = data.get("id"), data.get("text"), data.get("action")
        return cls(
            Verdict.from_dict(held),
            id=str(identity) if isinstance(identity, (str, int)) else None,
            text=text if isinstance(text, str) and held is not data else None,
            action=action if action in get_args(Action) else None,
            # A verdict's own `usage` covers only the check.
            usage=None if held is data else _usage(data.get("usage")),
        )


def _usage(data: object) -> Usage | None:
    from pydantic import TypeAdapter, ValidationError

    if data is None:
        return None
    try:
        return TypeAdapter(Usage).validate_python(data)
    except ValidationError:
        pass
    # Raised outside the handler, as in `Verdict.from_dict`.
    raise ConfigurationError("`usage` does not match the format of Answer.to_dict; omit it")


_NOT_KEPT = "text not stored"


def headline(regeneration: Regeneration) -> str:
    """Return the outcome of a repair as a headline."""
    if regeneration.adopted is None:
        return "Not repaired"
    return "Rewritten" if regeneration.mode == "rewrite" else "Repaired"


def regeneration_parts(verdict: Verdict, key: str, heading: str) -> Html:
    """Render the attempts, edits and sources of a repair.

    Args:
        verdict: The verdict on the answer.
        key: The prefix of the ids of the verdict's elements.
        heading: The element of its headings: `h4`.
    """
    regeneration = verdict.regeneration
    if regeneration is None:
        return Html()
    searches = regeneration.by == "documents"
    attempts = [
        _attempt(i, attempt, i == regeneration.adopted, heading, searches=searches)
        for i, attempt in enumerate(regeneration.attempts)
    ]
    return joined(
        [
            tag("p", "The first answer: ", chip(regeneration.score), " ", regeneration.reason),
            *_listed(
                "Edits",
                [_edit(verdict, edit, key) for edit in regeneration.edits],
                heading,
                "edits",
            ),
            *_listed("Attempts", attempts, None, "attempts"),
            *_listed("Sources", _sources(regeneration.sources, key), heading, "sources"),
            _quote("The first answer", regeneration.draft) if regeneration.draft else None,
        ]
    )


def _listed(title: str, items: Sequence[Html], heading: str | None, kind: str) -> list[Html]:
    if not items:
        return []
    head = [tag(heading, title)] if heading else []
    return [*head, tag("ol", *items, class_=kind)]


def _edit(verdict: Verdict, edit: Edit, key: str) -> Html:
    place = f"characters {edit.start}–{edit.end} of the first answer"
    known = citation_marks(verdict, edit.sources, key)
    sources = joined(["; from ", known or ", ".join(edit.sources)]) if edit.sources else None
    if edit.before or edit.after:
        before = tag("del", edit.before, dir="auto")
        after = tag("ins", edit.after, dir="auto") if edit.after else tag("em", "removed")
        pair = tag("dl", definition("Before", before), definition("After", after), class_="pair")
    else:
        pair = tag("p", tag("em", _NOT_KEPT))
    return tag("li", pair, tag("p", place, sources, class_="by"), class_="card")


def _attempt(index: int, attempt: Attempt, adopted: bool, heading: str, *, searches: bool) -> Html:
    title = f"Attempt {index + 1}{', adopted' if adopted else ''}"
    change = [chip(attempt.score_before), hidden(" before, then"), " → ", chip(attempt.score_after)]
    found = [" ", badge(attempt.decision)] if attempt.decision else []
    searched = [
        definition("Searched for", _bullets(attempt.queries) or tag("em", _NOT_KEPT)),
        definition("Found", _bullets(attempt.documents) or "nothing"),
    ]
    rows = [
        definition("Reason", attempt.reason),
        *(searched if searches else ()),
        definition("Score", *change, *found),
        definition("Error", attempt.error) if attempt.error else None,
        definition("Cost", f"{cost(attempt.usage)}, {seconds(attempt.elapsed_s)}"),
    ]
    return tag("li", tag(heading, title), tag("dl", *rows, class_="rows"))


def _bullets(texts: Sequence[str]) -> Html | None:
    return tag("ul", *(tag("li", text, dir="auto") for text in texts)) if texts else None


def _sources(sources: Sequence[Document], key: str) -> list[Html]:
    return [_source(source, f"{key}-d{number}") for number, source in enumerate(sources, 1)]


def _source(source: Document, name: str) -> Html:
    named = link(source.title, source.metadata.get("url"))
    other = None if source.title == source.id else tag("code", source.id)
    text = _quote("Its text", source.text) if source.text else tag("p", tag("em", _NOT_KEPT))
    return tag("li", named, " ", other, text, id=name)


def _quote(title: str, text: str) -> Html:
    words = tag("div", text, class_="quote", dir="auto")
    return tag("details", tag("summary", title), words)


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
    """Render one row per sentence: offsets, score, method, explanation.

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
    """Render one row per unscored stretch: offsets, kind, text.

    Args:
        verdict: The verdict.
    """
    shown = has_text(verdict)
    rows = [
        tag(
            "tr",
            tag("th", f"{stretch.start}–{stretch.end}", scope="row", class_="number"),
            tag("td", stretch.called),
            tag("td", stretch.text, dir="auto") if shown else None,
        )
        for stretch in verdict.unscored
    ]
    heads = _heads(("Characters", "What", *(("Text",) if shown else ())))
    return scrolling(tag("table", tag("thead", heads), tag("tbody", *rows)), "Not scored")


@cache
def _heads(columns: tuple[str, ...]) -> Html:
    return tag("tr", *(tag("th", name, scope="col") for name in columns))


def _card(sentence: SentenceVerdict | ClaimVerdict, in_doubt: Sequence[str], name: str) -> Html:
    said = sentence.contradicted_by
    sides = [definition("The answer says", tag("span", sentence.text, dir="auto"))]
    sides += [definition("In doubt", tag("span", doubt, dir="auto")) for doubt in in_doubt]
    if said is not None:
        other = tag("span", said.text, dir="auto")
        speaker = said.model or said.speaker.capitalize()
        sides.append(definition(f"{speaker} says", other))
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
    return ", ".join(f"{name} {score_text(said)}" for name, said in sentence.scores.items())


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


_MEANING = (
    "Scores lie between 0, supported, and 1. Consistent does not mean true: a model"
    " that is wrong the same way every time agrees with itself."
)


def stylesheet() -> str:
    """Return the style sheet for the page and its parts."""
    file = resources.files("resay.reporting.render.html") / "style.css"
    return file.read_text(encoding="utf-8")


def policy_of(style: str) -> str:
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
    return f"<!doctype html>\n{tag('html', _head(title), tag('body', *body), lang='en')}\n"


def _head(title: str) -> Html:
    style = stylesheet()
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy_of(style)),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("title", f"{title} – Resay"),
        tag("style", Html(style)),
    )


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
