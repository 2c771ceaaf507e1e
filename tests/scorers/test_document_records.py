"""Documents of rows and objects: a value of one row supports nothing about another."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard
from resay.scorers.common import document_records

PRICES = """Our plans:

| Plan | Price | Seats |
|---|---:|---|
| Basic | $10 | 1 |
| **Team** | $40 | 5 |
| Scale | $95 | 25 |

All of them are billed monthly."""
CSV = "name,opened,length in metres\nGarmo bridge,1932,503\nSilo tunnel,1950,1204\n"
ORDERS = [
    {"id": f"O-{i}", "customer": {"name": f"Client {i}"}, "totalPrice": 100 + 7 * i}
    for i in range(220)
]
GUARD = Guard({"chain": [{"method": "facts"}]})


def records_of(text: str) -> list[str]:
    return [record.text for record in document_records.records_of(text)]


def is_flagged(claim: str, document: str) -> bool:
    verdict = GUARD.check(claim, question="What do they say?", references=[document])
    return verdict.flagged


@pytest.mark.parametrize(
    ("document", "right", "wrong"),
    [
        (PRICES, "The Team plan costs $40 and has 5 seats.", "The Team plan costs $95."),
        (PRICES, "The Scale plan has 25 seats.", "The Scale plan has 5 seats."),
        (PRICES, "Scale costs $95 with 25 seats.", "Scale costs $40 with 25 seats."),
        (PRICES, "All of them are billed monthly.", "All of them are billed in 1999."),
        (CSV, "The Garmo bridge opened in 1932.", "The Garmo bridge opened in 1950."),
        (CSV, "The Silo tunnel is 1204 metres long.", "The Silo tunnel is 503 metres long."),
        (
            json.dumps({"orders": ORDERS}),
            "Order O-17 has a total price of 219.",
            "Order O-17 has a total price of 226.",
        ),
        (
            f"```json\n{json.dumps(ORDERS, indent=2)}\n```",
            "O-200 of Client 200 has a total price of 1500.",
            "O-200 of Client 200 has a total price of 1507.",
        ),
    ],
)
def test_each_row_speaks_of_itself_alone(document: str, right: str, wrong: str) -> None:
    assert not is_flagged(right, document)
    assert is_flagged(wrong, document)


@pytest.mark.parametrize("around", ["{}", "## Plans\n\n{}", "Our plans:\n{}\n\nAll are monthly."])
def test_a_table_is_compared_cell_by_cell_whatever_stands_around_it(around: str) -> None:
    table = "| Plan | Price |\n|---|---|\n| Basic | $10 |\n| Team | $40 |"
    swapped = "| Plan | Price |\n|---|---|\n| Basic | $40 |\n| Team | $10 |"
    assert not is_flagged(table, around.format(table))
    assert is_flagged(swapped, around.format(table))


def test_one_altered_value_is_found_among_many() -> None:
    altered = [dict(order) for order in ORDERS]
    altered[42]["totalPrice"] = 395
    claim = "Order O-42 has a total price of 394."
    assert not is_flagged(claim, json.dumps({"orders": ORDERS}))
    assert is_flagged(claim, json.dumps({"orders": altered}))


def test_the_verdict_names_the_document_and_not_its_row() -> None:
    documents = ["The office is in Oslo.", PRICES]
    verdict = GUARD.check("The Team plan costs $40.", question="?", references=documents)
    assert verdict.claims[0].reason == "reference 2 supports it"
    assert [grounds.reference for grounds in verdict.claims[0].grounds] == [1]


def test_a_row_is_a_sentence_with_its_heads() -> None:
    assert records_of(PRICES) == [
        "Plan Basic, Price $10, Seats 1.",
        "Plan Team, Price $40, Seats 5.",
        "Plan Scale, Price $95, Seats 25.",
        "Our plans:\n\nAll of them are billed monthly.",
    ]
    assert records_of(CSV)[0] == "name Garmo bridge, opened 1932, length in metres 503."
    assert records_of(json.dumps({"orders": ORDERS}))[3] == (
        "orders: id O-3, customer name Client 3, total Price 121."
    )
    beside = {"page": 2, "rows": [{"a": [1, "x"], "ok": True, "gone": None}, ["y"]]}
    assert records_of(json.dumps(beside)) == [
        "page 2.",
        "rows: a 1 and x, ok yes, gone none.",
        "rows: y.",
    ]


def test_cells_end_as_those_of_answers_do() -> None:
    table = "| Key | Count |\n|---|---|\n| a \\| b | 2 |\n| `x|y` | 3 |\n"
    assert records_of(table) == ["Key a \\| b, Count 2.", "Key x|y, Count 3."]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A bridge, a tunnel, and a ferry.\nA road, a rail, and a path.",
        "{not json}",
        "a | b",
        json.dumps([{"n": n} for n in range(2_001)]),
        "The set {1, 2} has two elements.",
    ],
)
def test_prose_and_what_is_too_large_stay_as_they_are(text: str) -> None:
    assert records_of(text) == [text]


@given(st.text(alphabet='|{}[]",;:\t\n -ab1', max_size=200))
def test_any_text_has_records(text: str) -> None:
    assert records_of(text)


@given(
    st.lists(
        st.dictionaries(st.sampled_from(["Name", "size", "opened on"]), st.integers(), min_size=1),
        min_size=1,
        max_size=20,
    )
)
def test_no_value_of_an_object_is_lost(rows: list[dict[str, int]]) -> None:
    records = records_of(json.dumps(rows))
    assert len(records) == len(rows)
    for row, record in zip(rows, records, strict=True):
        for head, value in row.items():
            assert f"{head} {value}" in record


@pytest.mark.parametrize(
    "document",
    [
        "name\tnote\nA\t" + "x" * 200_000,
        'name,opened,note\nA,1932,"' + "x,y,z\n" * 40_000,
        '{"a":' * 980 + "1" + "}" * 980,
        '{"a":[' * 400 + "1" + "]}" * 400,
        "[" * 980 + "1" + "]" * 980,
        "[" * 100_000,
        "```" + "\n" * 20_000 + "{",
        "| a | b |\n|---|---|\n| " + "-" * 50_000 + "x | c |",
    ],
)
def test_documents_of_any_form_can_be_compared_with(document: str) -> None:
    assert all(records_of(document))
