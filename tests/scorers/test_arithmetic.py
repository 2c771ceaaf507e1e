"""Numbers that answers compute from documents: the arithmetic is in the verdict's reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Verdict
from resay.scorers.common.arithmetic.claim import Documents
from resay.scorers.common.arithmetic.passage import results_of
from resay.scorers.common.document_records import Record, records_of

GUARD = Guard({"references": {"by": "words"}, "chain": [{"method": "facts"}]})

BRIDGES = (
    "The Garmo bridge opened in 1932. It is 503 m long.",
    "The Silo tunnel opened in 1950 and is 1,204 m long.",
)
LABS = (
    "The Calder lab is led by Ines Prat. It has 44 staff.",
    "The Wick lab is led by Omar Lund. It has 71 staff.",
)
LINE = ("The Marlo line opened in 1988 and closed in 2006.",)
CLUB = (
    "The Selby club had 200 members in 2018.",
    "The Selby club had 250 members in 2023.",
)
HALLS = (
    "| Hall | Seats | Built |\n|---|---|---|\n"
    "| North | 120 | 1961 |\n| South | 85 | 1970 |\n| Main | 310 | 1955 |",
)
SITES = ("site,score,visits\nOak,72,1100\nElm,81,950\nAsh,90,1300\n",)
VOTE = ("Votes cast 1,000; for the cycle lane 640; against 350; invalid 10.",)
TIMETABLE = ("Departures 7:10 and 8:40; the journey takes 50 minutes.",)
OFFER = ("Offer: 24 hours at 45 euros; paint 220 euros. All without 21 % VAT.",)
MOSSES = ("Rosalind Ferreby was born on 9 November 1802 and died on 2 March 1871.",)
RIVERS = ("Rivers: Ander 84 km; Sterre 212 km; Vold 221 km.",)
OUTAGE = ("Outage: started 22:50 on Friday, resolved 01:20 on Saturday. Lines: 2, 5, 9.",)
BRUECKEN = (
    "Die Ostbrücke ist 412 m lang und wurde 1961 eröffnet.",
    "Die Westbrücke ist 388 m lang und wurde 1974 eröffnet.",
)
PONTS = ("Le pont Vidal a été inauguré en 1889.", "Le pont Marcy a été inauguré en 1923.")
MUSEOS = (
    "La entrada del museo Naval cuesta 9 euros.",
    "La entrada del museo Textil cuesta 6 euros.",
)


def check(claim: str, *documents: str, question: str = "What do they say?") -> Verdict:
    return GUARD.check(claim, question=question, references=list(documents))


@pytest.mark.parametrize(
    ("claim", "documents", "arithmetic"),
    [
        (
            "The Garmo bridge opened 18 years before the Silo tunnel.",
            BRIDGES,
            "18 years = 1950 - 1932, from references 1 and 2",
        ),
        ("The Garmo bridge is older than the Silo tunnel.", BRIDGES, "1932 < 1950"),
        (
            "The Silo tunnel is 701 m longer than the Garmo bridge.",
            BRIDGES,
            "701 m = 1,204 m - 503 m",
        ),
        (
            "Together, the Calder lab and the Wick lab have 115 staff.",
            LABS,
            "115 = 44 + 71, from references 1 and 2",
        ),
        ("The Marlo line was in service for 18 years.", LINE, "18 years = 2006 - 1988"),
        (
            "Membership of the Selby club grew by 25 % between 2018 and 2023.",
            CLUB,
            "25 % = (250 - 200) / 200",
        ),
        ("Three halls are listed.", HALLS, "3 rows, from reference 1"),
        ("Two of the halls have more than 100 seats.", HALLS, "2 of 3 rows"),
        ("The three halls have 515 seats in total.", HALLS, "515 = 120 + 85 + 310"),
        ("The average score of the three sites is 81.", SITES, "81 = (72 + 81 + 90) / 3"),
        ("64 percent of the votes cast were for the cycle lane.", VOTE, "64 percent = 640 / 1,000"),
        ("The 8:40 train arrives at 9:30.", TIMETABLE, "9:30 = 8:40 + 50 minutes"),
        ("The work comes to 1,080 euros.", OFFER, "1,080 euros = 24 hours × 45 euros"),
        ("Rosalind Ferreby lived to be 68.", MOSSES, "68 = 2 March 1871 - 9 November 1802"),
        ("The outage lasted two and a half hours.", OUTAGE, "01:20 - 22:50"),
        ("Three lines were affected.", OUTAGE, "Lines: 3 items"),
        ("Die Ostbrücke ist 24 m länger als die Westbrücke.", BRUECKEN, "24 m = 412 m - 388 m"),
        (
            "Le pont Vidal a été inauguré 34 ans avant le pont Marcy.",
            PONTS,
            "34 ans = 1923 - 1889",
        ),
        (
            "La entrada del museo Naval cuesta 3 euros más que la del museo Textil.",
            MUSEOS,
            "3 euros = 9 euros - 6 euros",
        ),
    ],
)
def test_what_documents_give_is_supported(
    claim: str, documents: tuple[str, ...], arithmetic: str
) -> None:
    verdict = check(claim, *documents)
    assert not verdict.flagged
    reasons = [item.reason or "" for item in verdict.claims]
    assert any(arithmetic in reason for reason in reasons)


@pytest.mark.parametrize(
    ("claim", "documents", "arithmetic"),
    [
        (
            "The Garmo bridge opened 20 years before the Silo tunnel.",
            BRIDGES,
            "references 1 and 2 give 18 years = 1950 - 1932, the answer says '20 years'",
        ),
        ("The Silo tunnel opened 18 years before the Garmo bridge.", BRIDGES, "1950 - 1932"),
        ("The Silo tunnel opened before the Garmo bridge.", BRIDGES, "1950 > 1932"),
        ("The Garmo bridge is longer than the Silo tunnel.", BRIDGES, "503 m < 1,204 m"),
        ("The Garmo bridge opened in 1950.", BRIDGES, "reference 1 gives 1932"),
        (
            "Together, the Calder lab and the Wick lab have 125 staff.",
            LABS,
            "115 = 44 + 71, the answer says '125 staff'",
        ),
        ("The Marlo line was in service for 20 years.", LINE, "18 years = 2006 - 1988"),
        (
            "Membership of the Selby club grew by 50 % between 2018 and 2023.",
            CLUB,
            "25 % = (250 - 200) / 200",
        ),
        ("Four halls are listed.", HALLS, "3 rows, the answer says 'Four halls'"),
        ("The three halls have 525 seats in total.", HALLS, "515 = 120 + 85 + 310"),
        ("Of the three rivers, the Sterre is the longest.", RIVERS, "221 km is the highest of 3"),
        ("The outage lasted three hours.", OUTAGE, "2.5 hours = 01:20 - 22:50"),
        ("Die Ostbrücke ist 34 m länger als die Westbrücke.", BRUECKEN, "24 m = 412 m - 388 m"),
    ],
)
def test_what_documents_give_otherwise_is_flagged_with_the_right_arithmetic(
    claim: str, documents: tuple[str, ...], arithmetic: str
) -> None:
    verdict = check(claim, *documents)
    assert verdict.flagged
    assert arithmetic in (verdict.claims[0].reason or "")


def test_only_the_number_is_flagged() -> None:
    claim = "The three halls have 525 seats in total, and Main was built in 1955."
    (item,) = check(claim, *HALLS).claims
    flagged = [claim[part.start : part.end] for part in item.parts if part.flagged]
    assert flagged == ["525 seats"]


@pytest.mark.parametrize(
    "claim",
    [
        # The sum of two numbers of the documents, but no word says that it is one.
        "The Calder lab has 115 staff.",
        # Of other things.
        "Together, the Calder lab and the Holm lab have 115 staff.",
        # The words that are left say more than the documents.
        "Together, the Calder lab and the Wick lab in Tromsø have 115 staff.",
    ],
)
def test_accidental_arithmetic_supports_nothing(claim: str) -> None:
    assert check(claim, *LABS).flagged


@pytest.mark.parametrize(
    ("claim", "documents"),
    [
        # Documents say the number themselves.
        ("In total, the labs have 130 staff.", (*LABS, "In total, the labs have 130 staff.")),
        ("It opened in 1932.", ("The Garmo bridge opened in 1932.", BRIDGES[1])),
        ("The Garmo bridge and the Silo tunnel opened in 1932 and 1950.", BRIDGES),
        (
            "Small repairs of up to 90 euros are borne by the tenant, up to 250 euros a year.",
            ("Small repairs up to 90 euros are borne by the tenant, up to 250 euros a year.",),
        ),
        ("Four guests rated the inn.", ("inn,stars\nLark,5\nHeron,4\n", "Four guests rated it.")),
    ],
)
def test_what_documents_say_themselves_is_not_computed(
    claim: str, documents: tuple[str, ...]
) -> None:
    assert not check(claim, *documents).flagged


def test_a_sentence_may_name_what_the_next_one_computes() -> None:
    documents = ("The Ferry Oak was planted in 1745.", "The Abbey Lime was planted in 1702.")
    answer = "The Abbey Lime is the older one. It was planted {} years before the Ferry Oak."
    assert not check(answer.format(43), *documents).flagged
    verdict = check(answer.format(53), *documents)
    assert [item.flagged for item in verdict.claims] == [False, True]


def test_objects_are_added_up_by_their_fields() -> None:
    orders = [{"id": f"A-{i}", "customer": f"Client {i % 3}", "total": 40 + i} for i in range(30)]
    document = json.dumps({"orders": orders})
    total = sum(40 + i for i in range(30))
    assert not check(f"All orders together have a total of {total:,}.", document).flagged
    assert check(f"All orders together have a total of {total + 10:,}.", document).flagged


DOCUMENTS = [BRIDGES, LABS, LINE, CLUB, HALLS, SITES, VOTE, TIMETABLE, OFFER, MOSSES, OUTAGE]


@pytest.mark.parametrize("documents", DOCUMENTS)
def test_nothing_speaks_against_what_a_document_says(documents: tuple[str, ...]) -> None:
    records: list[Record] = []
    owners: list[int] = []
    for owner, document in enumerate(documents):
        for record in records_of(document):
            records.append(record)
            owners.append(owner)
    compared = Documents(records, owners, "en")
    for record in records:
        for sentence in record.text.split(". "):
            assert all(result.is_right for result in results_of(sentence, compared))


@given(
    st.text(alphabet="AB aé0123456789.,:;€%-\n|年月日", max_size=80),
    st.text(alphabet="AB aé0123456789.,:;€%-\n|年月日", max_size=80),
)
def test_any_text_can_be_computed_with(claim: str, document: str) -> None:
    words = f"{claim} 5 {document} 40 % is 3 years older than {document}, 25 % more, 5 in total"
    records = records_of(f"{document}. The Garmo bridge opened in 1932.")
    for language in ("en", "de", "zh"):
        documents = Documents(records, [0] * len(records), language)
        for result in results_of(words, documents, claim):
            for start, end in result.covers:
                assert 0 <= start <= end <= len(words)


def test_the_reason_quotes_the_words_of_a_wrong_ratio() -> None:
    claim = "The Silo tunnel is four times as long as the Garmo bridge."
    verdict = GUARD.check(claim, question="How long are they?", references=list(BRIDGES))
    assert f"the answer says {claim!r}" in str(verdict.claims[0].reason)


@pytest.mark.parametrize(("lamps", "is_right"), [(80, True), (76, True), (60, False), (100, False)])
def test_a_multiple_in_words_is_no_rounded_number(lamps: int, is_right: bool) -> None:
    documents = ["The Garmo bridge has 40 lamps.", f"The Silo bridge has {lamps} lamps."]
    claim = "The Silo bridge has twice as many lamps as the Garmo bridge."
    verdict = GUARD.check(claim, question="How many lamps?", references=documents)
    assert verdict.flagged is not is_right
    assert f"{lamps} / 40" in str(verdict.claims[0].reason)
