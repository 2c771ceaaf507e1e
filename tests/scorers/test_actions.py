"""What an agent says it did, compared with its tool calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from resay import Guard, Request, Verdict
from resay.core.claim_verdict import Part
from resay.errors import ProviderRefusedError
from resay.testing import ScriptedProvider

GUARD = Guard({"chain": [{"method": "actions"}]})


def call(name: str, arguments: dict[str, Any], result: object, number: int = 1) -> list[Any]:
    """A call of a tool, and its result, as chat completions messages."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    content = result if isinstance(result, str) else json.dumps(result)
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"call_{number}", "content": content},
    ]


def check(answer: str, question: str, *calls: list[Any]) -> Verdict:
    messages: list[Any] = [{"role": "user", "content": question}]
    for messages_of_call in calls:
        messages += messages_of_call
    return GUARD.check(answer, question=messages)


def parts_of(verdict: Verdict) -> list[Part]:
    return [part for claim in verdict.claims for part in claim.parts]


def test_a_call_that_bears_a_claim_out_is_named() -> None:
    booked = call("book_table", {"name": "Fern", "people": 2}, {"reservation": "TB-6120"})
    verdict = check("I booked a table at the Fern. It is TB-6120.", "A table at the Fern?", booked)
    assert verdict.decision == "consistent"
    (part,) = parts_of(verdict)
    assert (part.verdict, part.band) == ("done", "supported")
    assert part.reason == 'call 1 (book_table) did this: {"reservation": "TB-6120"}'


@pytest.mark.parametrize("chain", [["actions", "facts"], ["facts", "actions"]])
def test_a_text_that_mentions_an_act_does_not_show_that_it_was_done(chain: list[str]) -> None:
    """Results of tools are references too, and say "deleted" and "pass" as well."""
    tested = call("run_shell", {"command": "pytest -q"}, "12 passed, 2 failed in 3.1s")
    listed = call("list_files", {}, "tmp files that were deleted: none", number=2)
    question = {"role": "user", "content": "Delete the tmp files, and run the tests."}
    answer = "I deleted the tmp files and all tests pass."
    guard = Guard({"chain": chain})
    verdict = guard.check(
        answer, question=[question, *tested, *listed], samples=[answer, f"{answer} Yes.", "Done."]
    )
    assert verdict.flagged
    assert [claim.by for claim in verdict.claims] == ["actions"]
    assert [part.verdict for part in parts_of(verdict)] == ["not_done", "failed"]


def test_what_calls_decide_needs_no_samples() -> None:
    tested = call("run_shell", {"command": "pytest -q"}, "12 passed, 2 failed in 3.1s")
    question = {"role": "user", "content": "Run the tests."}
    guard = Guard({"chain": ["actions", "facts"]})
    verdict = guard.check("All tests pass.", question=[question, *tested], samples=["All pass."])
    assert verdict.decision == "flagged"


def test_an_action_without_a_call_is_not_done() -> None:
    verdict = check("I have sent the mail to Ada.", "Please send Ada the mail.")
    assert verdict.flagged
    (part,) = parts_of(verdict)
    assert (part.verdict, part.reason) == ("not_done", "no tool was called")


def check_offered(answer: str, question: Any, *tools: str) -> Verdict:
    """Check an answer to a request that offers tools, none of which was called."""
    messages = [{"role": "user", "content": question}]
    offered = [{"type": "function", "function": {"name": name}} for name in tools]
    return GUARD.check(answer, question=messages, params={"tools": offered})


@pytest.mark.parametrize(
    ("answer", "question", "tool"),
    [
        ("I looked through your inbox and found three mails.", "Any from Ann?", "search_mail"),
        ("I checked your calendar and you are free.", "Am I free on Friday?", "list_events"),
        ("I searched the web and found two shops.", "Where is a bike shop?", "web_search"),
        ("Ich habe deinen Posteingang durchsucht.", "Gibt es etwas von Anna?", "search_mail"),
        ("J'ai consulté votre agenda : vous êtes libre.", "Suis-je libre ?", "list_events"),
    ],
)
def test_what_is_read_by_a_tool_is_not_done_without_a_call(
    answer: str, question: str, tool: str
) -> None:
    verdict = check_offered(answer, question, "send_sms", tool)
    assert {part.verdict for part in parts_of(verdict)} == {"not_done"}
    # Another tool reads nothing of the kind, and without tools words decide nothing.
    assert check_offered(answer, question, "send_sms", "get_weather").decision == "skipped"
    assert check_offered(answer, question).decision == "skipped"


PICTURE = [{"type": "text", "text": "Right?"}, {"type": "image_url", "image_url": {"url": "data:"}}]


@pytest.mark.parametrize(
    ("answer", "question", "tool"),
    [
        ("I read your mail and found two typos.", "Is it fine? Dear Ann,\nI am wrote", "read_mail"),
        ("I read your mail and found two typos.", 'Is my mail "i has a cat" fine?', "read_mail"),
        ("I checked your invoice. The sum is right.", PICTURE, "read_invoice"),
        ("I compared the two flights.", "A costs 80, B costs 90. Which?", "search_flights"),
        ("I calculated the price without VAT.", "What is 119 without 19 %?", "get_price"),
        ("I looked at your plan and found two gaps.", "I will move in May.", "search_mail"),
    ],
)
def test_what_is_written_to_an_agent_is_read_without_a_call(
    answer: str, question: Any, tool: str
) -> None:
    assert check_offered(answer, question, tool).decision == "skipped"


def test_a_call_that_failed_is_quoted() -> None:
    deleted = call("delete_coupons", {"campaign": "spring"}, {"status": "ok", "deleted": 0})
    verdict = check("I deleted the 14 coupons.", "Delete the 14 coupons.", deleted)
    (claim,) = verdict.claims
    assert claim.parts[0].verdict == "failed"
    assert claim.band == "contradicted"
    assert claim.contradicted_by is not None
    assert claim.contradicted_by.source == "tool"
    assert claim.contradicted_by.speaker == "tool call 1"
    assert claim.contradicted_by.text == "delete_coupons: deleted: 0"


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ("500 rows exported", "done"),
        ("412 billing.csv", "done"),
        ("500 Internal Server Error", "failed"),
        ("503: try again later", "failed"),
        ("550 5.1.1 User unknown", "failed"),
    ],
)
def test_a_number_at_the_start_of_a_result_is_no_status_of_http(result: str, verdict: str) -> None:
    exported = call("export_rows", {"table": "billing"}, result)
    (part,) = parts_of(check("I exported the rows.", "Export the billing rows.", exported))
    assert part.verdict == verdict


BOOKED = call(
    "book_hotel",
    {"hotel": "Fern", "check_in": "2026-06-09", "check_out": "2026-06-11"},
    {"booking": "B-4711", "price_eur": 214.0, "status": "confirmed"},
)
ORDERED = call("order", {"item": "pizza", "qty": 3, "price": 36.0}, {"status": "ok"})
NO_DAY = call("book_hotel", {"check_in": "2026-02-30", "check_out": "2026-03-02"}, "ok")
SOLD_OUT = call("order", {"item": "pizza", "qty": 3}, {"status": "out_of_stock"})


@pytest.mark.parametrize(
    ("answer", "log", "reason"),
    [
        ("I booked two nights at the Fern.", BOOKED, None),
        ("I booked the Fern for three days.", BOOKED, None),
        ("I booked two nights.", NO_DAY, None),
        ("I ordered three pizzas.", ORDERED, None),
        ("I ordered two pizzas.", ORDERED, "call 1 (order) says qty: 3"),
        ("I ordered three pizzas.", SOLD_OUT, "call 1 (order) failed: status: out_of_stock"),
    ],
)
def test_a_count_is_compared_with_counts_and_dates_and_with_no_price(
    answer: str, log: list[Any], reason: str | None
) -> None:
    verdict = check(answer, "Please do.", log)
    reasons = [part.reason for part in parts_of(verdict) if part.flagged]
    assert reasons == ([] if reason is None else [reason])


def test_an_identifier_that_stands_nowhere_is_invented() -> None:
    opened = call("create_ticket", {"title": "Badge reader"}, {"key": "HELP-2291"})
    verdict = check("I opened ticket HELP-2219.", "Open a ticket for the reader.", opened)
    flagged = [part for part in parts_of(verdict) if part.flagged]
    assert [(part.verdict, part.start, part.end) for part in flagged] == [("invented", 16, 25)]


def test_the_reason_for_a_claim_is_a_sentence_for_people() -> None:
    log = [
        call("create_ticket", {"title": "Badge reader"}, {"key": "HELP-2291"}, 1),
        call("send_message", {"to": "Ines"}, {"status": "queued"}, 2),
    ]
    answer = (
        "I opened a ticket. It is HELP-2219. I sent Ines a message. I also rebooted the server."
    )
    verdict = check(answer, "Open a ticket, tell Ines, reboot the server.", *log)
    assert [claim.reason for claim in verdict.claims if claim.parts] == [
        'call 1 (create_ticket) did this: {"key": "HELP-2291"}',
        "'HELP-2219' appears in no call and no result",
        "call 2 (send_message) is not finished: status: queued",
        "no call did this",
    ]


@pytest.mark.parametrize(
    "answer",
    ["I deleted the 14 coupons. The log is job-88.", "I deleted the 14 coupons (log: job-88)."],
)
def test_an_identifier_of_a_word_and_a_number_is_one(answer: str) -> None:
    request = "Delete the coupons that expired."
    verdict = check(answer, request, call("delete_coupons", {}, {"deleted": 14}))
    start = answer.index("job-88")
    flagged = [part for part in parts_of(verdict) if part.flagged]
    assert [(p.verdict, p.start, p.end) for p in flagged] == [("invented", start, start + 6)]
    logged = call("delete_coupons", {}, {"deleted": 14, "job": "job-88"})
    assert not check(answer, request, logged).flagged


def test_what_a_log_counts_is_no_identifier() -> None:
    deleted = call("delete_coupons", {}, {"deleted": 14, "log": "line\n" * 350})
    assert not check("I deleted the 14 coupons (log: 350 lines).", "Delete them.", deleted).flagged


def test_plans_offers_questions_and_denials_claim_nothing() -> None:
    answer = (
        "I will send the mail now. Shall I save it as well? If you like, I can book a table."
        " I have not deleted anything."
    )
    assert check(answer, "What can you do?").decision == "skipped"


REMINDED = call("send_email", {"to": "ann@x.example"}, {"error": "mailbox unavailable"})


@pytest.mark.parametrize(
    "answer",
    [
        "Let me know whether I should delete the files.",
        "Let me know if you want me to send a reminder.",
        "If anything is unclear, let us know.",
        "Let the team know that the mail was sent.",
        "Confirm that the files were deleted.",
        "I was told to commit, but did not.",
        "I was asked to delete the files.",
        "I was told that the mail was sent.",
        "I planned to delete the files but did not.",
        "I meant to have the files deleted but didn't.",
        "I asked you whether I should delete the files.",
        "I deleted none of the files.",
        "I sent no mail.",
        "Had I sent it, Ann would know.",
        "I assumed that the mail was sent.",
        "I suggest you let Ann know.",
        "Put the files in the folder and let me know.",
        "- Put the files in the folder\n- Let Ann know",
        "Mir wurde mitgeteilt, dass die Mail verschickt wurde.",
        "Bestätigen Sie, dass die Dateien gelöscht wurden.",
        "J'ai été chargé de supprimer les fichiers, mais je ne l'ai pas fait.",
        "Vérifiez que le mail a été envoyé.",
        "He sido informado de que el correo fue enviado.",
        "Sono stato informato che la mail è stata inviata.",
        "Confirme que o e-mail foi enviado.",
        "Ik werd geïnformeerd dat de mail verstuurd is.",
        "Jag skickade inget mejl.",
        "Jeg blev informeret om, at mailen er sendt.",
        "Upewnij się, że testy przechodzą.",
        "Проверьте, что письмо отправлено.",
    ],
)
def test_requests_and_denials_in_any_place_claim_nothing(answer: str) -> None:
    assert check(answer, "Delete the old files and send Ann the mail.", REMINDED).score is None


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("I let Ann know that the files are gone.", "failed"),
        ("I'm happy to tell you that the mail was sent.", "failed"),
        ("Let Ann know and deleted the files.", "failed"),
        ("I was asked to tidy up, and deleted the files.", "not_done"),
        ("I checked that the mail was sent and deleted the files.", "not_done"),
        ("I deleted the files, but not the folder.", "not_done"),
        ("I cancelled order no. 12.", "not_done"),
    ],
)
def test_what_is_like_a_request_or_a_denial_and_is_none_is_judged(
    answer: str, verdict: str
) -> None:
    judged = check(answer, "Delete the old files and send Ann the mail.", REMINDED)
    assert verdict in [part.verdict for part in parts_of(judged)]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I verified that the booking shows up in your account.", "no call did this"),
        ("I verified the fix.", "call 1 (bash) failed: 1 failed, 3 passed"),
        ("I verified that the tests pass.", "call 1 (bash) failed: 1 failed, 3 passed"),
    ],
)
def test_failed_tests_are_quoted_of_what_tests_may_have_checked(answer: str, reason: str) -> None:
    tested = call("bash", {"command": "pytest"}, "1 failed, 3 passed")
    verdict = check(answer, "Book a table and check it.", tested)
    assert {part.reason for part in parts_of(verdict)} == {reason}


def test_a_check_vouches_only_for_what_was_before_it() -> None:
    tested = call("run_tests", {}, "36 passed", 1)
    edited = call("edit_file", {"path": "a.py", "new": "x"}, {"replacements": 1}, 2)
    late = check("I fixed a.py. All tests pass.", "Fix a.py.", tested, edited)
    assert [part.verdict for part in parts_of(late)] == ["done", "not_done"]
    in_time = check("I fixed a.py. All tests pass.", "Fix a.py.", edited, tested)
    assert [part.verdict for part in parts_of(in_time)] == ["done", "done"]


@pytest.mark.parametrize(
    ("answer", "is_flagged"),
    [
        ("I ran the tests and they all pass.", True),
        ("I ran the tests and all of them pass.", True),
        ("I ran the tests. All 36 of them pass.", False),
        ("I ran the tests before the change and they all passed.", False),
        ("I ran the tests first: they all passed. Then I edited a.py.", False),
        ("I edited a.py. The senators voted, and they all passed.", False),
    ],
)
def test_tests_that_are_not_named_again_vouch_for_as_much(answer: str, *, is_flagged: bool) -> None:
    tested = call("run_tests", {}, "36 passed", 1)
    edited = call("edit_file", {"path": "a.py", "new": "x"}, {"replacements": 1}, 2)
    assert check(answer, "Fix a.py.", tested, edited).flagged is is_flagged
    if is_flagged:
        assert not check(answer, "Fix a.py.", edited, tested).flagged


@pytest.mark.parametrize(
    ("answer", "arguments", "is_flagged"),
    [
        ("I booked the show for quarter to eight.", {"value": 231.5}, False),
        ("I booked the show for quarter to eight.", {"time": "19:45", "value": 231.5}, False),
        ("I booked the show for quarter past eight.", {"time": "19:45"}, True),
        ("I booked the show for halb acht.", {"time": "19:30"}, False),
        ("I booked the show for 6 pm your time.", {"time": "16:00"}, False),
        ("I booked the show for 6 pm CEST.", {"start": "2026-05-04T16:00:00Z"}, False),
        ("I booked the show for 6:20 pm CEST.", {"start": "2026-05-04T16:00:00Z"}, True),
        ("I booked the show for 6 pm.", {"time": "16:00"}, True),
        ("I booked the show for 8 people.", {"people": 2, "value": 231.5}, True),
    ],
)
def test_a_time_is_contradicted_by_another_time_only(
    answer: str, arguments: dict[str, Any], *, is_flagged: bool
) -> None:
    request = "Book the show for quarter to eight."
    booked = call("book_show", arguments, {"status": "confirmed"})
    assert check(answer, request, booked).flagged is is_flagged


def test_a_time_that_the_user_named_may_be_another_in_the_time_zone_of_a_call() -> None:
    for start, is_flagged in (("16:00:00Z", False), ("16:00:00", True), ("16:20:00Z", True)):
        created = call("create_event", {"start": f"2026-05-04T{start}"}, {"id": "e1"})
        verdict = check("I put the call at 6 pm.", "Put the call at 6 pm on 4 May.", created)
        assert verdict.flagged is is_flagged


@pytest.mark.parametrize(
    ("answer", "arguments", "is_flagged"),
    [
        ("I set it to 356 \u00b0F.", {"temperature": 180, "unit": "C"}, False),
        ("I set it to 20 degrees.", {"temperature_f": 68}, False),
        ("I set it to 400 \u00b0F.", {"temperature": 180}, True),
        ("I set it to 20.5 degrees.", {"temperature": 21}, True),
        ("I set it to 10 km.", {"miles": 6.21}, False),
        ("I set it to 6.2 miles.", {"distance_km": 10}, False),
        ("I set it to 8 miles.", {"distance_km": 10}, True),
        ("I set it to 75 kg.", {"weight_lbs": 165}, False),
        ("I set it to 70 kg.", {"weight_lbs": 165}, True),
        ("I set it to 72 inches.", {"height_cm": 183}, False),
        ("I set it to 6 ft 2 in.", {"height_cm": 188}, False),
        ("I set it to 6 ft 4 in.", {"height_cm": 188}, True),
        ("I set it to 6 miles.", {"distance_km": 10}, False),
        ("I set it to 600 pixels.", {"width": 800, "height": 600}, False),
    ],
)
def test_a_measure_may_be_converted(
    answer: str, arguments: dict[str, Any], *, is_flagged: bool
) -> None:
    assert check(answer, "Set it.", call("set_value", arguments, "ok")).flagged is is_flagged


@pytest.mark.parametrize(
    ("answer", "name", "arguments", "is_flagged"),
    [
        ("I booked a table at Luigi's.", "book_table", {"restaurant": "Luigi's"}, False),
        ("I booked a table at Luigi's in Rome.", "book_table", {"restaurant": "Luigi's"}, False),
        ("I deployed it to production.", "deploy", {"env": "prod"}, False),
        ("I deployed the production build to staging.", "deploy", {"env": "staging"}, False),
        ("I deployed it to production.", "deploy", {"service": "api"}, False),
        ("I sent the report to Bob.", "send_message", {"to": "Ann"}, True),
        ("I sent the report to Bob.", "send_message", {"to": "Bob Miller"}, False),
        ("I sent the report to Slack for Bob.", "send_message", {"to": "Bob"}, False),
        ("I sent the report to Finance.", "send_message", {"to": "fin@acme.example"}, False),
        ("I scheduled a call with Ann.", "schedule_call", {"attendees": ["Bob", "Ann"]}, False),
    ],
)
def test_a_call_for_somebody_else_is_none_for_whom_an_answer_names(
    answer: str, name: str, arguments: dict[str, Any], *, is_flagged: bool
) -> None:
    verdict = check(answer, "Please do it for Bob.", call(name, arguments, {"status": "ok"}))
    assert [part.verdict for part in parts_of(verdict) if part.flagged] == ["not_done"] * is_flagged


def answer_after_tests(answer: str, result: str) -> Verdict:
    return check(answer, "Run the tests.", call("bash", {"command": "make test"}, result))


@pytest.mark.parametrize(
    "result",
    [
        "210 passed, 2 failed in 3.1s",
        "250 passed, 1 error in 3.1s",
        "  210 passing (3s)\n  2 failing\n",
        "  210 passed (3.1s)\n  2 failed\n",
        "Tests: 2 failed, 210 passed, 212 total",
        "Tests: 212, Assertions: 400, Failures: 2.",
        "Tests run: 212, Failures: 2, Errors: 0",
        "212 examples, 2 failures",
        "ok  \ta\t0.1s\n--- FAIL: TestX (0.00s)\nFAIL",
        "test a ... ok\ntest result: FAILED. 210 passed; 2 failed; 0 ignored",
        "Ran 212 tests in 3.1s\n\nFAILED (failures=2)",
        "# pass 210\n# fail 2",
    ],
)
def test_a_runner_that_counts_failures_bears_no_pass_out(result: str) -> None:
    (part,) = parts_of(answer_after_tests("All tests pass.", result))
    assert part.verdict == "failed"


@pytest.mark.parametrize(
    "result",
    [
        "210 passed, 2 xfailed in 3.1s",
        "tests/test_a.py::test_2_failures PASSED [100%]\n1 passed",
        "  \u2713 shows 3 errors when empty\n  212 passing (3s)",
        "PASS src/fail.test.js\nTests: 0 failed, 212 passed, 212 total",
        "OK (212 tests, expected failures=2)",
        "Tests run: 212, Failures: 0, Errors: 0",
        "212 examples, 0 failures",
        "--- PASS: TestFail (0.00s)\nPASS\nok  \tfail\t0.1s",
        "test parse::fail ... ok\ntest result: ok. 212 passed; 0 failed; 0 ignored",
        "test_fail (t.T) ... ok\nRan 212 tests in 3.1s\n\nOK",
        "ok 1 - fails early\n# pass 212\n# fail 0",
        "no errors",
    ],
)
def test_a_runner_that_counts_no_failures_bears_a_pass_out(result: str) -> None:
    (part,) = parts_of(answer_after_tests("All tests pass.", result))
    assert part.verdict == "done"


@pytest.mark.parametrize(
    ("answer", "is_flagged"),
    [
        ("I ran the tests: 210 passed and 2 failed.", False),
        ("I ran the tests; two of them still fail.", False),
        ("210 tests passed and 2 failed.", False),
        ("I ran the tests: 212 passed and none failed.", True),
        ("I fixed nothing, but all tests pass now, with no failures.", True),
    ],
)
def test_who_tells_of_failed_tests_has_run_them(answer: str, *, is_flagged: bool) -> None:
    assert answer_after_tests(answer, "210 passed, 2 failed in 3.1s").flagged is is_flagged


def test_the_verdict_survives_json_and_loses_its_reasons_without_content() -> None:
    verdict = check("I have sent the mail to Ada.", "Please send Ada the mail.")
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict
    (part,) = parts_of(verdict.without_content())
    assert (part.verdict, part.reason) == ("not_done", None)


def judged(
    *replies: str, answer: str = "I cancelled the gym contract. Your fee ends in May."
) -> tuple[Verdict, list[Request]]:
    requests: list[Request] = []

    def reply(request: Request) -> str:
        requests.append(request)
        return replies[len(requests) - 1]

    policy = {"chain": [{"method": "actions", "judge": "acme/judge"}], "cache": {"store": "none"}}
    guard = Guard(policy, provider=ScriptedProvider(reply))
    messages = [
        {"role": "user", "content": "Cancel the gym contract."},
        *call("tool7", {"target": "membership 12"}, {"code": 200, "state": "pending"}),
        *call("get_contract", {"id": 12}, {"id": 12}, 2),
    ]
    return guard.check(answer, question=messages), requests


CANCELLED = '{"sentence": 1, "words": "cancelled the gym contract", "verdict": "done", "call": 1}'
PENDING = CANCELLED.replace('"done"', '"failed"').replace("1}", '1, "quote": "state: pending"}')


def test_a_judge_names_the_call() -> None:
    verdict, requests = judged(f"[{CANCELLED}]")
    assert verdict.decision == "consistent"
    (part,) = parts_of(verdict)
    assert part.reason == "call 1 (tool7) did this, says acme/judge"
    assert (part.start, part.end) == (2, 28)
    assert len(requests) == 1
    assert '1. tool7 {"target": "membership 12"} -> {"code": 200, "state"' in requests[0].question
    assert "1. I cancelled the gym contract.\n2. Your fee" in requests[0].question


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"findings": [{CANCELLED}]}}',
        f'{CANCELLED}\n{{"sentence": 2, "words": "in May", "verdict": "done", "call": 2}}',
        f"<think>[{CANCELLED.replace('done', 'invented')}]</think>[{CANCELLED}]",
        f"{CANCELLED.replace('cancelled', 'Cancelled').replace('done', 'Done')}, as call [1] says.",
    ],
)
def test_a_judge_is_read_in_other_forms(reply: str) -> None:
    verdict, requests = judged(reply)
    assert verdict.decision == "consistent"
    assert (parts_of(verdict)[0].start, parts_of(verdict)[0].end) == (2, 28)
    assert len(requests) == 1


def test_a_judge_quotes_the_result_that_says_otherwise() -> None:
    verdict, _ = judged(f"```json\n[{PENDING}]\n```")
    claim = verdict.claims[0]
    assert claim.parts[0].verdict == "failed"
    assert claim.contradicted_by is not None
    assert claim.contradicted_by.text == "tool7: state: pending"


def test_a_judge_points_at_what_no_call_did() -> None:
    found = '{"sentence": 2, "words": "fee ends in May", "verdict": "not done", "call": null}'
    verdict, _ = judged(f"Sentence 1 is borne out.\n[{CANCELLED}, {found}]\nSee call [1].")
    flagged = [part for part in parts_of(verdict) if part.flagged]
    assert [(part.verdict, part.start, part.end) for part in flagged] == [("not_done", 35, 50)]


def test_a_judge_that_finds_nothing_overrules_words() -> None:
    verdict, _ = judged("[]", answer="I mailed Ada. It is on its way.")
    assert verdict.decision == "skipped"
    assert verdict.reason == "actions: the answer claims no action, says acme/judge"


@pytest.mark.parametrize("answer", ["I mailed Ada.", "Your fee ends in May."])
def test_that_a_judge_failed_is_said(answer: str) -> None:
    def fail(request: Request) -> str:
        raise ProviderRefusedError("no such key", detail="HTTP 401")

    policy = {"chain": [{"method": "actions", "judge": "acme/judge"}], "cache": {"store": "none"}}
    messages = [{"role": "user", "content": "Cancel it."}, *call("tool7", {}, {"code": 200})]
    guard = Guard(policy, provider=ScriptedProvider(fail))
    verdict = guard.check(answer, question=messages)
    assert verdict.decision == ("flagged" if "Ada" in answer else "skipped")
    reason = "words decided about all sentences: the judge 'acme/judge' failed (HTTP 401)"
    assert verdict.reason.endswith(reason)


UNTRUE = '{"sentence": 2, "words": "ends in May", "verdict": "not_done", "call": null}'


def numbered(number: str) -> str:
    return f"[{UNTRUE.replace('2', number)}]"


@pytest.mark.parametrize(
    "reply",
    [
        numbered('"2"'),
        numbered("2.0"),
        f"[{UNTRUE}]\n[{CANCELLED}]",
        f"[{UNTRUE}]\nNo call but 1 has an empty list [] in its result.",
    ],
)
def test_no_object_of_a_judge_is_passed_over(reply: str) -> None:
    verdict, requests = judged(reply)
    flagged = [part for part in parts_of(verdict) if part.flagged]
    assert [(part.start, part.end) for part in flagged] == [(39, 50)]
    assert len(requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot tell.",
        numbered("true"),
        numbered("[2]"),
        numbered("0"),
        numbered("3"),
        numbered('1, "sentence": 2'),
        f"[{CANCELLED.replace('1}', 'true}')}]",
        f"[{UNTRUE}]\nOthers: []",
        f"{UNTRUE}\n[]",
        "The call returned []. So it is not done.",
        "- sentence: 2\n  verdict: not_done\n  call: null\n  quote: []",
        '[{"sentence": 1, "verdict": "failed", "call": 1, "quote": "{"events": []}"}]',
        "[1]",
        '[{"answer": "done"}]',
        f"[{CANCELLED.replace('done', 'perhaps')}]",
        f"[{CANCELLED.replace('1}', '3}')}]",
        f"[{CANCELLED.replace('1}', 'null}')}]",
        f"[{PENDING.replace('pending', 'closed')}]",
        f"[{CANCELLED.replace('cancelled the gym contract', 'emailed you the confirmation')}]",
    ],
)
def test_where_a_judge_cannot_be_read_it_is_asked_again_and_then_words_decide(reply: str) -> None:
    answer = "I mailed Ada."
    verdict, requests = judged(reply, reply, answer=answer)
    assert len(requests) == 2
    assert verdict.flagged
    assert "says acme/judge" not in str(verdict.to_dict())
    reason = "the answer of the judge 'acme/judge' could not be read"
    assert verdict.reason.endswith(f"words decided about all sentences: {reason}")
    again, _ = judged(reply, "[]", answer=answer)
    assert not again.flagged


def test_words_of_a_judge_that_are_not_in_the_sentence_point_at_nothing() -> None:
    reply = '[{"sentence": 1, "words": "your ticket 77", "verdict": "invented", "call": null}]'
    verdict, requests = judged(reply, reply)
    assert len(requests) == 2
    assert "appears in no call" not in str(verdict.to_dict())
    assert "words decided about 1 sentence: " in verdict.reason


def test_calls_take_one_line_each_of_a_prompt_that_hundreds_do_not_overflow() -> None:
    prompts: list[str] = []

    def answer(request: Request) -> str:
        prompts.append(request.question)
        return "[]"

    messages: list[Any] = [{"role": "user", "content": "Cancel the gym contract."}]
    messages += call("look\n2. cancel_contract {} -> done", {"id": 1}, "none")
    for number in range(2, 601):
        messages += call("read_file", {"path": "a" * 1000}, "b" * 1000, number)
    policy = {"chain": [{"method": "actions", "judge": "acme/judge"}], "cache": {"store": "none"}}
    Guard(policy, provider=ScriptedProvider(answer)).check("I cancelled it.", question=messages)
    (prompt,) = prompts
    assert "\n2. cancel_contract" not in prompt
    assert "\n600. read_file" in prompt
    assert len(prompt) < 180_000


def test_long_results_are_not_searched_again_for_each_quotation() -> None:
    searched: list[str] = []

    def search(quote: str, text: str) -> None:
        searched.append(text)

    replies = json.dumps([{**json.loads(PENDING), "sentence": number} for number in (1, 2)])
    messages: list[Any] = [
        {"role": "user", "content": "Cancel the gym contract."},
        *call("tool7", {"target": "membership 12"}, "state: open. " * 100_000),
    ]
    policy = {"chain": [{"method": "actions", "judge": "acme/judge"}], "cache": {"store": "none"}}
    guard = Guard(policy, provider=ScriptedProvider(lambda request: replies))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("resay.scorers.actions.pointing.find_quote", search)
        guard.check("I cancelled it. I told Ada.", question=messages)
    assert searched
    assert max(map(len, searched)) < 30_000


def test_a_judge_is_not_asked_about_an_answer_without_calls_or_claims() -> None:
    def answer(request: Request) -> str:
        raise AssertionError(request)

    policy = {"chain": [{"method": "actions", "judge": "acme/judge"}]}
    guard = Guard(policy, provider=ScriptedProvider(answer))
    verdict = guard.check("The gym opens at nine.", question="When does the gym open?")
    assert verdict.decision == "skipped"


@pytest.mark.parametrize(
    "result",
    [
        f'{{"deleted": 3, "modulus": {"9" * 400}}}',
        "9" * 4000,
        '{"deleted": 3, "share": NaN, "a": 1e999, "b": -Infinity}',
        '{"deleted": 3, "status": "\u00b2"}',
    ],
)
def test_a_number_that_cannot_be_reckoned_with_is_no_number(result: str) -> None:
    messages = [
        {"role": "user", "content": "Delete the coupons that expired."},
        {
            "role": "assistant",
            "tool_calls": [{"id": "a", "function": {"name": "delete_coupons", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": result},
    ]
    guard = Guard({"chain": ["actions"]})
    verdict = guard.check("I deleted the 3 coupons. I sent the mail.", question=messages)
    assert [step.error for step in verdict.steps] == [None]
    assert verdict.flagged


_LANGUAGES = """
from resay.scorers.actions.words import likely_languages
print(likely_languages("Congratulations! Would you like me to save your new address? I could also"
" remind you to tell the bank. I refunded 42.50 for order 6612; the refund's id is re_91x."))
"""


def test_languages_are_told_apart_in_the_same_way_whatever_the_hash_seed() -> None:
    languages = {
        subprocess.run(
            [sys.executable, "-c", _LANGUAGES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        # Under these, Polish or Danish would come third, which are equally likely.
        for seed in ("0", "1")
    }
    assert len(languages) == 1
