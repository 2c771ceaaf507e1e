"""The reasons of supported claims: they say what supports them, and by which texts."""

from __future__ import annotations

import re

import pytest

from resay import Guard, Request
from resay.providers import Completion, Completions

SUPPORTED = [
    ("The bridge opened in 1932.", "The bridge opened in 1932."),
    ("It has six lanes and two towers.", "It has six lanes and two towers."),
    ("Canberra is the capital of Australia.", "Canberra is the capital of Australia."),
    ("Yes.", "Yes, it does."),
    ("12", "12"),
    ("Marie Curie won two Nobel prizes.", "Marie Curie won two Nobel prizes."),
    ("Die Brücke wurde 1932 eröffnet.", "Die Brücke wurde 1932 eröffnet."),
    ("Water boils at 100 degrees.", "Water boils at 100 degrees."),
    ("The book was written by Ada Moor.", "The book was written by Ada Moor."),
    ("Son pont mesure 503 mètres.", "Son pont mesure 503 mètres."),
]
# No text speaks against a supported claim, and none of its words is rare.
MISLEADING = re.compile(r"not supported|\b0 of|only|nowhere|contradict|otherwise|the other way")


class Judge:
    """Finds everything supported, whatever it is asked."""

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        claims = len(re.findall(r"^\d+[.:)] ", request.question, re.MULTILINE)) or 1
        lines = [f"{number}: supported" for number in range(1, claims + 1)]
        text = "Yes" if "Yes or No" in request.question else "\n".join(lines)
        return Completions((Completion(text),))


@pytest.mark.parametrize("method", ["ngram", "facts", "published", "per_sample"])
@pytest.mark.parametrize(("claim", "sample"), SUPPORTED)
def test_a_supported_claim_has_a_reason_that_says_so(method: str, claim: str, sample: str) -> None:
    step = {"method": method}
    if method == "published":
        step = {"method": "prompt", "form": "published"}
    elif method == "per_sample":
        step = {"method": "prompt", "mode": "per_sample"}
    guard = Guard(
        {"chain": [step], "sampling": {"min": 3, "max": 3, "confidence": None}},
        provider=Judge(),
        model="m",
    )
    samples = [sample, f"{sample} ", f" {sample}"]

    verdict = guard.check(claim, samples=samples, question="Does it? What is it?")

    assert verdict.decision == "consistent"
    for sentence in verdict.sentences:
        assert sentence.reason
        assert not MISLEADING.search(sentence.reason)
        assert "3 samples" in sentence.reason or "3 of 3 samples" in sentence.reason


def test_reasons_name_the_evidence() -> None:
    policy = {"chain": [{"method": "prompt", "evidence": "references", "mode": "per_sample"}]}
    guard = Guard(policy, provider=Judge(), model="m")
    verdict = guard.check("It is red.", references=["It is red.", "It is new."], question="What?")
    assert verdict.sentences[0].reason == "supported by 2 of 2 references"
