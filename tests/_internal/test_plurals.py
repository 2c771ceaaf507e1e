"""One of a thing is said in the singular, wherever a reason or a command counts."""

from __future__ import annotations

from typing import Any

from resay import Guard
from resay.testing import ScriptedProvider
from support.cli import resay_here


def reason_of(policy: dict[str, Any], answer: str, **inputs: Any) -> str:
    guard = Guard({"cache": {"store": "none"}, **policy}, provider=ScriptedProvider(["[]"] * 9))
    return guard.check(answer, **{"question": "When did it open?", **inputs}).reason


def test_a_sample_and_a_sentence() -> None:
    policy = {"chain": ["facts"], "sampling": {"min": 1}}
    flagged = reason_of(policy, "It opened in 1932.", samples=["It opened in 1899."])
    assert flagged.endswith("1 of 1 sentence > 0.50 with 1 sample")
    consistent = reason_of(policy, "It opened in 1932.", samples=["It opened in 1932."])
    assert consistent.endswith("with 1 sample")


def test_a_sentence_that_could_not_be_scored() -> None:
    policy = {"chain": [{"method": "prompt", "evidence": "documents"}]}
    reason = reason_of(policy, "It opened in 1932.", references=["It has six lanes."])
    assert reason.startswith("1 of 1 sentence could not be scored; the answer of the judge")


def test_a_sentence_about_which_words_decide() -> None:
    # The judge says nothing of the second.
    first = '[{"sentence": 1, "words": "mailed", "verdict": "perhaps", "call": null}]'
    policy = {"chain": [{"method": "actions", "judge": "acme/judge"}]}
    call = {"id": "1", "function": {"name": "search", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Mail Ada."},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "nothing"},
    ]
    guard = Guard(policy, provider=ScriptedProvider(lambda request: first))
    reason = guard.check("I mailed Ada. I told Tom.", question=messages).reason
    assert "; words decided about 1 sentence: the answer of the judge" in reason


def test_a_call_that_a_policy_costs(tmp_path: Any) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("chain: [facts]\nreferences: {by: judge}\nsampling: {max: 1, min: 1}\n")
    done = resay_here("policy", "check", str(policy))
    assert " 1 calls" not in done.stdout
    assert "1 call and" in done.stdout
