"""Entries as rows of the journal's table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from resay import Usage, Verdict
from resay.adapters.settings import JournalContent
from resay.errors import ConfigurationError
from resay_server.journal.compression import compress
from resay_server.journal.entry import Entry
from resay_server.journal.evidence import evidence_json, within_limit

Row = tuple[Any, ...]
COLUMNS = (
    *("id", "time", "request_id", "model", "policy", "tenant", "api", "action", "decision"),
    *("score", "reason", "flagged", "sentences", "latency_s", "check_s"),
    *("main_calls", "main_prompt_tokens", "main_completion_tokens", "main_cost_usd"),
    *("main_cancelled", "check_calls", "check_prompt_tokens", "check_completion_tokens"),
    *("check_cost_usd", "check_cancelled", "verdict", "question"),
)
"""The columns of an entry that is read."""
WRITTEN_COLUMNS = (*COLUMNS, "evidence")
"""The columns of an entry that is written. Nobody reads the evidence of many entries."""
_MAIN = COLUMNS.index("main_calls")
_CHECK = COLUMNS.index("check_calls")
_VERDICT = COLUMNS.index("verdict")
_EVIDENCE = WRITTEN_COLUMNS.index("evidence")
# Long enough for any name, short enough for any index.
_NAME_CHARS = 256
_REASON_CHARS = 2000
# The approximate size of a row without its texts.
_ROW_BYTES = 1000
# `compute` weight of a sentence or a claim.
_UNIT_COST = 150
# `compute` weight of a character of evidence.
_EVIDENCE_COST = 0.025


class ContentFree(str):
    """A verdict without content as JSON: mostly field names, the same in every entry."""

    __slots__ = ()


def row_of(entry: Entry, content: JournalContent) -> Row:
    """Return an entry as the values of `WRITTEN_COLUMNS`, with the text that `content` allows.

    Raises:
        ConfigurationError: Its verdict is malformed.
    """
    with_text = content == "all" or (content == "flagged" and _is_notable(entry))
    verdict: str
    question: str | None = None
    evidence: str | None = None
    if with_text:
        verdict = verdict_json(entry.verdict)
        if entry.evidence:
            evidence = evidence_json(within_limit(entry.evidence))
        if entry.question is not None:
            question = json.dumps(entry.question)
    else:
        verdict = ContentFree(verdict_json(without_content(entry.verdict)))
    return (
        entry.id,
        entry.time,
        stored_name(entry.request_id),
        stored_name(entry.model),
        stored_name(entry.policy),
        stored_name(entry.tenant),
        entry.api,
        entry.action,
        entry.decision,
        entry.score,
        stored_text(entry.reason)[:_REASON_CHARS],
        entry.flagged,
        entry.sentences,
        entry.latency_s,
        entry.check_s,
        *_usage_values(entry.usage),
        *_usage_values(entry.check_usage),
        verdict,
        question,
        evidence,
    )


def entry_of(row: Row) -> Entry:
    """Return the entry for the values of `COLUMNS`."""
    fields = names_and_numbers(row)
    verdict, question = verdict_and_question(row)
    return Entry(
        **fields,
        usage=Usage(*row[_MAIN:_CHECK]),
        check_usage=Usage(*row[_CHECK:_VERDICT]),
        verdict=verdict,
        question=question,
    )


def names_and_numbers(row: Row) -> dict[str, Any]:
    """Return the values of the columns before those of usage and text, by column."""
    return dict(zip(COLUMNS[:_MAIN], row, strict=False))


def verdict_and_question(row: Row) -> tuple[dict[str, Any], str | None]:
    """Return the verdict and the question of a row."""
    verdict, question = row[_VERDICT:_EVIDENCE]
    return json.loads(verdict), None if question is None else json.loads(question)


def stored_evidence(row: Row) -> str | None:
    """Return the evidence of a new row as JSON, or None."""
    return row[_EVIDENCE]


def with_texts(row: Row, verdict: str, question: str | None, evidence: str | None) -> Row:
    """Return a new row with other texts.

    Args:
        row: The row.
        verdict: The verdict, from `verdict_json`.
        question: The question, or None.
        evidence: The evidence, from `evidence_json`, or None.
    """
    stored_question = None if question is None else json.dumps(question)
    return (*row[:_VERDICT], verdict, stored_question, evidence)


def with_compressed_evidence(row: Row) -> Row:
    """Return a new row with its evidence compressed: prompts repeat each other's texts."""
    evidence = row[_EVIDENCE]
    return row if evidence is None else (*row[:_EVIDENCE], compress(evidence))


def has_content(row: Row) -> bool:
    """Return whether a new row holds text of a question or an answer."""
    verdict, question = row[_VERDICT:_EVIDENCE]
    return question is not None or not isinstance(verdict, ContentFree)


def verdict_json(verdict: Mapping[str, Any]) -> str:
    """Return a verdict as JSON, in ASCII: the databases reject NUL and lone surrogates."""
    return json.dumps(dict(verdict), separators=(",", ":"))


def row_cost(entry: Entry) -> int:
    """Return what `row_of` costs, in characters for `compute`."""
    units = 0
    evidence_chars = 0 if entry.evidence is None else entry.evidence.chars
    for name in ("sentences", "claims", "unscored"):
        value: object = entry.verdict.get(name)
        if isinstance(value, list):
            units += len(cast("list[object]", value))
    return _UNIT_COST * units + int(_EVIDENCE_COST * evidence_chars)


def size_of(row: Row) -> int:
    """Return the approximate number of bytes that a row takes in memory."""
    return _ROW_BYTES + sum(len(text) for text in row[_VERDICT:] if text is not None)


def stored_name(name: str | None) -> str | None:
    """Return a name in the form in which it is stored."""
    return None if name is None else stored_text(name[:_NAME_CHARS])


def stored_text(text: str) -> str:
    """Replace the characters in a text that the databases reject."""
    text = text.replace("\0", "\ufffd")
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)


def _usage_values(usage: Usage) -> Row:
    return (
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cost_usd,
        usage.cancelled,
    )


def _is_notable(entry: Entry) -> bool:
    if entry.decision == "flagged" or entry.action in {"block", "regenerate"}:
        return True
    # A regenerated answer that came out inconclusive may have been passed on unchanged.
    regeneration = entry.verdict.get("regeneration")
    return isinstance(regeneration, Mapping) and (
        cast("Mapping[str, Any]", regeneration).get("adopted") is not None
    )


def without_content(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return a verdict without the text of questions, answers and evidence.

    It is parsed and serialized as a verdict, so that unknown fields are dropped.

    Raises:
        ConfigurationError: It is malformed.
    """
    try:
        return Verdict.from_dict(verdict).to_dict(content=False)
    except ConfigurationError as error:
        problem = str(error)
    # Raised outside the handler, so that no other exception is attached to it.
    raise ConfigurationError(
        f"the entry's verdict is malformed: {problem}; pass the result of Verdict.to_dict()"
    )


@cache
def prepare_rows() -> None:
    """Import what `row_of` needs, and build the validator of verdicts."""
    Verdict.from_dict(Verdict("skipped", None, "").to_dict())
