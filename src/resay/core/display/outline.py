"""A verdict line by line, as the terminal shows it and `str` returns it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resay._internal.plurals import counted
from resay.core.claim_verdict import ClaimVerdict
from resay.core.display.highlighting import pieces
from resay.core.display.spans import parts_in_order
from resay.core.display.texts import clean, cost, doubts
from resay.core.display.view import VerdictView
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored

Styled = tuple[str, str]
"""A text and its style on a terminal, as rich names it."""

_LABELS = {
    "consistent": ("CONSISTENT", "bold green"),
    "flagged": ("FLAGGED", "bold red"),
    "inconclusive": ("INCONCLUSIVE", "bold yellow"),
    "skipped": ("SKIPPED", "bold cyan"),
}
# Kinds of claims that can have a score.
_CLAIMING = ("fact", "hedged")
_MARGIN = 8


@dataclass(frozen=True, slots=True)
class Row:
    """A line about a part of the answer.

    Attributes:
        text: The part, or something about the part above it.
        score: Its score; empty for something about the part above it.
        sign: `!` if it is flagged, `~` if it is doubtful, else empty.
    """

    text: tuple[Styled, ...]
    score: Styled = ("", "")
    sign: Styled = ("", "")

    @property
    def is_note(self) -> bool:
        """Whether it is about the part above it."""
        return not self.score[0]


def plain_text(verdict: VerdictView, response: str = "") -> str:
    """Return a verdict as the terminal shows it, without colours.

    Args:
        verdict: The verdict.
        response: The checked text; without it, only its sentences are shown.
    """
    lines = [plain(headline(verdict))]
    lines += [plain([reason]) for reason in passage_reasons(verdict)]
    rows = list(rows_of(verdict, response))
    if rows:
        lines.append("")
    for row in rows:
        text = f"    {plain(row.text)}" if row.is_note else plain(row.text)
        indented = text.replace("\n", f"\n{' ' * _MARGIN}")
        lines.append(f"{row.score[0]:>5} {row.sign[0]:1} {indented}".rstrip())
    if verdict.regeneration is not None:
        first, *others = regeneration_lines(verdict.regeneration)
        lines += ["", plain(first), *(f"  {plain(line)}" for line in others)]
    lines += ["", plain([check_cost(verdict)])]
    return "\n".join(lines)


def plain(line: Sequence[Styled]) -> str:
    """Return a line without its styles."""
    return "".join(text for text, _ in line)


def headline(verdict: VerdictView) -> list[Styled]:
    """Return the line with the decision and its reason."""
    return [_LABELS[verdict.decision], ("  ", ""), (verdict.reason, "")]


def passage_reasons(verdict: VerdictView) -> Iterator[Styled]:
    """Yield the methods' reasons for the passage score that no sentence shows."""
    for step in verdict.steps:
        if step.reason and not any(sentence.by == step.method for sentence in verdict.sentences):
            yield f"{step.method}: {clean(step.reason)}", "dim"


def check_cost(verdict: VerdictView) -> Styled:
    """Return the line with the cost of the check."""
    return f"The check: {cost(verdict.usage)}, {verdict.elapsed_s:.1f} s", "dim"


def rows_of(verdict: VerdictView, response: str) -> Iterator[Row]:
    """Yield the rows of a verdict.

    Args:
        verdict: The verdict.
        response: The checked text, or nothing.
    """
    position = 0
    claims = verdict.claims_by_sentence
    for part, index in parts_in_order(verdict):
        yield from _unscored(response[position : part.start])
        if isinstance(part, Unscored):
            yield from _unscored(part.text, f"  ({part.called}, not scored)")
            for name in verdict.flagged_names:
                if name.sentence < 0 and part.start <= name.start < part.end:
                    yield from _flagged_name(name)
        else:
            yield from _scored(part, claims.get(index, ()))
        position = part.end
    yield from _unscored(response[position:])


def _unscored(text: str, label: str = "") -> Iterator[Row]:
    # Skip mere spaces and labels between sentences; the text of a skipped answer is all unscored.
    if label or re.search(r"\w{2}", text):
        shown = (clean(text.strip("\n")), "dim"), (label, "dim italic")
        yield Row(text=shown, score=("-", "dim"))


def _scored(sentence: SentenceVerdict, claims: Sequence[ClaimVerdict]) -> Iterator[Row]:
    style = score_style(sentence.score, flagged=sentence.flagged)
    # A sentence that claims nothing lacks no score.
    claims_nothing = bool(claims) and all(claim.kind not in _CLAIMING for claim in claims)
    missing = "-" if claims_nothing else "?"
    score = missing if sentence.score is None else f"{sentence.score:.2f}"
    sign = ("~" if sentence.band == "doubtful" else "", "yellow")
    if sentence.flagged:
        sign = ("!", "bold red")
    yield Row(text=_underlined(sentence, claims, style), score=(score, style), sign=sign)
    if not sentence.flagged:
        is_lost = sentence.score is None and bool(claims) and not claims_nothing
        if is_lost and sentence.reason:
            yield _note(sentence.reason, "dim")
        return
    for doubt in doubts(sentence, claims):
        yield _note(f"in doubt: {doubt}", "red")
    if sentence.reason:
        yield _note(f"{sentence.by}: {sentence.reason}", "dim")
    if sentence.contradicted_by:
        contradiction = sentence.contradicted_by
        yield _note(f"{contradiction.speaker} says: {contradiction.text}", "italic")


def _underlined(
    sentence: SentenceVerdict, claims: Sequence[ClaimVerdict], style: str
) -> tuple[Styled, ...]:
    """Return a sentence's text, with a line under what is in doubt."""
    if not sentence.has_text:
        return ((clean(sentence.text), style),)
    shown: list[Styled] = []
    spans = [span for claim in claims for span in claim.spans_in_doubt]
    for piece, is_in_doubt in pieces(sentence.text, sentence.start, spans):
        shown.append((clean(piece), f"{style} underline" if is_in_doubt else style))
    return tuple(shown)


def _flagged_name(name: ClaimVerdict) -> Iterator[Row]:
    style = score_style(name.score, flagged=True)
    yield Row(
        text=((clean(name.text), style),),
        score=(f"{name.score:.2f}", style),
        sign=("!", "bold red"),
    )
    if name.reason:
        yield _note(f"{name.by}: {name.reason}", "dim")


def _note(text: str, style: str) -> Row:
    return Row(text=((clean(text), style),))


def score_style(score: float | None, *, flagged: bool) -> str:
    """Return the style of a score on a terminal."""
    if score is None:
        return "dim"
    if flagged:
        return "red"
    return "yellow" if score > 0.25 else "green"


def regeneration_lines(regeneration: Regeneration) -> Iterator[list[Styled]]:
    """Yield a headline, and the lines that tell how an answer was repaired, or was not."""
    yield [(_repair_headline(regeneration), "bold"), (f"  {regeneration.reason}", "")]
    for number, attempt in enumerate(regeneration.attempts, 1):
        for line in _attempt(number, attempt, regeneration.by):
            yield [line]
    for edit in regeneration.edits:
        for line in _edit(edit):
            yield [line]
    for number, source in enumerate(regeneration.sources, 1):
        name = source.id if source.title == source.id else f"{source.title} ({source.id})"
        yield [(f"[{number}] {clean(name)}", "cyan")]


def _repair_headline(regeneration: Regeneration) -> str:
    if regeneration.adopted is None:
        return "NOT REGENERATED"
    return "REWRITTEN" if regeneration.mode == "rewrite" else "REPAIRED"


def _attempt(number: int, attempt: Attempt, by: str) -> Iterator[Styled]:
    evidence = "by the samples"
    if by == "documents":
        evidence = counted(len(attempt.documents), "document")
    scores = f"score {_score(attempt.score_before)} -> {_score(attempt.score_after)}"
    line = (
        f"attempt {number}: {evidence}, {scores}, {cost(attempt.usage)}, {attempt.elapsed_s:.1f} s"
    )
    yield line, "dim"
    for query in attempt.queries:
        yield f"  searched: {clean(query)}", "dim"
    if attempt.documents:
        yield f"  found: {clean(', '.join(attempt.documents))}", "dim"
    if attempt.error:
        yield f"  {attempt.error}", "yellow"


def _edit(edit: Edit) -> Iterator[Styled]:
    yield f"- {clean(edit.before)}", "red"
    sources = f"  ({', '.join(edit.sources)})" if edit.sources else ""
    yield f"+ {clean(edit.after or '(removed)')}{clean(sources)}", "green"


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2f}"
