"""Records have the texts that answers were checked with, for the sinks that want them."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from resay import Guard, Sources, Verdict
from resay.adapters import CheckContext, GuardRuntime
from resay.errors import ProviderError
from resay.plugins import (
    Completion,
    Completions,
    JudgeCall,
    RecordedEvidence,
    Reference,
    Request,
    VerdictRecord,
)
from resay.scorers import judge_log
from resay.testing import ScriptedProvider

pytestmark = pytest.mark.anyio

QUESTION = "When did the bridge open?"
OPENED, LAMPS = "The bridge opened in 1932.", "It has 31 lamps."
ANSWER = f"{OPENED} {LAMPS}"
SAMPLE = "The bridge opened in 1932. It has 30 lamps."
JUDGED = "1. supported\n2. contradicted"


class Bridge:
    """A provider that answers the question, and everything else as a judge."""

    def __init__(self, judged: str | Exception = JUDGED) -> None:
        self.prompts: list[str] = []
        self._judged = judged

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        prompt = str(request.messages[-1]["content"])
        if prompt == QUESTION:
            text = SAMPLE if request.varied else ANSWER
            return Completions((Completion(text),) * n)
        self.prompts.append(prompt)
        if isinstance(self._judged, Exception):
            raise self._judged
        return Completions((Completion(self._judged),) * n)

    async def takes_n(self, request: Request) -> bool:
        return True


class Collected:
    """A sink that collects its records."""

    def __init__(self, *, wants_evidence: bool = True) -> None:
        self.wants_evidence = wants_evidence
        self.records: list[VerdictRecord] = []

    async def on_verdict(self, record: VerdictRecord) -> None:
        self.records.append(record)


async def _asked(
    step: dict[str, Any], provider: Bridge, **policy: Any
) -> tuple[Verdict, RecordedEvidence]:
    sink = Collected()
    sampling = {"min": 2, "max": 2}
    guard = Guard({"chain": [step], "sampling": sampling} | policy, provider=provider, sinks=[sink])
    answer = await guard.aask(QUESTION)
    await guard.aclose()
    (record,) = sink.records
    assert record.evidence is not None
    return answer.verdict, record.evidence


async def test_a_record_has_the_samples() -> None:
    verdict, evidence = await _asked({"method": "ngram"}, Bridge())
    assert evidence.response == ANSWER
    assert evidence.samples == (SAMPLE, SAMPLE)
    assert len(evidence.samples) == verdict.samples
    assert not evidence.judge_calls


async def test_each_question_to_a_judge_is_recorded_with_its_claims() -> None:
    provider = Bridge()
    _, evidence = await _asked({"method": "prompt", "mode": "per_sample"}, provider)
    assert {call.prompt for call in evidence.judge_calls} == set(provider.prompts)
    for call in evidence.judge_calls:
        assert call.method == "prompt"
        assert call.answers == (JUDGED,)
        assert call.claims == (OPENED, LAMPS)
        assert SAMPLE in call.prompt


@pytest.mark.parametrize(
    ("step", "groups"),
    [
        ({"method": "prompt"}, {(OPENED, LAMPS)}),
        ({"method": "prompt", "mode": "per_pair"}, {(OPENED,), (LAMPS,)}),
        ({"method": "prompt", "form": "published"}, {(OPENED,), (LAMPS,)}),
        ({"method": "p_true", "by": "votes"}, {(OPENED,), (LAMPS,)}),
        ({"method": "direct_question"}, {(OPENED,), (LAMPS,)}),
        ({"method": "panel", "judges": ["a", "b"]}, {(OPENED, LAMPS)}),
        ({"method": "fibe"}, {()}),
        ({"method": "zero_shot"}, {()}),
        ({"method": "cross_examination"}, {()}),
    ],
)
async def test_a_call_names_the_claims_that_it_is_about(
    step: dict[str, Any], groups: set[tuple[str, ...]]
) -> None:
    _, evidence = await _asked(step, Bridge())
    assert {call.claims for call in evidence.judge_calls} == groups


async def test_references_and_the_judge_who_compared_with_them_are_recorded() -> None:
    sink = Collected()
    provider = Bridge('{"1": {"supports": [1]}, "2": {"contradicts": [1]}}')
    guard = Guard({"chain": [{"method": "prompt"}]}, provider=provider, sinks=[sink])
    await guard.aask(QUESTION, references=["It was opened in 1932 [and lit in 1950]."])
    await guard.aclose()
    evidence = sink.records[0].evidence
    assert evidence is not None
    assert [reference.text for reference in evidence.references] == [
        "It was opened in 1932 [and lit in 1950]."
    ]
    assert evidence.judge_calls[0].method == "references"
    assert evidence.judge_calls[0].claims == (OPENED, LAMPS)


async def test_documents_as_text_to_compare_with_are_references_too() -> None:
    sink = Collected()
    policy = {"chain": [{"method": "ngram", "evidence": "references"}]}
    guard = Guard(policy, sinks=[sink])
    await guard.acheck(ANSWER, references=[SAMPLE])
    await guard.aclose()
    evidence = sink.records[0].evidence
    assert evidence is not None
    assert [reference.text for reference in evidence.references] == [SAMPLE]


async def test_a_failed_call_is_recorded_with_its_kind_and_no_message() -> None:
    provider = Bridge(ProviderError("the key sk-secret was refused"))
    _, evidence = await _asked({"method": "prompt"}, provider, limits={"retries": 0})
    assert evidence.judge_calls
    for call in evidence.judge_calls:
        assert (call.answers, call.error) == ((), "ProviderError")
        assert "sk-secret" not in repr(call)


async def test_a_provider_that_raises_anything_is_recorded_too() -> None:
    _, evidence = await _asked(
        {"method": "prompt"}, Bridge(RuntimeError("sk-secret")), limits={"retries": 0}
    )
    assert {call.error for call in evidence.judge_calls} == {"RuntimeError"}


async def test_a_second_question_shows_the_turns_before_it() -> None:
    _, evidence = await _asked({"method": "prompt", "mode": "per_sample"}, Bridge("Well..."))
    restated = [call for call in evidence.judge_calls if call.prompt.startswith("user:\n")]
    assert restated
    assert "\n\nassistant:\nWell...\n\nuser:\n" in restated[0].prompt


async def test_what_exceeds_the_limit_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_log, "_MAX_CHARS", 1500)
    _, evidence = await _asked({"method": "prompt", "mode": "per_pair"}, Bridge())
    assert len(evidence.judge_calls) == 1
    assert evidence.omitted_calls == 3


async def test_an_answer_from_the_cache_is_recorded() -> None:
    sink = Collected()
    policy = {"chain": [{"method": "prompt"}], "cache": {"store": "memory"}}
    guard = Guard(policy, provider=Bridge(), sinks=[sink])
    for _ in range(2):
        await guard.acheck(ANSWER, question=QUESTION, samples=[SAMPLE])
    await guard.aclose()
    first, second = (record.evidence for record in sink.records)
    assert first is not None
    assert first == second


@pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
async def test_the_verdict_on_a_stream_has_its_evidence(mode: Any) -> None:
    sink = Collected()
    guard = Guard({"chain": [{"method": "prompt"}]}, provider=Bridge(), sinks=[sink])
    async with guard.astream(QUESTION, stream_mode=mode) as stream:
        async for _ in stream:
            pass
    await guard.aclose()
    evidence = sink.records[0].evidence
    assert evidence is not None
    assert evidence.response == ANSWER
    assert evidence.samples
    assert evidence.judge_calls


async def test_the_evidence_of_a_repaired_answer_has_the_answer_and_the_writers_calls() -> None:
    def answer(request: Request) -> str:
        prompt = request.question
        if prompt == QUESTION:
            return f"{SAMPLE} No. {request.index}." if request.varied else ANSWER
        return "1: It has 30 lamps."

    sink = Collected()
    action = {"do": "regenerate", "from": "samples", "mode": "repair"}
    guard = Guard(
        {"chain": [{"method": "facts"}], "action": action},
        provider=ScriptedProvider(answer),
        sinks=[sink],
    )
    repaired = await guard.aask(QUESTION)
    await guard.aclose()
    assert repaired.text == SAMPLE
    evidence = sink.records[0].evidence
    assert evidence is not None
    assert evidence.response == SAMPLE
    assert {call.method for call in evidence.judge_calls} == {"regenerate"}


async def test_a_model_that_finds_the_claims_is_recorded() -> None:
    _, evidence = await _asked({"method": "ngram"}, Bridge("1. It opened."), claims="model")
    assert {call.method for call in evidence.judge_calls} == {"claims"}


async def test_nothing_is_recorded_where_no_sink_wants_it() -> None:
    sink = Collected(wants_evidence=False)
    guard = Guard({"chain": [{"method": "prompt"}]}, provider=Bridge(), sinks=[sink])
    answer = await guard.aask(QUESTION)
    await guard.aclose()
    assert answer.verdict.evidence is None
    assert sink.records[0].evidence is None


async def test_those_who_record_verdicts_themselves_ask_the_guard() -> None:
    guard = Guard({"chain": [{"method": "ngram"}]})
    runtime = GuardRuntime(GuardRuntime(guard).with_evidence())
    context = CheckContext(Request.of(QUESTION), samples=(SAMPLE,))
    verdict = await runtime.acheck_with(ANSWER, context, Sources.all(Bridge()))
    assert verdict.evidence == RecordedEvidence(response=ANSWER, samples=(SAMPLE,))


async def test_evidence_is_in_no_json_and_no_comparison() -> None:
    verdict, _ = await _asked({"method": "prompt"}, Bridge())
    assert verdict.evidence is not None
    assert "evidence" not in verdict.to_dict()
    assert SAMPLE not in repr(verdict)
    parsed = Verdict.from_json(verdict.to_json())
    assert parsed.evidence is None
    assert parsed == verdict
    # A client may send anything.
    assert Verdict.from_dict(verdict.to_dict() | {"evidence": {"samples": []}}) == verdict
    assert pickle.loads(pickle.dumps(verdict)).evidence == verdict.evidence


async def test_a_record_without_content_has_no_evidence() -> None:
    evidence = RecordedEvidence(
        samples=(SAMPLE,),
        references=(Reference("secret"),),
        judge_calls=(JudgeCall(method="prompt", prompt="secret"),),
    )
    verdict = Verdict("consistent", 0.0, "", evidence=evidence)
    record = VerdictRecord(verdict=verdict, action="allow", policy="default")
    assert record.evidence is evidence
    assert record.without_content().evidence is None
    assert "secret" not in repr(record)
    assert "secret" not in json.dumps(verdict.to_dict())
