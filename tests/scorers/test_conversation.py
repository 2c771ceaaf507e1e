"""`evidence: conversation`: contradictions of what the model itself said in earlier turns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resay import Guard, Request, Verdict
from resay.errors import PolicyError
from resay.plugins import Completion, Completions
from resay.scorers.conversation import comparison

BY_WORDS: dict[str, Any] = {"method": "facts", "evidence": "conversation"}
BY_JUDGE: dict[str, Any] = {"method": "prompt", "evidence": "conversation"}
MESSAGES = [
    {"role": "user", "content": "When did the Garmo bridge open?"},
    {"role": "assistant", "content": "The Garmo bridge opened in 1932. It was a sunny day."},
    {"role": "user", "content": "And who drew it?"},
    {"role": "assistant", "content": "Ada Moor drew it."},
    {"role": "user", "content": "Tell me both in one line."},
]
WRONG = "The Garmo bridge opened in 1950, and Ada Moor drew it."


class Judge:
    """Gives its answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [a if isinstance(a, str) else json.dumps(a) for a in answers]
        self.prompts: list[str] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.prompts.append("\n".join(str(m["content"]) for m in request.messages))
        return Completions((Completion(self.answers[len(self.prompts) - 1]),))


def check(
    text: str, *steps: dict[str, Any], messages: Any = MESSAGES, judge: Judge | None = None
) -> Verdict:
    guard = Guard({"chain": list(steps or [BY_WORDS]), "cache": {"store": "none"}}, provider=judge)
    return guard.check(text, question=messages)


def test_the_reason_quotes_the_earlier_answer_and_says_which() -> None:
    claim = check(WRONG).claims[0]
    reason = "contradicts answer 1 of the conversation: “The Garmo bridge opened in 1932.”"
    assert (claim.band, claim.by, claim.reason) == ("contradicted", "facts", reason)
    ((part),) = claim.parts
    assert WRONG[part.start : part.end] == "1950"
    assert part.band == "contradicted"
    contradiction = claim.contradicted_by
    assert contradiction is not None
    assert (contradiction.source, contradiction.index) == ("conversation", 0)
    assert contradiction.speaker == "earlier answer 1"
    assert contradiction.text == "The Garmo bridge opened in 1932."


def test_the_verdict_can_be_written_and_read() -> None:
    verdict = check(WRONG)
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))).claims == verdict.claims


def test_what_contradicts_nothing_is_consistent_and_has_no_score() -> None:
    verdict = check("It is painted grey. It opened in 1932.")
    assert (verdict.decision, verdict.score) == ("consistent", 0.0)
    assert [claim.score for claim in verdict.claims] == [None, None]
    assert not verdict.unscored


def test_without_an_earlier_answer_there_is_nothing_to_compare_with() -> None:
    for messages in (MESSAGES[:1], "When did it open?"):
        verdict = check("The Garmo bridge opened in 1950.", messages=messages)
        reason = "facts: the conversation has no earlier answer"
        assert (verdict.decision, verdict.reason) == ("skipped", reason)


def test_what_users_say_is_no_evidence() -> None:
    messages = [
        {"role": "user", "content": "The Garmo bridge opened in 1932. Is it long?"},
        {"role": "assistant", "content": "It is 503 m long."},
        {"role": "user", "content": "Write a sentence about its opening."},
    ]
    assert check("The Garmo bridge opened in 1950.", messages=messages).decision == "consistent"


def test_the_last_answer_on_the_matter_counts() -> None:
    messages = [
        *MESSAGES[:2],
        {"role": "user", "content": "Sure?"},
        {"role": "assistant", "content": "I was wrong: the Garmo bridge opened in 1941."},
        {"role": "user", "content": "One sentence, please."},
    ]
    assert check("The Garmo bridge opened in 1941.", messages=messages).decision == "consistent"
    verdict = check("The Garmo bridge opened in 1950.", messages=messages)
    assert "answer 2" in (verdict.claims[0].reason or "")


def test_reasoning_of_earlier_answers_is_not_what_they_said() -> None:
    answer = "<think>The Garmo bridge opened in 1950, or 1932?</think>It opened in 1932."
    messages = [MESSAGES[0], {"role": "assistant", "content": answer}, MESSAGES[4]]
    assert check("The Garmo bridge opened in 1950.", messages=messages).decision == "flagged"
    assert check("The Garmo bridge opened in 1932.", messages=messages).decision == "consistent"


def test_what_contradicts_nothing_goes_on_to_the_next_step() -> None:
    guard = Guard(
        {
            "chain": [BY_WORDS, {"method": "facts", "evidence": "samples"}],
            "sampling": {"min": 2},
            "cache": {"store": "none"},
        }
    )
    text = "The Garmo bridge opened in 1950. It cost 7 million euros."
    samples = ["The Garmo bridge opened in 1950. It cost 3 million euros."] * 2
    verdict = guard.check(text, question=MESSAGES, samples=[samples[0], samples[1] + " Yes."])
    assert [claim.flagged for claim in verdict.claims] == [True, True]
    assert verdict.claims[0].contradicted_by is not None
    assert verdict.claims[0].contradicted_by.source == "conversation"
    assert verdict.claims[1].contradicted_by is not None
    assert verdict.claims[1].contradicted_by.source == "sample"


def test_documents_overrule_what_was_said() -> None:
    guard = Guard({"chain": [BY_WORDS, "facts"], "cache": {"store": "none"}})
    text = "The Garmo bridge opened in 1950."
    verdict = guard.check(
        text, question=MESSAGES, references=["The Garmo bridge opened in 1950."], samples=[]
    )
    assert verdict.decision == "consistent"


def test_a_judge_is_shown_the_turns_with_their_numbers() -> None:
    found = [{"claim": 1, "answer": 1, "quote": "opened in 1932", "words": "1950"}]
    judge = Judge(found)
    verdict = check(WRONG, BY_JUDGE, judge=judge)
    (prompt,) = judge.prompts
    assert 'number="1">\nThe Garmo bridge opened in 1932. It was a sunny day.' in prompt
    assert 'number="2">\nAda Moor drew it.' in prompt
    assert "Tell me both in one line." in prompt
    claim = verdict.claims[0]
    assert claim.reason == "contradicts answer 1 of the conversation: “opened in 1932”"
    assert (claim.by, claim.band) == ("prompt", "contradicted")
    assert [WRONG[part.start : part.end] for part in claim.parts] == ["1950"]


def test_a_judge_that_finds_nothing_flags_nothing() -> None:
    verdict = check(WRONG, BY_JUDGE, judge=Judge([]))
    assert (verdict.decision, verdict.usage.calls) == ("consistent", 1)


@pytest.mark.parametrize(
    "answer",
    [
        "I see no contradiction.",
        [{"claim": 1, "answer": 1, "quote": "opened in 1911", "words": "1950"}],
        [{"claim": 1, "answer": 3, "quote": "opened in 1932", "words": "1950"}],
        [{"claim": 1, "answer": 2, "quote": "opened in 1932", "words": "1950"}],
        [{"claim": 1, "answer": [1], "quote": "opened in 1932", "words": "1950"}],
        [{"claim": True, "answer": 1, "quote": "opened in 1932", "words": "1950"}],
        [{"claim": 0, "answer": 1, "quote": "opened in 1932", "words": "1950"}],
        [{"claim": "first", "answer": 1, "quote": "opened in 1932", "words": "1950"}],
        '[{"claim": 1, "answer": 1, "quote": "opened in "1932" []"}]',
        ["1"],
    ],
)
def test_a_judge_whose_answer_has_no_ground_is_asked_again(answer: Any) -> None:
    found = [{"claim": 1, "answer": 1, "quote": "opened in 1932"}]
    judge = Judge(answer, found)
    assert check(WRONG, BY_JUDGE, judge=judge).flagged
    assert len(judge.prompts) == 2
    judge = Judge(answer, answer)
    assert check(WRONG, BY_JUDGE, judge=judge).decision == "inconclusive"


def test_a_judge_may_write_numbers_as_texts() -> None:
    judge = Judge([{"claim": "1", "answer": "1", "quote": "opened in 1932"}])
    assert check(WRONG, BY_JUDGE, judge=judge).flagged


def test_no_judge_is_asked_about_something_new() -> None:
    judge = Judge()
    verdict = check("Pelicans eat fish.", BY_JUDGE, judge=judge)
    assert (verdict.decision, judge.prompts) == ("consistent", [])
    assert check("Hello!", BY_JUDGE, messages=MESSAGES[:1], judge=judge).decision == "skipped"


def test_other_methods_do_not_compare_with_the_conversation() -> None:
    for method in ("nli", "grounding", "ngram"):
        with pytest.raises(PolicyError, match="evidence"):
            Guard({"chain": [{"method": method, "evidence": "conversation"}]})


def test_the_work_for_long_answers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []
    compare = comparison.ConversationComparison._is_same_matter  # pyright: ignore[reportPrivateUsage]

    def counting(*arguments: Any) -> bool:
        compared.append(arguments)
        return compare(*arguments)

    monkeypatch.setattr(comparison.ConversationComparison, "_is_same_matter", counting)
    monkeypatch.setattr(comparison, "_MAX_COMPARISONS", 100)
    before = " ".join(f"Region Ander{i} sold {i} units." for i in range(30))
    after = " ".join(f"Region Ander{i} sold {i + 1} units." for i in range(30))
    messages = [{"role": "assistant", "content": before}, {"role": "user", "content": "Again?"}]
    verdict = check(after, BY_WORDS, messages=messages)
    assert verdict.flagged
    assert 0 < len(compared) <= 100
