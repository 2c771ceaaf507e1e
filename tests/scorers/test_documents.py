"""`evidence: documents`: one row of a policy, whatever compares the claims with the documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from resay import Document, Guard, Request, Verdict
from resay.errors import ConfigurationError, PolicyError
from resay.plugins import (
    Column,
    Completion,
    Completions,
    Evidence,
    Grounds,
    Passage,
    Sample,
    SampleConfig,
    SampleScorer,
)
from support.embeddings import ChatServer
from support.tiny_models import make_bert, make_deberta

DOCUMENTS = ["The Garmo bridge opened in 1932. Ada Moor drew it.", "The Silo tunnel is 2 km long."]
QUESTION = "Tell me about the Garmo bridge and the Silo tunnel."
PLAIN, WRONG, FREE = (
    "The Garmo bridge opened in 1932.",
    "The Silo tunnel is 3 km long.",
    "The plans of the Garmo bridge are by Ada Moor.",
)
JUDGED: dict[str, Any] = {"method": "prompt", "evidence": "documents"}


class Judge:
    """Says that the first document supports every claim, and counts how often it is asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        prompt = str(request.messages[-1]["content"])
        self.prompts.append(prompt)
        claims = prompt.rsplit("<claims", 1)[-1]
        numbers = [n for n in range(1, 9) if f"\n{n}. " in claims]
        verdicts = [{"claim": n, "supported_by": [1], "quotes": ["Ada Moor"]} for n in numbers]
        return Completions((Completion(json.dumps(verdicts)),))


class Numbers(SampleScorer):
    """A method of an application: a sentence is supported by a text with its numbers."""

    name = "numbers"

    class Config(SampleConfig):
        method: Literal["numbers"] = "numbers"

    def __init__(self, config: Config) -> None:
        self.config = config

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        numbers = set(re.findall(r"\d+", sample.text))
        return Column(
            tuple(
                float(not set(re.findall(r"\d+", sentence.text)) <= numbers)
                for sentence in passage.sentences
            )
        )


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as chat_server:
        yield chat_server


def check(chain: list[dict[str, Any]], *claims: str, judge: Judge | None = None) -> Verdict:
    guard = Guard({"chain": chain, "cache": {"store": "none"}}, provider=judge or Judge())
    return guard.check(" ".join(claims), question=QUESTION, references=DOCUMENTS)


def bands(verdict: Verdict) -> list[str | None]:
    return [claim.band for claim in verdict.claims]


def test_words_compare_with_all_documents() -> None:
    judge = Judge()
    verdict = check([{"method": "facts", "evidence": "documents"}], PLAIN, WRONG, judge=judge)
    assert bands(verdict) == ["supported", "contradicted"]
    assert [claim.by for claim in verdict.claims] == ["facts", "facts"]
    assert verdict.claims[0].reason == "reference 1 supports it"
    assert not judge.prompts
    assert len(verdict.references) == 2


def test_a_judge_is_asked_about_all_documents_together() -> None:
    judge = Judge()
    verdict = check([JUDGED], PLAIN, FREE, judge=judge)
    assert bands(verdict) == ["supported", "supported"]
    assert [claim.by for claim in verdict.claims] == ["prompt", "prompt"]
    (prompt,) = judge.prompts
    assert all(document in prompt for document in DOCUMENTS)


def test_words_settle_what_is_plain_and_the_judge_is_asked_about_the_others() -> None:
    judge = Judge()
    verdict = check([{**JUDGED, "words_first": True}], PLAIN, WRONG, FREE, judge=judge)
    assert bands(verdict) == ["supported", "contradicted", "supported"]
    assert [claim.by for claim in verdict.claims] == ["facts", "facts", "prompt"]
    assert [claim.scores for claim in verdict.claims] == [{"facts": 0}, {"facts": 1}, {"prompt": 0}]
    (prompt,) = judge.prompts
    claims = prompt.rsplit("<claims", 1)[-1]
    assert FREE in claims
    assert PLAIN not in claims
    assert WRONG not in claims
    wrong = verdict.claims[1]
    assert wrong.contradicted_by is not None
    assert wrong.contradicted_by.text == "The Silo tunnel is 2 km long."
    assert [verdict_part.start for verdict_part in wrong.flagged_parts] == [wrong.start + 19]
    assert wrong.grounds == (Grounds(1, supports=False, start=0, end=28),)


def test_nobody_is_asked_if_everything_is_plain() -> None:
    judge = Judge()
    verdict = check([{**JUDGED, "words_first": True}], PLAIN, judge=judge)
    assert (verdict.decision, judge.prompts, verdict.usage.calls) == ("consistent", [], 0)


def test_the_comparison_before_the_chain_has_the_same_option() -> None:
    judge = Judge()
    policy = {"chain": ["prompt"], "references": {"words_first": True}, "cache": {"store": "none"}}
    guard = Guard(policy, provider=judge)
    text = f"{PLAIN} {FREE}"
    verdict = guard.check(text, question=QUESTION, references=DOCUMENTS)
    assert [claim.by for claim in verdict.claims] == ["facts", "references"]
    assert len(judge.prompts) == 1


@pytest.mark.parametrize("words_first", [False, True])
def test_a_trained_chat_model_gives_the_same_fields(server: ChatServer, words_first: bool) -> None:
    asked: list[str] = []

    def answer(body: Any) -> tuple[str, Any]:
        asked.append(body["messages"][-1]["content"])
        is_supported = "Document: The Garmo bridge" in asked[-1] and WRONG not in asked[-1]
        return "Yes" if is_supported else "No", None

    server.reply = answer
    model = {"backend": "chat", "name": "bespoke-minicheck", "url": server.url}
    row = {"method": "grounding", "evidence": "documents", "model": model}
    verdict = check([{**row, "words_first": words_first}], PLAIN, WRONG, FREE)
    settled = "facts" if words_first else "grounding"
    assert [claim.by for claim in verdict.claims] == [settled, settled, "grounding"]
    assert [claim.flagged for claim in verdict.claims] == [False, True, False]
    assert verdict.claims[2].reason == "reference 1 supports it (1.00)"
    assert verdict.claims[2].grounds == (Grounds(0, supports=True),)
    assert verdict.claims[1].contradicted_by is not None
    questions = [text for text in asked if "Claim: " in text]
    assert len(questions) == (2 if words_first else 6)


def test_documents_are_found_in_the_conversation() -> None:
    messages = [
        {"role": "system", "content": "Answer from the context only."},
        {"role": "user", "content": f"Context:\n{DOCUMENTS[0]}\n\nQuestion: When did it open?"},
    ]
    guard = Guard({"chain": [{"method": "facts", "evidence": "documents"}]})
    assert (
        guard.check("The Garmo bridge opened in 1932.", question=messages).decision == "consistent"
    )
    verdict = guard.check("The Garmo bridge opened in 1950.", question=messages)
    assert verdict.decision == "flagged"
    assert [reference.origin for reference in verdict.references] == ["messages"]


def test_without_documents_nothing_is_decided() -> None:
    guard = Guard({"chain": [JUDGED]}, provider=Judge())
    verdict = guard.check(PLAIN, question=QUESTION)
    reason = "prompt: the request has no documents to compare with"
    assert (verdict.decision, verdict.reason) == ("inconclusive", reason)


def test_citations_are_checked_whatever_compares(server: ChatServer) -> None:
    server.reply = lambda body: ("Yes", None)
    model = {"backend": "chat", "name": "bespoke-minicheck", "url": server.url}
    rows = [
        {"method": "facts", "evidence": "documents"},
        JUDGED,
        {"method": "grounding", "evidence": "documents", "model": model},
    ]
    for row in rows:
        verdict = check([row], "The Garmo bridge opened in 1932 [7].")
        assert verdict.claims[0].reason == "it cites [7], which does not exist"


def _model_of(method: str, tiny: Any) -> dict[str, Any]:
    """Return settings with a model that is at hand."""
    if method == "nli":
        return {"model": str(tiny(make_deberta))}
    if method in ("bertscore", "similarity"):
        return {"model": str(tiny(make_bert))}
    return {}


@pytest.mark.parametrize("evidence", ["documents", "references"])
@pytest.mark.parametrize(
    "method", ["facts", "prompt", "ngram", "nli", "bertscore", "similarity", "numbers"]
)
def test_one_word_works_with_every_method(method: str, evidence: str, tiny: Any) -> None:
    method_or_path = f"{__name__}:Numbers" if method == "numbers" else method
    chain = [{"method": method_or_path, "evidence": evidence, **_model_of(method, tiny)}]
    guard = Guard({"chain": chain, "cache": {"store": "none"}}, provider=Judge())
    verdict = guard.check(PLAIN, question=QUESTION, references=DOCUMENTS)
    assert verdict.claims[0].score is not None
    assert verdict.claims[0].by == method
    if evidence == "references":
        with pytest.raises(ConfigurationError, match="pass `references`"):
            guard.check(PLAIN, question=QUESTION)
        return
    assert len(verdict.references) == 2
    verdict = guard.check(PLAIN, question=QUESTION)
    reason = f"{method}: the request has no documents to compare with"
    assert (verdict.decision, verdict.reason) == ("inconclusive", reason)


def test_every_document_takes_the_place_of_a_sample() -> None:
    guard = Guard({"chain": [{"method": "ngram", "evidence": "documents"}]})
    (plain, wrong) = guard.check(f"{PLAIN} {WRONG}", references=DOCUMENTS).claims
    assert plain.score == 0.0
    assert wrong.contradicted_by is not None
    assert (wrong.contradicted_by.source, wrong.contradicted_by.index) == ("reference", 1)
    messages = [
        {"role": "system", "content": "Answer from the context only."},
        {"role": "user", "content": f"Context:\n{DOCUMENTS[0]}\n\nQuestion: When did it open?"},
    ]
    assert guard.check(PLAIN, question=messages).decision == "consistent"
    assert guard.check(PLAIN.replace("1932", "1950"), question=messages).decision == "flagged"


def test_words_compare_with_passed_references_alone_if_the_policy_says_so() -> None:
    guard = Guard({"chain": [{"method": "facts", "evidence": "references"}]})
    context = f"Context:\n{DOCUMENTS[0]}\n\nQuestion: When did it open?"
    other = "The Garmo bridge opened in 1950."
    assert guard.check(other, question=context, references=[other]).decision == "consistent"
    assert guard.check(PLAIN, question=context, references=[other]).decision == "flagged"


def test_a_part_of_an_ensemble_may_compare_with_documents() -> None:
    parts = [
        {"weight": 1.0, "scorer": {"method": "facts", "evidence": "documents"}},
        {"weight": 1.0, "scorer": JUDGED},
    ]
    verdict = check([{"method": "ensemble", "parts": parts}], PLAIN)
    assert (verdict.decision, verdict.score) == ("consistent", 0.0)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"method": "prompt", "words_first": True}, "`words_first` is for `evidence: documents`"),
        ({"method": "grounding", "words_first": True}, "`words_first` is for"),
        ({**JUDGED, "probe": 3}, "`probe` is for comparing with samples"),
        ({**JUDGED, "mode": "per_sample"}, "`mode` is for comparing with samples"),
        ({**JUDGED, "evidence": "conversation", "words_first": True}, "not 'conversation'"),
        ({**JUDGED, "evidence": "conversation", "form": "published"}, "is for comparing"),
    ],
)
def test_what_would_have_no_effect_is_refused(step: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Guard({"chain": [step]})


def test_a_long_document_without_a_relevant_sentence_leaves_the_others_in_place() -> None:
    guard = Guard({"chain": [{"method": "facts", "evidence": "documents"}]})
    documents = ["Zed. " + "qq ww ee. " * 400, "Garmo opened in 1932. It has 30 lamps."]
    verdict = guard.check("Garmo has 30 lamps.", question="Garmo?", references=documents)
    assert verdict.decision == "consistent"
    assert [(g.reference, g.supports) for g in verdict.claims[0].grounds] == [(1, True)]


@pytest.mark.parametrize("chain", [["facts"], [{"method": "facts", "evidence": "documents"}]])
@pytest.mark.parametrize("blank", ["", " \n\t", Document("empty.txt", "")])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_blank_document_is_ignored(chain: list[Any], blank: Any, position: int) -> None:
    documents: list[Any] = [*DOCUMENTS]
    documents.insert(position, blank)
    guard = Guard({"chain": chain})
    assert guard.check(WRONG, references=documents).flagged
    verdict = guard.check(PLAIN, references=documents)
    assert verdict.decision == "consistent"
    expected = [f"references[{index}]" for index in range(3) if index != position]
    assert [reference.source for reference in verdict.references] == expected


def test_a_citation_counts_blank_documents() -> None:
    guard = Guard({"chain": ["facts"]})
    documents = ["", *DOCUMENTS]
    assert (
        guard.check("The Garmo bridge opened in 1932 [2].", references=documents).decision
        == "consistent"
    )
    assert (
        guard.check("The Silo tunnel is 2 km long [3].", references=documents).decision
        == "consistent"
    )
    verdict = guard.check("The Silo tunnel is 2 km long [2].", references=documents)
    reason = "it cites [2], which does not support it; [3] supports it"
    assert verdict.claims[0].reason == reason


def test_only_blank_documents_are_none() -> None:
    guard = Guard({"chain": [{"method": "facts", "evidence": "documents"}]})
    without = guard.check(PLAIN, references=[])
    assert guard.check(PLAIN, references=["", " "]).reason == without.reason
    with pytest.raises(ConfigurationError, match="samples"):
        Guard({"chain": ["facts"]}).check(PLAIN, references=[""])
