from __future__ import annotations

import time
from typing import Any
from uuid import UUID

import pytest

from resay import Usage
from resay.plugins import VerdictRecord, new_id
from resay_server.journal import Entry
from support.journal import SECRETS, entry, make_verdict


def test_an_entry_says_what_its_verdict_says() -> None:
    verdict = make_verdict()
    record = VerdictRecord(
        verdict=verdict, policy="p", action="block", usage=Usage(1, 2, 3, 0.5), latency_s=0.75
    )
    made = Entry.of(record)
    assert (made.id, made.time, made.model) == (record.id, record.time, "unknown")
    assert (made.decision, made.score, made.reason) == ("flagged", 0.75, verdict.reason)
    assert (made.flagged, made.sentences, made.check_usage) == (1, 1, verdict.usage)
    assert (made.usage, made.latency_s, made.check_s) == (Usage(1, 2, 3, 0.5), 0.75, 0.5)
    assert made.verdict == verdict.to_dict()


def test_its_repr_shows_no_content() -> None:
    shown = repr(entry())
    assert "gpt-4.1-mini" in shown
    assert not [secret for secret in SECRETS if secret in shown]


def test_ids_are_of_version_7_and_sort_by_time() -> None:
    before = time.time_ns() // 1_000_000
    made = [new_id() for _ in range(1000)]
    after = time.time_ns() // 1_000_000
    assert len(set(made)) == 1000
    assert {(UUID(i).version, UUID(i).variant) for i in made} == {(7, "specified in RFC 4122")}
    stamps = [UUID(i).int >> 80 for i in made]
    assert stamps == sorted(stamps)
    assert before <= stamps[0]
    assert stamps[-1] <= after


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"id": ""}, "''"),
        ({"id": "two words"}, "'two words'"),
        ({"id": "x" * 101}, "xxx"),
        ({"id": "naïve"}, "'naïve'"),
        ({"score": 1.5}, "1.5"),
        ({"score": float("nan")}, "nan"),
        ({"time": float("inf")}, "inf"),
        ({"latency_s": -1.0}, "-1.0"),
        ({"check_s": float("nan")}, "nan"),
        ({"flagged": -1}, "-1"),
        ({"usage": Usage(prompt_tokens=2**63)}, str(2**63)),
    ],
)
def test_what_no_database_takes_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=r"must|has") as caught:
        entry(**changes)
    assert named in str(caught.value)
