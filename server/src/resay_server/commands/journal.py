"""The commands of `resay journal`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, get_args

import anyio
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from resay import Verdict
from resay.adapters.terminal import clean, print_verdict
from resay.commands import JsonOption, print_json
from resay.errors import ConfigurationError
from resay.plugins import RecordedEvidence
from resay_server.commands.rechecks import compare, recheck
from resay_server.commands.selection import (
    DecisionOption,
    JournalOption,
    ModelOption,
    PolicyNameOption,
    PolicyOption,
    RequestOption,
    SinceOption,
    TenantOption,
    UntilOption,
    WordsOption,
    config_of,
    find_entry,
    journal_config,
    select,
    with_journal,
)
from resay_server.journal import By, Entry, Feedback, Journal, Rating, Slice
from resay_server.journal.export import (
    Format,
    answer_of,
    entries_csv,
    entry_cells,
    entry_dict,
    json_lines,
    moment_of,
    slice_dict,
    timestamp,
    whole_entry_dict,
    write_parquet,
)
from resay_server.journal.feedback import feedback_by_entry
from resay_server.labelling import Agreement, aread_agreements, rating_text

app = typer.Typer(
    help="List, search, export or delete recorded verdicts.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(recheck)
app.command()(compare)


class _By(str, Enum):
    model = "model"
    policy = "policy"
    tenant = "tenant"
    api = "api"


@app.command("list")
def list_entries(
    journal: JournalOption = None,
    policy: PolicyOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    decision: DecisionOption = None,
    policy_name: PolicyNameOption = None,
    model: ModelOption = None,
    tenant: TenantOption = None,
    request: RequestOption = None,
    words: WordsOption = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="The maximum number of entries.")
    ] = 20,
    as_json: JsonOption = False,
) -> None:
    """List entries, newest first."""
    selection = select(
        since,
        until,
        decision,
        policy=policy_name,
        model=model,
        tenant=tenant,
        request_id=request,
        words=words,
    )

    async def work(opened: Journal) -> list[Entry]:
        return await selection.entries(opened, limit)

    entries = with_journal(journal_config(journal, policy), work)
    if as_json:
        return print_json({"entries": [entry_dict(entry) for entry in entries]})
    if not entries:
        return typer.echo("no matching entries")
    columns = {
        "time (UTC)": [timestamp(entry.time)[:19].replace("T", " ") for entry in entries],
        "decision": [entry.decision for entry in entries],
        "score": ["" if entry.score is None else f"{entry.score:.2f}" for entry in entries],
        "action": [entry.action for entry in entries],
        "model": [entry.model for entry in entries],
        "policy": [entry.policy for entry in entries],
        "tenant": [entry.tenant or "" for entry in entries],
        "request": [entry.request_id or entry.id for entry in entries],
    }
    cells: dict[str, list[Text]] = {}
    widths: dict[str, int] = {}
    for name, column in columns.items():
        cells[name] = [Text(clean(cell)) for cell in column]
        widths[name] = max(len(name), *(cell.cell_len for cell in cells[name])) + 1
    console = Console()
    shown = [name for name in cells if name != "tenant" or any(columns[name])]
    dropped: list[str] = []
    for name in ("action", "tenant", "policy", "model"):
        if name in shown and sum(widths[other] for other in shown) - 1 > console.width:
            shown.remove(name)
            dropped.append(name)
    table = Table(box=None, pad_edge=False)
    for name in shown:
        table.add_column(name, overflow="fold", no_wrap=name != "request")
    for row in zip(*(cells[name] for name in shown), strict=True):
        table.add_row(*row)
    console.print(table)
    if dropped:
        typer.echo(f"no room for: {', '.join(dropped)}; --json lists everything")
    return None


@app.command()
def show(
    entry: Annotated[str, typer.Argument(help="The id of an entry or a request.")],
    journal: JournalOption = None,
    policy: PolicyOption = None,
    evidence: Annotated[
        bool,
        typer.Option("--evidence", help="Also show the samples, references and judges' answers."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what is recorded for one entry."""

    async def work(opened: Journal) -> RecordedEntry:
        return await read_entry(opened, entry)

    recorded = with_journal(journal_config(journal, policy), work)
    if as_json:
        fields = whole_entry_dict(recorded.entry, recorded.feedback, recorded.evidence)
        return print_json(fields)
    console = Console()
    print_entry(recorded.entry, recorded.feedback, console)
    if recorded.evidence is not None:
        if evidence:
            print_evidence(recorded.evidence, console)
        else:
            console.print(Text(_evidence_line(recorded.evidence), "dim"))
    elif evidence:
        console.print("no samples and no judges' answers are stored with it")
    return None


def _evidence_line(evidence: RecordedEvidence) -> str:
    """Return what is stored of the evidence, in one line."""
    counts = (
        (len(evidence.samples) + len(evidence.second_samples), "sample", "samples"),
        (len(evidence.references), "reference", "references"),
        (len(evidence.judge_calls), "question to judges", "questions to judges"),
    )
    parts = [
        f"{count} {singular if count == 1 else plural}"
        for count, singular, plural in counts
        if count
    ]
    return f"{', '.join(parts)} stored; --evidence shows them"


@dataclass(frozen=True, slots=True)
class RecordedEntry:
    """An entry with all that is recorded about it."""

    entry: Entry
    feedback: Sequence[Feedback]
    evidence: RecordedEvidence | None


async def read_entry(journal: Journal, some_id: str) -> RecordedEntry:
    """Return an entry with all that is recorded about it.

    Args:
        journal: The journal.
        some_id: The id of the entry or of its request.

    Raises:
        ConfigurationError: There is no such entry.
    """
    entry = await find_entry(journal, some_id)
    evidence = await journal.evidence(entry.id)
    return RecordedEntry(entry, await journal.feedback(entry.id), evidence.get(entry.id))


def print_evidence(evidence: RecordedEvidence, console: Console) -> None:
    """Print the texts that an answer was checked with.

    Args:
        evidence: The texts.
        console: The console to print to.
    """
    texts = {
        "sample": evidence.samples,
        "second opinion": evidence.second_samples,
        "reference": [reference.text for reference in evidence.references],
    }
    for name, items in texts.items():
        for number, text in enumerate(items, 1):
            console.print(Text(f"{name} {number}: ", "dim").append(clean(text), "not dim"))
    for call in evidence.judge_calls:
        model = f" ({call.model})" if call.model else ""
        console.print(Text(clean(f"{call.method}{model} asked:"), "dim"))
        console.print(Text(clean(call.prompt)))
        for answer in call.answers:
            console.print(Text("answer: ", "dim").append(clean(answer), "not dim"))
        if call.error:
            console.print(Text(f"no answer: {call.error}"))
    omitted = evidence.omitted_texts + evidence.omitted_calls
    if omitted:
        console.print(Text(f"{omitted} more were too long to store"))


def print_entry(entry: Entry, feedback: Sequence[Feedback], console: Console) -> None:
    """Print an entry, with its text if that was stored.

    Args:
        entry: The entry.
        feedback: The feedback on it.
        console: The console to print to.
    """
    console.print(Text(f"{timestamp(entry.time)}  {entry.id}", "dim"))
    facts = {
        "request": entry.request_id,
        "model": entry.model,
        "policy": entry.policy,
        "tenant": entry.tenant,
        "action": entry.action,
        "question": entry.question,
    }
    for name, value in facts.items():
        if value:
            console.print(Text(f"{name}: {clean(value)}"))
    verdict = Verdict.from_dict(entry.verdict)
    response = _in_place(verdict)
    if response is None:
        answer = answer_of(entry)
        score = "" if entry.score is None else f", score {entry.score:.2f}"
        console.print(Text(f"{entry.decision}{score}: {clean(entry.reason)}"))
        console.print(Text(clean(answer) if answer else "its text was not stored"))
    else:
        print_verdict(verdict, response, console)
    for rating in feedback:
        console.print(Text(clean(_feedback_line(rating))))


def _in_place(verdict: Verdict) -> str | None:
    """Rebuild the answer with each part at its offsets; None if that is not possible."""
    parts = (*verdict.sentences, *verdict.unscored)
    if any(len(part.text) != part.end - part.start for part in parts):
        return None
    whole = [" "] * max((part.end for part in parts), default=0)
    for part in parts:
        whole[part.start : part.end] = part.text
    return "".join(whole) or None


def _feedback_line(feedback: Feedback) -> str:
    rater = feedback.rater or "(no rater name)"
    claim = "" if feedback.claim is None else f", claim {feedback.claim + 1}"
    note = f": {feedback.note}" if feedback.note else ""
    rating = f"{rating_text(feedback)}{note}"
    return f"{timestamp(feedback.time)}  {rater} ({feedback.source}){claim}: {rating}"


@app.command()
def export(
    out: Annotated[
        Path,
        typer.Argument(help="FILE.jsonl, FILE.csv or FILE.parquet, or - for JSON Lines on stdout."),
    ],
    journal: JournalOption = None,
    policy: PolicyOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    decision: DecisionOption = None,
    policy_name: PolicyNameOption = None,
    model: ModelOption = None,
    tenant: TenantOption = None,
    request: RequestOption = None,
    words: WordsOption = None,
) -> None:
    """Export entries to JSON Lines (complete), or to a CSV or Parquet table.

    Only JSON Lines have the samples, the references and the judges' prompts and answers.
    """
    selection = select(
        since,
        until,
        decision,
        policy=policy_name,
        model=model,
        tenant=tenant,
        request_id=request,
        words=words,
    )
    kinds: dict[str, Format] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}
    kind = "jsonl" if str(out) == "-" else kinds.get(out.suffix)
    if kind is None:
        raise ConfigurationError(f"the file must end in .jsonl, .csv or .parquet, not {out.name!r}")

    async def work(opened: Journal) -> int:
        feedback = feedback_by_entry(await opened.feedback())
        selected = await selection.entries(opened)
        entries = [(entry, feedback.get(entry.id, [])) for entry in selected]
        try:
            await write_entries(opened, entries, out, kind)
        except OSError as error:
            raise ConfigurationError(f"cannot write {str(out)!r}: {error.strerror}") from error
        return len(entries)

    count = with_journal(journal_config(journal, policy), work)
    if str(out) != "-":
        typer.echo(f"{out}: {_count(count)}")


async def write_entries(
    journal: Journal, entries: Sequence[tuple[Entry, Sequence[Feedback]]], out: Path, kind: Format
) -> None:
    """Write entries to a file, or to stdout.

    Args:
        journal: The journal that has them.
        entries: The entries, each with the feedback on it.
        out: The file; `-` for stdout.
        kind: The format.

    Raises:
        ConfigurationError: Parquet needs pyarrow, which is missing.
        OSError: The file cannot be written.
    """
    if kind == "parquet":
        write_parquet([entry_cells(*pair) for pair in entries], str(out))
    elif str(out) == "-":
        async for lines in json_lines(journal, entries):
            typer.echo(lines, nl=False)
    else:
        async with await anyio.open_file(out, "w", encoding="utf-8", newline="") as file:
            if kind == "csv":
                await file.write(entries_csv(entries))
                return
            async for lines in json_lines(journal, entries):
                await file.write(lines)


@app.command()
def stats(
    journal: JournalOption = None,
    policy: PolicyOption = None,
    since: SinceOption = "7d",
    until: UntilOption = None,
    by: Annotated[_By, typer.Option(help="The field to group by.")] = _By.model,
    as_json: JsonOption = False,
) -> None:
    """Summarize decisions, latency, cost and feedback over a span."""
    now = time.time()
    start = moment_of("--since", since, now) or 0.0
    end = moment_of("--until", until, now) or now + 1
    part: By = by.value

    async def work(opened: Journal) -> tuple[list[Slice], list[Feedback], list[Agreement]]:
        slices = await opened.summary(start, end, end - start, part)
        return slices, await opened.feedback(), await aread_agreements(opened)

    slices, feedback, agreement = with_journal(journal_config(journal, policy), work)
    given = Counter(rating.rating for rating in feedback)
    ratings = {name: given[name] for name in get_args(Rating)}
    if as_json:
        parts = [{part: entry_slice.name, **slice_dict(entry_slice)} for entry_slice in slices]
        pairs = [pair.to_dict() for pair in agreement]
        return print_json({"by": part, "parts": parts, "feedback": ratings, "agreement": pairs})
    if not slices:
        return typer.echo("no entries in this span")
    table = Table(box=None, pad_edge=False)
    table.add_column(part)
    heads = ("entries", "flagged", "inconclusive", "blocked", "p50 s", "p95 s", "cost $")
    for name in heads:
        table.add_column(name, justify="right")
    for entry_slice in slices:
        cost = f"{entry_slice.cost_usd:.4f}"
        if entry_slice.unpriced:
            cost += "+"
        table.add_row(
            Text(clean(entry_slice.name or "none")),
            str(entry_slice.entries),
            str(entry_slice.decisions["flagged"]),
            str(entry_slice.decisions["inconclusive"]),
            str(entry_slice.blocked),
            f"{entry_slice.latency_p50_s:.2f}",
            f"{entry_slice.latency_p95_s:.2f}",
            cost,
        )
    Console().print(table)
    totals = ", ".join(f"{count} {name}" for name, count in ratings.items())
    typer.echo(f"feedback (all time): {totals}")
    for pair in agreement:
        typer.echo(clean(str(pair)))
    return None


@app.command()
def prune(
    journal: JournalOption = None,
    policy: PolicyOption = None,
    retention_days: Annotated[
        float | None,
        typer.Option(help="Delete entries older than this many days. Overrides the policy."),
    ] = None,
    max_entries: Annotated[
        int | None,
        typer.Option(help="Keep only this many of the newest entries. Overrides the policy."),
    ] = None,
) -> None:
    """Delete entries beyond the retention limits, with their feedback."""
    config = journal_config(journal, policy)
    given = {"retention_days": retention_days, "max_entries": max_entries}
    update = {name: value for name, value in given.items() if value is not None}
    config = config_of(**{**config.model_dump(), **update})
    if config.retention_days is None and config.max_entries is None:
        raise ConfigurationError(
            "no retention is set; pass --retention-days or --max-entries, or a policy whose"
            " `journal:` sets one"
        )

    async def work(opened: Journal) -> int:
        return await opened.prune()

    typer.echo(f"{_count(with_journal(config, work))} deleted")


@app.command()
def forget(
    journal: JournalOption = None,
    policy: PolicyOption = None,
    tenant: Annotated[str | None, typer.Option(help="Delete all entries of this tenant.")] = None,
    request: Annotated[str | None, typer.Option(help="Delete all entries of this request.")] = None,
) -> None:
    """Delete all entries of a tenant or a request, with their feedback."""
    if (tenant is None) == (request is None):
        raise ConfigurationError("pass --tenant or --request to choose the entries to delete")

    async def work(opened: Journal) -> int:
        return await opened.forget(tenant=tenant, request_id=request)

    deleted = with_journal(journal_config(journal, policy), work)
    typer.echo(f"{_count(deleted)} deleted")


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"
