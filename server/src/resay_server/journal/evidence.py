"""The evidence of an entry in the form in which it is stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeVar

from resay.plugins import JudgeCall, RecordedEvidence, Reference

T = TypeVar("T")
# Of the evidence of one entry. A check may show its judges the same texts many times.
_MAX_CHARS = 300_000


def evidence_json(evidence: RecordedEvidence) -> str:
    """Return evidence as JSON, in ASCII."""
    return json.dumps(asdict(evidence), separators=(",", ":"))


def evidence_of(text: str) -> RecordedEvidence:
    """Return the evidence in the output of `evidence_json`."""
    data = json.loads(text)
    references = [Reference(**fields) for fields in data["references"]]
    calls: list[JudgeCall] = []
    for fields in data["judge_calls"]:
        call = JudgeCall(
            method=fields["method"],
            prompt=fields["prompt"],
            answers=tuple(fields["answers"]),
            claims=tuple(fields["claims"]),
            model=fields["model"],
            error=fields["error"],
        )
        calls.append(call)
    return RecordedEvidence(
        response=data["response"],
        samples=tuple(data["samples"]),
        second_samples=tuple(data["second_samples"]),
        references=tuple(references),
        judge_calls=tuple(calls),
        omitted_texts=data["omitted_texts"],
        omitted_calls=data["omitted_calls"],
    )


def evidence_dict(evidence: RecordedEvidence | None) -> dict[str, Any] | None:
    """Return evidence as JSON-ready values; None if there is none."""
    return None if evidence is None else asdict(evidence)


def within_limit(evidence: RecordedEvidence) -> RecordedEvidence:
    """Return evidence without what is too long to store, and with its number."""
    room = _MAX_CHARS
    response = evidence.response
    if response is not None and len(response) > room:
        response = None
    room -= len(response or "")
    samples, room = _fitting(evidence.samples, len, room)
    second, room = _fitting(evidence.second_samples, len, room)
    references, room = _fitting(evidence.references, lambda item: len(item.text), room)
    calls, room = _fitting(evidence.judge_calls, lambda call: call.chars, room)
    stored = len(samples) + len(second) + len(references)
    given = len(evidence.samples) + len(evidence.second_samples) + len(evidence.references)
    return replace(
        evidence,
        response=response,
        samples=samples,
        second_samples=second,
        references=references,
        judge_calls=calls,
        omitted_texts=evidence.omitted_texts + given - stored,
        omitted_calls=evidence.omitted_calls + len(evidence.judge_calls) - len(calls),
    )


def _fitting(items: Sequence[T], chars: Callable[[T], int], room: int) -> tuple[tuple[T, ...], int]:
    """Return the first items, as far as there is room, and the room that is left."""
    fitting: list[T] = []
    for item in items:
        # Only the first: verdicts refer to samples by their number.
        if chars(item) > room:
            break
        room -= chars(item)
        fitting.append(item)
    return tuple(fitting), room


def replace_evidence_texts(
    evidence: RecordedEvidence, change: Callable[[str], str]
) -> RecordedEvidence:
    """Return evidence with each of its texts replaced.

    Args:
        evidence: The evidence.
        change: Returns the replacement of a text; it may raise anything.
    """

    def changed(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(change(text) for text in texts)

    references: list[Reference] = []
    for item in evidence.references:
        title = item.title and change(item.title)
        url = item.url and change(item.url)
        references.append(replace(item, text=change(item.text), title=title, url=url))
    calls = [
        replace(
            call,
            prompt=change(call.prompt),
            answers=changed(call.answers),
            claims=changed(call.claims),
        )
        for call in evidence.judge_calls
    ]
    return replace(
        evidence,
        response=evidence.response and change(evidence.response),
        samples=changed(evidence.samples),
        second_samples=changed(evidence.second_samples),
        references=tuple(references),
        judge_calls=tuple(calls),
    )
