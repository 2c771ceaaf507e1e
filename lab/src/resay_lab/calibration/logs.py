"""Reads logged verdicts: JSON Lines, or a journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from resay import Policy, Verdict
from resay.adapters import run_sync
from resay.errors import ConfigurationError
from resay.plugins import open_records
from resay_lab.calibration.labels import LabelledRow, read_objects

_SQLITE = b"SQLite format 3\0"


def methods_of(policy: Policy) -> list[str]:
    """Return the methods that a policy's verdicts may contain, in order."""
    second = ["cross_model"] if policy.second_opinion is not None else []
    return [*(step.method_name for step in policy.chain), *second]


@dataclass(frozen=True, slots=True)
class Matched:
    """Labelled responses with their logged verdicts.

    Attributes:
        rows: The labelled responses that were logged.
        verdicts: The verdict of each.
        logged: The number of verdicts in the log.
    """

    rows: tuple[LabelledRow, ...]
    verdicts: tuple[Verdict, ...]
    logged: int


def match_log(path: str | Path, rows: Sequence[LabelledRow], policy: Policy) -> Matched:
    """Find the verdicts of labelled responses in a log.

    Args:
        path: JSON Lines of verdicts as `Verdict.to_dict` writes them, with or without content, each
            with an `id` beside its keys, or as `{"id": …, "verdict": {…}}`.
        rows: The labelled responses.
        policy: The policy that made the verdicts.

    Returns:
        The labelled responses whose id is in the log.

    Raises:
        ConfigurationError: The log cannot be read, no id matches, one is logged twice, or the
            verdicts were made by another chain.
    """
    allowed = methods_of(policy)
    logged: dict[str, tuple[str, Verdict]] = {}
    for where, data in read_objects(Path(path)):
        key = data.get("id")
        if not isinstance(key, (str, int)):
            raise ConfigurationError(
                f"{where}: has no `id`; log each verdict with the id its label has"
            )
        earlier = logged.get(str(key))
        if earlier is not None:
            raise ConfigurationError(
                f"{where}: duplicate id {key!r}, also used at {earlier[0]}; keep one of them"
            )
        verdict = _verdict(where, data)
        methods = [step.method for step in verdict.steps]
        if any(method not in allowed for method in methods):
            raise ConfigurationError(
                f"{where}: made by the chain {' -> '.join(methods)}, and the policy's is"
                f" {' -> '.join(allowed)}; calibrate the policy that made the log"
            )
        logged[str(key)] = where, verdict
    matched: list[LabelledRow] = []
    verdicts: list[Verdict] = []
    for row in rows:
        if row.id is not None and row.id in logged:
            matched.append(row)
            verdicts.append(logged[row.id][1])
    if not matched:
        without = sum(row.id is None for row in rows)
        reason = f"{without} of them have none" if without else "none of theirs is in the log"
        raise ConfigurationError(
            f"none of the {len(logged)} logged verdicts has the id of one of the {len(rows)}"
            f" labelled responses; {reason}"
        )
    return Matched(rows=tuple(matched), verdicts=tuple(verdicts), logged=len(logged))


def read_verdicts(path: Path | str, last: int) -> list[Verdict]:
    """Read the newest verdicts of a log.

    Args:
        path: JSON Lines as for `--from-log`, with or without `id`, or a journal: its SQLite file,
            or its address.
        last: The maximum number of verdicts.

    Returns:
        The verdicts, newest last.

    Raises:
        ConfigurationError: The file cannot be read, or a line contains no verdict.
        JournalError: The journal cannot be read.
        MissingDependencyError: It is a journal, and resay-server is not installed.
    """
    if not (isinstance(path, str) and "://" in path):
        path = Path(path)
        if not _is_journal(path):
            return [_verdict(where, data) for where, data in read_objects(path)[-last:]]
        path = str(path.resolve())
    newest_first = run_sync(open_records(path).recent, last)
    return newest_first[::-1]


def _is_journal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _verdict(where: str, data: Mapping[str, Any]) -> Verdict:
    nested = data.get("verdict")
    fields = cast("Mapping[str, Any]", nested) if isinstance(nested, dict) else data
    try:
        return Verdict.from_dict({key: fields[key] for key in fields if key != "id"})
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None
