"""Logged verdicts in place of running checks again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from resay.calibration.labels import LabelledRow, read_objects
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError
from resay.policy import Policy

__all__ = ["Matched", "match_log"]


@dataclass(frozen=True, slots=True)
class Matched:
    """Labelled responses with their logged verdicts.

    Attributes:
        rows: The labelled responses that were logged.
        verdicts: The verdict of each.
        logged: How many verdicts the log holds.
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
        policy: The policy the verdicts were made with.

    Returns:
        The labelled responses whose id is in the log.

    Raises:
        ConfigurationError: The log cannot be read, no id matches, one is logged twice, or the
            verdicts were made by another chain.
    """
    found: dict[str, tuple[str, Verdict]] = {}
    for where, data in read_objects(Path(path)):
        key = data.get("id")
        if not isinstance(key, (str, int)):
            raise ConfigurationError(
                f"{where}: has no `id`; log each verdict with the id its label has"
            )
        if str(key) in found:
            raise ConfigurationError(
                f"{where}: id {key!r} is that of {found[str(key)][0]} too; keep one of them"
            )
        found[str(key)] = where, _verdict(where, data, policy)
    matched = [row for row in rows if row.id is not None and row.id in found]
    if not matched:
        without = sum(row.id is None for row in rows)
        why = f"{without} of them have none" if without else "none of theirs is in the log"
        raise ConfigurationError(
            f"none of the {len(found)} logged verdicts has the id of one of the {len(rows)}"
            f" labelled responses; {why}"
        )
    verdicts = tuple(found[row.id][1] for row in matched if row.id is not None)
    return Matched(tuple(matched), verdicts, len(found))


def _verdict(where: str, data: dict[str, object], policy: Policy) -> Verdict:
    nested = data.get("verdict")
    fields = cast("dict[str, object]", nested) if isinstance(nested, dict) else data
    try:
        verdict = Verdict.from_dict({key: fields[key] for key in fields if key != "id"})
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None
    methods = [step.method_name for step in policy.chain]
    ran = [step.method for step in verdict.steps]
    if any(method not in methods for method in ran):
        raise ConfigurationError(
            f"{where}: made by the chain {' -> '.join(ran)}, and the policy's is"
            f" {' -> '.join(methods)}; calibrate the policy that made the log"
        )
    return verdict
