"""The most frequent findings in flagged and inconclusive entries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from resay_server.journal import Entry

_MAX_FINDINGS = 5
_CLAIM_CHARS = 200
_NUMBER = r"\d+(?:[.,]\d+)*"
# Reasons of decisions in words, without the numbers that differ from answer to answer.
_IN_WORDS = tuple(
    (re.compile(pattern.replace("#", _NUMBER)), words)
    for pattern, words in (
        (r"passage # > #", "the score of the answer is over its threshold"),
        (r"# of # (sentence|field)s? > #", r"a \1 is over its threshold"),
        (r"# of # (sentence|field)s? could not be scored", r"some \1s could not be scored"),
        (r"# of # names? in code > #", "a name in code is over its threshold"),
        (r"passage # <= #", "the score of the answer is within its threshold"),
        (r"every (sentence|field|name in code) <= #", r"every \1 is within its threshold"),
        (r"only # usable samples?; `sampling\.min` is #", "too few usable samples"),
        (r"all # samples are identical", "all samples are identical"),
        (r"did not finish within # s \(`limits\.deadline_s`\)", "did not finish in time"),
        (r"; # samples? had arrived", ""),
        (r" by # references?(?! found)", ""),
        (r" (with|after) #( of #)? samples?", ""),
        (r"; compared: # names? in code", ""),
        (r"# of # ", "some "),
        # No part of a name, an address or a status: "gpt-4.1", "127.0.0.1:8000", "HTTP 500".
        (r"(?<!HTTP )(?<![\w.:/-])#(?![\w:/-]|\.\d)", "some"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentFindings:
    """The most frequent findings in the newest flagged and inconclusive entries of a span.

    Each list has pairs of a text and its count, the most frequent first.

    Attributes:
        entries: The number of entries examined.
        methods: The methods whose scores flagged claims.
        contradictions: The kinds of difference between claims and evidence, if text was stored.
        claims: The flagged claims, if text was stored.
        reasons: The reasons of verdicts in words, without their numbers.
    """

    entries: int
    methods: tuple[tuple[str, int], ...]
    contradictions: tuple[tuple[str, int], ...]
    claims: tuple[tuple[str, int], ...]
    reasons: tuple[tuple[str, int], ...]


def frequent_findings(entries: Iterable[Entry]) -> FrequentFindings:
    """Return the most frequent findings in entries."""
    methods: Counter[str] = Counter()
    contradictions: Counter[str] = Counter()
    claims: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    entry_count = 0
    for entry in entries:
        entry_count += 1
        reasons[_in_words(entry.reason)] += 1
        for claim in _flagged_claims(entry.verdict):
            if claim.get("by"):
                methods[str(claim["by"])] += 1
            if claim.get("text"):
                claims[str(claim["text"])[:_CLAIM_CHARS]] += 1
            contradiction = claim.get("contradicted_by")
            if isinstance(contradiction, Mapping):
                kind = cast("Mapping[str, object]", contradiction).get("kind", "other")
                contradictions[str(kind)] += 1
    return FrequentFindings(
        entries=entry_count,
        methods=tuple(methods.most_common(_MAX_FINDINGS)),
        contradictions=tuple(contradictions.most_common(_MAX_FINDINGS)),
        claims=tuple(claims.most_common(_MAX_FINDINGS)),
        reasons=tuple(reasons.most_common(_MAX_FINDINGS)),
    )


def _in_words(reason: str) -> str:
    """Return a reason without its numbers, so that the same reasons can be counted."""
    for pattern, words in _IN_WORDS:
        reason = pattern.sub(words, reason)
    return reason[:1].upper() + reason[1:]


def _flagged_claims(verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the flagged claims of a verdict in JSON, or its flagged sentences if it has none."""
    units: object = verdict.get("claims") or verdict.get("sentences") or ()
    flagged: list[Mapping[str, Any]] = []
    for unit in cast("list[object]", units) if isinstance(units, list) else ():
        if isinstance(unit, Mapping):
            claim = cast("Mapping[str, Any]", unit)
            if claim.get("flagged"):
                flagged.append(claim)
    return flagged
