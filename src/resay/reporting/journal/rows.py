"""Entries as rows of a table, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from resay.core.verdict import Usage, Verdict
from resay.errors import ConfigurationError
from resay.reporting.journal.config import Content
from resay.reporting.journal.entry import Entry
from resay.reporting.journal.session import Row

__all__ = ["COLUMNS", "entry_of", "named", "row_of", "size_of"]

COLUMNS = (
    *("id", "time", "request_id", "model", "policy", "tenant", "api", "action", "decision"),
    *("score", "reason", "flagged", "sentences", "latency_s", "check_s"),
    *("main_calls", "main_prompt_tokens", "main_completion_tokens", "main_cost_usd"),
    *("main_cancelled", "check_calls", "check_prompt_tokens", "check_completion_tokens"),
    *("check_cost_usd", "check_cancelled", "verdict", "question"),
)
_MAIN = COLUMNS.index("main_calls")
_CHECK = COLUMNS.index("check_calls")
_VERDICT = COLUMNS.index("verdict")

# Long enough for any name, short enough for any index.
_NAME_CHARS = 256
_REASON_CHARS = 2000
# What a row takes besides its texts, roughly.
_ROW_BYTES = 1000


def row_of(entry: Entry, content: Content) -> Row:
    """Return an entry as the values of `COLUMNS`, with the words that may be kept.

    Raises:
        ConfigurationError: Its verdict is none.
    """
    whole = content == "all" or (content == "flagged" and _is_notable(entry))
    verdict = dict(entry.verdict) if whole else _without_content(entry.verdict)
    question = entry.question if whole else None
    return (
        entry.id,
        entry.time,
        named(entry.request_id),
        named(entry.model),
        named(entry.policy),
        named(entry.tenant),
        entry.api,
        entry.action,
        entry.decision,
        entry.score,
        _clean(entry.reason)[:_REASON_CHARS],
        entry.flagged,
        entry.sentences,
        entry.latency_s,
        entry.check_s,
        *_costs(entry.usage),
        *_costs(entry.check_usage),
        # JSON's escapes carry what the databases do not take as it is: NUL and lone surrogates.
        json.dumps(verdict, separators=(",", ":")),
        None if question is None else json.dumps(question),
    )


def entry_of(row: Row) -> Entry:
    """Return the entry that was written as these values."""
    given = dict(zip(COLUMNS[:_MAIN], row, strict=False))
    verdict, question = row[_VERDICT:]
    return Entry(
        **given,
        usage=Usage(*row[_MAIN:_CHECK]),
        check_usage=Usage(*row[_CHECK:_VERDICT]),
        verdict=json.loads(verdict),
        question=None if question is None else json.loads(question),
    )


def size_of(row: Row) -> int:
    """Return how many bytes of memory a row takes, roughly."""
    return _ROW_BYTES + len(row[_VERDICT]) + len(row[_VERDICT + 1] or "")


def named(name: str | None) -> str | None:
    """Return a name as it is written."""
    return None if name is None else _clean(name[:_NAME_CHARS])


def _clean(text: str) -> str:
    text = text.replace("\0", "\ufffd")
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _costs(usage: Usage) -> Row:
    counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens)
    return (*counts, usage.cost_usd, usage.cancelled)


def _is_notable(entry: Entry) -> bool:
    if entry.decision == "flagged" or entry.action in {"block", "regenerate"}:
        return True
    # One that was written again and came out inconclusive may have been given as it is.
    regeneration = entry.verdict.get("regeneration")
    return isinstance(regeneration, Mapping) and (
        cast("Mapping[str, Any]", regeneration).get("adopted") is not None
    )


def _without_content(verdict: Mapping[str, Any]) -> dict[str, Any]:
    # Read and written as a verdict, so that nothing stays of which the verdict does not know.
    try:
        return _reader().validate_python(verdict).to_dict(content=False)
    except ValidationError as error:
        places = [".".join(map(str, e["loc"])) for e in error.errors(include_input=False)]
    # Outside of the handler, whose exception holds the words of the response.
    raise ConfigurationError(
        f"the entry's verdict is none; give what Verdict.to_dict() returns, and look at"
        f" {', '.join(places)}"
    )


# Made once: to make it takes longer than to read a thousand verdicts with it.
@cache
def _reader() -> TypeAdapter[Verdict]:
    return TypeAdapter(Verdict)
