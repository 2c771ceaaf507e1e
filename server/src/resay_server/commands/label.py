"""The command `resay label`: draw journal entries and label them, in the terminal or as CSV."""

from __future__ import annotations

import csv
import getpass
import io
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.text import Text

from resay import Policy
from resay.adapters import Threshold
from resay.adapters.terminal import clean, counted
from resay.commands import JsonOption, print_json, read_text, write_text
from resay.errors import ConfigurationError
from resay_server.commands.journal import print_entry
from resay_server.commands.selection import (
    ModelOption,
    PolicyNameOption,
    PolicyOption,
    RequestOption,
    Selection,
    SinceOption,
    TenantOption,
    UntilOption,
    find_entry,
    journal_config,
    select,
    with_journal,
)
from resay_server.journal import About, Entry, Feedback, Journal, Rating, SamplingMethod
from resay_server.journal.export import FORMULAS, answer_of, csv_text, entry_cells
from resay_server.journal.feedback import check_claim
from resay_server.labelling import (
    ANSWERS,
    QUESTION,
    SamplingCandidate,
    aread_agreements,
    claims_of,
    feedback_on,
    sample_entries,
)

app = typer.Typer(add_completion=False)
_NEWEST = 200
_SHOWN = 5
_RATINGS: Mapping[str, Rating] = {"1": "right", "2": "wrong", "3": "unsure"}
# The words of a CSV file that name the truth of the answer, whatever `about` is.
_WORDS: Mapping[str, Rating] = {text: rating for rating, text in ANSWERS.items()}
_BACK, _SKIP, _QUIT = "back", "skip", "quit"
_MOVES: Mapping[str, str] = {
    "s": _SKIP,
    "skip": _SKIP,
    "b": _BACK,
    "back": _BACK,
    "q": _QUIT,
    "quit": _QUIT,
}
_LINE = re.compile(r"\s*([0-9]+|[A-Za-z?]+)?\s*(.*?)\s*", re.DOTALL)
_KEYS = "1 true, 2 made up, 3 can't tell"
_HELP = f"{_KEYS}; a note may follow (`2 it has 30`). s: skip the answer, b: back, q: quit"
_COLUMNS = (
    *("id", "request_id", "time", "model", "policy", "tenant"),
    *("question", "answer", "rating", "about", "claim", "note", "rater"),
)
_VERDICT_COLUMNS = ("decision", "score", "reason")


class _By(str, Enum):
    random = "random"
    uncertainty = "uncertainty"


@app.command()
def label(
    journal: Annotated[
        str | None,
        typer.Argument(
            help="The journal: a file, sqlite:///FILE or postgresql://…",
            show_default="the policy's, or resay-journal.db",
        ),
    ] = None,
    policy: PolicyOption = None,
    draw: Annotated[
        int | None, typer.Option(min=1, help="First draw this many entries to label.")
    ] = None,
    by: Annotated[
        _By,
        typer.Option(
            help="How to draw: at random, as a guarantee requires, or preferably near the policy's"
            " thresholds."
        ),
    ] = _By.random,
    rater: Annotated[
        str | None,
        typer.Option(help="The name of the person who labels.", show_default="your user name"),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    policy_name: PolicyNameOption = None,
    model: ModelOption = None,
    tenant: TenantOption = None,
    request: RequestOption = None,
    csv_in: Annotated[
        Path | None,
        typer.Option(help="Read ratings from this CSV file instead of asking.", show_default=False),
    ] = None,
    csv_out: Annotated[
        Path | None,
        typer.Option(
            help="Write the drawn entries to this CSV file instead of asking.", show_default=False
        ),
    ] = None,
    agreement: Annotated[
        bool,
        typer.Option("--agreement", help="Print the agreement between raters instead of asking."),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="The random seed of a draw.", show_default="another each time"),
    ] = None,
    show_verdict: Annotated[
        bool,
        typer.Option(
            "--show-verdict",
            help="Show the decision and the scores before you label. Such labels are biased.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Draw recorded answers and label their claims: true, made up, or can't tell.

    The decision and the scores are shown after you have labelled an answer.
    """
    if as_json and not agreement:
        raise ConfigurationError("--json needs --agreement")
    if agreement and (draw or csv_in or csv_out or request):
        raise ConfigurationError("--agreement draws and labels nothing; pass it alone")
    if draw and request:
        raise ConfigurationError("--request labels one request, and --draw draws; pass only one")
    config = journal_config(journal, policy)
    names = {"policy": policy_name, "model": model, "tenant": tenant, "request_id": request}
    selection = select(since, until, None, **names)
    threshold = Policy.of(policy).threshold
    labelling = _Labelling(
        rater=_user() if rater is None else rater, selection=selection, blind=not show_verdict
    )

    async def work(opened: Journal) -> None:
        if agreement:
            return await _agreement(opened, as_json=as_json)
        if csv_in is not None:
            await labelling.read(opened, csv_in)
        if draw is not None:
            await labelling.draw(opened, draw, by.value, threshold, seed, asks=csv_out is None)
        if csv_out is not None:
            await labelling.write(opened, csv_out)
        elif csv_in is None:
            await labelling.ask(opened)
        return None

    with_journal(config, work)


def _user() -> str:
    try:
        return getpass.getuser()
    # Containers may run under a user id without a name.
    except (OSError, KeyError, ImportError):
        return ""


async def _agreement(journal: Journal, *, as_json: bool) -> None:
    agreements = await aread_agreements(journal)
    if as_json:
        return print_json({"agreement": [agreement.to_dict() for agreement in agreements]})
    for agreement in agreements:
        typer.echo(clean(str(agreement)))
    if not agreements:
        typer.echo("no two raters have rated the same entry")
    return None


@dataclass(frozen=True, slots=True)
class _Row:
    """One rating in a CSV file."""

    where: str
    some_id: str
    feedback: Feedback


@dataclass(frozen=True, slots=True)
class _Labelling:
    """One rater's labelling session.

    Attributes:
        rater: The rater's name.
        selection: The entries to draw from.
        blind: Whether to hide the verdicts of answers that the rater has not labelled.
    """

    rater: str
    selection: Selection
    blind: bool

    async def draw(
        self,
        journal: Journal,
        count: int,
        by: SamplingMethod,
        threshold: Threshold,
        seed: int | None,
        *,
        asks: bool,
    ) -> None:
        """Draw entries, and record them in the journal."""
        candidates: list[SamplingCandidate] = []
        bare = 0
        async for entry in self.selection.each(journal):
            candidate = SamplingCandidate.of(entry, threshold)
            if candidate is not None:
                candidates.append(candidate)
                bare += answer_of(entry) is None
        if asks and bare:
            raise ConfigurationError(
                f"the journal has no text for {bare} of the {len(candidates)} entries to draw from,"
                " so they cannot be labelled here; set `journal: {content: all}` and draw from"
                " entries recorded after that (--since), or pass --csv-out and label where you have"
                " the text"
            )
        entries = sample_entries(
            candidates, count, by, sampled=await journal.sampled(), now=time.time(), seed=seed
        )
        new = await journal.add_sampled(entries)
        weights = [entry.weight for entry in entries]
        lowest, highest = min(weights), max(weights)
        represented = f"{lowest:.4g}"
        if highest - lowest >= 1e-9:
            represented += f" to {highest:.4g}"
        how = "at random" if by == "random" else "by uncertainty"
        line = (
            f"{new} of {len(candidates)} entries drawn {how}; each represents about {represented}"
        )
        if by == "uncertainty":
            line += "; a guarantee needs entries drawn at random as well"
        typer.echo(line)

    async def queue(self, journal: Journal, *, rated: bool = False) -> list[str]:
        """Return the ids of the entries to label.

        Args:
            journal: The journal.
            rated: Whether to include entries that this rater has already rated.
        """
        request = self.selection.filters["request_id"]
        if request is not None:
            return [(await find_entry(journal, request)).id]
        sampled = await journal.sampled()
        if sampled:
            if not rated:
                sampled = await journal.sampled(unrated_by=self.rater)
            return [entry.entry_id for entry in sampled]
        rated_ids: set[str] = set()
        if not rated:
            for feedback in await journal.feedback():
                if feedback.rater == self.rater and feedback.claim is None:
                    rated_ids.add(feedback.entry_id)
        newest = await self.selection.entries(journal, _NEWEST)
        names = [entry.id for entry in newest if entry.id not in rated_ids]
        if names:
            typer.echo(
                "no random sample was drawn, so these are the newest entries. Labels on these do"
                " not generalize; draw a sample with `--draw 50`"
            )
        return names

    async def ask(self, journal: Journal) -> None:
        """Show the entries one by one, and record the ratings that the user types."""
        names = await self.queue(journal)
        if not names:
            typer.echo(f"nothing is left for {self.rater or 'you'} to label; draw more with --draw")
            return
        entries: list[Entry] = []
        bare = 0
        for name in names:
            entry = await journal.get(name)
            if entry is None:
                continue
            if answer_of(entry):
                entries.append(entry)
            else:
                bare += 1
        problem = f"the journal has no text for {bare} of the {len(names)} entries to label"
        if not entries:
            raise ConfigurationError(
                f"{problem}, so there is nothing to show; set `journal: {{content: all}}` for"
                " future entries, or label these where you have the text (--csv-out,"
                " --csv-in)"
            )
        if bare:
            typer.echo(f"{problem}; they are left out here (--csv-out has them)")
        console = Console()
        typer.echo(_HELP)
        rated: set[str] = set()
        index = 0
        while index < len(entries):
            console.rule(f"{index + 1} of {len(entries)}")
            entry = entries[index]
            move = await self._ask_about(journal, entry, console)
            if move == _QUIT:
                break
            if move is None:
                rated.add(entry.id)
            index = max(0, index - 1) if move == _BACK else index + 1
        left = len(entries) - len(rated)
        by = f"by {self.rater}" if self.rater else "(no rater name)"
        typer.echo(f"{len(rated)} labelled {by}, {left} left")

    async def _ask_about(self, journal: Journal, entry: Entry, console: Console) -> str | None:
        """Ask for ratings of an entry's claims; return where to move if they are not given."""
        if self.blind:
            if entry.question:
                console.print(Text(f"question: {clean(entry.question)}", "bold"))
            console.print(Text(clean(answer_of(entry) or "")))
        else:
            # Raters must not see each other's feedback, or their agreement would mean nothing.
            print_entry(entry, await self._own_feedback(journal, entry.id), console)
        claims = claims_of(entry)
        texts = [clean(claim["text"]) for claim in claims] or ["the whole answer"]
        typer.echo(QUESTION)
        ratings: list[Rating] = []
        notes: dict[int, str] = {}
        while len(ratings) < len(texts):
            index = len(ratings)
            console.print(Text(f"claim {index + 1} of {len(texts)}: {texts[index]}"))
            key, note = _read_line()
            move = _MOVES.get(key)
            if move == _BACK and ratings:
                ratings.pop()
                notes.pop(index - 1, None)
            elif move is not None:
                return move
            elif key in _RATINGS:
                ratings.append(_RATINGS[key])
                if note:
                    notes[index] = note
            else:
                typer.echo(_HELP)
        for feedback in feedback_on(
            entry, ratings, rater=self.rater, source="terminal", notes=notes
        ):
            await journal.rate(feedback)
        for line in _comparison(entry, claims, ratings):
            console.print(Text(line))
        return None

    async def _own_feedback(self, journal: Journal, entry_id: str) -> list[Feedback]:
        return [
            feedback
            for feedback in await journal.feedback(entry_id)
            if feedback.rater == self.rater
        ]

    async def write(self, journal: Journal, path: Path) -> None:
        """Write the entries to label as CSV, with this rater's existing feedback."""
        names = await self.queue(journal, rated=True)
        rows: list[Mapping[str, Any]] = []
        for name in names:
            entry = await journal.get(name)
            if entry is None:
                continue
            # Whoever labels here rates the answer, as the verdict is not shown.
            cells = {**entry_cells(entry), "rating": None, "about": "answer", "rater": self.rater}
            own = await self._own_feedback(journal, name)
            for feedback in own:
                rating = {
                    "rating": feedback.rating,
                    "about": feedback.about,
                    "claim": feedback.claim,
                    "note": feedback.note,
                }
                rows.append({**cells, **rating})
            if not own:
                rows.append(cells)
        columns = _COLUMNS if self.blind else (*_COLUMNS, *_VERDICT_COLUMNS)
        lines: list[Mapping[str, Any]] = []
        for row in rows:
            line = {name: row.get(name) for name in columns}
            lines.append(line)
        write_text(path, csv_text(lines, columns))
        typer.echo(
            f"{path}: {counted(len(rows), 'row')}; write true, made up or can't tell in `rating`,"
            " and read it with --csv-in"
        )

    async def read(self, journal: Journal, path: Path) -> None:
        """Record the ratings in a CSV file, or none if any of them is invalid."""
        rows = list(self._rows(path))
        entries = [await journal.find(row.some_id) for row in rows]
        missing = [row for row, entry in zip(rows, entries, strict=True) if entry is None]
        if missing:
            shown = ", ".join(f"{row.some_id!r} ({row.where})" for row in missing[:_SHOWN])
            if len(missing) > _SHOWN:
                shown += f" and {len(missing) - _SHOWN} more"
            raise ConfigurationError(f"the journal has no entry or request {shown}")
        for row, entry in zip(rows, entries, strict=True):
            if entry is not None:
                try:
                    check_claim(row.feedback, entry)
                except ConfigurationError as error:
                    raise ConfigurationError(f"{row.where}: {error}") from None
        new = 0
        for row, entry in zip(rows, entries, strict=True):
            if entry is None:
                continue
            feedback = replace(row.feedback, entry_id=entry.id)
            recorded = {_content(earlier) for earlier in await journal.feedback(entry.id)}
            if _content(feedback) not in recorded:
                await journal.rate(feedback)
                new += 1
        typer.echo(f"{path}: {len(rows)} ratings, {new} of them new or changed")

    def _rows(self, path: Path) -> Sequence[_Row]:
        lines = io.StringIO(read_text(path), newline="")
        # Spreadsheets separate by semicolons in locales with a decimal comma.
        separator = max(",;\t", key=lines.readline().count)
        lines.seek(0)
        reader = csv.DictReader(lines, delimiter=separator)
        rows: list[_Row] = []
        # Answers may exceed the csv module's default field limit.
        limit = csv.field_size_limit(2**31 - 1)
        try:
            columns = reader.fieldnames or ()
            for needed in ("id", "rating"):
                if needed not in columns:
                    raise ConfigurationError(
                        f"{path}: has no column {needed!r}; make the file with --csv-out"
                    )
            for cells in reader:
                where = f"{path}:{reader.line_num}"
                values = {name: _plain(value) for name, value in cells.items() if name is not None}
                if values["rating"]:
                    feedback = self._feedback(where, values)
                    rows.append(_Row(where=where, some_id=values["id"], feedback=feedback))
        except csv.Error as error:
            raise ConfigurationError(f"{path}:{reader.line_num}: is not CSV: {error}") from None
        finally:
            csv.field_size_limit(limit)
        return rows

    def _feedback(self, where: str, values: Mapping[str, str]) -> Feedback:
        claim = values.get("claim", "")
        if claim and not claim.isdecimal():
            raise ConfigurationError(f"{where}: `claim` must be an index from 0, not {claim!r}")
        text = values["rating"].lower()
        is_truth = text in _WORDS
        try:
            return Feedback(
                entry_id=values["id"],
                rating=_WORDS[text] if is_truth else cast("Rating", text),
                about="answer" if is_truth else cast("About", values.get("about") or "verdict"),
                claim=int(claim) if claim else None,
                note=values.get("note") or None,
                rater=values.get("rater") or self.rater,
                source="csv",
            )
        except ValueError as error:
            raise ConfigurationError(f"{where}: {error}") from None


def _read_line() -> tuple[str, str]:
    """Read a line as a key and a note; the end of the input counts as `q`."""
    typer.echo(f"{_KEYS}, s(kip), b(ack), q(uit)? ", nl=False)
    line = sys.stdin.readline()
    if not line:
        typer.echo()
        return "q", ""
    match = _LINE.fullmatch(line)
    if match is None:
        return "?", ""
    key, note = match.groups()
    return (key or "?").lower(), note


def _comparison(
    entry: Entry, claims: Sequence[Mapping[str, Any]], ratings: Sequence[Rating]
) -> list[str]:
    """Return the lines that compare a verdict with a rater's labels."""
    score = "" if entry.score is None else f", score {entry.score:.2f}"
    lines = [f"Resay: {entry.decision}{score}"]
    for number, (claim, rating) in enumerate(zip(claims, ratings, strict=False), 1):
        claim_score = claim.get("score")
        scored = "not scored" if claim_score is None else f"{claim_score:.2f}"
        mark = ", flagged" if claim.get("flagged") else ""
        lines.append(f"  claim {number}: you: {ANSWERS[rating]}; Resay: {scored}{mark}")
    return lines


def _plain(value: str | None) -> str:
    text = (value or "").strip()
    # Undo the quote with which `--csv-out` disarms spreadsheet formulas.
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULAS) else text


def _content(feedback: Feedback) -> tuple[object, ...]:
    return (
        feedback.entry_id,
        feedback.rating,
        feedback.about,
        feedback.claim,
        feedback.note,
        feedback.rater,
    )
