"""Checks of the rows of a data frame, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from resay import Guard, SentenceVerdict, Verdict
from resay.adapters.policies import PolicyLike
from resay.errors import ConfigurationError, ResayError, without_cause
from resay_lab.batch.columns import Columns
from resay_lab.batch.inputs import mapping_of, open_rows

_ADDED = ("decision", "score", "reason", "flagged", "error")


def check_frame(
    frame: Any,
    policy: PolicyLike = None,
    *,
    columns: Columns = Columns(),  # noqa: B008 - it cannot change
    prefix: str = "",
    concurrency: int = 16,
) -> Any:
    """Check the rows of a data frame, and return it with the verdicts.

    Each row needs a `response`, and may have a `question`, `samples` and `references`; samples and
    references are lists of strings. For files, and for runs that can be stopped and resumed, use
    `run_batch`.

    Args:
        frame: A frame of pandas or Polars. It is not changed.
        policy: A `Guard`, a policy, the path of a policy file, or a mapping; None for the policy
            that `RESAY_POLICY` names, or the default.
        columns: The names of the columns, if they are others.
        prefix: The prefix of the names of the new columns.
        concurrency: The number of concurrent checks.

    Returns:
        A frame of the same kind, with the columns `decision`, `score`, `reason`, `flagged` (the
        flagged sentences, each with what speaks against it) and `error`. In a row that could not be
        checked only `error` is set.

    Raises:
        ConfigurationError: It is no such frame, or has no column of responses, or one of the new
            names.
        PolicyError: The policy is not valid.
    """
    if not (hasattr(frame, "iter_rows") or hasattr(frame, "itertuples")):
        kind = type(frame).__qualname__
        raise ConfigurationError(f"the frame must be of pandas or Polars, not {kind!r}")
    names = [str(name) for name in frame.columns]
    response = columns.response or "response"
    if response not in names:
        raise ConfigurationError(
            f"the frame has no column {response!r}; name that of the responses:"
            " columns=Columns(response=...)"
        )
    taken = [prefix + name for name in _ADDED if prefix + name in names]
    if taken:
        raise ConfigurationError(f"the frame already has a column {taken[0]!r}; set a prefix")
    guard = policy if isinstance(policy, Guard) else Guard(policy)
    rows = [mapping_of(raw) or {} for raw in open_rows(frame)]
    results = _checked(guard, rows, columns, concurrency)
    added: dict[str, list[Any]] = {}
    for name in _ADDED:
        added[prefix + name] = [result.get(name) for result in results]
    if hasattr(frame, "assign"):
        return frame.assign(**added)
    # A frame of the same class, so that Polars need not be imported here.
    new = type(frame)(added, schema_overrides={prefix + "score": float}, strict=False)
    return frame.hstack(new)


def _checked(
    guard: Guard, rows: Sequence[Mapping[str, Any]], columns: Columns, concurrency: int
) -> list[dict[str, Any]]:
    """Return the new columns of each row."""
    results: list[dict[str, Any]] = [{} for _ in rows]
    positions: list[int] = []

    def items() -> Iterator[dict[str, Any]]:
        for position, row in enumerate(rows):
            try:
                response, arguments = columns.arguments(row)
            except ConfigurationError as error:
                results[position] = {"error": str(error)}
                continue
            positions.append(position)
            yield {"response": response, **arguments}

    for checked in guard.check_many(items(), concurrency=concurrency):
        position = positions[checked.index]
        if checked.verdict is not None:
            results[position] = _columns_of(checked.verdict)
        else:
            results[position] = {"error": _words_of(checked.error)}
    return results


def _columns_of(verdict: Verdict) -> dict[str, Any]:
    return {
        "decision": verdict.decision,
        "score": verdict.score,
        "reason": verdict.reason,
        "flagged": [_explained(sentence) for sentence in verdict.flagged_sentences],
    }


def _explained(sentence: SentenceVerdict) -> str:
    contradiction = sentence.contradicted_by
    if contradiction is not None:
        return f"{sentence.text} ({contradiction.speaker} says: {contradiction.text})"
    return f"{sentence.text} ({sentence.reason})" if sentence.reason else sentence.text


def _words_of(error: Exception | None) -> str:
    if isinstance(error, ResayError):
        return without_cause(error)
    # Its message may contain words of the response.
    return f"the check failed with {type(error).__name__}"
