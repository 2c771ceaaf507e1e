"""The scores of `facts`, calculated by hand from the weights that its module describes."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import anyio
import pytest

from resay import Passage, Request
from resay.adapters.providers import ReplayProvider
from resay.plugins import Evidence, Samples, ScorerTraits
from resay.scorers.facts import Facts

pytestmark = pytest.mark.anyio

MILL = "Tell me about the mill."


class Case(NamedTuple):
    """A sentence, the samples that it is compared with, and its facts: their weights and doubts."""

    sentence: str
    samples: list[str]
    facts: list[tuple[float, float]]
    question: str = MILL
    undoubted: float = 2.0
    decisive_doubt: float = 0.0


async def score(case: Case, disagreement: float = 0.0) -> float:
    facts = Facts(Facts.Config(disagreement=disagreement))
    evidence = Evidence(Samples(case.samples), request=Request.of(case.question))
    scores = await facts.score(Passage.of(case.sentence), evidence)
    assert scores.sentences[0] is not None
    return scores.sentences[0]


# A word of six characters or more weighs 1, and a shorter one a sixth for each character.
CASES = {
    "a quantity beside another word of the sentence counts in full": Case(
        "The mill has 40 rooms.",
        ["It has 40 rooms. Its owner sells bread. A road leads there."] * 2,
        [(6, 0.0), (5 / 6, 0.0)],
    ),
    "a quantity beside none of the words of the sentence counts half": Case(
        "The mill has 40 rooms.",
        ["Its garden has 40 trees. It is full of rooms. A road leads there."] * 2,
        [(6, 0.5), (5 / 6, 0.0)],
    ),
    "a silent sample counts a fifth": Case(
        "The mill has 40 rooms.",
        ["It stands near a river. Its owner sells bread. A road leads there."] * 2,
        [(6, 0.8), (5 / 6, 0.8)],
    ),
    "a sample with two of five words is not silent, and other words weigh 3 together": Case(
        "Barley, oats, wheat, maize, millet.",
        ["The mill grinds barley with oats. Its owner sells bread. A road leads there."],
        [(3 * 10 / 26, 0.0), (3 * 16 / 26, 1.0)],
    ),
    "a sample with one of five words is silent": Case(
        "Barley, oats, wheat, maize, millet.",
        ["The mill grinds barley. Its owner sells bread. A road leads there."],
        [(3 * 6 / 26, 0.0), (3 * 20 / 26, 0.8)],
    ),
    "a word of a name in another form counts half": Case(
        "It belongs to Anna Bergen.",
        ["It belongs to Bergs daughter Olga."],
        [(2, 1.0), (2, 0.5), (1, 0.0)],
    ),
    "a name of nine words counts as two": Case(
        "Ana Bea Cid Dov Eli Fay Gus Hal Ian.",
        ["Ana Bea Cid Dov Eli Fay Gus Hal."],
        [(4, 0.0), (4, 1.0)],
    ),
    "a sample of the words of the question and the name says nothing else": Case(
        "Rory Berg runs it.",
        ["Rory Berg runs it.", "Rory runs the mill.", "It is run by Anna."],
        [(2, 1 / 3), (2, 1 - (1 + 1 / 3) / 3), (6 * 1 / 3, 1 / 3)],
        question="Who runs the mill?",
    ),
    "an item of a list says little beside its facts": Case(
        "- 40 rooms", ["It has 12 rooms."] * 2, [(6, 1.0), (5 / 6, 0.0)], undoubted=0.5
    ),
    "three short samples are too few to measure how much they repeat": Case(
        "The grand mill grinds barley.",
        ["The mill crushes rye.", "The mill processes barley.", "They make flour."],
        [(5 / 6, 1.0), (1, 1.0), (1, 2 / 3), (6 * 2 / 3, 2 / 3)],
    ),
    "words weigh less where four short samples repeat a sixth of theirs": Case(
        "The grand mill grinds barley.",
        ["It crushes rye.", "It processes barley.", "They make barley.", "They bake rye."],
        [
            *[(5 / 6 * (1 / 6) / 0.6, 1.0), (1 / 6 / 0.6, 1.0), (1 / 6 / 0.6, 0.5)],
            (6 * 0.5, 0.5),
        ],
    ),
    "samples that do not mention a quantity follow those that do": Case(
        "The mill has 40 rooms.",
        ["The mill has 40 rooms.", "The mill has 40 rooms.", "It has rooms.", "It has 12 rooms."],
        [(6, 1 - (2 + 2 / 4) / 4), (5 / 6, 0.0)],
    ),
    "one sample that mentions a quantity is enough to be followed": Case(
        "The mill has 40 rooms.",
        ["The mill has 40 rooms.", "It has rooms."],
        [(6, 1 - (1 + 1 / 2) / 2), (5 / 6, 0.0)],
    ),
    "a quantity of the question is a fact in another unit": Case(
        "It lasts 60 minutes.",
        ["It lasts 1 hour.", "It lasts 2 hours."],
        [(6, 0.5)],
        question="Does it last 1 hour?",
    ),
    "a name in code": Case(
        "Call `grind` of the mill.", ["Call the mill.", "Call `grind`."], [(6, 0.5), (4 / 6, 0.0)]
    ),
    "a letter that stands for itself": Case(
        "It holds Vitamin C.",
        ["It holds Vitamin D.", "Vitamin C."],
        [(4, 0.0), (5 / 6, 0.5), (4, 0.5)],
    ),
    "a telephone number without its country decides": Case(
        "Call +49 30 1234567.",
        ["Call 030 1234567.", "Call 1234567 now."],
        [(6, 0.5), (4 / 6, 0.0)],
        decisive_doubt=0.5,
    ),
    "the link of a citation decides, and samples without links do not deny it": Case(
        "It opens at 9 [1](https://a.org/x).",
        ["It opens at 9 [1](https://a.org/x).", "It opens at 9."],
        [(6, 0.0), (5 / 6, 0.0), (6, 0.25)],
        decisive_doubt=0.25,
    ),
    "a quotation is said without its marks": Case(
        'The sign says "no entry for carts".',
        ["It says no entry for carts.", "The sign has letters."],
        [(4 / 6, 0.5), (4 / 6, 0.5), (5 / 6, 0.5), (5 / 6, 0.5), (6, 0.25)],
    ),
    "a quotation is said without what an ellipsis leaves out": Case(
        'The sign says "no entry for … carts".',
        ['It says "no entry for any carts or horses".', "The sign has letters."],
        [(4 / 6, 0.5), (4 / 6, 0.5), (5 / 6, 0.5), (5 / 6, 0.5), (6, 0.25)],
    ),
    "a quotation is said in two sentences": Case(
        'The sign says "no bread, no milk, no cheese".',
        ["It says: no bread. No milk, no cheese.", "The sign has letters."],
        [(3, 0.5), (6, 0.25)],
    ),
    "a quotation is said in four fifths of its words": Case(
        'The sign says "fresh bread baked daily, dear guests".',
        ["It says dear bread is baked fresh daily.", "The sign has letters."],
        [(3 * 12 / 38, 0.5), (3 * 20 / 38, 0.5), (3 * 6 / 38, 1.0), (6, 0.25)],
    ),
    "a telephone number with a country prefix of three digits": Case(
        "Call +351 21 1234567.",
        ["Call 21 1234567.", "Call 99 7654321."],
        [(6, 0.5), (4 / 6, 0.0)],
        decisive_doubt=0.5,
    ),
    "a short sample without words of its own follows those that have some": Case(
        "It grinds barley.",
        ["It grinds barley.", "It is so."],
        [(1, 0.5), (1, 0.5), (6 * 0.25, 0.25)],
    ),
    "a sentence of one word is a name": Case(
        "Rory.", ["Anna.", "Rory."], [(4, 0.5), (6 * 0.5, 0.5)]
    ),
    "a sample of two sentences has its quantities beside everything": Case(
        "The mill has 40 rooms.",
        ["Its garden has 40 roses. It is old.", "The mill has rooms."],
        [(6, 1 - (1 + 1 / 2) / 2), (5 / 6, 0.5)],
    ),
    "words that differ in their sixth letter are not the same": Case(
        "The mill has a policy.", ["The mill has police."], [(1, 1.0), (6, 1.0)]
    ),
    "words that differ in a vowel sign are not the same": Case(
        "उसका नाम दिल है।",
        ["उसका नाम दाल है।"] * 2,
        [(1, 0.0), (0.75, 0.0), (0.75, 1.0)],
        decisive_doubt=1.0,
    ),
    "a year is no fact beside a question with its day": Case(
        "It opened in 1932.",
        ["It opened then.", "It opened in 1950."],
        [(6, 1.0), (12, 0.375)],
        question="Did it open on 3 May 1932?",
    ),
    "the opposite decides": Case(
        "The price rose.",
        ["The price fell.", "The price fell.", "The price rose."],
        [(5 / 6, 0.0), (4 / 6, 2 / 3)],
        decisive_doubt=2 / 3,
    ),
    "the yes or no of an answer": Case(
        "Yes.", ["No.", "Yes.", "Yes.", "No."], [(12, 0.5)], "Is the mill old?"
    ),
}


def pooled(case: Case) -> float:
    squares = sum(weight * doubt**2 for weight, doubt in case.facts)
    weight = case.undoubted + sum(weight for weight, _ in case.facts)
    return max(sqrt(squares / weight), 0.75 * case.decisive_doubt)


@pytest.mark.parametrize("name", CASES)
async def test_the_score_is_the_quadratic_mean_of_the_doubts(name: str) -> None:
    assert await score(CASES[name]) == pytest.approx(pooled(CASES[name]))


async def test_disagreement_is_the_mean_doubt_of_the_samples_in_each_other() -> None:
    case = Case(
        "It has 12 rooms.",
        ["It has 40 rooms.", "It has 40 rooms.", "It belongs to Anna Berg."],
        [],
    )
    # Of the other two samples, one says 40 and rooms, and none Anna, Berg and belongs.
    first = sqrt(0.5**2 * (6 + 5 / 6) / (2 + 6 + 5 / 6))
    third = sqrt((4 + 1) / (2 + 4 + 1))
    assert await score(case, disagreement=1.0) == pytest.approx((2 * first + third) / 3)
    mixed = 0.7 * await score(case) + 0.3 * (2 * first + third) / 3
    assert await score(case, disagreement=0.3) == pytest.approx(mixed)


async def test_samples_that_are_still_drawn_are_awaited() -> None:
    samples = Samples()
    evidence = Evidence(samples, request=Request.of(MILL))
    async with anyio.create_task_group() as tasks:
        provider = ReplayProvider({MILL: ["The mill has 40 rooms.", "The mill has 40 rooms."]})
        samples.draw_from(tasks, provider, evidence.request, max_requests=2)
        scores = await Facts().score(Passage.of("The mill has 40 rooms."), evidence)
    assert len(scores.columns) == 2


async def test_a_reason_quotes_what_samples_say_instead_wherever_they_say_it() -> None:
    evidence = Evidence(Samples(["It is old. It has 12 rooms."] * 3), request=Request.of(MILL))
    scores = await Facts().score(Passage.of("The mill has 40 rooms."), evidence)
    assert scores.reasons == ("'40' is in 0 of 3 texts compared; most of them say '12'",)


async def test_rows_may_have_more_cells_than_their_table_has_columns() -> None:
    table = "| a | b |\n|---|---|\n| mill | 12 rooms | 40 doors | 7 |"
    case = Case("The mill has 40 rooms and 12 doors.", [table], [])
    assert await score(case) >= 0.75


@pytest.mark.parametrize(
    ("question", "is_given"),
    [
        # The last 299 characters, of which the first are a word.
        (f"{'x' * 400} is{'barley ':z<299}", True),
        (f"{'x' * 400} {'barley ':z<300}", False),
        # What is behind the question mark is not asked.
        (f"{'x' * 600}. What does it grind?barley", False),
        (f"{'x' * 600}. Does it grind barley?", True),
    ],
)
async def test_of_a_long_message_only_the_question_is_taken_for_granted(
    question: str, is_given: bool
) -> None:
    case = Case("It grinds barley quickly.", ["It grinds quickly."], [], question=question)
    assert (await score(case) == 0.0) is is_given


@pytest.mark.parametrize(("length", "is_given"), [(600, True), (601, False)])
async def test_all_of_a_question_of_600_characters_is_taken_for_granted(
    length: int, is_given: bool
) -> None:
    filler = "x" * (length - len("It grinds barley.  What else?"))
    case = Case(
        "It grinds barley quickly.",
        ["It works quickly."],
        [],
        question=f"It grinds barley. {filler} What else?",
    )
    assert (await score(case) == 0.0) is is_given


def test_the_sentences_of_a_stream_are_scored_as_they_arrive() -> None:
    assert Facts.traits == ScorerTraits(by_sentence=True)
