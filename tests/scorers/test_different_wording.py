from __future__ import annotations

import pytest

from resay import Guard

GUARD = Guard({"chain": [{"method": "facts", "evidence": "documents"}]})
LEASE = (
    "Lease, clause 9. Cats are permitted. Dogs require the landlord's prior written consent."
    " Walls in strong colours are to be repainted white at the tenant's expense."
)
CHORUS = (
    "The chorus was founded in 1964 by Edith Carlow. Rehearsals are on Mondays in the old mill."
)


def check(answer, *documents, question="What do the documents say?"):
    (claim,) = GUARD.check(answer, question=question, references=list(documents)).claims
    return claim


@pytest.mark.parametrize(
    "answer",
    [
        "A dog is only allowed if the landlord agrees in writing beforehand.",
        "Walls in strong colours are painted over in white before somebody leaves.",
    ],
)
def test_words_do_not_settle_what_is_put_differently(answer):
    claim = check(answer, LEASE)
    assert not claim.flagged
    assert "words cannot tell" in claim.reason
    assert not claim.grounds


@pytest.mark.parametrize(
    "answer",
    [
        "Bicycles belong into the cellar room.",
        "Dogs with an owner who agrees in writing pay 30 euros.",
        "Dogs are allowed if Mrs Abernathy agrees in writing.",
    ],
)
def test_what_documents_have_nearly_nothing_of_is_flagged(answer):
    assert check(answer, LEASE).flagged


def test_what_is_denied_need_not_be_in_documents():
    assert not check("Nobody there ever asks whether newcomers can read music.", CHORUS).flagged


def test_another_surname_is_no_other_wording():
    assert check("It goes back to Edith Barlow.", CHORUS).flagged
    assert not check("It goes back to Edith Carlow.", CHORUS).flagged


def test_what_is_said_of_something_else_is_no_other_wording():
    rows = "room,floor,view\nAlder,ground,courtyard\nBirch,second,harbour\n"
    assert not check("Birch looks out on the harbour.", rows).flagged
    assert check("Birch looks out on the courtyard.", rows).flagged


def test_such_a_claim_is_left_to_the_samples_where_they_decide():
    guard = Guard({"references": {"unmentioned": "samples"}, "chain": [{"method": "facts"}]})
    verdict = guard.check(
        "A dog is only allowed if the landlord agrees in writing beforehand.",
        references=[LEASE],
        samples=["Dogs may live there."] * 4,
    )
    assert verdict.claims[0].by == "facts"


@pytest.mark.parametrize(
    ("document", "right", "wrong"),
    [
        ("Output of the Brisa 8: 7.94 kW.", "It gives roughly 8 kW.", "It gives roughly 9 kW."),
        (
            "day,temp_c\n5 May,27.9\n",
            "On 5 May it was nearly 28 °C.",
            "On 5 May it was nearly 26 °C.",
        ),
        (
            "Umsatz: 2.384.000 €.",
            "Der Umsatz lag bei etwa 2,4 Millionen.",
            "Der Umsatz lag bei etwa 2,9 Millionen.",
        ),
        (
            "La obra acaba el 31 de marzo.",
            "La obra acaba a finales de marzo.",
            "La obra acaba a principios de marzo.",
        ),
        (
            "Fermeture : du 6 au 19 septembre.",
            "Fermeture en septembre, du 6 au 19.",
            "Fermeture en septembre, du 6 au 29.",
        ),
        (
            "予約は前日17時までです。",
            "予約は前日の午後5時までです。",
            "予約は前日の午後7時までです。",
        ),
    ],
)
def test_values_are_the_same_in_other_words(document, right, wrong):
    assert not check(right, document).flagged
    assert check(wrong, document).flagged


def test_a_list_of_one_object_belongs_to_what_holds_it():
    order = '{"order": 71, "shipped": "2026-02-11", "items": [{"name": "brass lamp", "qty": 2}]}'
    assert not check("Your two brass lamps left on 11 February.", order).flagged
    assert check("Your three brass lamps left on 11 February.", order).flagged


def test_a_name_may_have_another_ending():
    mayors = "Burmistrzowie: 2010-2018 Ewa Nowak, od 2018 Tomasz Gil."
    assert not check("Następcą Ewy Nowak jest od 2018 roku Tomasz Gil.", mayors).flagged
