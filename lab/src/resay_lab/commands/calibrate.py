"""The command `resay calibrate`: fit a policy to labelled responses, or check for drift."""

from __future__ import annotations

import codecs
import math
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from resay import Policy
from resay.commands import (
    ApiBaseOption,
    ApiKeyEnvOption,
    JsonOption,
    connection_params,
    print_json,
    read_text,
    write_text,
)
from resay.errors import ConfigurationError
from resay_lab.calibration import (
    Calibration,
    Guarantee,
    LabelledEntries,
    LabelledRow,
    Target,
    check_drift,
    read_journal_labels,
    read_labels,
    read_verdicts,
)
from resay_lab.calibration import calibrate as run_calibration
from resay_lab.calibration.diagrams import svg_of
from resay_lab.calibration.report import drift_lines, html_of, print_calibration

app = typer.Typer(add_completion=False)

_MARK = codecs.BOM_UTF8.decode()


class _Kind(str, Enum):
    probable = "probable"
    jeffreys = "jeffreys"
    expected = "expected"


def _share(text: str) -> float:
    """Parse a share: 5% or 0.05."""
    number, percent_sign, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent_sign else 1)
    except ValueError:
        share = math.nan
    if rest or math.isnan(share):
        raise typer.BadParameter(f"must be a share such as 5% or 0.05, not {text!r}")
    return share


@app.command()
def calibrate(
    policy: Annotated[
        Path,
        typer.Option(
            "--policy",
            "-p",
            help="The policy file.",
            envvar="RESAY_POLICY",
            show_default=False,
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Labelled responses in JSON Lines; see docs/calibration.md.", show_default=False
        ),
    ] = None,
    from_log: Annotated[
        Path | None,
        typer.Option(
            help="Use these logged verdicts instead of checking the responses.", show_default=False
        ),
    ] = None,
    from_journal: Annotated[
        str | None,
        typer.Option(
            help="Use the feedback and the verdicts recorded in this journal (a file, sqlite:///FILE"
            " or postgresql://…) instead of --labels.",
            show_default=False,
        ),
    ] = None,
    policy_name: Annotated[
        str | None,
        typer.Option(
            help="With --from-journal: the policy's name in the journal, if it has feedback on"
            " several policies."
        ),
    ] = None,
    rater: Annotated[
        list[str] | None,
        typer.Option(help="With --from-journal: use only this rater's feedback. Repeatable."),
    ] = None,
    passage_fpr: Annotated[
        float | None,
        typer.Option(
            "--false-alarms",
            "--passage-fpr",
            parser=_share,
            metavar="SHARE",
            help="Flag at most this share of correct responses, such as 5% or 0.05.",
            show_default="5%, if no target",
        ),
    ] = None,
    passage_recall: Annotated[
        float | None,
        typer.Option(
            "--catch",
            "--passage-recall",
            parser=_share,
            metavar="SHARE",
            help="Flag at least this share of hallucinated responses, such as 90% or 0.9.",
            show_default=False,
        ),
    ] = None,
    sentence_fpr: Annotated[
        float | None,
        typer.Option(
            parser=_share,
            metavar="SHARE",
            help="Flag at most this share of a response's correct sentences, on average.",
            show_default="5%, if no target and labels",
        ),
    ] = None,
    sentence_recall: Annotated[
        float | None,
        typer.Option(
            parser=_share,
            metavar="SHARE",
            help="Flag at least this share of a response's hallucinated sentences, on average.",
            show_default=False,
        ),
    ] = None,
    guarantee: Annotated[
        _Kind,
        typer.Option(
            help="The kind of guarantee: with high probability, by the Jeffreys interval, or on"
            " average."
        ),
    ] = _Kind.probable,
    confidence: Annotated[
        float, typer.Option(help="The confidence level of a probable or jeffreys guarantee.")
    ] = 0.9,
    no_weights: Annotated[
        bool, typer.Option("--no-weights", help="Leave the weights of composite methods unchanged.")
    ] = False,
    settle_error: Annotated[
        float | None,
        typer.Option(
            help="Fit the `settle` bands so that at most this share of the settled sentences get a"
            " different decision than the last step would give them.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="The model that wrote the responses, for rows that do not name one.",
        ),
    ] = None,
    api_base: ApiBaseOption = None,
    api_key_env: ApiKeyEnvOption = None,
    concurrency: Annotated[
        int, typer.Option(min=1, help="The number of responses checked at once.")
    ] = 4,
    seed: Annotated[int, typer.Option(help="The random seed for splitting the responses.")] = 0,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="The number of bootstrap draws for the intervals.")
    ] = 1000,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write plots to FILE.svg or FILE.html: reliability, scores, the ROC curve, and"
            " what each threshold flags.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the changed policy to this file.", show_default=False),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Change the policy file in place.")
    ] = False,
    check: Annotated[
        str | None,
        typer.Option(
            help="Instead of calibrating, test whether the scores of these verdicts (JSON Lines, or"
            " a journal's file or address) have drifted from the calibration. Exit code: 0 no"
            " drift, 1 drift, 3 too few verdicts.",
            show_default=False,
        ),
    ] = None,
    last: Annotated[
        int, typer.Option(min=1, help="With --check: use at most this many of the newest verdicts.")
    ] = 1000,
    as_json: JsonOption = False,
) -> None:
    """Fit a policy's thresholds and weights to labelled responses, with a guarantee."""
    if check is not None:
        if labels or from_log or from_journal or out or write or plot:
            raise ConfigurationError(
                "--check takes no labels and writes nothing; omit --labels, --from-log,"
                " --from-journal, --plot, --out and --write, or --check"
            )
        raise typer.Exit(_check(policy, check, last, as_json=as_json))
    if labels is None and from_journal is None:
        raise ConfigurationError(
            "pass labelled responses with --labels or --from-journal, or pass --check LOG"
        )
    if from_journal is not None and (labels or from_log):
        raise ConfigurationError(
            "--from-journal has labels and verdicts; omit --labels and --from-log, or"
            " --from-journal"
        )
    if from_journal is None and (policy_name or rater):
        raise ConfigurationError("--policy-name and --rater need --from-journal")
    if out and write:
        raise ConfigurationError("--out and --write exclude each other; pass only one")
    _check_plot(plot)
    before = Policy.load(policy)
    text = policy.read_bytes().decode()
    targets = _targets(
        passage_fpr=passage_fpr,
        passage_recall=passage_recall,
        sentence_fpr=sentence_fpr,
        sentence_recall=sentence_recall,
    )
    source: Path | LabelledEntries
    if labels is None:
        source = read_journal_labels(
            from_journal or "", before, recorded_as=policy_name, raters=rater or ()
        )
        rows: Sequence[LabelledRow] = source.rows
    else:
        source, rows = labels, read_labels(labels, responses=from_log is None)
    checks = from_log is None and from_journal is None
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("checking", total=len(rows), visible=checks)
        calibration = run_calibration(
            before,
            source,
            targets=targets,
            guarantee=Guarantee(guarantee.value, confidence),
            log=from_log,
            weights=not no_weights,
            settle_error=settle_error,
            seed=seed,
            bootstrap=bootstrap,
            model=model,
            params=connection_params(api_base, api_key_env),
            concurrency=concurrency,
            done=lambda: bar.advance(task),
        )
    # The byte order mark that some editors write is not part of the policy.
    mark = _MARK if text.startswith(_MARK) else ""
    changed = mark + calibration.write_into(text.removeprefix(mark))
    if plot:
        draw = html_of if plot.suffix == ".html" else svg_of
        write_text(plot, draw(calibration))
    target = policy if write else out
    if target:
        write_text(target, changed)
    _print(calibration, changed, target, as_json=as_json)


def _targets(**rates: float | None) -> list[Target]:
    targets: list[Target] = []
    for name, rate in rates.items():
        if rate is not None:
            unit, kind = name.split("_")
            targets.append(Target(unit, kind, rate))  # pyright: ignore[reportArgumentType] - by name
    for unit in ("passage", "sentence"):
        if sum(target.unit == unit for target in targets) > 1:
            raise ConfigurationError(
                f"--{unit}-fpr and --{unit}-recall exclude each other; pass only one"
            )
    return targets


def _check_plot(plot: Path | None) -> None:
    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise ConfigurationError(f"--plot must be FILE.svg or FILE.html, not {plot.name!r}")


def _check(policy: Path, log: str, last: int, *, as_json: bool) -> int:
    """Report whether the scores have drifted, and return the exit code."""
    drift = check_drift(read_text(str(policy)), read_verdicts(log, last), source=str(policy))
    if as_json:
        print_json(drift.to_dict())
    else:
        for line in drift_lines(drift):
            typer.echo(line)
    return {True: 1, False: 0, None: 3}[drift.drifted]


def _print(calibration: Calibration, changed: str, target: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json({**calibration.to_dict(), "policy": changed})
        return
    print_calibration(calibration, Console())
    if target is not None:
        typer.echo(f"\nwritten to {target}")
    else:
        typer.echo(f"\nThe new policy (pass --write to save it):\n\n{changed}")
