from __future__ import annotations

import json
from dataclasses import replace

import pytest

from resay import (
    Document,
    Guard,
    HallucinationBlocked,
    SentenceVerdict,
    StepRecord,
    Unscored,
    Verdict,
)
from resay.adapters import GuardRuntime, act, withheld_stops
from resay.core.regeneration import Attempt, Regeneration
from resay.plugins import Completion
from support.claims import claim_verdict

RESPONSE = "It opened in 1932. It has six lanes. Done."
LANES = SentenceVerdict("It has six lanes.", 19, 36, 0.9, flagged=True)
FLAGGED = Verdict("flagged", 0.6, "passage 0.60 > 0.50", (LANES,))
FINE = Verdict("consistent", 0.1, "passage 0.10 <= 0.50")
UNSURE = Verdict("inconclusive", None, "too few samples")
TABLE = Unscored("Done.", 37, 42, "table")
SILENT = Unscored("Done.", 37, 42, "sentence")
FIELD = Unscored("Done.", 37, 42, "field")


WRITTEN = Regeneration("repair", (Attempt("passage 0.60 > 0.50"),), adopted=0)


def regenerating(**action: object) -> Guard:
    return guard(action={"do": "regenerate", **action}, on_error="allow")


def guard(**policy: object) -> Guard:
    return Guard({"chain": [{"method": "ngram"}], **policy}, retriever=lambda query: [query])


HEATERS = "| a | b | c |\n|---|---|---|\n| d | 610 | 1 |\n"


def test_in_a_table_the_flagged_cell_is_marked() -> None:
    samples = [HEATERS.replace("610", "500"), HEATERS.replace("610", "725")]
    policy = {"chain": [{"method": "ngram"}], "sampling": {"min": 2, "max": 2}}
    answer = GuardRuntime(guard()).apply(HEATERS, Guard(policy).check(HEATERS, samples=samples))
    assert answer.annotated() == HEATERS.replace("610", "610 [unsupported]")


def test_annotate_never_changes_the_text() -> None:
    answer = GuardRuntime(guard()).apply(RESPONSE, FLAGGED)
    assert (answer.text, answer.action, answer.blocked) == (RESPONSE, "annotate", False)
    assert str(answer) == RESPONSE
    assert not answer.regenerated
    assert answer.annotated() == "It opened in 1932. It has six lanes. [unsupported] Done."
    assert answer.annotated("?") == "It opened in 1932. It has six lanes.? Done."


def test_denied_claims_are_marked_as_contradicted() -> None:
    text = "It is grey. It is red."
    sentences = (
        SentenceVerdict("It is grey.", 0, 11, 0.9, flagged=True, band="contradicted"),
        SentenceVerdict("It is red.", 12, 22, 0.9, flagged=True, band="unsupported"),
    )
    answer = GuardRuntime(guard()).apply(text, Verdict("flagged", 0.9, "both", sentences))
    assert answer.annotated() == "It is grey. [contradicted] It is red. [unsupported]"
    assert answer.annotated(" (!)") == "It is grey. (!) It is red. (!)"


def test_a_contradicted_cell_and_name_are_marked_as_such() -> None:
    row, block = "| d | 610 |", "`import requestz`"
    text = f"{row}\n\n{block}"
    at, name = row.index("610"), text.index("requestz")
    cell = claim_verdict(
        "610", at, at + 3, unit="row", score=0.9, flagged=True, band="contradicted"
    )
    code = claim_verdict(
        *("requestz", name, name + 8),
        unit="code",
        sentence=-1,
        score=0.9,
        flagged=True,
        band="contradicted",
    )
    verdict = Verdict(
        *("flagged", 0.9, "both"),
        sentences=(SentenceVerdict(row, 0, len(row), 0.9, flagged=True, band="contradicted"),),
        claims=(cell, code),
        unscored=(Unscored(block, len(row) + 2, len(text), "code"),),
    )
    assert GuardRuntime(guard()).apply(text, verdict).annotated(unscored="") == (
        f"| d | 610 [contradicted] |\n\n{block}\n\n`requestz` [contradicted]"
    )


def test_block_replaces_the_text() -> None:
    answering = guard(action={"do": "block", "message": "No."})
    answer = GuardRuntime(answering).apply(RESPONSE, FLAGGED)
    assert (answer.text, answer.action, answer.blocked) == ("No.", "block", True)
    assert answer.annotated() == "No."
    answer = act(answering.policy, RESPONSE, FLAGGED, completion=Completion(RESPONSE))
    assert answer.completion == Completion(RESPONSE)
    assert "lanes" not in repr(answer).replace(repr(FLAGGED), "")


def test_a_withheld_response_is_in_no_dictionary() -> None:
    shown = GuardRuntime(guard()).apply(RESPONSE, FLAGGED).to_dict()
    assert (shown["text"], shown["action"]) == (RESPONSE, "annotate")
    assert shown["verdict"]["sentences"][0]["text"] == "It has six lanes."
    withheld = (
        GuardRuntime(guard(action={"do": "block", "message": "No."}))
        .apply(RESPONSE, FLAGGED)
        .to_dict()
    )
    assert "lanes" not in json.dumps(withheld)


def test_block_raises_where_the_policy_says_so() -> None:
    with pytest.raises(HallucinationBlocked) as caught:
        GuardRuntime(guard(action={"do": "block", "exit": "raise"})).apply(RESPONSE, FLAGGED)
    assert caught.value.verdict is FLAGGED
    assert "lanes" not in str(caught.value)


@pytest.mark.parametrize("action", [{"do": "annotate"}, {"do": "block"}])
def test_consistent_answers_are_allowed(action: dict[str, str]) -> None:
    answer = GuardRuntime(guard(action=action)).apply(RESPONSE, FINE)
    assert (answer.text, answer.action) == (RESPONSE, "allow")


@pytest.mark.parametrize("action", ["allow", "annotate", "block"])
def test_on_error_says_what_an_inconclusive_verdict_does(action: str) -> None:
    answer = GuardRuntime(guard(on_error=action)).apply(RESPONSE, UNSURE)
    assert answer.action == action
    assert (answer.text == RESPONSE) is (action != "block")


def test_there_is_nothing_to_withhold_in_what_is_skipped() -> None:
    skipped = Verdict("skipped", None, "the answer calls tools")
    answer = GuardRuntime(guard(on_error="block")).apply("", skipped)
    assert (answer.text, answer.action) == ("", "allow")


def test_an_object_without_a_text_is_withheld_as_any_other_answer() -> None:
    assert GuardRuntime(guard(on_error="block")).apply("", UNSURE).blocked


def test_an_answer_that_was_written_again_and_could_not_be_checked_is_the_last_resorts() -> None:
    unsure = replace(UNSURE, regeneration=WRITTEN)
    assert GuardRuntime(regenerating(otherwise="block")).apply(RESPONSE, unsure).blocked
    assert (
        GuardRuntime(regenerating(otherwise="annotate")).apply(RESPONSE, unsure).action
        == "annotate"
    )
    # The model's own first answer is no rewrite: `on_error` is for that.
    first = replace(UNSURE, regeneration=replace(WRITTEN, adopted=None))
    assert GuardRuntime(regenerating(otherwise="block")).apply(RESPONSE, first).action == "allow"


def test_an_answer_that_was_written_again_says_so_unless_it_is_withheld() -> None:
    for verdict, action, shown in ((FINE, "regenerate", True), (FLAGGED, "block", False)):
        answer = GuardRuntime(regenerating(otherwise="block")).apply(
            RESPONSE, replace(verdict, regeneration=WRITTEN)
        )
        assert (answer.action, answer.regenerated) == (action, shown)


def test_the_last_resort_says_how_it_withholds() -> None:
    block = {"do": "block", "message": "Ask a librarian."}
    assert (
        GuardRuntime(regenerating(otherwise=block)).apply(RESPONSE, FLAGGED).text
        == "Ask a librarian."
    )
    with pytest.raises(HallucinationBlocked):
        GuardRuntime(regenerating(otherwise={"do": "block", "exit": "raise"})).apply(
            RESPONSE, FLAGGED
        )


def test_marks_stand_behind_what_cites_a_source() -> None:
    sources = (
        Document("a", "x", None, {"title": "Lanes"}),
        Document("b", "x", None, {"url": "u"}),
        Document("c", "x", None, {"url": " "}),
    )
    lanes = replace(LANES, citations=("b", "gone"))
    done = SentenceVerdict("Done.", 37, 42, 0.0, citations=("a", "b"))
    cited = replace(FINE, sentences=(lanes, done), regeneration=replace(WRITTEN, sources=sources))
    marked = (
        "It opened in 1932. It has six lanes. [2] Done. [1][2]"
        "\n\nSources:\n[1] Lanes (a)\n[2] b (u)\n[3] c"
    )
    plain = GuardRuntime(regenerating()).apply(RESPONSE, cited)
    assert (plain.text, plain.cited()) == (RESPONSE, marked)
    assert GuardRuntime(regenerating(citations="marks")).apply(RESPONSE, cited).text == marked
    assert GuardRuntime(regenerating(citations="marks")).apply(RESPONSE, FINE).text == RESPONSE
    withheld = regenerating(otherwise={"do": "block", "message": "No."}, citations="marks")
    answer = GuardRuntime(withheld).apply(RESPONSE, replace(cited, decision="flagged"))
    assert answer.text == answer.cited() == "No."


def test_the_last_resort_says_whether_a_withheld_answer_ends_as_a_completed_one() -> None:
    stops = {"do": "block", "finish_reason": "stop"}
    assert withheld_stops(guard(action=stops).policy)
    assert withheld_stops(regenerating(otherwise=stops).policy)
    assert not withheld_stops(guard(action={"do": "block"}).policy)
    assert not withheld_stops(guard().policy)


def test_an_object_is_never_marked() -> None:
    fields = replace(FLAGGED, steps=(StepRecord("fields", 1),))
    assert GuardRuntime(guard()).apply(RESPONSE, fields).annotated() == RESPONSE


@pytest.mark.parametrize("stretch", [TABLE, SILENT])
@pytest.mark.parametrize("setting", ["allow", "annotate", "block"])
def test_unscored_says_what_an_answer_does_of_which_not_all_was_scored(
    setting: str, stretch: Unscored
) -> None:
    answer = GuardRuntime(guard(on_unscored=setting)).apply(
        RESPONSE, replace(FINE, unscored=(stretch,))
    )
    assert answer.action == setting
    assert GuardRuntime(guard(on_unscored=setting)).apply(RESPONSE, FINE).action == "allow"


def test_by_default_it_is_given_with_a_verdict() -> None:
    assert (
        GuardRuntime(guard()).apply(RESPONSE, replace(FINE, unscored=(TABLE,))).action == "annotate"
    )


@pytest.mark.parametrize("verdict", [FLAGGED, UNSURE, Verdict("skipped", None, "only code")])
def test_unscored_answers_are_withheld_in_any_case(verdict: Verdict) -> None:
    verdict = replace(verdict, unscored=(TABLE,))
    policy = {"on_unscored": "block", "on_error": "allow"}
    assert GuardRuntime(guard(**policy)).apply(RESPONSE, verdict).blocked
    assert not GuardRuntime(guard(on_error="allow")).apply(RESPONSE, verdict).blocked


def test_text_excluded_by_the_policy_is_not_withheld() -> None:
    strict = guard(on_unscored="block")
    assert GuardRuntime(strict).apply(RESPONSE, replace(FINE, unscored=(FIELD,))).action == "allow"
    skipped = Verdict("skipped", None, "a greeting", unscored=(SILENT,))
    assert GuardRuntime(strict).apply(RESPONSE, skipped).action == "allow"
    assert GuardRuntime(guard()).apply(RESPONSE, skipped).action == "allow"


def test_a_name_in_code_is_marked_below_its_own_block() -> None:
    block = "```python\nimport requestz\n```"
    text = f"{block}\n\n{block}"
    starts = 0, len(block) + 2
    name = text.rindex("requestz")
    verdict = Verdict(
        "flagged",
        0.9,
        "why",
        claims=(
            claim_verdict("x", name, name + 8, unit="code", score=0.9, flagged=True, sentence=-1),
        ),
        unscored=tuple(Unscored(block, start, start + len(block), "code") for start in starts),
    )
    answer = GuardRuntime(guard(on_unscored="allow")).apply(text, verdict)
    assert answer.annotated(unscored="") == f"{text}\n\n`requestz` [unsupported]"


def test_a_name_in_a_sentence_is_marked_with_it() -> None:
    text = "Then you import `requestz` once."
    verdict = Verdict(
        "flagged",
        0.9,
        "why",
        (SentenceVerdict(text, 0, len(text), 0.9, flagged=True),),
        claims=(claim_verdict("x", 17, 25, unit="code", score=0.9, flagged=True),),
        unscored=(Unscored(text, 0, len(text), "sentence"),),
    )
    assert (
        GuardRuntime(guard()).apply(text, verdict).annotated(unscored="") == f"{text} [unsupported]"
    )


def test_unscored_text_is_marked() -> None:
    text = "It is grey. Yes.\n\n| a |\n|---|\n\nDone."
    at = text.index("|")
    stretches = (
        Unscored("Yes.", 12, 16, "sentence"),
        Unscored("| a |\n|---|", at, at + 11, "table"),
    )
    verdict = Verdict("flagged", 0.9, "why", (SentenceVerdict("It is grey.", 0, 11, 0.9, True),))
    answer = GuardRuntime(guard()).apply(text, replace(verdict, unscored=stretches))
    assert answer.annotated() == (
        "It is grey. [unsupported] Yes. [not checked]\n\n| a |\n|---|\n\n[not checked]\n\nDone."
    )
    assert answer.annotated("?", "") == f"It is grey.?{text[11:]}"
    fine = replace(FINE, unscored=stretches)
    assert GuardRuntime(guard(on_unscored="allow")).apply(text, fine).annotated() == text
