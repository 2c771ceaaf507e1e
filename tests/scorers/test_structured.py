from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from resay import Guard, Request, Sources, TokenLogprob, Verdict
from resay.adapters import CheckContext, GuardRuntime
from resay.plugins import Completion, Completions, ToolCall
from resay.scorers.structured import (
    Comparable,
    comparable_text,
    fields_in,
    object_in,
    passage_of,
    rendered,
)
from simulation import SimulatedProvider

pytestmark = pytest.mark.anyio

MODEL = "openai/simulated"
POLICY: dict[str, Any] = {
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 4, "min": 3, "confidence": None},
    "cache": {"store": "none"},
}
TOKENS = (TokenLogprob("Ada", -0.1),)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3)
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4) | st.lists(VALUES, max_size=4)


@given(OBJECTS)
def test_an_object_is_read_back_field_by_field(value: Any) -> None:
    text = rendered(value)
    passage = passage_of(value)
    assert [s.text for s in passage.sentences] == text.split("\n")
    assert all(passage.text[s.start : s.end] == s.text for s in passage.sentences)
    leaves = list(fields_in(text).values())
    assert len(leaves) == len(text.split("\n"))
    assert all(not isinstance(leaf, (dict, list)) or not leaf for leaf in leaves)


def test_paths_say_where_a_value_stands() -> None:
    value = {"name": "Zoë", "tags": ["a", "b"], "at": {"city name": None}, "none": []}
    assert rendered(value).split("\n") == [
        'name: "Zoë"',
        'tags[0]: "a"',
        'tags[1]: "b"',
        'at["city name"]: null',
        "none: []",
    ]


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        (Completion('{"a": 1}'), {"a": 1}),
        (Completion('Here it is:\n```json\n{"a": 1}\n```\nWell?'), {"a": 1}),
        (Completion("[1, 2]"), [1, 2]),
        (Completion('The person is {"a": 1}.'), {"a": 1}),
        (Completion('{"a": 1}\n\nLet me know if you need more.'), {"a": 1}),
        (Completion('```\n{"a": 1}\n```'), {"a": 1}),
        (Completion('~~~json\n{"a": 1}\n~~~'), {"a": 1}),
        (Completion('```json\n{"a": "x ``` y"}\n```'), {"a": "x ``` y"}),
        (Completion('```json\n{"a": 1}'), {"a": 1}),
        (Completion('json\n{"a": 1}'), {"a": 1}),
        (Completion('\ufeff{"a": 1}'), {"a": 1}),
        (Completion('**Answer:** `{"a": 1}`'), {"a": 1}),
        (Completion('<answer>{"a": 1}</answer>'), {"a": 1}),
        (Completion('{"a": "line\nbreak"}'), {"a": "line\nbreak"}),
        (Completion('As [1] says {see {"a": 1, "b": {"c": [2]}}'), {"a": 1, "b": {"c": [2]}}),
        (Completion('Instead of {"a": 0}: {"a": 1, "b": 2}'), {"a": 1, "b": 2}),
        (Completion('{"a": {"b": 1}, oops}'), None),
        (Completion('{"a": 1'), None),
        (Completion("{name} is 1 [sic]."), None),
        (Completion("42"), None),
        (Completion("I cannot say."), None),
        (Completion("", calls=(ToolCall("person", '{"a": 1}'),)), {"a": 1}),
        (Completion("", calls=(ToolCall("person", '{"a"'),)), None),
        (Completion("", calls=(ToolCall("weather", '{"a": 1}'),)), None),
        (
            Completion("", calls=(ToolCall("person", '{"a": 1}'), ToolCall("person", "{}", 1))),
            [{"a": 1}, {}],
        ),
    ],
)
def test_an_object_is_found_where_it_stands(completion: Completion, expected: Any) -> None:
    assert object_in(completion, CheckContext(object_tools=("person",))) == expected


SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["name"],
}


class Person(BaseModel):
    name: str
    year: int = 0


@pytest.mark.parametrize(
    "wanted", [{"type": "json_schema", "json_schema": {"schema": SCHEMA}}, Person]
)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Given {"document": "a long text"}, it is {"name": "Ada"}.', {"name": "Ada"}),
        ('{"name": "Ada", "year": 1} as in {"source": [1, 2], "page": 12345}', "first"),
        (
            'Draft: {"name": "Ada", "year": 1}. Final: {"name": "A", "year": 2}',
            {"name": "A", "year": 2},
        ),
        ('[{"x": 1}, {"x": 2}] gives {"name": "Ada"}', {"name": "Ada"}),
        ('{"year": 1815}', {"year": 1815}),
    ],
)
def test_the_object_that_answers_the_schema_is_the_answer(
    wanted: Any, text: str, expected: Any
) -> None:
    request = Request((), params={"response_format": wanted})
    expected = {"name": "Ada", "year": 1} if expected == "first" else expected
    assert object_in(Completion(text), CheckContext(request)) == expected


@given(st.text("[]{}:,\"'`1a\\ \n", max_size=60), OBJECTS)
def test_an_object_is_found_between_any_words(words: str, value: Any) -> None:
    object_in(Completion(words), CheckContext())
    text = f"Here: {json.dumps(value)} {words.replace('{', '').replace('[', '')}"
    assert object_in(Completion(text), CheckContext()) == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "text", ['{"a":' * 40_000, "[1," * 60_000, '{"' * 80_000, '[{"a": "' * 30_000]
)
def test_invalid_objects_are_read_once(text: str) -> None:
    assert object_in(Completion(text), CheckContext()) is None


def test_deeply_nested_text_is_no_object() -> None:
    deep, too_deep = ("[" * depth + "]" * depth for depth in (100, 101))
    assert object_in(Completion(deep), CheckContext()) == json.loads(deep)
    assert object_in(Completion(too_deep), CheckContext()) is None
    context = CheckContext(object_tools=frozenset({"reply"}))
    for arguments, value in ((deep, json.loads(deep)), (too_deep, None)):
        completion = Completion("", calls=(ToolCall("reply", arguments),))
        assert object_in(completion, context) == value


def test_only_a_sample_that_was_cut_off_loses_its_last_sentence() -> None:
    text = "It is in Sydney. It was designed by John Brad"
    assert comparable_text(Completion(text, "stop"), CheckContext()) == text
    assert comparable_text(Completion(text, "length"), CheckContext()).strip() == "It is in Sydney."


class Recorded:
    """Answers with completions as they are."""

    def __init__(self, *completions: Completion) -> None:
        self._completions = iter(completions)

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        return Completions(tuple(next(self._completions) for _ in range(n)))


@pytest.mark.parametrize(("compared", "kept"), [("Ada", TOKENS), ('name: "Ada"', ())])
async def test_a_sample_keeps_its_tokens_only_if_its_text_stays(
    compared: str, kept: tuple[TokenLogprob, ...]
) -> None:
    provider = Recorded(Completion("Ada", logprobs=TOKENS))
    comparable = Comparable(provider, lambda _: compared, parses_objects=False)
    (item,) = (await comparable.complete(Request.of("Who?"))).items
    assert (item.text, item.logprobs) == (compared, kept)


async def verdict_on(answers: Sequence[Any], **policy: Any) -> Verdict:
    """The verdict on the first of some objects, with the others as its samples."""
    provider = Recorded(*(Completion(json.dumps(answer)) for answer in answers))
    sampling = {"max": len(answers) - 1, "min": 2}
    guard = Guard(POLICY | {"sampling": sampling} | policy, provider=provider)
    return (await guard.aask("Who?", params={"response_format": {"type": "json_object"}})).verdict


def scores(verdict: Verdict) -> dict[str, float | None]:
    return {s.text.partition(": ")[0]: s.score for s in verdict.sentences}


async def test_fields_are_scored_by_the_samples_that_disagree() -> None:
    verdict = await verdict_on(
        [
            {"name": "Ada Lovelace", "year": 1815, "city": "London"},
            {"name": "ada  lovelace", "year": 1815.0, "city": "Paris"},
            {"name": "Ada Lovelace", "year": 1816, "city": "Rome"},
            {"name": "Ada Lovelace", "year": 1815},
        ]
    )
    assert scores(verdict) == {"name": 0.0, "year": pytest.approx(1 / 3), "city": 1.0}
    assert verdict.structured
    assert verdict.flagged
    assert verdict.reason == "1 of 3 fields > 0.50 with 3 samples"
    (flagged,) = verdict.flagged_sentences
    assert flagged.contradicted_by is not None
    assert flagged.contradicted_by.text == 'city: "Paris"'


async def test_values_are_contrasted_and_not_where_they_stand() -> None:
    verdict = await verdict_on([{"of": ["x", "y", f"floor {n}"]} for n in (3, 2, 2)])
    (flagged,) = verdict.flagged_sentences
    contrary = flagged.contradicted_by
    assert contrary is not None
    assert contrary.text == 'of[2]: "floor 2"'
    assert contrary.kind == "number"
    assert contrary.claim_span is not None
    assert contrary.evidence_span is not None
    assert flagged.text[slice(*(at - flagged.start for at in contrary.claim_span))] == "3"
    assert contrary.text[slice(*contrary.evidence_span)] == "2"


async def test_objects_that_are_there_are_checked_too() -> None:
    samples = ['{"year": 1815}', '```json\n{"year": 1816}\n```', "I do not know."]
    verdict = await Guard(POLICY | {"sampling": {"max": 3, "min": 2}}).acheck(
        '{"year": 1815}',
        question=Request.of("When?", params={"response_format": {"type": "json_object"}}),
        samples=samples,
    )
    assert scores(verdict) == {"year": 0.5}
    assert (verdict.samples, verdict.via) == (2, None)


@pytest.mark.parametrize(
    ("before", "after", "unscored"),
    [
        ("Here is the JSON:", "", []),
        ("Sure!", "I hope this helps!", []),
        ("", "Lovelace died in 1852.", ["Lovelace died in 1852."]),
        ("", '{"name": "Ada", "city": "London"}', ['{"name": "Ada", "city": "London"}']),
    ],
)
@pytest.mark.parametrize("fence", ["```json\n{}\n```", "{}"])
async def test_claims_beside_an_object_are_listed(
    before: str, after: str, unscored: list[str], fence: str
) -> None:
    text = (
        f"{before}\n\n{fence.replace('{}', json.dumps({'name': 'Ada', 'year': 1815}))}\n\n{after}"
    )
    schema = {"type": "object", "properties": {"name": {}, "year": {}}}
    wanted = {"type": "json_schema", "json_schema": {"schema": schema}}
    guard = Guard(POLICY | {"on_unscored": "block", "sampling": {"max": 3, "min": 2}})
    verdict = await guard.acheck(
        text, question=Request.of("Who?", params={"response_format": wanted}), samples=[text] * 3
    )
    assert scores(verdict) == {"name": 0.0, "year": 0.0}
    assert verdict.decision == "consistent"
    assert [(part.kind, part.text) for part in verdict.unscored] == [
        ("prose", part) for part in unscored
    ]
    assert GuardRuntime(guard).apply(text, verdict).action == ("block" if unscored else "allow")


async def test_small_objects_may_repeat() -> None:
    verdict = await verdict_on([{"name": "Ada"}] * 4)
    assert (verdict.decision, verdict.score) == ("consistent", 0.0)


@pytest.mark.parametrize(
    ("value", "other", "score"),
    [
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, 0.0),
        ({"tags": ["a", "c"]}, {"tags": ["b", "a"]}, 0.5),
        ({"tags": []}, {"tags": ["a"]}, 1.0),
        ({"tags": []}, {}, 0.0),
        ({"note": None}, {}, 0.0),
        ({"note": None}, {"note": "x"}, 1.0),
        ({"ok": True}, {"ok": 1}, 1.0),
        ({"at": {"city": "Rome"}}, {"at": {"city": "ROME"}}, 0.0),
        ({"at": {"city": "Rome"}}, {"city": "Rome"}, 1.0),
        # Of eight words and a point, `seven` is nowhere in the other.
        (
            {"text": "It was built in seven years by Rome."},
            {"text": "In nine years it was built by Rome."},
            pytest.approx(1 / 9),
        ),
    ],
)
async def test_values_agree_or_not(value: Any, other: Any, score: float) -> None:
    assert (await verdict_on([value, other, other])).mean_score == score


async def test_ignored_fields_are_not_scored() -> None:
    verdict = await verdict_on(
        [
            {"id": 1, "items": [{"sku": "a", "n": 1}]},
            {"id": 2, "items": [{"sku": "b", "n": 1}]},
            {"id": 3, "items": [{"sku": "c", "n": 1}]},
        ],
        structured={"ignore": ["id", "items[].sku"]},
    )
    assert scores(verdict) == {"id": None, "items[0].sku": None, "items[0].n": 0.0}
    assert verdict.decision == "consistent"


async def test_an_answer_without_the_object_is_inconclusive() -> None:
    provider = Recorded(*[Completion("I would rather not say.")] * 5)
    answer = await Guard(POLICY, provider=provider).aask(
        "Who?", params={"response_format": {"type": "json_object"}}
    )
    assert answer.verdict.decision == "inconclusive"
    assert answer.verdict.reason == "the answer does not contain the requested object"


async def test_objects_may_be_left_unchecked(simulated: SimulatedProvider) -> None:
    guard = Guard(POLICY | {"structured": {"check": "none"}}, model=MODEL)
    answer = await guard.aask(
        "Who? In JSON.", params={"response_format": {"type": "json_object"}, **simulated.params}
    )
    assert answer.verdict.decision == "skipped"
    assert answer.verdict.reason == "the policy does not check structured answers"
    assert simulated.calls == 1


@pytest.mark.usefixtures("litellm")
async def test_a_schema_is_enough_for_a_check_by_fields(simulated: SimulatedProvider) -> None:
    schema = {
        "name": "building",
        "schema": {
            "type": "object",
            "properties": {"architect": {"type": "string"}, "cost": {"type": "integer"}},
            "required": ["architect", "cost"],
        },
    }
    guard = Guard(POLICY, model=MODEL)
    answer = await guard.aask(
        "Tell me about the Sydney Harbour Bridge.",
        params={
            "response_format": {"type": "json_schema", "json_schema": schema},
            **simulated.params,
        },
    )
    assert set(scores(answer.verdict)) == {"architect", "cost"}
    assert answer.verdict.via == "native"
    assert answer.annotated() == answer.response
    assert json.loads(answer.response).keys() == {"architect", "cost"}


async def test_the_arguments_of_a_tool_may_be_the_answer() -> None:
    calls = [ToolCall("person", json.dumps({"name": name})) for name in ("Ada", "Ada", "Eve")]
    provider = Recorded(*(Completion("", calls=(call,)) for call in calls))
    guard, sources = Guard(POLICY | {"sampling": {"max": 2, "min": 2}}), Sources.all(provider)
    request = Request.of(
        "Who?", params={"tools": [{"type": "function", "function": {"name": "person"}}]}
    )
    answer = await GuardRuntime(guard).aask_with(
        CheckContext(request, object_tools=("person",)), sources
    )
    assert scores(answer.verdict) == {"name": 0.5}


async def test_another_tool_than_the_objects_is_a_call() -> None:
    provider = Recorded(Completion("", calls=(ToolCall("weather", "{}"),)))
    guard = Guard(POLICY | {"on_error": "block"}, provider=provider)
    answer = await guard.aask(
        "Who?", params={"response_format": {"type": "json_object"}, "tools": [{}]}
    )
    assert (answer.verdict.decision, answer.action) == ("skipped", "allow")


async def test_words_before_a_call_are_not_checked() -> None:
    provider = Recorded(Completion("Let me look.", calls=(ToolCall("weather", "{}"),)))
    guard = Guard(POLICY | {"on_error": "block"}, provider=provider)
    answer = await guard.aask("How is the weather?", params={"tools": [{}]})
    assert (answer.text, answer.verdict.reason) == ("Let me look.", "the answer calls tools")


async def test_a_sample_that_calls_a_tool_says_nothing() -> None:
    call = (ToolCall("weather", "{}"),)
    provider = Recorded(Completion("It is sunny."), *[Completion("Let me look.", calls=call)] * 4)
    verdict = (
        await Guard(POLICY, provider=provider).aask("How is it?", params={"tools": [{}]})
    ).verdict
    assert verdict.decision == "inconclusive"
    assert verdict.reason.startswith("only 0 usable samples")


async def test_an_empty_answer_is_skipped() -> None:
    verdict = (await Guard(POLICY, provider=Recorded(Completion(" "))).aask("Who?")).verdict
    assert (verdict.decision, verdict.reason) == ("skipped", "the answer contains no words")


async def test_fields_that_are_not_compared_are_told_and_withhold_nothing() -> None:
    guard = Guard(
        {**POLICY, "structured": {"ignore": ["id"]}, "on_unscored": "block", "sampling": {"max": 3}}
    )
    request = Request.of("Who?", params={"response_format": {"type": "json_object"}})
    text = '{"id": 7, "name": "Ada"}'
    verdict = await guard.acheck(text, question=request, samples=[text] * 3)
    assert verdict.decision == "consistent"
    assert [(stretch.kind, stretch.text) for stretch in verdict.unscored] == [("field", "id: 7")]
    assert verdict.reason.endswith("; not scored: 1 field")
    assert GuardRuntime(guard).apply(text, verdict).action == "allow"
