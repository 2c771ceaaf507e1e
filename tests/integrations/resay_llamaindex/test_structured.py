from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.llms import ChatMessage
from llama_index.core.program import FunctionCallingProgram
from llama_index.core.prompts import PromptTemplate
from pydantic import BaseModel

from resay import HallucinationBlocked, Verdict
from resay_llamaindex import GuardedLLM, verdict_of

pytestmark = [
    pytest.mark.anyio,
    # LlamaIndex's StructuredLLM calls pydantic's old `json`.
    pytest.mark.filterwarnings("ignore:The `json` method is deprecated"),
]

N = 3
FIELDS = {"chain": [{"method": "ngram"}], "sampling": {"max": N, "via": "native"}}
BLOCK = FIELDS | {"action": {"do": "block"}}
EVENT = "HallucinationVerdictEvent"


class Bridge(BaseModel):
    """A bridge."""

    name: str
    year: int


TEMPLATE = PromptTemplate("When was the {thing} built?")


def verdicts(seen):
    return [Verdict.from_dict(e.verdict) for e in seen if e.class_name() == EVENT]


@pytest.fixture(params=["tool", "schema"])
def llm(request, make_llm):
    """LLMs that ask for objects in two ways."""
    return make_llm(should_use_structured_outputs=request.param == "schema")


async def test_an_object_is_checked_field_by_field(call, llm, provider, seen):
    found = await call(
        GuardedLLM(llm, FIELDS), "structured_predict", Bridge, TEMPLATE, thing="Zorblatt"
    )
    (verdict,) = verdicts(seen)
    assert isinstance(found, Bridge)
    assert (verdict.structured, verdict.samples) == (True, N)
    assert [s.text.split(":")[0] for s in verdict.sentences] == ["name", "year"]
    assert verdict.sentences[1].text == f"year: {found.year}"
    assert verdict.usage.completion_tokens > 0
    assert provider.calls == 1 + N


async def test_fields_may_be_ignored(call, llm, seen):
    policy = FIELDS | {"structured": {"ignore": ["year"]}}
    await call(GuardedLLM(llm, policy), "structured_predict", Bridge, TEMPLATE, thing="Zorblatt")
    (verdict,) = verdicts(seen)
    assert not verdict.flagged


async def test_an_object_that_is_withheld_raises(call, llm, seen):
    with pytest.raises(HallucinationBlocked):
        await call(GuardedLLM(llm, BLOCK), "structured_predict", Bridge, TEMPLATE, thing="Zorblatt")
    (event,) = (e for e in seen if e.class_name() == EVENT)
    assert event.verdict["action"] == "block"
    assert {s["text"] for s in event.verdict["sentences"]} == {""}


async def test_an_object_streams_whole(call, llm, provider):
    pieces = await call(
        GuardedLLM(llm, FIELDS), "stream_structured_predict", Bridge, TEMPLATE, thing="Zorblatt"
    )
    assert [type(piece) for piece in pieces] == [Bridge]
    assert provider.calls == 1 + N


@pytest.mark.parametrize("method", ["chat", "stream_chat", "complete"])
async def test_a_structured_llm_gives_the_verdict_too(call, llm, method):
    structured = GuardedLLM(llm, FIELDS).as_structured_llm(Bridge)
    question = "When was the Zorblatt built?"
    asked = question if method == "complete" else [ChatMessage(role="user", content=question)]
    response = await call(structured, method, asked)
    last = response[-1] if isinstance(response, list) else response
    assert verdict_of(last).structured
    assert isinstance(last.raw, Bridge)


async def test_a_structured_llm_may_be_guarded(call, llm, provider):
    guarded = GuardedLLM(llm.as_structured_llm(Bridge), FIELDS)
    response = await call(guarded, "chat", [ChatMessage(role="user", content="The Zorblatt?")])
    assert verdict_of(response).structured
    assert verdict_of(response).samples == N
    assert provider.calls == 1 + N


async def test_programs_work(llm, seen):
    program = FunctionCallingProgram.from_defaults(
        Bridge, prompt_template_str="When was the {thing} built?", llm=GuardedLLM(llm, FIELDS)
    )
    assert isinstance(program(thing="Zorblatt"), Bridge)
    assert isinstance(await program.acall(thing="Zorblatt"), Bridge)
    assert [v.structured for v in verdicts(seen)] == [True, True]


async def test_json_is_an_object(call, llm):
    guarded = GuardedLLM(llm, FIELDS)
    schema = {
        "type": "json_schema",
        "json_schema": {"name": "bridge", "schema": Bridge.model_json_schema()},
    }
    asked = [ChatMessage(role="user", content="When was the Zorblatt built?")]
    response = await call(guarded, "chat", asked, response_format=schema)
    assert verdict_of(response).structured
    assert Bridge.model_validate_json(response.message.content)
