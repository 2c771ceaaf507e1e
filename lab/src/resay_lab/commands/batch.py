"""The command `resay batch`: check every response in a file."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from resay.adapters.terminal import counted
from resay.commands import (
    INCONCLUSIVE,
    NO_ANSWER,
    ApiBaseOption,
    ApiKeyEnvOption,
    JsonOption,
    MethodOption,
    ModelOption,
    PolicyOption,
    connection_params,
    guard_of,
    print_json,
    print_policy,
)
from resay.errors import ConfigurationError
from resay_lab.batch import Columns, Estimate, Progress, Summary, estimate, run_batch

app = typer.Typer(add_completion=False)

_INTERRUPTED = 130
_COLUMNS, _RUN, _COST = "Columns", "Run", "Cost"


@app.command()
def batch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The responses to check: JSON Lines, CSV or Parquet.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The output file, .jsonl or .parquet.", show_default=False)
    ] = None,
    policy: PolicyOption = None,
    method: MethodOption = None,
    model: ModelOption = None,
    api_base: ApiBaseOption = None,
    api_key_env: ApiKeyEnvOption = None,
    engine: Annotated[
        str,
        typer.Option(help="local, ray, or your own package.module:function.", rich_help_panel=_RUN),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The number of processes or actors.",
            show_default="one per core",
            rich_help_panel=_RUN,
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rows checked at once if the checks wait for calls or a neural model.",
            show_default="16, or 64 for neural methods",
            rich_help_panel=_RUN,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a stopped run.", rich_help_panel=_RUN)
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Check at most this many rows.", show_default="all", rich_help_panel=_RUN
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            help="Check only matching rows: \"lang == 'de' and len(response) > 200\".",
            rich_help_panel=_RUN,
        ),
    ] = None,
    max_calls: Annotated[
        int | None,
        typer.Option(
            min=1, help="Stop before sending more requests than this.", rich_help_panel=_COST
        ),
    ] = None,
    max_cost_usd: Annotated[
        float | None,
        typer.Option(
            min=0, help="Stop before spending more dollars than this.", rich_help_panel=_COST
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Estimate the cost without calling a model.", rich_help_panel=_COST
        ),
    ] = False,
    response: Annotated[
        str | None,
        typer.Option(
            help="The column with the responses.", show_default="response", rich_help_panel=_COLUMNS
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            help="The column with the questions.", show_default="question", rich_help_panel=_COLUMNS
        ),
    ] = None,
    messages: Annotated[
        str | None,
        typer.Option(
            help="The column with the conversations.",
            show_default="messages",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    samples: Annotated[
        str | None,
        typer.Option(
            help="The column with the samples.", show_default="samples", rich_help_panel=_COLUMNS
        ),
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(
            help="The column with the trusted texts.",
            show_default="references",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    id_: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="The column with the row ids.",
            show_default="id, or a hash",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(help="A prefix for the names of the new columns.", rich_help_panel=_COLUMNS),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Check every response in a file, and write each row with its verdict."""
    connection = connection_params(api_base, api_key_env)
    guard = guard_of(policy, method, model=model)
    print_policy(policy, method, model=model)
    columns = Columns(
        response=response,
        question=question,
        messages=messages,
        samples=samples,
        references=references,
        id=id_,
    )
    if dry_run:
        _print_estimate(
            estimate(guard, source, columns=columns, limit=limit, where=where), as_json=as_json
        )
        return
    if out is None:
        raise ConfigurationError("pass the output file with --out, or pass --dry-run")
    with _shown() as on_progress:
        summary = run_batch(
            guard,
            source,
            out,
            columns=columns,
            prefix=prefix,
            engine=engine,
            workers=workers,
            concurrency=concurrency,
            resume=resume,
            limit=limit,
            where=where,
            max_calls=max_calls,
            max_cost_usd=max_cost_usd,
            on_progress=on_progress,
            params=connection,
        )
    if as_json:
        data = summary.tally.to_dict()
        failures = [{"row": failure.row, "error": failure.error} for failure in summary.failures]
        run = {"out": str(out), "new": summary.new, "stopped": summary.stopped}
        reasons = [asdict(count) for count in summary.reasons]
        print_json(data | run | {"failures": failures, "reasons": reasons})
    else:
        typer.echo(_summary_line(summary))
    for line in _reason_lines(summary):
        typer.echo(line, err=True)
    if summary.stopped is None and not as_json and Console().is_terminal:
        typer.echo(_next_line(summary, prefix))
    raise typer.Exit(_exit_code(summary))


@contextmanager
def _shown() -> Generator[Callable[[Progress], object] | None, None, None]:
    """Show a progress bar on a terminal, and nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(BarColumn(), TextColumn("{task.description}"), console=console) as bar:
        task = bar.add_task("", total=None)

        def show(progress: Progress) -> None:
            tally = progress.tally
            bar.update(
                task,
                completed=tally.rows,
                total=progress.total,
                description=progress_line(progress),
            )

        yield show


def progress_line(progress: Progress) -> str:
    """Format a run's progress as one line."""
    tally = progress.tally
    of = "" if progress.total is None else f"/{progress.total:,}"
    parts = [
        f"{tally.rows:,}{of} rows" if of else counted(tally.rows, "row"),
        f"{progress.rate:,.1f}/s",
        f"{tally.decisions['flagged']:,} flagged",
    ]
    if tally.errors:
        parts.append(f"{tally.errors.total():,} failed")
    if tally.calls:
        parts.append(_dollars(tally.cost_usd))
    if progress.left_s is not None:
        parts.append(f"{_duration(progress.left_s)} left")
    return ", ".join(parts)


def _dollars(cost_usd: float) -> str:
    return "price unknown" if math.isnan(cost_usd) else f"${cost_usd:,.4f}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _summary_line(summary: Summary) -> str:
    tally = summary.tally
    counts = [f"{count:,} {decision}" for decision, count in tally.decisions.most_common()]
    counts += [f"{count:,} failed ({kind})" for kind, count in tally.errors.most_common()]
    calls = counted(tally.calls, "call")
    cost = f"; {calls}, {_dollars(tally.cost_usd)}" if tally.calls else ""
    result = f"{counted(tally.rows, 'row')}: {', '.join(counts) or 'none'}{cost}"
    if summary.stopped is None:
        return f"{summary.out}: {result}"
    if summary.stopped == "provider":
        return "stopped: no model can be called; fix that, then pass --resume"
    reason = "interrupted" if summary.stopped == "interrupted" else "stopped by the budget"
    return f"{reason} after {result}; continue with --resume"


def _next_line(summary: Summary, prefix: str) -> str:
    words = ["resay", "report", str(summary.out), "--html", str(summary.out.with_suffix(".html"))]
    if prefix:
        words += ["--prefix", prefix]
    return f"it took {_duration(summary.elapsed_s)}; to see the results: {shlex.join(words)}"


def _reason_lines(summary: Summary) -> list[str]:
    """Return why rows have no decision, one line per reason."""
    if summary.stopped == "provider":
        # The others say the same.
        return [f"row {failure.row:,}: {failure.error}" for failure in summary.failures[:1]]
    lines: list[str] = []
    failed = 0
    for count in summary.reasons:
        first = "" if count.rows == 1 else "first "
        lines.append(
            f"{count.rows:,} {count.decision}: {count.reason} ({first}row {count.first_row:,})"
        )
        if count.decision == "failed":
            failed += count.rows
    # Those of earlier sessions, or for still other reasons.
    others = summary.tally.errors.total() - failed
    if others > 0:
        lines.append(f"and {others:,} more failed; see the column `error`")
    return lines


def _exit_code(summary: Summary) -> int:
    if summary.stopped == "provider":
        return NO_ANSWER
    if summary.stopped is not None:
        return _INTERRUPTED if summary.stopped == "interrupted" else INCONCLUSIVE
    return NO_ANSWER if summary.tally.errors else 0


def _print_estimate(result: Estimate, *, as_json: bool) -> None:
    failed, error = result.failed
    data: dict[str, Any] = {
        "sampled": result.sampled,
        "failed": failed,
        "rows": result.rows,
        "calls_per_row": result.calls,
        "cost_usd_per_row": result.cost_usd,
    }
    if as_json:
        print_json(data)
        return
    rows = result.rows
    typer.echo(f"rows: {'unknown' if rows is None else format(rows, ',')}")
    typer.echo(f"calls: {_range(result.calls, rows, '{:,.1f}', '{:,.0f}')}")
    if result.calls[1]:
        cost = result.cost_usd
        cost_range = "unknown" if cost is None else _range(cost, rows, "${:,.5f}", "${:,.2f}")
        typer.echo(f"dollars: {cost_range}")
    typer.echo(f"from {counted(result.sampled, 'row')}; no model was called")
    if failed:
        typer.echo(f"{failed} of these rows failed: {error}")


def _range(pair: tuple[float, float], rows: int | None, each: str, whole: str) -> str:
    def joined(low: str, high: str) -> str:
        return low if low == high else f"{low} to {high}"

    text = f"{joined(*(each.format(value) for value in pair))} per row"
    if rows is None:
        return text
    return f"{text}, {joined(*(whole.format(value * rows) for value in pair))} in total"
