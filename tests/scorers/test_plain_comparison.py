"""Claims that words settle before a model is asked: no two readers would differ about them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from resay import Passage
from resay.core.references import Reference
from resay.scorers.common.grounded_claims import GroundedClaim
from resay.scorers.common.plain_comparison import settle_plainly

pytestmark = pytest.mark.anyio

BRIDGE = (
    "The Garmo bridge opened in 1932. It carries 5,000 cars a day. The Garmo bridge is 5 km long."
)


async def settled(
    claim: str, *documents: str | Reference, question: str = ""
) -> GroundedClaim | None:
    references = [d if isinstance(d, Reference) else Reference(d) for d in documents or [BRIDGE]]
    (result,) = await settle_plainly(Passage.from_sentences([claim]), references, question)
    return result


SUPPORTED: Sequence[tuple[str, Sequence[str]]] = [
    ("The Garmo bridge opened in 1932.", [BRIDGE]),
    ("In 1932, the Garmo bridge opened.", [BRIDGE]),
    ("The Garmo bridge is 5,000 m long.", [BRIDGE]),
    ("It carries 5000 cars a day.", [BRIDGE]),
    ("The Garmo bridge opened in 1932 [1].", [BRIDGE]),
    ("The Garmo bridge opened.", [BRIDGE]),
    ("Die Garmobrücke wurde 1932 eröffnet.", ["Die Garmobrücke wurde 1932 eröffnet."]),
    ("Le pont mesure 2,5 km de long.", ["Le pont mesure 2500 m de long."]),
    ("El plazo de entrega es de 5 días.", ["El plazo de entrega es de cinco días."]),
    ("橋は1932年に開通した。", ["橋は1932年に開通した。"]),
    ("Мост Гармо открылся в 1932 году.", ["Мост Гармо открылся в 1932 году."]),
]
CONTRADICTED: Sequence[tuple[str, Sequence[str]]] = [
    ("The Garmo bridge opened in 1950.", [BRIDGE]),
    ("The Garmo bridge is 6 km long.", [BRIDGE]),
    ("In 1950, the Garmo bridge opened.", [BRIDGE]),
    ("Die Kündigungsfrist beträgt 6 Wochen.", ["Die Kündigungsfrist beträgt vier Wochen."]),
    ("Le délai de livraison est de 8 jours.", ["Le délai de livraison est de 5 jours."]),
    ("El plazo de entrega es de 9 días.", ["El plazo de entrega es de cinco días."]),
]
OPEN: Sequence[tuple[str, Sequence[str]]] = [
    # Other words.
    ("The bridge at Garmo was opened in 1932.", [BRIDGE]),
    # What is behind the claim in the document takes it back, or changes it.
    ("The ferry runs on Sunday.", ["The ferry runs on Sunday only in July."]),
    ("The fee is waived for members.", ["The fee is waived for members unless they are late."]),
    ("Meals are included in the price.", ["Meals are included in the price of no ticket."]),
    ("Ada Moor lives in New.", ["Ada Moor lives in New York."]),
    ("The dose is 5 mg daily.", ["The dose is 5 mg daily or 10 mg twice a week."]),
    ("The mayor resigned.", ["The mayor resigned, according to a rumour."]),
    ("The bridge opened in 1932.", ["According to legend, the bridge opened in 1932."]),
    # What is before it.
    ("The Garmo bridge opened in 1932.", ["If the Garmo bridge opened in 1932, all is well."]),
    ("The Garmo bridge opened in 1932.", ["It is not true that the Garmo bridge opened in 1932."]),
    (
        "The Garmo bridge opened in 1932.",
        ["Nobody believes this: The Garmo bridge opened in 1932."],
    ),
    ("The Garmo bridge opened in 1932.", ["Wrong answers:\n\nThe Garmo bridge opened in 1932."]),
    ("The Garmo bridge opened in 1932.", ["Myths:\n- The Garmo bridge opened in 1932."]),
    ("The Garmo bridge opened in 1932.", ['"The Garmo bridge opened in 1932," said nobody.']),
    # Documents disagree, or say of something else what the claim says.
    ("The Garmo bridge opened in 1932.", [BRIDGE, "The Garmo bridge opened in 1950."]),
    ("The Garmo bridge opened in 1950.", [BRIDGE, "The Silo tunnel opened in 1950."]),
    ("The Garmo bridge opened in 1950.", [BRIDGE + " It was reopened in 1950."]),
    ("Room 5 has a projector.", ["Room 6 has a projector."]),
    ("It carries 5,000 cars a day.", ["It carries 5,000 cars or 900 lorries a day."]),
    # Neither the same value nor another.
    ("The bridge opened on 3 May 1932.", ["The bridge opened in 1932."]),
    ("The bridge is 6 km long.", ["The bridge is about 5 km long."]),
    ("The hall seats 300 to 400 guests.", ["The hall seats 200 to 400 guests and 300 dancers."]),
    # Too little to compare.
    ("It opened.", ["It opened."]),
    ("Is the Garmo bridge open?", ["Is the Garmo bridge open?"]),
]


@pytest.mark.parametrize(("claim", "documents"), SUPPORTED)
async def test_what_a_document_has_word_for_word_is_supported(
    claim: str, documents: Sequence[str]
) -> None:
    result = await settled(claim, *documents)
    assert result is not None
    assert (result.score, result.method) == (0.0, "facts")
    assert result.reason == "reference 1 supports it word for word"
    ((ground),) = result.grounds
    assert ground.supports
    assert ground.start is not None


@pytest.mark.parametrize(("claim", "documents"), CONTRADICTED)
async def test_another_number_in_the_same_words_is_wrong(
    claim: str, documents: Sequence[str]
) -> None:
    result = await settled(claim, *documents)
    assert result is not None
    assert result.score == 1.0
    assert (result.reason or "").startswith("reference 1 contradicts it: '")
    assert not result.grounds[0].supports
    ((span),) = result.spans
    assert any(map(str.isdigit, claim[span.start : span.end]))


@pytest.mark.parametrize(("claim", "documents"), OPEN)
async def test_whatever_could_be_read_otherwise_goes_to_the_model(
    claim: str, documents: Sequence[str]
) -> None:
    assert await settled(claim, *documents) is None


async def test_a_pronoun_is_settled_by_a_document_about_its_subject_only() -> None:
    documents = [
        "Garmo bridge. It carries 900 cars a day.",
        "Silo tunnel. It carries 400 cars a day.",
    ]
    claim = "It carries 400 cars a day."
    of_bridge = await settled(claim, *documents, question="How busy is the Garmo bridge?")
    of_tunnel = await settled(claim, *documents, question="How busy is the Silo tunnel?")
    assert of_bridge is None
    assert of_tunnel is not None
    assert of_tunnel.score == 0.0


async def test_an_older_edition_settles_nothing() -> None:
    old = Reference("The fee for members is 5 euros.", edition="2020")
    new = Reference("Members pay 7 euros.", edition="2024")
    assert await settled("The fee for members is 5 euros.", old, new) is None
    assert await settled("Members pay 7 euros.", old, new) is not None
