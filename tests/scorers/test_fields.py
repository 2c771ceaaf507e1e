"""How far the fields of objects agree."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Contradiction
from resay.plugins import Evidence, Samples, Scores
from resay.scorers.fields import Fields
from resay.scorers.structured import passage_of, rendered

pytestmark = pytest.mark.anyio

SIX, SEVEN = "a bridge of stone and steel", "a bridge made of stone and steel"


async def compared(value: Any, *others: Any, ignore: tuple[str, ...] = ()) -> Scores:
    scorer = Fields(Fields.Config(ignore=ignore))
    return await scorer.score(passage_of(value), Evidence(Samples([rendered(o) for o in others])))


@pytest.mark.parametrize(
    ("value", "other", "entry"),
    [
        (SIX, SIX.title(), 0.0),
        # Few words agree or do not; of more, those that are missing count.
        (SIX, SIX.replace("steel", "wood"), 1.0),
        (SEVEN, SEVEN.replace("steel", "wood"), 1 / 7),
        (SEVEN, "stone stone", 6 / 7),
        (SEVEN, "wood", 1.0),
        (f"{SEVEN} stone", SEVEN, 1 / 8),
        (0.1 + 0.2, 0.3, 0.0),
        (3, 4, 1.0),
        (3, "3", 0.0),
        ("3", 3, 0.0),
        pytest.param(10**400, 10**400, 0.0, id="no float holds it"),
        pytest.param(10**400, -(10**400), 1.0, id="nor its opposite"),
        (True, True, 0.0),
        (True, False, 1.0),
        (True, 1, 1.0),
        (1, True, 1.0),
        (False, None, 1.0),
        (None, None, 0.0),
        (None, "x", 1.0),
        ("", None, 0.0),
        ([], None, 0.0),
        ("x", None, 1.0),
        ("x", ["x"], 1.0),
        ([1], [1, 2], 0.0),
        ([2], [1, 2], 0.0),
        ([None], ["x", None], 0.0),
    ],
)
async def test_two_values_agree_or_not(value: Any, other: Any, entry: float) -> None:
    scores = await compared({"at": value}, {"at": other})
    assert scores.sentences == (pytest.approx(entry),)


async def test_values_anywhere_in_a_list_are_supported() -> None:
    numbers = [n / 10 for n in range(20)]
    scores = await compared({"at": [0.3, 5, "x", None]}, {"at": [*numbers, "x", "y"]})
    assert scores.sentences == (0.0, 1.0, 0.0, 1.0)
    # Each list is its own, and one value is as good as a list of it.
    scores = await compared({"at": ["x"], "by": ["y"]}, {"at": "x", "by": ["x"], "of": "y"})
    assert scores.sentences == (0.0, 1.0)
    near, far = SEVEN.replace("steel", "wood"), SEVEN.replace("stone and", "wood or")
    for texts in ([near, far], [*[far] * 200, near]):
        scores = await compared({"at": [SEVEN]}, {"at": texts})
        assert scores.sentences == (pytest.approx(1 / 7),)


@pytest.mark.parametrize(
    ("value", "other", "entry"),
    [
        (None, {}, 0.0),
        ("x", {}, 1.0),
        (None, {"at": {"city": "x"}}, 1.0),
        (None, {"a": 1, "at": ["x"], "z": 2}, 1.0),
        (None, {"attic": "x", "zed": 1}, 0.0),
        (None, {"a": 1}, 0.0),
    ],
)
async def test_leaving_out_is_the_same_as_nothing(value: Any, other: Any, entry: float) -> None:
    assert (await compared({"at": value}, other)).sentences == (entry,)


async def test_ignored_fields_have_no_score() -> None:
    value = {"at": {"city": "x"}, "attic": "x", "rows": [{"sku": 1, "n": 1}]}
    scores = await compared(value, {}, ignore=("at", "rows[].sku"))
    assert scores.sentences == (None, 1.0, None, 1.0)


async def test_the_first_sample_that_says_otherwise_is_quoted() -> None:
    samples = Samples([rendered({"at": v} if v else {"b": 1}) for v in ("x", None, "y", "z")])
    evidence = Evidence(samples)
    await samples.all()
    scorer = Fields(Fields.Config())
    await scorer.score(passage_of({"at": "x"}), evidence)

    async def quoted(*scores: float | None) -> Contradiction | None:
        return await scorer.contradiction('at: "x"', evidence, scores)

    assert await quoted(0.0, 1.0, 1.0, 1.0) == Contradiction("sample", 2, 'at: "y"')
    assert await quoted(0.0, 1.0, 0.0, 0.5) == Contradiction("sample", 3, 'at: "z"')
    assert await quoted(0.0, 1.0, None, 0.0) is None


PEOPLE = [
    {"name": "Ada", "year": 1815, "city": "London"},
    {"name": "Bob", "year": 1700, "city": "Rome"},
    {"name": "Cy", "year": 1600, "city": "Rome"},
]
ADA, BOB, CY = PEOPLE
ZED = {"name": "Zed", "year": 1, "city": "Bern"}


def flagged(value: Any, scores: Scores) -> list[str]:
    lines = [sentence.text for sentence in passage_of(value).sentences]
    return [line for line, score in zip(lines, scores.sentences, strict=True) if score]


@pytest.mark.parametrize(
    ("value", "other", "different"),
    [
        pytest.param(PEOPLE, [CY, ADA, BOB], [], id="another order"),
        pytest.param(PEOPLE, [ZED, *PEOPLE], [], id="one more in the sample"),
        pytest.param(
            [ZED, *PEOPLE],
            PEOPLE,
            ['[0].name: "Zed"', "[0].year: 1", '[0].city: "Bern"'],
            id="one more in the answer",
        ),
        pytest.param(PEOPLE, [CY, {**ADA, "year": 1816}, BOB], ["[0].year: 1815"], id="one value"),
        pytest.param(
            [{**ADA, "year": 1700}, {**BOB, "year": 1815}, CY],
            [CY, BOB, ADA],
            ["[0].year: 1700", "[1].year: 1815"],
            id="swapped values",
        ),
        pytest.param(
            [{"name": "Ada", "year": 1}, {"name": "Bob", "year": 2}],
            [{"name": "Bob", "year": 1}, {"name": "Ada", "year": 2}],
            ["[0].year: 1", "[1].year: 2"],
            id="all values swapped",
        ),
        pytest.param([[1, 2], [3, 4]], [[3, 4], [2, 1]], [], id="lists of lists"),
        pytest.param([[1, 2], [3, 4]], [[3, 1], [2, 4]], ["[0][0]: 1", "[1][1]: 4"], id="cells"),
        pytest.param(
            [{"of": "x", "who": [ADA, BOB]}, {"of": "y", "who": [CY, ADA]}],
            [{"of": "y", "who": [ADA, CY]}, {"of": "x", "who": [BOB, ADA]}],
            [],
            id="nested lists",
        ),
        pytest.param(
            [{"at": {"city": "Rome", "street": "Via"}}, {"at": {"city": "Bern"}}],
            [{"at": {"city": "Bern"}}, {"at": {"city": "Rome", "street": "Via"}}],
            [],
            id="nested objects",
        ),
        pytest.param(
            [{"a": 1}, {"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}, {"a": 1}], [], id="equal"
        ),
        pytest.param([{"a": 1}, {"a": 1}], [{"a": 1}], ["[1].a: 1"], id="one is not two"),
        pytest.param([{"a": 1}, "x", 2], ["x", 2, {"a": 1.0}], [], id="mixed"),
        pytest.param([{"a": None, "b": 1}], [{"b": 1}], [], id="nothing"),
        pytest.param([ADA], {"people": [ADA]}, list(rendered([ADA]).split("\n")), id="elsewhere"),
    ],
)
async def test_items_are_compared_with_what_shares_most_with_them(
    value: Any, other: Any, different: list[str]
) -> None:
    assert flagged(value, await compared(value, other)) == different


async def test_texts_are_compared_with_the_nearest_of_another_order() -> None:
    value = [{"note": f"{SEVEN} by the river"}, {"note": "it fell down in a storm in winter"}]
    other = [{"note": "it fell down in the storm in winter"}, {"note": f"{SEVEN} by a river"}]
    assert (await compared(value, other)).sentences == (pytest.approx(0.1), pytest.approx(1 / 8))


@given(st.permutations(range(40)), st.integers(2, 9))
def test_the_order_of_items_does_not_matter(order: list[int], kinds: int) -> None:
    items = [{"kind": n % kinds, "size": n % 3, "tags": [n % 5, "x"]} for n in range(40)]
    value, other = {"items": items}, {"items": [items[n] for n in order]}
    scores = anyio.run(compared, value, other)
    assert set(scores.sentences) == {0.0}


async def test_the_counterpart_of_an_item_is_quoted() -> None:
    value = {"people": PEOPLE}
    samples = Samples([rendered({"people": [CY, {**BOB, "year": 1701}, {**ADA, "year": 1816}]})])
    scorer, evidence = Fields(Fields.Config()), Evidence(samples)
    scores = await scorer.score(passage_of(value), evidence)
    assert flagged(value, scores) == ["people[0].year: 1815", "people[1].year: 1700"]
    quoted = await scorer.contradiction("people[0].year: 1815", evidence, [1.0])
    assert quoted == Contradiction("sample", 0, "people[2].year: 1816")


async def test_fields_that_are_compared_later_have_the_same_counterparts() -> None:
    passage, samples = passage_of(PEOPLE), Samples([rendered([CY, ADA, BOB])])
    scores = await Fields(Fields.Config()).score(passage.only([0, 3, 7]), Evidence(samples))
    assert scores.sentences == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("2021-03-04", "March 4, 2021"),
        ("€12.50", "12.50 EUR"),
        (12.5, "12.50"),
        ("12.50", 12.5),
        (True, "true"),
        ("False", False),
        ("24 months", "2 years"),
        ("50%", "50 percent"),
        ("https://example.org/", "http://www.example.org"),
        ("1,250 m", "1.25 km"),
    ],
)
async def test_values_that_mean_the_same_agree(value: Any, other: Any) -> None:
    scores = await compared({"value": value}, {"value": other})
    assert scores.sentences == (0.0,)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("2021-03-04", "April 3, 2021"),
        ("€12.50", "12.50 USD"),
        (12.5, "125"),
        (True, "false"),
        ("24 months", "3 years"),
        ("1.10", "1.1"),
        ("007", 7),
        ("https://example.org/a", "https://example.org/b"),
        ("5 mg", "5 g"),
        ("Room 5", "5"),
        # No links, whose closing slashes mean nothing.
        ("stone/steel/", "stone/steel"),
    ],
)
async def test_values_that_mean_something_else_do_not(value: Any, other: Any) -> None:
    scores = await compared({"value": value}, {"value": other})
    assert scores.sentences == (1.0,)


@pytest.mark.parametrize(("length", "score"), [(400, 0.0), (401, 1.0)])
async def test_long_texts_are_compared_by_their_words_alone(length: int, score: float) -> None:
    link = "https://example.org/".ljust(length - 1, "a") + "/"
    assert (await compared({"at": link}, {"at": link[:-1]})).sentences == (score,)


@pytest.mark.parametrize(("position", "score"), [(255, 0.0), (256, 1.0)])
async def test_the_first_256_texts_of_a_list_are_read_as_measures(
    position: int, score: float
) -> None:
    texts = [f"Room {n}" for n in range(300)]
    texts[position] = "5,000 m"
    assert (await compared({"at": ["5 km"]}, {"at": texts})).sentences == (score,)


@pytest.mark.parametrize(
    "key", ["firstName", "first_name", "First name", "FIRSTNAME", "first-name"]
)
async def test_keys_agree_however_they_are_written(key: str) -> None:
    scores = await compared({"first_name": "Ada", "age": 36}, {"age": 36, key: "Ada"})
    assert scores.sentences == (0.0, 0.0)
    items = [{"first_name": "Ada", "age": 36}, {"first_name": "Bob", "age": 7}]
    others = [{key: "Bob", "age": 7}, {key: "Ada", "age": 36}]
    assert (await compared(items, others)).sentences == (0.0,) * 4


KEYS = st.sampled_from(
    [
        "name",
        "first_name",
        "größe",
        "a.b",
        'a["x"]',
        "x]",
        '"]',
        "[0]",
        "0",
        "",
        " ",
        "a: b",
        "$ref",
    ]
)
OBJECTS = st.dictionaries(
    KEYS,
    st.recursive(
        st.integers(0, 9),
        lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
    max_size=3,
)


@given(OBJECTS)
def test_each_path_leads_to_its_value(value: dict[str, Any]) -> None:
    scores = anyio.run(compared, value, value)
    assert set(scores.sentences) == {0.0}
    other = anyio.run(compared, value, _with_other_numbers(value))
    for sentence, score in zip(passage_of(value).sentences, other.sentences, strict=True):
        assert score == float(sentence.text[-1].isdigit())


def _with_other_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_other_numbers(item) for key, item in cast("Any", value).items()}
    if isinstance(value, list):
        return [_with_other_numbers(item) for item in cast("Any", value)]
    return value + 100
