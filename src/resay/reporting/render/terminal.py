"""Print verdicts on the terminal: sentences coloured by score, contradictions, and the repair.

Without a terminal, or with `NO_COLOR` set, the same text is printed without colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from resay.core.claim_verdict import ClaimVerdict
from resay.core.highlighting import pieces
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.engine.answer_chunk import AnswerChunk
from resay.reporting.render.texts import clean, cost, doubts


def print_regeneration(regeneration: Regeneration, console: Console) -> None:
    """Print how an answer was repaired, or the failed attempts to.

    Args:
        regeneration: The record of the repair.
        console: The console to print to.
    """
    console.print(
        Text.assemble((_repair_headline(regeneration), "bold"), f"  {regeneration.reason}")
    )
    for number, attempt in enumerate(regeneration.attempts, 1):
        for line in _attempt(number, attempt, regeneration.by):
            console.print(Padding(line, (0, 0, 0, 2)))
    for edit in regeneration.edits:
        for line in _edit(edit):
            console.print(Padding(line, (0, 0, 0, 2)))
    for number, source in enumerate(regeneration.sources, 1):
        name = source.id if source.title == source.id else f"{source.title} ({source.id})"
        console.print(Padding(Text(f"[{number}] {clean(name)}", "cyan"), (0, 0, 0, 2)))


def _repair_headline(regeneration: Regeneration) -> str:
    if regeneration.adopted is None:
        return "NOT REGENERATED"
    return "REWRITTEN" if regeneration.mode == "rewrite" else "REPAIRED"


def _attempt(number: int, attempt: Attempt, by: str) -> Iterator[Text]:
    evidence = f"{len(attempt.documents)} documents" if by == "documents" else "by the samples"
    scores = f"score {_score(attempt.score_before)} -> {_score(attempt.score_after)}"
    line = (
        f"attempt {number}: {evidence}, {scores}, {cost(attempt.usage)}, {attempt.elapsed_s:.1f} s"
    )
    yield Text(line, "dim")
    for query in attempt.queries:
        yield Text(f"  searched: {clean(query)}", "dim")
    if attempt.documents:
        yield Text(f"  found: {clean(', '.join(attempt.documents))}", "dim")
    if attempt.error:
        yield Text(f"  {attempt.error}", "yellow")


def _edit(edit: Edit) -> Iterator[Text]:
    yield Text(f"- {clean(edit.before)}", "red")
    sources = f"  ({', '.join(edit.sources)})" if edit.sources else ""
    yield Text(f"+ {clean(edit.after or '(removed)')}{clean(sources)}", "green")


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2f}"


_LABELS = {
    "consistent": ("CONSISTENT", "bold green"),
    "flagged": ("FLAGGED", "bold red"),
    "inconclusive": ("INCONCLUSIVE", "bold yellow"),
    "skipped": ("SKIPPED", "bold cyan"),
}
# Kinds of claims that can have a score.
_CLAIMING = ("fact", "hedged")
_Row = tuple[Text, Text, RenderableType]


def print_answer(answer: Answer, console: Console, *, streamed: bool = False) -> None:
    """Print an answer with its verdict.

    Args:
        answer: The answer.
        console: The console to print to.
        streamed: Whether the parts of its text are printed already, the policy's message included.
    """
    if answer.blocked:
        if not streamed:
            console.print(Text(clean(answer.text)))
            console.print()
        console.print(_headline(answer.verdict))
    else:
        print_verdict(answer.verdict, answer.response, console)
    console.print(Text(f"Total: {cost(answer.usage)}", "dim"))


def print_part(part: AnswerChunk, console: Console) -> None:
    """Print a part of a streamed answer, its sentences coloured by their scores.

    Args:
        part: The part.
        console: The console to print to.
    """
    style = ""
    if part.sentences and not part.is_replacement:
        flagged = any(sentence.flagged for sentence in part.sentences)
        style = _style(max(sentence.score or 0.0 for sentence in part.sentences), flagged=flagged)
    console.print(Text(clean(part.text), style), end="", soft_wrap=True)


def print_verdict(verdict: Verdict, response: str, console: Console) -> None:
    """Print the response sentence by sentence with its verdict.

    Args:
        verdict: The verdict.
        response: The checked text.
        console: The console to print to.
    """
    console.print(_headline(verdict))
    for line in _passage_reasons(verdict):
        console.print(line)
    console.print()
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", width=5)
    table.add_column(width=1)
    table.add_column()
    for row in _rows(verdict, response):
        table.add_row(*row)
    console.print(table)
    console.print()
    if verdict.regeneration is not None:
        print_regeneration(verdict.regeneration, console)
        console.print()
    seconds = f"{verdict.elapsed_s:.1f} s"
    console.print(Text(f"The check: {cost(verdict.usage)}, {seconds}", "dim"))


def _headline(verdict: Verdict) -> Text:
    label, style = _LABELS[verdict.decision]
    return Text.assemble((label, style), "  ", verdict.reason)


def _passage_reasons(verdict: Verdict) -> Iterator[Text]:
    """Yield the methods' reasons for the passage score that no sentence shows."""
    for step in verdict.steps:
        if step.reason and not any(sentence.by == step.method for sentence in verdict.sentences):
            yield Text(f"{step.method}: {clean(step.reason)}", "dim")


def _rows(verdict: Verdict, response: str) -> Iterator[_Row]:
    position = 0
    claims = verdict.claims_by_sentence
    indexes = {sentence.start: index for index, sentence in enumerate(verdict.sentences)}
    parts = (*verdict.sentences, *verdict.unscored_blocks)
    for part in sorted(parts, key=lambda part: part.start):
        yield from _unscored(response[position : part.start])
        if isinstance(part, Unscored):
            yield from _unscored(part.text, f"  ({part.called}, not scored)")
            for name in verdict.flagged_names:
                if name.sentence < 0 and part.start <= name.start < part.end:
                    yield from _flagged_name(name)
        else:
            yield from _scored(part, claims.get(indexes[part.start], ()))
        position = part.end
    yield from _unscored(response[position:])


def _unscored(text: str, label: str = "") -> Iterator[_Row]:
    # Skip mere spaces and labels between sentences; the text of a skipped answer is all unscored.
    if label or re.search(r"\w{2}", text):
        shown = Text.assemble((clean(text.strip("\n")), "dim"), (label, "dim italic"))
        yield Text("-", "dim"), Text(""), shown


def _scored(sentence: SentenceVerdict, claims: Sequence[ClaimVerdict]) -> Iterator[_Row]:
    style = _style(sentence.score, flagged=sentence.flagged)
    # A sentence that claims nothing lacks no score.
    claims_nothing = bool(claims) and all(claim.kind not in _CLAIMING for claim in claims)
    missing = "-" if claims_nothing else "?"
    score = missing if sentence.score is None else f"{sentence.score:.2f}"
    mark = Text("~" if sentence.band == "doubtful" else "", "yellow")
    if sentence.flagged:
        mark = Text("!", "bold red")
    yield Text(score, style), mark, _with_lines(sentence, claims, style)
    if not sentence.flagged:
        is_lost = sentence.score is None and bool(claims) and not claims_nothing
        if is_lost and sentence.reason:
            yield _below(Text(clean(sentence.reason), "dim"))
        return
    for doubt in doubts(sentence, claims):
        yield _below(Text(f"in doubt: {clean(doubt)}", "red"))
    if sentence.reason:
        yield _below(Text(f"{sentence.by}: {clean(sentence.reason)}", "dim"))
    if sentence.contradicted_by:
        contradiction = sentence.contradicted_by
        quote = f"{clean(contradiction.speaker)} says: {clean(contradiction.text)}"
        yield _below(Text(quote, "italic"))


def _with_lines(sentence: SentenceVerdict, claims: Sequence[ClaimVerdict], style: str) -> Text:
    """Return a sentence's text, with a line under what is in doubt."""
    if not sentence.has_text:
        return Text(clean(sentence.text), style)
    shown = Text()
    spans = [span for claim in claims for span in claim.spans_in_doubt]
    for piece, is_in_doubt in pieces(sentence.text, sentence.start, spans):
        shown.append(clean(piece), f"{style} underline" if is_in_doubt else style)
    return shown


def _flagged_name(name: ClaimVerdict) -> Iterator[_Row]:
    style = _style(name.score, flagged=True)
    yield Text(f"{name.score:.2f}", style), Text("!", "bold red"), Text(clean(name.text), style)
    if name.reason:
        yield _below(Text(f"{name.by}: {clean(name.reason)}", "dim"))


def _below(text: Text) -> _Row:
    return Text(), Text(), Padding(text, (0, 0, 0, 4))


def _style(score: float | None, *, flagged: bool) -> str:
    if score is None:
        return "dim"
    if flagged:
        return "red"
    return "yellow" if score > 0.25 else "green"
