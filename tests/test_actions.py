from __future__ import annotations

import json

import pytest

from resay import Guard, HallucinationBlocked, SentenceVerdict, Verdict

RESPONSE = "It opened in 1932. It has six lanes. Done."
LANES = SentenceVerdict("It has six lanes.", 19, 36, 0.9, flagged=True)
FLAGGED = Verdict("flagged", 0.6, "passage 0.60 > 0.50", (LANES,))
FINE = Verdict("consistent", 0.1, "passage 0.10 <= 0.50")
UNSURE = Verdict("inconclusive", None, "too few samples")


def guard(**policy: object) -> Guard:
    return Guard({"chain": [{"method": "ngram"}], **policy})


def test_annotate_never_changes_the_text() -> None:
    answer = guard().apply(RESPONSE, FLAGGED)
    assert (answer.text, answer.action, answer.blocked) == (RESPONSE, "annotate", False)
    assert str(answer) == RESPONSE
    assert answer.annotated() == "It opened in 1932. It has six lanes. [unsupported] Done."
    assert answer.annotated("?") == "It opened in 1932. It has six lanes.? Done."


def test_block_replaces_the_text() -> None:
    answer = guard(action={"do": "block", "message": "No."}).apply(RESPONSE, FLAGGED)
    assert (answer.text, answer.action, answer.blocked) == ("No.", "block", True)
    assert answer.annotated() == "No."
    assert "lanes" not in repr(answer).replace(repr(FLAGGED), "")


def test_a_withheld_response_is_in_no_dictionary() -> None:
    shown = guard().apply(RESPONSE, FLAGGED).to_dict()
    assert (shown["text"], shown["action"]) == (RESPONSE, "annotate")
    assert shown["verdict"]["sentences"][0]["text"] == "It has six lanes."
    withheld = guard(action={"do": "block", "message": "No."}).apply(RESPONSE, FLAGGED).to_dict()
    assert "lanes" not in json.dumps(withheld)


def test_block_raises_where_the_policy_says_so() -> None:
    with pytest.raises(HallucinationBlocked) as caught:
        guard(action={"do": "block", "exit": "raise"}).apply(RESPONSE, FLAGGED)
    assert caught.value.verdict is FLAGGED
    assert "lanes" not in str(caught.value)


@pytest.mark.parametrize("action", [{"do": "annotate"}, {"do": "block"}])
def test_what_is_consistent_is_allowed(action: dict[str, str]) -> None:
    answer = guard(action=action).apply(RESPONSE, FINE)
    assert (answer.text, answer.action) == (RESPONSE, "allow")


@pytest.mark.parametrize("action", ["allow", "annotate", "block"])
def test_on_error_says_what_an_inconclusive_verdict_does(action: str) -> None:
    answer = guard(on_error=action).apply(RESPONSE, UNSURE)
    assert answer.action == action
    assert (answer.text == RESPONSE) is (action != "block")


def test_there_is_nothing_to_withhold_in_what_is_skipped() -> None:
    skipped = Verdict("skipped", None, "the answer calls tools")
    answer = guard(on_error="block").apply("", skipped)
    assert (answer.text, answer.action) == ("", "allow")


def test_an_object_without_a_text_is_withheld_as_any_other_answer() -> None:
    assert guard(on_error="block").apply("", UNSURE).blocked
