"""Objects in place of prose: their fields are compared."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import BaseModel, Field

from resay import HallucinationBlocked
from resay_langchain import GuardedChatModel, VerdictCollector, guard_runnable, verdict_of
from support.langchain import JUDGED, PROMPT, N, Recorder

pytestmark = [
    pytest.mark.anyio,
    # langchain-openai dumps what the SDK parsed, whose types do not know the schema's class.
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]

QUESTION = 'Describe the building "Zorblatt Hall".'
REPLACE = JUDGED | {"action": {"do": "block"}}
RAISE = JUDGED | {"action": {"do": "block", "exit": "raise"}}
METHODS = ["function_calling", "json_schema", "json_mode"]


class Building(BaseModel):
    """A building. Answer in JSON."""

    name: str = Field(description="Its name")
    architect: str = Field(description="Who designed it")


class Known(BaseModel):
    """What is known of a building. Answer in JSON."""

    name: str = Field(description="Its name")


def asked(method: str, schema: type[BaseModel] = Building) -> str:
    keys = ", ".join(schema.model_fields)
    return f"{QUESTION} Answer in JSON with {keys}." if method == "json_mode" else QUESTION


@pytest.fixture(params=["model", "runnable"])
def guarded(request: pytest.FixtureRequest, model: Any) -> Any:
    """Both ways to an object: from a guarded model, and around what gives it."""

    def make(policy: Any, schema: Any = Building, **kwargs: Any) -> Runnable[Any, Any]:
        if request.param == "model":
            return GuardedChatModel(model, policy).with_structured_output(schema, **kwargs)
        return guard_runnable(model.with_structured_output(schema, **kwargs), policy)

    return make


@pytest.mark.parametrize("method", METHODS)
async def test_fields_are_compared_across_samples(ask, guarded, provider, method):
    collector = VerdictCollector()
    chain = guarded(JUDGED, method=method)
    if method == "json_mode":
        # Without a schema on the wire the provider chooses the fields.
        building = await ask(
            guarded(JUDGED, dict_schema(), method=method), asked(method), config(collector)
        )
        assert isinstance(building, dict)
    else:
        building = await ask(chain, asked(method), config(collector))
        assert isinstance(building, Building)
        assert building.name == "Zorblatt Hall"
    (verdict,) = collector.verdicts
    assert verdict.structured
    assert verdict.samples == N
    assert provider.calls == 1 + 1
    if method != "json_mode":
        scores = {s.text.partition(": ")[0]: s.score for s in verdict.sentences}
        assert scores == {"name": 0.0, "architect": 1.0}
        assert [s.text for s in verdict.flagged_sentences] == [f'architect: "{building.architect}"']


def dict_schema() -> dict[str, Any]:
    return {**Building.model_json_schema(), "title": "Building"}


def config(*callbacks: Any) -> Any:
    return {"callbacks": list(callbacks)}


@pytest.mark.parametrize("method", METHODS[:2])
async def test_what_the_model_is_sure_of_passes(ask, guarded, method):
    collector = VerdictCollector()
    known = await ask(guarded(REPLACE, Known, method=method), QUESTION, config(collector))
    assert known == Known(name="Zorblatt Hall")
    assert collector.last.decision == "consistent"


@pytest.mark.parametrize("policy", [REPLACE, RAISE], ids=["replace", "raise"])
@pytest.mark.parametrize("method", METHODS[:2])
async def test_nothing_stands_in_an_objects_place(ask, guarded, method, policy):
    collector = VerdictCollector()
    with pytest.raises(HallucinationBlocked) as caught:
        await ask(guarded(policy, method=method), QUESTION, config(collector))
    assert caught.value.verdict.structured
    assert [s.text for s in collector.last.sentences] == ["", ""]


@pytest.mark.parametrize("method", METHODS[:2])
async def test_with_the_raw_message_the_error_stands_beside_it(ask, guarded, method):
    output = await ask(guarded(REPLACE, method=method, include_raw=True), QUESTION)
    assert output.keys() == {"raw", "parsed", "parsing_error"}
    assert output["parsed"] is None
    assert isinstance(output["parsing_error"], HallucinationBlocked)
    assert verdict_of(output["raw"]).flagged
    assert not output["raw"].tool_calls
    assert "architect" not in repr(output["raw"])
    with pytest.raises(HallucinationBlocked):
        await ask(guarded(RAISE, method=method, include_raw=True), QUESTION)
    passed = await ask(guarded(JUDGED, method=method, include_raw=True), QUESTION)
    assert isinstance(passed["parsed"], Building)
    assert passed["parsing_error"] is None


@pytest.mark.parametrize(
    "parser",
    [JsonOutputParser(), PydanticOutputParser(pydantic_object=Known)],
    ids=["dict", "class"],
)
async def test_a_parser_of_json_says_that_an_object_is_wanted(ask, model, parser):
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "known", "schema": Known.model_json_schema()},
    }
    chain = guard_runnable(PROMPT | model.bind(response_format=schema) | parser, JUDGED)
    collector = VerdictCollector()
    known = await ask(chain, {"question": QUESTION}, config(collector))
    assert known in ({"name": "Zorblatt Hall"}, Known(name="Zorblatt Hall"))
    assert collector.last.structured


async def test_an_object_is_streamed_when_it_is_checked(model):
    chain = GuardedChatModel(model, REPLACE).with_structured_output(Building, method="json_schema")
    with pytest.raises(HallucinationBlocked):
        async for _ in chain.astream(QUESTION):
            pass
    chain = GuardedChatModel(model, JUDGED).with_structured_output(Building, method="json_schema")
    parts = [part async for part in chain.astream(QUESTION)]
    assert parts[-1].name == "Zorblatt Hall"


async def test_the_policy_may_leave_objects_alone(ask, guarded, provider):
    collector = VerdictCollector()
    policy = REPLACE | {"structured": {"check": "none"}}
    assert isinstance(await ask(guarded(policy), QUESTION, config(collector)), Building)
    assert collector.last.reason == "the policy does not check structured answers"
    assert provider.calls == 1


async def test_fields_may_be_left_out(ask, guarded):
    collector = VerdictCollector()
    policy = REPLACE | {"structured": {"ignore": ["architect"]}}
    assert isinstance(await ask(guarded(policy), QUESTION, config(collector)), Building)
    assert collector.last.decision == "consistent"


async def test_what_is_made_of_an_object_does_not_matter(ask, model):
    recorder = Recorder()
    structured = model.with_structured_output(Building)
    chain = guard_runnable(structured | RunnableLambda(lambda b: b.architect), JUDGED)
    architect = await ask(chain, QUESTION, {"callbacks": [recorder]})
    assert isinstance(architect, str)
    assert recorder.verdicts[0]["steps"][0]["method"] == "fields"
