"""Claims with a value that one document has, but of something else."""

from __future__ import annotations

import pytest

from resay import Guard

GUARD = Guard({"chain": [{"method": "facts", "evidence": "documents"}]})
INVOICES = "Invoice 1001 amounts to 538 euros.\nInvoice 1002 amounts to 214 euros."
REVENUE = "Revenue in 2021 was 30 million euros. Revenue in 2022 was 45 million euros."
FLIGHTS = "Flight 812 lands at 9:10. Flight 914 lands at 9:40."
VERSIONS = "Version 2.1 requires Python 3.10. Version 3.0 requires Python 3.11."
DAYS = "On 3 May the temperature was 15 degrees. On 4 May the temperature was 21 degrees."
UMSATZ = "Der Umsatz 2021 betrug 30 Mio. Euro. Der Umsatz 2022 betrug 45 Mio. Euro."
BRIDGES = "The Bonn bridge has 10 lamps. The Trier bridge has 11 lamps."
SECTIONS = (
    "## Electronics\n\nReturns need a receipt. Items can be returned within 14 days.\n\n"
    "## Shoes\n\nReturns need the box. Items can be returned within 30 days.\n"
)
BATTERY = "The Orla lamp was made in 2020. It weighs 2 kg. The battery of the Vela weighs 3 kg."


def decision(answer, document, question):
    return GUARD.check(answer, question=question, references=[document]).decision


@pytest.mark.parametrize(
    ("document", "question", "wrong", "right"),
    [
        (INVOICES, "?", "Invoice 1001 amounts to 214 euros.", "Invoice 1001 amounts to 538 euros."),
        (
            INVOICES,
            "What does invoice 1001 amount to?",
            "It amounts to 214 euros.",
            "It amounts to 538 euros.",
        ),
        (
            REVENUE,
            "?",
            "Revenue in 2021 was 45 million euros.",
            "Revenue rose from 30 million euros in 2021 to 45 million euros in 2022.",
        ),
        (FLIGHTS, "?", "Flight 812 lands at 9:40.", "Flight 914 lands at 9:40."),
        (VERSIONS, "?", "Version 2.1 requires Python 3.11.", "Version 2.1 requires Python 3.10."),
        (DAYS, "?", "On 3 May it was 21 degrees.", "On 4 May it was 21 degrees."),
        (UMSATZ, "?", "Der Umsatz 2021 betrug 45 Mio. Euro.", "Umsatz 2022: 45 Mio. Euro."),
        (BRIDGES, "How many lamps has the Bonn bridge?", "It has 11 lamps.", "It has 10 lamps."),
        (SECTIONS, "How long can I return shoes?", "Within 14 days.", "Within 30 days."),
        (BATTERY, "How much does the Orla lamp weigh?", "It weighs 3 kg.", "It weighs 2 kg."),
    ],
)
def test_a_value_of_another_record_of_a_document_contradicts(document, question, wrong, right):
    assert decision(wrong, document, question) == "flagged"
    assert decision(right, document, question) == "consistent"


def test_the_sentence_with_the_right_value_is_quoted():
    answer = "Invoice 1001 amounts to 214 euros."
    (claim,) = GUARD.check(answer, references=[INVOICES]).claims
    (ground,) = claim.grounds
    assert not ground.supports
    assert INVOICES[ground.start : ground.end] == "Invoice 1001 amounts to 538 euros"
    assert [answer[part.start : part.end] for part in claim.parts if part.flagged] == ["214 euros"]


@pytest.mark.parametrize("count", [50, 400])
def test_values_are_found_displaced_in_long_lists(count):
    lines = [f"Invoice {1000 + i} amounts to {100 + 7 * i} euros." for i in range(count)]
    document, question = "\n".join(lines), "What does invoice 1010 amount to?"
    assert decision("Invoice 1010 amounts to 135 euros.", document, question) == "flagged"
    assert decision("Invoice 1010 amounts to 170 euros.", document, question) == "consistent"


def test_a_value_with_its_subject_two_sentences_before_is_in_its_place():
    document = (
        "The Varde tower opened in 1950. It is painted red. It has 30 lamps. The Orla tower was"
        " planned together with the Varde tower, and has 40 lamps."
    )
    assert decision("The Varde tower has 30 lamps.", document, "?") == "consistent"


def test_what_a_pronoun_takes_up_is_about_the_same():
    document = "The Harlow Line had 6 stops. Today it has 9 stops."
    question = "How many stops has the Harlow Line?"
    assert decision("It has 9 stops.", document, question) == "consistent"


def test_a_subject_named_some_sentences_before_counts():
    document = (
        "The Harlow Line is a tram line. It opened in 1898 with 6 stops. It is 7.4 km long.\n\n"
        "The Ostby Line opened in 1921. The Ostby Line is 5.1 km long."
    )
    question = "How long is the Harlow Line?"
    assert decision("It is 5.1 km long.", document, question) == "flagged"
    assert decision("It is 7.4 km long.", document, question) == "consistent"


def test_a_sentence_about_something_narrower_does_not_decide():
    document = "Guests pay a fee of 20 euros. For pets, residents pay a fee of 50 euros."
    question = "What do residents pay?"
    assert decision("They pay a fee of 20 euros.", document, question) != "flagged"
