"""Numbers that a claim computes from what several documents say, and names that it compares."""

from __future__ import annotations

import pytest

from resay import Guard

GUARD = Guard({"chain": [{"method": "facts", "evidence": "documents"}]})
SUITE = (
    "The Harbour Suite by Leonie Marchetti was first performed in Trieste on 3 October 1928.",
    "Leonie Marchetti (born 12 May 1894 in Gorizia) was an Italian composer.",
)
LOG = ("Incident log. 14:02 Errors reported. 14:05 Disk full. 14:47 Service restored.",)
GRANT = ("The city gives 300 euros for each charger.", "Charger Lumo: 22 kW, price 649 euros.")
SHOPS = (
    '{"shop": "Toolbarn", "price_eur": 89.0, "delivery_eur": 6.5}',
    '{"shop": "Handyhaus", "price_eur": 92.0, "delivery_eur": 0}',
)
STAFF = ("The company had 87 employees at the end of the quarter (Q2: 82).",)
PUMPS = (
    "| Model | Sound power |\n|---|---|\n| Aerovia 6 | 44.1 dB |\n| Aerovia 8 | 46.8 dB |\n"
    "| Aerovia 12 | 51.3 dB |",
)


def is_flagged(answer: str, documents: tuple[str, ...], question: str) -> bool:
    return GUARD.check(answer, question=question, references=list(documents)).flagged


@pytest.mark.parametrize(
    ("documents", "question", "right", "wrong"),
    [
        (
            SUITE,
            "How old was the composer of the Harbour Suite when it was first performed?",
            "Leonie Marchetti was 34 when it was first performed in October 1928.",
            "Leonie Marchetti was 39 when it was first performed in October 1928.",
        ),
        (
            SUITE,
            "Who composed the Harbour Suite?",
            "Leonie Marchetti wrote the Harbour Suite. She was born in Gorizia in May 1894.",
            "Leonie Marchetti wrote the Harbour Suite. She was born in Gorizia in May 1904.",
        ),
        (
            LOG,
            "How long was the shop down?",
            "From the first reports to recovery it took 45 minutes.",
            "From the first reports to recovery it took 55 minutes.",
        ),
        (
            GRANT,
            "What does the Lumo cost me?",
            "The city gives 300 euros, so you pay 349 euros.",
            "The city gives 300 euros, so you pay 359 euros.",
        ),
        (
            SHOPS,
            "What does the drill cost with delivery?",
            "At Toolbarn it comes to €95.50.",
            "At Toolbarn it comes to €98.50.",
        ),
        (
            STAFF,
            "How did the company grow?",
            "It grew by five employees in the quarter, to 87.",
            "It grew by nine employees in the quarter, to 87.",
        ),
        (
            PUMPS,
            "How loud is the Aerovia 8?",
            "With 46.8 dB it is louder than the Aerovia 6.",
            "With 44.1 dB it is louder than the Aerovia 7.",
        ),
    ],
)
def test_documents_are_computed_with_together(documents, question, right, wrong):
    assert not is_flagged(right, documents, question)
    assert is_flagged(wrong, documents, question)
