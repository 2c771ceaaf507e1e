"""Answers that end in a list of their sources, which claims nothing."""

from __future__ import annotations

from typing import Any

import pytest

from resay import Document, Guard
from resay.testing import SimulatedProvider, Subject, World

DOCUMENTS = ["The Garmo bridge opened in 1932.", "The Silo tunnel opened in 1950."]
QUESTION = "When did the Garmo bridge and the Silo tunnel open?"
ANSWER = "The Garmo bridge opened in 1932 [1]. The Silo tunnel opened in 1950 [2]."
LISTS = [
    "Sources:\n[1] Garmo\n[2] Silo",
    "Sources:\n- [1] Garmo\n- [2] Silo",
    "Sources: [1], [2]",
    "Source: [1]",
    "Quellen: [1] Garmo; [2] Silo",
    "**Sources**\n\n1. Garmo\n2. Silo",
    "References:\n[1] The Garmo bridge\n[2] The Silo tunnel",
    "Sources:\n[1] garmo.md\n[2] silo.md",
    "Sources:\n* garmo.pdf (p. 4)\n* silo.pdf (p. 7)",
    "Sources:\n[1] Garmo handbook, page 3\n[2] Silo handbook (2019)",
    "[1]: garmo.md\n[2]: silo.md",
]
CHAINS: list[list[Any]] = [["facts"], [{"method": "facts", "evidence": "documents"}]]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("sources", LISTS)
def test_a_list_of_sources_is_not_scored_and_needs_no_samples(
    chain: list[Any], sources: str
) -> None:
    guard = Guard({"chain": chain})
    answer = f"{ANSWER}\n\n{sources}"
    context = "\n\n".join(f"[{i}] {text}" for i, text in enumerate(DOCUMENTS, start=1))
    prompt = f"Answer with citations.\n\nContext:\n{context}\n\nQuestion: {QUESTION}"
    given = guard.check(answer, question=QUESTION, references=DOCUMENTS)
    in_prompt = guard.check(answer, question=[{"role": "user", "content": prompt}])
    for verdict in (given, in_prompt):
        assert verdict.decision == "consistent"
        assert "not scored" not in verdict.reason
        kinds = {claim.kind for claim in verdict.claims if claim.score is None}
        assert kinds <= {"source", "label"}
        assert "source" in kinds
    wrong = guard.check(answer.replace("1932", "1942"), question=QUESTION, references=DOCUMENTS)
    assert wrong.flagged
    assert [claim.flagged for claim in wrong.claims][:2] == [True, False]


@pytest.mark.parametrize(
    "sources",
    [
        "Sources:\n- The Garmo bridge closed in 1942\n- [2] Silo",
        "Sources:\n- The Garmo bridge was a fake",
        "Sources: [1], [7]",
    ],
)
def test_what_may_claim_something_is_not_passed_over_under_such_a_heading(sources: str) -> None:
    verdict = Guard({"chain": ["facts"]}).check(
        f"{ANSWER}\n\n{sources}", question=QUESTION, references=DOCUMENTS
    )
    assert verdict.decision == "inconclusive"
    strict = Guard({"chain": CHAINS[1], "on_unscored": "block"}).check(
        f"{ANSWER}\n\n{sources}", question=QUESTION, references=DOCUMENTS
    )
    assert strict.unscored


def test_a_link_that_no_document_has_is_flagged_in_a_list_of_sources() -> None:
    answer = f"{ANSWER}\n\nSources: https://example.org/made-up"
    verdict = Guard({"chain": ["facts"]}).check(answer, question=QUESTION, references=DOCUMENTS)
    assert verdict.flagged
    assert verdict.claims[-1].reason == "its link is in no reference"
    documents = [Document("garmo", DOCUMENTS[0], metadata={"url": "https://example.org/made-up"})]
    known = Guard({"chain": ["facts"]}).check(
        "The Garmo bridge opened in 1932.\n\nSources: https://example.org/made-up",
        references=documents,
    )
    assert known.decision == "consistent"


@pytest.mark.parametrize("chain", CHAINS)
def test_an_answer_that_only_names_sources_is_not_skipped(chain: list[Any]) -> None:
    verdict = Guard({"chain": chain}).check(
        "Sources: [1], [2]", question="Which documents say so?", references=DOCUMENTS
    )
    assert verdict.decision == "inconclusive"


def test_policies_that_score_everything_score_lists_of_sources() -> None:
    guard = Guard({"chain": ["facts"], "non_claims": "score"})
    verdict = guard.check(f"{ANSWER}\n\n{LISTS[0]}", question=QUESTION, references=DOCUMENTS)
    assert verdict.decision == "inconclusive"
    assert {claim.kind for claim in verdict.claims} == {"fact"}


@pytest.mark.parametrize("streams", [False, True])
def test_a_guarded_request_draws_no_samples_for_a_list_of_sources(streams: bool) -> None:
    world = World([Subject("Garmo bridge", facts=[[f"{ANSWER}\n\n{LISTS[1]}"]])])
    with SimulatedProvider(world=world) as provider:
        guard = Guard(
            {"chain": ["facts"], "cache": {"store": "none"}},
            model="simulated",
            api_base=provider.base_url,
            api_key="x",
        )
        if streams:
            with guard.stream(QUESTION, references=DOCUMENTS) as stream:
                for _ in stream:
                    pass
            answer = stream.answer
        else:
            answer = guard.ask(QUESTION, references=DOCUMENTS)
        assert answer.verdict.decision == "consistent"
        assert answer.verdict.claims[-1].kind == "source"
