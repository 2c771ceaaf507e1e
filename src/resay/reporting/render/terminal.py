"""Print verdicts on the terminal: sentences coloured by score, contradictions, and the repair.

Without a terminal, or with `NO_COLOR` set, the same text is printed without colours.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from resay.core.display.outline import (
    Styled,
    check_cost,
    headline,
    passage_reasons,
    regeneration_lines,
    rows_of,
    score_style,
)
from resay.core.display.texts import clean, cost
from resay.core.regeneration import Regeneration
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.engine.answer_chunk import AnswerChunk


def print_regeneration(regeneration: Regeneration, console: Console) -> None:
    """Print how an answer was repaired, or the failed attempts to.

    Args:
        regeneration: The record of the repair.
        console: The console to print to.
    """
    first, *lines = regeneration_lines(regeneration)
    console.print(_text(first))
    for line in lines:
        console.print(Padding(_text(line), (0, 0, 0, 2)))


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
        console.print(_text(headline(answer.verdict)))
    else:
        print_verdict(answer.verdict, answer.response, console)
    console.print(Text(f"Total: {cost(answer.usage)}", "dim"))


def print_part(part: AnswerChunk, console: Console) -> None:
    """Print a part of a streamed answer, its sentences coloured by their scores.

    Args:
        part: The part.
        console: The console to print to.
    """
    style = "bold" if part.mark else ""
    if part.sentences and not part.is_replacement:
        flagged = any(sentence.flagged for sentence in part.sentences)
        score = max(sentence.score or 0.0 for sentence in part.sentences)
        style = score_style(score, flagged=flagged)
    console.print(Text(clean(part.text), style), end="", soft_wrap=True)


def print_verdict(verdict: Verdict, response: str, console: Console) -> None:
    """Print the response sentence by sentence with its verdict.

    Args:
        verdict: The verdict.
        response: The checked text.
        console: The console to print to.
    """
    console.print(_text(headline(verdict)))
    for reason in passage_reasons(verdict):
        console.print(_text([reason]))
    console.print()
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", width=5)
    table.add_column(width=1)
    table.add_column()
    for row in rows_of(verdict, response):
        text = _text(row.text)
        shown = Padding(text, (0, 0, 0, 4)) if row.is_note else text
        table.add_row(Text(*row.score), Text(*row.sign), shown)
    console.print(table)
    console.print()
    if verdict.regeneration is not None:
        print_regeneration(verdict.regeneration, console)
        console.print()
    console.print(_text([check_cost(verdict)]))


def _text(line: Sequence[Styled]) -> Text:
    return Text.assemble(*line)
