"""`resay journal recheck` and `compare`: recorded answers, checked again by other policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from resay import Policy, Verdict
from resay.adapters import GuardRuntime
from resay.adapters.settings import JournalConfig
from resay.adapters.terminal import clean
from resay.commands import (
    MODEL_PANEL,
    OUTPUT_PANEL,
    ApiBaseOption,
    JsonOption,
    print_json,
    write_text,
)
from resay.errors import ConfigurationError
from resay_server.commands.selection import (
    DecisionOption,
    JournalOption,
    ModelOption,
    PolicyNameOption,
    RequestOption,
    SinceOption,
    TenantOption,
    UntilOption,
    WordsOption,
    find_entry,
    journal_config,
    select,
    with_journal,
)
from resay_server.journal import Journal
from resay_server.rechecks import (
    ComparedAnswer,
    Comparison,
    Rechecker,
    calls_reason,
    compare_policies,
    comparison_lines,
    guard_for_rechecks,
    html_of,
)
from resay_server.rechecks.report import dollars, share

_SHOWN = 20

CallsOption = Annotated[
    bool,
    typer.Option(
        "--calls",
        help="Let policies ask their judges. Without it no model is called, and a policy that asks"
        " one is refused. Samples are never drawn.",
        rich_help_panel=MODEL_PANEL,
    ),
]
JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="MODEL",
        help="The model to ask where a policy means the one that wrote the answer.",
        show_default=False,
        rich_help_panel=MODEL_PANEL,
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        help="Also write a page with both verdicts on each answer that is decided differently.",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
    ),
]
LimitOption = Annotated[
    int, typer.Option("--limit", "-n", min=1, help="The maximum number of entries, the newest.")
]


def recheck(
    policy: Annotated[
        Path,
        typer.Option(
            "--policy",
            "-p",
            help="The policy to check with.",
            envvar="RESAY_POLICY",
            show_default=False,
        ),
    ],
    entry: Annotated[
        str | None,
        typer.Argument(help="The id of an entry or a request; all that match without it."),
    ] = None,
    journal: JournalOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    decision: DecisionOption = None,
    policy_name: PolicyNameOption = None,
    model: ModelOption = None,
    tenant: TenantOption = None,
    request: RequestOption = None,
    words: WordsOption = None,
    limit: LimitOption = 1000,
    calls: CallsOption = False,
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check recorded answers again by a policy, beside what was decided then.

    It uses the recorded samples and references, and changes nothing in the journal.
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
    rechecks = {_names_of([policy])[0]: _rechecker_of(policy, calls, judge, api_base)}

    async def work(opened: Journal) -> Comparison:
        if entry is None:
            entries = await selection.entries(opened, limit)
        else:
            entries = [await find_entry(opened, entry)]
        return await compare_policies(opened, entries, rechecks)

    comparison = with_journal(_journal_of(journal, [policy]), work)
    if entry is None:
        return _report(comparison, html, as_json=as_json)
    if not comparison.answers:
        (reason,) = comparison.left_out
        raise ConfigurationError(f"cannot check {entry!r} again: {reason}")
    if html is not None:
        write_text(html, html_of(comparison, comparison.answers))
    if as_json:
        return print_json(_both_verdicts(comparison, comparison.answers[0]))
    _print_answer(comparison, comparison.answers[0], Console())
    return None


def compare(
    policies: Annotated[
        list[Path],
        typer.Option("--policy", "-p", help="A policy; name two.", show_default=False),
    ],
    journal: JournalOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    decision: DecisionOption = None,
    policy_name: PolicyNameOption = None,
    model: ModelOption = None,
    tenant: TenantOption = None,
    request: RequestOption = None,
    words: WordsOption = None,
    limit: LimitOption = 1000,
    calls: CallsOption = False,
    judge: JudgeOption = None,
    api_base: ApiBaseOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two policies on recorded answers: what each flags, and which the labels confirm."""
    if len(policies) != 2:
        raise ConfigurationError(f"pass --policy twice, not {len(policies)} times")
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
    rechecks: dict[str, Rechecker] = {}
    for name, path in zip(_names_of(policies), policies, strict=True):
        rechecks[name] = _rechecker_of(path, calls, judge, api_base)

    async def work(opened: Journal) -> Comparison:
        return await compare_policies(opened, await selection.entries(opened, limit), rechecks)

    _report(with_journal(_journal_of(journal, policies), work), html, as_json=as_json)


def _names_of(paths: Sequence[Path]) -> list[str]:
    """Return the names of policies: those of their files, or their paths if these are the same."""
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"both policies are {names[0]!r}; name two different ones")
    return names


def _rechecker_of(path: Path, calls: bool, judge: str | None, api_base: str | None) -> Rechecker:
    guard = guard_for_rechecks(Policy.of(path))
    reason = calls_reason(guard)
    if reason is not None and not calls:
        raise ConfigurationError(f"{str(path)!r}: {reason}; pass --calls to let it")
    asking = GuardRuntime(guard).asking_response_model
    if asking is not None and judge is None:
        raise ConfigurationError(
            f"{str(path)!r}: method {asking!r} asks the model that wrote the answer; pass --judge,"
            " or name the judge in the policy (`judge:`)"
        )
    if api_base is not None:
        guard = guard.with_options(api_base=api_base)
    return Rechecker(guard, calls=calls, model=judge)


def _journal_of(journal: str | None, policies: Sequence[Path]) -> JournalConfig:
    """Return the journal at an address, or that of the first policy that has one."""
    if journal is None:
        for path in policies:
            if Policy.of(path).journal is not None:
                return journal_config(None, path)
    return journal_config(journal, None)


def _both_verdicts(comparison: Comparison, answer: ComparedAnswer) -> dict[str, object]:
    first, second = comparison.names
    return {
        "id": answer.entry.id,
        "verdicts": {first: answer.first.to_dict(), second: answer.second.to_dict()},
    }


def _report(comparison: Comparison, html: Path | None, *, as_json: bool) -> None:
    if html is not None:
        write_text(html, html_of(comparison))
    if as_json:
        print_json(comparison.to_dict())
        return
    if not comparison.answers:
        for line in comparison_lines(comparison) if comparison.left_out else ():
            typer.echo(clean(line))
        typer.echo("no answers to compare")
        return
    console = Console()
    _print_figures(comparison, console)
    for line in comparison_lines(comparison):
        console.print(Text(clean(line)))
    _print_disagreements(comparison, console)


def _print_figures(comparison: Comparison, console: Console) -> None:
    first, second = map(clean, comparison.names)
    decisions = Table(box=None, pad_edge=False)
    for name in ("", f"flagged by {second}", f"not flagged by {second}"):
        decisions.add_column(name, justify="right" if name else "left")
    for is_flagged, name in ((True, f"flagged by {first}"), (False, f"not flagged by {first}")):
        counts = [comparison.flagged(first=is_flagged, second=other) for other in (True, False)]
        decisions.add_row(Text(name), *map(str, counts))
    console.print(decisions)
    console.print()
    sides = Table(box=None, pad_edge=False)
    sides.add_column("")
    for name in ("flagged", "inconclusive", "skipped", "precision", "recall", "calls", "cost"):
        sides.add_column(name, justify="right")
    for side in comparison.sides:
        sides.add_row(
            Text(clean(side.name)),
            str(side.decisions["flagged"]),
            str(side.decisions["inconclusive"]),
            str(side.decisions["skipped"]),
            share(side.precision),
            share(side.recall),
            str(side.calls),
            dollars(side.cost_usd),
        )
    console.print(sides)


def _print_disagreements(comparison: Comparison, console: Console) -> None:
    answers = comparison.disagreements
    if not answers:
        console.print("They decide the same about each answer.")
        return
    console.print()
    table = Table(box=None, pad_edge=False)
    table.add_column("decided differently", no_wrap=True)
    for name in (*map(clean, comparison.names), "labelled"):
        table.add_column(name, overflow="fold")
    for answer in answers[:_SHOWN]:
        label = {True: "hallucinated", False: "correct", None: ""}[answer.hallucinated]
        table.add_row(
            Text(clean(answer.entry.id)), _decided(answer.first), _decided(answer.second), label
        )
    console.print(table)
    if len(answers) > _SHOWN:
        console.print(f"{len(answers) - _SHOWN} more; --html or --json has all of them")


def _print_answer(comparison: Comparison, answer: ComparedAnswer, console: Console) -> None:
    """Print both verdicts on an answer, claim by claim."""
    verdicts = (answer.first, answer.second)
    for name, verdict in zip(comparison.names, verdicts, strict=True):
        console.print(Text(f"{clean(name)}: ", "bold").append(_decided(verdict)))
        console.print(Text(f"  {clean(verdict.reason)}"))
    table = Table(box=None, pad_edge=False)
    table.add_column("claim", overflow="fold")
    for name in comparison.names:
        table.add_column(clean(name), justify="right")
    scores: dict[tuple[int, int], list[str]] = {}
    texts: dict[tuple[int, int], str] = {}
    for side, verdict in enumerate(verdicts):
        for claim in verdict.claims:
            span = (claim.start, claim.end)
            score = "" if claim.score is None else f"{claim.score:.2f}"
            scores.setdefault(span, ["", ""])[side] = f"{score} {'!' if claim.flagged else ' '}"
            texts[span] = claim.text or texts.get(span, "")
    for span in sorted(scores):
        table.add_row(Text(clean(texts[span])), *map(Text, scores[span]))
    if scores:
        console.print()
        console.print(table)


def _decided(verdict: Verdict) -> str:
    score = "" if verdict.score is None else f" {verdict.score:.2f}"
    return f"{verdict.decision}{score}"
