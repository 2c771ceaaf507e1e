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
        "Strong colours have to be painted over, and that is paid by whoever moves out.",
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
