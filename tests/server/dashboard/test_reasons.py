"""Reasons of verdicts, counted in words."""

from __future__ import annotations

import pytest

from resay_server.dashboard.frequent_findings import frequent_findings
from support.dashboard import make


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "2 of 5 sentences > 0.50 with 5 samples",
            "A sentence is over its threshold",
        ),
        (
            "passage 0.62 > 0.50, 1 of 1 field > 0.50 after 3 of 8 samples",
            "The score of the answer is over its threshold, a field is over its threshold",
        ),
        (
            "1 of 3 names in code > 0.50; compared: 3 names in code",
            "A name in code is over its threshold",
        ),
        ("only 1 usable sample; `sampling.min` is 3", "Too few usable samples"),
        (
            "only 0 usable samples; `sampling.min` is 3; failed: 2 TimeoutError",
            "Too few usable samples; failed: some TimeoutError",
        ),
        (
            "the check did not finish within 2.5 s (`limits.deadline_s`); 4 samples had arrived",
            "The check did not finish in time",
        ),
        ("2 of 3 sentences could not be scored", "Some sentences could not be scored"),
        (
            "1 of 1 sentence could not be scored; the judge 'gpt-4.1' cannot be reached: nothing"
            " listens at 127.0.0.1:8000",
            "Some sentences could not be scored; the judge 'gpt-4.1' cannot be reached: nothing"
            " listens at 127.0.0.1:8000",
        ),
        (
            "prompt: 4 of 6 comparisons failed (ProviderError: HTTP 500 x4); 12 attempts",
            "Prompt: some comparisons failed (ProviderError: HTTP 500 x4); some attempts",
        ),
        ("1 of 1 sentence > 0.50 with 1 sample", "A sentence is over its threshold"),
        ("no references found to compare with", "No references found to compare with"),
        (
            "1 of 2 sentences > 0.50 by 3 references with 5 samples",
            "A sentence is over its threshold",
        ),
    ],
)
def test_reasons_are_words(reason: str, words: str) -> None:
    findings = frequent_findings([make(reason=reason), make(reason=reason)])
    assert findings.reasons == ((words, 2),)


def test_reasons_that_differ_in_numbers_are_one() -> None:
    entries = [make(reason=f"{i} of 7 sentences > 0.50 with {i} samples") for i in range(1, 5)]
    assert frequent_findings(entries).reasons == (("A sentence is over its threshold", 4),)
