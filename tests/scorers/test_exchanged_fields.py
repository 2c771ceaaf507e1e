"""Claims that give one entry of a list what only another has."""

from __future__ import annotations

import json

import pytest

from resay import Guard

GUARD = Guard({"chain": [{"method": "facts", "evidence": "documents"}]})
CONTACTS = json.dumps(
    [
        {"topic": "payroll", "name": "Ada Moor", "phone": "2214"},
        {"topic": "parking", "name": "Karl Finch", "phone": "2280"},
        {"topic": "keys", "name": "Sue Berg", "phone": "2251"},
    ]
)
WELLS = "Well A: lead 3.1 µg/l, nitrate 18 mg/l\nWell B: lead 7.6 µg/l, nitrate 41 mg/l"
TALKS = "10:00 Pruning - Carla Nyman\n11:15 Wild bees - Hugh Adair\n13:30 Cider - Beatriz Rocha"
NOVELS = '"The Keeper" by Ngozi Ellery is a family story. "Nine Lamps" by Paul Weir is a thriller.'
ACCOUNTS = "Accounts: Alpha - Jun Park, Delta - Mira Holt, Gamma - Sven Aune."
DOSES = "Children of 1 to 3 years: 2.5 ml a day. Children of 4 to 8 years: 5 ml a day."
ROOMS = "| Sala | Plazas | Piso |\n|---|---|---|\n| Olmo | 32 | bajo |\n| Roble | 18 | alto |"
STAFF = "총무부: 김서윤, 내선 312\n영업부: 박도현, 내선 327"


def flagged_words(answer, *documents, question="What do the documents say?"):
    verdict = GUARD.check(answer, question=question, references=list(documents))
    words: list[str] = []
    for claim in verdict.claims:
        if claim.flagged:
            parts = [part for part in claim.parts if part.flagged]
            words += [answer[part.start : part.end] for part in parts] or [claim.text]
    return words


@pytest.mark.parametrize(
    ("values", "is_flagged"), [("62, 48 and 71 tonnes", False), ("62, 71 and 48 tonnes", True)]
)
def test_values_of_a_list_belong_to_the_names_in_its_order(values, is_flagged):
    harvests = "".join(
        f"Harvest {year}: the vineyard yielded {tonnes} tonnes of grapes. "
        for year, tonnes in ((2019, 62), (2020, 48), (2021, 71))
    )
    words = flagged_words(f"The vineyard yielded {values} in 2019, 2020 and 2021.", harvests)
    assert bool(words) == is_flagged


@pytest.mark.parametrize(
    ("document", "wrong", "words", "right"),
    [
        (CONTACTS, "For parking, ask Sue Berg.", "Sue Berg", "For parking, ask Karl Finch."),
        (WELLS, "Lead was 7.6 µg/l in well A.", "7.6 µg/l", "Lead was 3.1 µg/l in well A."),
        (
            TALKS,
            "Beatriz Rocha talks about wild bees at 11:15.",
            "Beatriz Rocha",
            "Hugh Adair talks about wild bees at 11:15.",
        ),
        (
            NOVELS,
            '"Nine Lamps" is a thriller. It was written by Ngozi Ellery.',
            "Ngozi Ellery",
            '"Nine Lamps" is a thriller. It was written by Paul Weir.',
        ),
        (ACCOUNTS, "Delta is with Jun Park.", "Jun Park", "Delta is with Mira Holt."),
        (DOSES, "A child of five gets 2.5 ml.", "2.5 ml", "A child of five gets 5 ml."),
        (ROOMS, "La sala Olmo tiene 18 plazas.", "18 plazas", "La sala Olmo tiene 32 plazas."),
        (STAFF, "영업부 내선은 312입니다.", "312", "영업부 내선은 327입니다."),
    ],
)
def test_what_only_another_entry_has_is_flagged(document, wrong, words, right):
    (flagged,) = flagged_words(wrong, document)
    assert words in flagged
    assert not flagged_words(right, document)


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        (CONTACTS, "Parking is not the job of Sue Berg."),
        (CONTACTS, "Karl Finch is there for parking, Sue Berg for keys."),
        (WELLS, "Well B has 7.6 µg/l of lead, well A 3.1 µg/l."),
        (NOVELS, '"The Keeper" is a family story, "Nine Lamps" a thriller by Paul Weir.'),
    ],
)
def test_several_entries_in_one_claim_are_no_exchange(document, answer):
    assert not flagged_words(answer, document)


def test_what_another_document_says_of_the_entry_is_no_exchange():
    memo = "Mira Holt left in January. Her accounts go to Jun Park."
    assert not flagged_words("Delta is with Jun Park.", ACCOUNTS, memo)


def test_attributes_of_one_thing_are_no_entries():
    advisory = "Affected: quartz 2.0. Severity: high. Workaround: none."
    assert not flagged_words("Quartz 2.0 is affected, and severity is high.", advisory)
