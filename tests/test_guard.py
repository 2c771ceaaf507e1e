from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

from resay import (
    ConfigurationError,
    Document,
    Guard,
    HallucinationBlocked,
    MissingDependencyError,
    Request,
    Sources,
    Usage,
    Verdict,
)
from resay.adapters import CheckContext, GuardRuntime
from resay.adapters.providers import LiteLLMProvider, ReplayProvider
from resay.plugins import Completion, Completions, VerdictRecord
from resay.testing import ScriptedProvider
from simulation import SimulatedProvider
from support.alone import needs

pytestmark = pytest.mark.anyio

MODEL = "openai/simulated"
QUESTION = "Tell me about the Sydney Harbour Bridge."
NGRAM = {"chain": [{"method": "ngram"}]}
KNOWN_THEN_MADE_UP = "The Sydney Harbour Bridge opened in 1932. It has 31415 lamps."


async def test_ask_catches_a_made_up_sentence(simulated: SimulatedProvider) -> None:
    answer = await Guard(model=MODEL).aask(QUESTION, params=simulated.params)
    verdict = answer.verdict
    assert answer.action == "annotate"
    assert verdict.flagged
    assert 0 < len(verdict.flagged_sentences) < len(verdict.sentences)
    assert 3 <= verdict.samples <= 5
    assert answer.completion is not None
    assert answer.text == answer.response == answer.completion.text
    for sentence in verdict.sentences:
        assert answer.text[sentence.start : sentence.end] == sentence.text
        assert (sentence.contradicted_by is not None) <= sentence.flagged


async def test_every_call_is_counted(simulated: SimulatedProvider) -> None:
    answer = await Guard(model=MODEL).aask(QUESTION, params=simulated.params)
    # All samples are requested at once, and a judge is asked about them.
    assert (answer.verdict.steps[0].usage.calls, answer.verdict.samples) == (1, 5)
    assert answer.verdict.usage.calls == 2
    assert simulated.calls == answer.usage.calls == 3
    assert answer.usage.prompt_tokens == simulated.prompt_tokens
    assert answer.usage.completion_tokens == simulated.completion_tokens
    assert answer.usage.cost_usd is None


async def test_block_counts_as_well(simulated: SimulatedProvider) -> None:
    guard = Guard({**NGRAM, "action": {"do": "block", "message": "Withheld."}}, model=MODEL)
    answer = await guard.aask(QUESTION, params=simulated.params)
    assert (answer.text, answer.blocked, answer.usage.calls) == ("Withheld.", True, 2)
    raising = Guard(
        {**NGRAM, "action": {"do": "block", "exit": "raise"}, "cache": {"store": "none"}},
        model=MODEL,
    )
    with pytest.raises(HallucinationBlocked) as caught:
        await raising.aask(QUESTION, params=simulated.params)
    assert caught.value.verdict.usage.calls == 1


async def test_a_known_price_is_told(simulated: SimulatedProvider) -> None:
    answer = await Guard(NGRAM, model="openai/gpt-4.1-mini").aask(QUESTION, params=simulated.params)
    assert answer.usage.cost_usd is not None
    assert answer.usage.cost_usd > 0


def test_the_sync_twins(simulated: SimulatedProvider) -> None:
    guard = Guard(NGRAM, model=MODEL)
    answer = guard.ask(QUESTION, params=simulated.params)
    verdict = guard.check(answer.text, question=QUESTION, params=simulated.params)
    assert verdict.samples == 5
    assert [s.text for s in verdict.sentences] == [s.text for s in answer.verdict.sentences]


async def test_the_sync_twin_inside_a_running_loop(simulated: SimulatedProvider) -> None:
    assert Guard(NGRAM, model=MODEL).ask(QUESTION, params=simulated.params).verdict.samples == 5


def test_one_guard_serves_several_loops(simulated: SimulatedProvider) -> None:
    guard = Guard(NGRAM, model=MODEL)
    for _ in range(2):
        answer = asyncio.run(guard.aask(QUESTION, params=simulated.params))
        assert answer.verdict.samples == 5


async def test_concurrent_requests_never_mix(simulated: SimulatedProvider) -> None:
    guard = Guard(model=MODEL)
    subjects = ["Sydney Harbour Bridge", "Marie Curie"] * 4
    found: dict[int, str] = {}

    async def ask(i: int) -> None:
        answer = await guard.aask(f"Tell me about {subjects[i]}.", params=simulated.params)
        said = [
            s.contradicted_by.text for s in answer.verdict.flagged_sentences if s.contradicted_by
        ]
        found[i] = " ".join([answer.text, *said])
        assert answer.verdict.steps[0].usage.calls <= answer.verdict.samples

    async with anyio.create_task_group() as tasks:
        for i in range(len(subjects)):
            tasks.start_soon(ask, i)
    for i, text in found.items():
        assert ("Curie" in text) is (subjects[i] == "Marie Curie")


async def test_samples_do_not_inherit_what_makes_copies(simulated: SimulatedProvider) -> None:
    await Guard(NGRAM, model=MODEL).aask(
        QUESTION, params={"temperature": 0, "seed": 1, **simulated.params}
    )
    main, samples = (
        r.body for r in sorted(simulated.requests, key=lambda r: "n" in (r.body or {}))
    )
    assert main is not None
    assert samples is not None
    assert (main["temperature"], main["seed"]) == (0, 1)
    assert samples["n"] == 5
    assert not {"temperature", "seed"} & samples.keys()


async def test_sampling_says_how_samples_are_drawn(simulated: SimulatedProvider) -> None:
    policy = {
        **NGRAM,
        "sampling": {
            "max": 3,
            "temperature": 0.9,
            "model": "openai/other",
            "start": "after",
            "params": {"max_tokens": 50, **simulated.params},
        },
    }
    answer = await Guard(policy, model=MODEL).aask(QUESTION, params=simulated.params)
    body = simulated.requests[1].body
    assert body is not None
    assert (body["model"], body["n"], body["temperature"], body["max_tokens"]) == (
        "other",
        3,
        0.9,
        50,
    )
    assert answer.verdict.samples == 3


async def test_a_tool_call_is_let_through_and_nothing_is_paid_for(
    simulated: SimulatedProvider,
) -> None:
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    answer = await Guard({**NGRAM, "on_error": "block"}, model=MODEL).aask(
        "[[tool]] Look it up.", params={"tools": [tool], **simulated.params}
    )
    assert (answer.text, answer.action, simulated.calls) == ("", "allow", 1)
    assert (answer.verdict.skipped, answer.verdict.reason) == (True, "the answer calls tools")
    raw: Any = answer.completion and answer.completion.raw
    assert raw["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "look_up"


async def test_check_with_samples_calls_nobody() -> None:
    samples = [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)]
    verdict = await Guard(NGRAM).acheck(KNOWN_THEN_MADE_UP, samples=samples)
    assert verdict.flagged
    assert verdict.usage == Usage()


async def test_a_conversation_may_be_nested_more_deeply_than_the_stack() -> None:
    content: Any = "What does it say?"
    for _ in range(5_000):
        content = [{"content": content}]
    question = [{"role": "user", "content": content}]
    samples = [f"The bridge opened in 1932. It has {n} lamps." for n in (11, 22, 33)]
    guard = Guard(NGRAM)
    verdict = await guard.acheck(KNOWN_THEN_MADE_UP, question=question, samples=samples)
    assert verdict.flagged


async def test_check_draws_samples(simulated: SimulatedProvider) -> None:
    answer = "The Sydney Harbour Bridge opened in 1932. It opened in May 1947."
    verdict = await Guard().acheck(answer, question=QUESTION, model=MODEL, params=simulated.params)
    assert [s.flagged for s in verdict.sentences] == [False, True]
    assert verdict.samples == 5
    # All samples are drawn and compared at once.
    assert verdict.usage.calls == 1 + 1


async def test_samples_beyond_those_that_decide_can_be_saved(simulated: SimulatedProvider) -> None:
    answer = "The Sydney Harbour Bridge opened in 1932. It opened in May 1947."
    guard = Guard({"chain": ["prompt"], "sampling": {"ahead": 0}})
    verdict = await guard.acheck(answer, question=QUESTION, model=MODEL, params=simulated.params)
    assert verdict.samples == 5
    # The second two are drawn and compared only because the first three leave a doubt.
    assert verdict.usage.calls == 2 + 2


async def test_a_conversation_is_resampled_whole(simulated: SimulatedProvider) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": QUESTION},
    ]
    await Guard(NGRAM, model=MODEL).aask(messages, params=simulated.params)
    assert [r.body and r.body["messages"] for r in simulated.requests] == [messages, messages]


async def test_another_judge_is_asked_with_its_own_key(simulated: SimulatedProvider) -> None:
    judge = {"model": "openai/judge", "params": {"api_base": simulated.base_url, "api_key": "j"}}
    policy = {
        "chain": [{"method": "prompt", "mode": "per_sample", "judge": judge}],
        "sampling": {"confidence": None},
    }
    answer = await Guard(policy, model=MODEL).aask(QUESTION, params=simulated.params)
    models = [r.body["model"] for r in simulated.requests if r.body]
    assert sorted(models) == ["judge"] * 5 + ["simulated"] * 2
    assert not answer.verdict.inconclusive


async def test_a_provider_of_ones_own() -> None:
    provider = ReplayProvider(
        {"Who?": ["It was Ann. She was six.", *(f"It was Ann. She was {n}." for n in "abc")]}
    )
    answer = await Guard(
        {**NGRAM, "sampling": {"start": "after", "max": 3}}, provider=provider
    ).aask("Who?")
    assert [s.flagged for s in answer.verdict.sentences] == [False, True]


class Named:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.log.append(self.name)
        return Completions((Completion(f"Yes, {len(self.log)}."),))


async def test_samples_that_are_there_are_not_drawn(simulated: SimulatedProvider) -> None:
    policy = NGRAM | {"sampling": {"max": 4, "min": 4}, "cache": {"store": "none"}}
    request = Request.of(QUESTION, model=MODEL, params=simulated.params)
    there = tuple(f"The bridge has {number} lamps." for number in (11, 22, 33))
    sources = Sources.all(LiteLLMProvider())
    answer = await GuardRuntime(Guard(policy)).aask_with(
        CheckContext(request, samples=there), sources
    )
    assert answer.verdict.samples == 4
    assert simulated.calls == 2
    enough = await GuardRuntime(Guard(policy)).aask_with(
        CheckContext(request, samples=there + there), sources
    )
    assert enough.verdict.samples == 6
    assert simulated.calls == 3


async def test_each_source_gets_its_own_calls() -> None:
    log: list[str] = []
    sources = Sources(Named("main", log), Named("samples", log), Named("judge", log))
    chain = [{"method": "prompt", "mode": "per_pair"}]
    policy = {"chain": chain, "sampling": {"max": 3}}
    answer = await GuardRuntime(Guard(policy)).aask_with(CheckContext(Request.of("Who?")), sources)
    assert sorted(log) == ["judge"] * 3 + ["main"] + ["samples"] * 3
    assert answer.verdict.decision == "consistent"


@pytest.fixture
def without_litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import resay.providers.litellm as module

    monkeypatch.setattr(module, "find_spec", lambda _: None)
    return


@pytest.mark.usefixtures("without_litellm")
async def test_a_missing_litellm_says_what_to_install() -> None:
    with pytest.raises(MissingDependencyError, match=r"pip install 'resay\[litellm\]'"):
        await Guard(NGRAM, model="mistral/m").aask(QUESTION)


@pytest.mark.usefixtures("without_litellm")
async def test_a_check_by_words_against_references_needs_no_litellm() -> None:
    verdict = await Guard(NGRAM).acheck(
        "It opened in 1950.",
        question="When did the Garmo bridge open?",
        references=["The Garmo bridge opened in 1932."],
    )
    assert verdict.decision == "flagged"
    assert verdict.claims[0].contradicted_by


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (Document("bridges.md", "The Garmo bridge opened in 1932."), "bridges.md"),
        (
            Document("7", "The Garmo bridge opened in 1932.", metadata={"title": "Bridges"}),
            "Bridges",
        ),
    ],
)
async def test_a_contradiction_names_the_document_that_it_is_from(
    document: Document, name: str
) -> None:
    verdict = await Guard(NGRAM).acheck(
        "It opened in 1950.",
        question="When did the Garmo bridge open?",
        references=["The Silo tunnel is long.", document],
    )
    assert f"reference 2 ({name}) says: The Garmo bridge opened in 1932." in str(verdict)
    reference = verdict.references[1]
    assert (reference.id, reference.title, reference.label) == (document.id, name, "2")
    assert verdict.claims == Verdict.from_dict(verdict.to_dict()).claims


async def test_documents_in_the_conversation_need_no_model_to_check_by() -> None:
    context = "Context:\nThe Garmo bridge opened in 1932."
    asked = f"Answer only from the context.\n\n{context}\n\nQuestion: When?"
    verdict = await Guard(NGRAM).acheck("It opened in 1950.", question=asked)
    assert (verdict.decision, len(verdict.references)) == ("flagged", 1)
    free = f"{context}\n\nYou may use it if it is helpful."
    with pytest.raises(ConfigurationError, match="needs samples"):
        await Guard(NGRAM).acheck("It opened in 1950.", question=free)


KETTLES = (
    "AquaPure 300\nThe kettle holds 1.7 litres. The warranty is 24 months.",
    "AquaPure 500\nThe kettle holds 2.0 litres. The warranty is 36 months.",
)


@pytest.mark.parametrize(
    ("question", "response", "decision"),
    [
        ("How long is the warranty of the AquaPure 300?", "It is 24 months.", "consistent"),
        ("How long is the warranty of the AquaPure 300?", "It is 36 months.", "flagged"),
        ("How long is the warranty?", "It is 36 months for the AquaPure 500.", "consistent"),
        ("How long is the warranty?", "It is 36 months for the AquaPure 300.", "flagged"),
        ("Which is better?", "The AquaPure 400 has 36 months of warranty.", "flagged"),
        ("How long is the warranty in May 300?", "It is 36 months.", "consistent"),
    ],
)
async def test_a_page_about_a_product_with_a_like_name_supports_nothing(
    question: str, response: str, decision: str
) -> None:
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = await guard.acheck(response, question=question, references=KETTLES)
    assert verdict.decision == decision


@pytest.mark.parametrize(
    ("policy", "arguments", "message"),
    [
        (NGRAM, {}, "method 'ngram' needs samples; pass `samples`"),
        (NGRAM, {"question": "Who?"}, "needs samples"),
        (NGRAM, {"samples": "one text"}, "samples must be a list"),
        (NGRAM, {"samples": 5}, "samples must be a list of strings, not of type int"),
        (NGRAM, {"samples": {"a": 1}}, "samples must be a list of strings, not of type dict"),
        (NGRAM, {"samples": iter([1])}, "samples must be a list of strings, but one is of type"),
        (NGRAM, {"samples": [1, 2, 3]}, "samples must be a list of strings, but one is of type in"),
        (NGRAM, {"samples": [None] * 3}, "samples must be a list of strings, but one is of type N"),
        (NGRAM, {"references": [None]}, "must be a list of strings or Documents, but one is of"),
        (NGRAM, {"samples": ["a"], "question": 5}, "question must be a text, a list of messages"),
        (None, {"samples": ["a"]}, "method 'prompt' needs a judge; pass `model`"),
        (None, {"samples": ["a"]}, r"or use a method without one \(`facts`\)"),
        ({"chain": [{"method": "references"}]}, {"references": ["a"]}, "or use `by: words`"),
        (
            {"chain": [{"method": "ngram", "evidence": "samples"}]},
            {"samples": ["a"], "references": ["b"]},
            "no step of the chain compares with ref",
        ),
        (NGRAM, {"samples": ["a"], "references": "b"}, "references must be a list"),
        (
            NGRAM,
            {"references": [{"text": "b"}]},
            "references must be a list of strings or Documents, but one is of",
        ),
        (NGRAM, {"params": {"messages": []}}, "own argument; pass it as `question`"),
        (NGRAM, {"params": ["seed"]}, "params must be a mapping of the provider's parameters"),
        (
            {"chain": [{"method": "ngram", "evidence": "references"}]},
            {},
            "method 'ngram' compares with references",
        ),
    ],
)
async def test_what_cannot_work_is_said_before_anything_is_paid_for(
    policy: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        await Guard(policy).acheck("Some response.", **arguments)


async def test_nothing_is_paid_for_where_too_few_samples_were_given(
    simulated: SimulatedProvider,
) -> None:
    policy = {
        "claims": "model",
        "chain": [{"method": "ngram"}, {"method": "prompt"}, {"method": "zero_shot"}],
    }
    guard = Guard(policy, model=MODEL)
    given = ["It opened in 1932."] * 2
    verdict = await guard.acheck(KNOWN_THEN_MADE_UP, samples=given, params=simulated.params)
    assert verdict.decision == "inconclusive"
    assert verdict.reason == "only 2 usable samples; `sampling.min` is 3"
    assert (simulated.calls, verdict.usage.calls) == (0, 0)


async def test_a_response_is_a_text() -> None:
    nothing: Any = None
    with pytest.raises(ConfigurationError, match="response must be a string, not of type NoneType"):
        await Guard(NGRAM).acheck(nothing, samples=["a"])


@needs("litellm")
@pytest.mark.parametrize("params", [{"stream": True}, {"n": 2}])
async def test_a_guard_gives_one_whole_answer(params: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="one complete answer"):
        await Guard(NGRAM, model=MODEL).aask(QUESTION, params=params)


@pytest.mark.parametrize("policy", [None, NGRAM])
async def test_without_a_model_it_says_so(policy: dict[str, Any] | None) -> None:
    with pytest.raises(ConfigurationError, match="no model given; pass `model`"):
        await Guard(policy).aask(QUESTION)


async def test_a_guard_is_pickled_by_what_it_was_made_of(simulated: SimulatedProvider) -> None:
    guard = Guard(NGRAM, model=MODEL, provider=ReplayProvider({}))
    again = pickle.loads(pickle.dumps(guard))
    assert again.policy == guard.policy
    verdict = await again.acheck(KNOWN_THEN_MADE_UP, samples=["It opened in 1932."] * 2 + ["No."])
    assert verdict.sentences
    assert copy.deepcopy(guard) is guard
    plain = pickle.loads(pickle.dumps(Guard(model=MODEL)))
    assert (await plain.aask(QUESTION, params=simulated.params)).verdict.sentences


@pytest.mark.parametrize("part", ["provider", "retriever", "policy", "sinks", "on_verdict"])
def test_what_keeps_a_guard_from_being_pickled_is_named(part: str) -> None:
    policy = {**NGRAM, "when": {"call": lambda query, text: True}} if part == "policy" else NGRAM
    provider = ScriptedProvider(lambda request: "") if part == "provider" else None
    retriever = (lambda query: []) if part == "retriever" else None
    if retriever is not None:
        policy = {**NGRAM, "action": {"do": "regenerate"}}

    class Local(Tally): ...

    guard = Guard(
        policy,
        provider=provider,
        retriever=retriever,
        sinks=[Local()] if part == "sinks" else [],
        on_verdict=(lambda verdict: None) if part == "on_verdict" else None,
    )
    with pytest.raises(ConfigurationError, match=f"cannot pickle this guard because of its {part}"):
        pickle.dumps(guard)


LAMPS = [f"It has {n} lamps." for n in (11, 22, 33)]


@pytest.mark.parametrize("ordered", [True, False])
async def test_many_checks_cost_each_other_nothing(ordered: bool) -> None:
    guard = Guard(NGRAM)
    items: list[Any] = [{"response": f"It has {n} lamps.", "samples": LAMPS} for n in (11, 44)]
    items += ["It has none.", {"no": "response"}]

    async def each() -> AsyncIterator[Any]:
        for item in items:
            yield item

    for given in (items, each()):
        found = [one async for one in guard.acheck_many(given, ordered=ordered)]
        assert (not ordered) or [one.index for one in found] == [0, 1, 2, 3]
        by = {one.index: one for one in found}
        assert [by[i].verdict and by[i].verdict.decision for i in range(4)] == [
            *("consistent", "flagged"),
            *(None, None),
        ]
        kinds = [type(by[i].error).__name__ for i in (2, 3)]
        assert kinds == ["ConfigurationError", "TypeError"]


def test_many_checks_without_an_event_loop_take_only_what_they_can_hold() -> None:
    taken: list[int] = []

    def items() -> Iterator[Any]:
        for n in range(10_000):
            taken.append(n)
            yield {"response": f"It has {n} lamps.", "samples": LAMPS}

    found = Guard(NGRAM).check_many(items(), concurrency=3)
    assert [next(found).index for _ in range(20)] == list(range(20))
    assert len(taken) <= 20 + 4 * 3
    found.close()
    with pytest.raises(ConfigurationError, match="at least 1"):
        next(Guard(NGRAM).check_many(items(), concurrency=0))


async def test_what_is_left_of_many_checks_is_cancelled() -> None:
    begun, cancelled = anyio.Event(), 0

    class Slow:
        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            nonlocal cancelled
            if "no lamps" not in str(request.messages):
                return Completions((Completion("Yes"),), Usage(1))
            begun.set()
            try:
                await anyio.sleep_forever()
            except BaseException:
                cancelled += 1
                raise
            raise AssertionError

    policy = {"chain": [{"method": "prompt"}], "cache": {"store": "none"}}
    guard = Guard(policy, provider=Slow())
    items = [{"response": word, "samples": LAMPS} for word in ("It has 11.", "It has no lamps.")]
    found = guard.acheck_many(items, concurrency=2, ordered=False)
    assert (await anext(found)).index == 0
    await begun.wait()
    await found.aclose()
    assert cancelled > 0


class FromSettings:
    """A provider that draws anew only if the request decodes with sampling."""

    def __init__(self) -> None:
        self.queries: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.queries.append(request)
        is_greedy = "temperature" in str(request.params) or "top_k" in str(request.params)
        year = 1900 if is_greedy else 1900 + len(self.queries)
        return Completions((Completion(f"In {year}."),) * n)


GREEDY = [
    {"temperature": 1e-7},
    {"top_k": 1},
    {"options": {"temperature": 0}},
    {"extra_body": {"generation_config": {"top_k": 1}}},
]


@pytest.mark.parametrize("params", GREEDY)
async def test_samples_of_a_greedy_answer_are_drawn_anew(params: dict[str, Any]) -> None:
    provider = FromSettings()
    guard = Guard({"chain": [{"method": "facts"}]}, model=MODEL, provider=provider)
    answer = await guard.aask("When did the Corvel bridge open?", params=params)
    assert answer.response == "In 1900."
    assert answer.verdict.decision == "flagged"


@pytest.mark.parametrize("params", GREEDY)
async def test_a_policy_that_draws_copies_is_inconclusive(params: dict[str, Any]) -> None:
    policy = {"chain": [{"method": "facts"}], "sampling": {"params": params}}
    guard = Guard(policy, model=MODEL, provider=FromSettings())
    verdict = (await guard.aask("When did the Corvel bridge open?", params=params)).verdict
    assert verdict.decision == "inconclusive"
    assert "a fixed seed or greedy decoding" in verdict.reason


@pytest.mark.parametrize("make", [list, tuple, iter, lambda texts: (t for t in texts)])
async def test_texts_may_come_from_an_iterator(make: Any) -> None:
    guard = Guard({"chain": [{"method": "ngram", "evidence": "references"}]})
    documents = ["The bridge opened in 1932.", "It has six lanes."]
    verdict = await guard.acheck("The bridge opened in 1932.", references=make(documents))
    expected = await guard.acheck("The bridge opened in 1932.", references=documents)
    assert (verdict.decision, verdict.score) == (expected.decision, expected.score)
    assert verdict.score is not None
    by_samples = Guard(NGRAM)
    verdict = await by_samples.acheck("The bridge opened in 1932.", samples=make(documents * 2))
    expected = await by_samples.acheck("The bridge opened in 1932.", samples=documents * 2)
    assert (verdict.decision, verdict.score) == (expected.decision, expected.score)


async def test_no_references_may_be_none() -> None:
    guard = Guard(NGRAM)
    verdict = await guard.acheck("It opened in 1932.", samples=["In 1932."] * 3, references=None)
    assert verdict.score is not None
    with pytest.raises(ConfigurationError, match="compares with references; pass `references`"):
        await Guard({"chain": [{"method": "ngram", "evidence": "references"}]}).acheck(
            "It opened in 1932.", references=None
        )


def test_a_conversation_may_come_from_an_iterator() -> None:
    messages = [{"role": "user", "content": "Who?"}]
    assert Request.of(iter(messages)) == Request.of(messages)
    with pytest.raises(ConfigurationError, match="not of type dict"):
        Request.of(messages[0])  # pyright: ignore[reportArgumentType]


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("ask", {"refrences": ["a"]}, "did you mean 'references'?"),
    ("check", {"sample": ["a"]}, "did you mean 'samples'?"),
    ("stream", {"mode": "hold"}, "pass it as `stream_mode`"),
    ("ask", {"temperature": 0}, "parameters, such as `temperature`, go in `params`"),
    ("ask", {"max_tokns": 9}, "parameters, such as `max_tokens`, go in `params`"),
    ("check", {"api_base": "http://x"}, "parameters, such as `api_base`, go in `params`"),
    ("ask", {"colour": 0}, "'colour'; it takes 'question', 'model', 'entity', 'tenant', "),
]


@pytest.mark.parametrize(("call", "mistake", "message"), MISTAKES)
async def test_an_unknown_keyword_names_the_nearest(
    call: str, mistake: dict[str, Any], message: str
) -> None:
    guard: Any = Guard(NGRAM, provider=ReplayProvider({}))
    with pytest.raises(TypeError, match=re.escape(message)) as error:
        getattr(guard, call)(QUESTION, **mistake)
    assert str(error.value).startswith(f"Guard.{call}() got an unexpected keyword")
    assert ("params`" in str(error.value)) == ("params`" in message)
    with pytest.raises(TypeError, match=re.escape(message)):
        await getattr(guard, f"a{call}")(QUESTION, **mistake)


def test_a_query_names_the_nearest_keyword_as_well() -> None:
    of: Any = Request.of
    with pytest.raises(TypeError, match="did you mean 'model'"):
        of(QUESTION, modle=MODEL)
    with pytest.raises(TypeError, match="pass it as `question`, a text or a list of messages"):
        of(messages=[{"role": "user", "content": QUESTION}])
    assert Request.of(question=QUESTION) == Request.of(QUESTION)


MESSAGES = [{"role": "user", "content": QUESTION}]
AS_QUESTION = "pass it as `question`, a text or a list of messages"
AS_REFERENCES = "pass it as `references`, a list of texts or `Document`s"
AS_SYSTEM_MESSAGE = "pass it as a message of `question`: [{'role': 'system', "
OTHER_NAMES: list[tuple[str, Any, str]] = [
    *((name, MESSAGES, AS_QUESTION) for name in ("messages", "mesages", "history")),
    *((name, QUESTION, AS_QUESTION) for name in ("prompt", "user_prompt", "query", "input")),
    *((name, ["It opened in 1932."], AS_REFERENCES) for name in ("documents", "docs", "sources")),
    *((name, "It opened in 1932.", AS_REFERENCES) for name in ("context", "source_documents")),
    *((name, "Be brief.", AS_SYSTEM_MESSAGE) for name in ("system", "system_prompt")),
]


@pytest.mark.parametrize(("name", "value", "message"), OTHER_NAMES)
@pytest.mark.parametrize("call", ["ask", "check", "stream", "aask", "acheck", "astream"])
async def test_a_name_that_others_have_for_an_argument_says_how_to_pass_it(
    call: str, name: str, value: object, message: str
) -> None:
    function: Any = getattr(Guard(NGRAM, provider=ReplayProvider({})), call)
    arguments = {"response": "It opened in 1932."} if call.endswith("check") else {}

    async def pass_wrongly() -> None:
        await function(**arguments, **{name: value})

    with pytest.raises(TypeError, match=re.escape(message)) as error:
        await pass_wrongly()
    assert str(error.value).startswith(
        f"Guard.{call}() got an unexpected keyword argument {name!r}; pass"
    )


@pytest.mark.parametrize("name", ["answer", "output", "output_text", "completion", "text"])
def test_an_answer_by_another_name_is_the_response(name: str) -> None:
    check: Any = Guard(NGRAM).check
    with pytest.raises(TypeError, match="pass it as `response`"):
        check(**{name: "It opened in 1932."}, samples=["In 1932."] * 3)
    (checked,) = Guard(NGRAM).check_many([{name: "It opened in 1932."}])
    assert "pass it as `response`" in str(checked.error)


async def test_arguments_that_need_a_name_are_listed() -> None:
    guard: Any = Guard(NGRAM, provider=ReplayProvider({}))
    by_name = r"takes only `response` without a name; pass the others by name: `question=`, `samp"
    with pytest.raises(TypeError, match=rf"Guard\.check\(\) {by_name}"):
        guard.check("It opened in 1932.", QUESTION)
    with pytest.raises(TypeError, match=rf"Guard\.acheck\(\) {by_name}"):
        await guard.acheck("It opened in 1932.", QUESTION)
    with pytest.raises(TypeError, match=r"Guard\.ask\(\) takes only `question` .*: `model=`, "):
        guard.ask(QUESTION, MODEL)


def test_one_of_many_checks_names_the_nearest_keyword() -> None:
    (checked,) = Guard(NGRAM).check_many([{"response": "It is.", "refrences": ["It is."]}])
    assert isinstance(checked.error, TypeError)
    assert "did you mean 'references'?" in str(checked.error)


def test_frameworks_can_tell_which_calls_are_async() -> None:
    guard = Guard(NGRAM)
    assert inspect.iscoroutinefunction(guard.aask)
    assert inspect.iscoroutinefunction(guard.acheck)
    assert not inspect.iscoroutinefunction(guard.ask)


MEMBERS = {
    *("ask", "aask", "stream", "astream", "check", "acheck", "check_many", "acheck_many"),
    *("policy", "with_options", "close", "aclose"),
}


def test_a_guard_has_only_what_applications_call() -> None:
    assert {name for name in dir(Guard(NGRAM)) if not name.startswith("_")} == MEMBERS


def test_the_constructor_names_the_nearest_keyword_as_well() -> None:
    make: Any = Guard
    with pytest.raises(TypeError, match="did you mean 'provider'"):
        make(NGRAM, provder=ReplayProvider({}))


class Tally:
    async def on_verdict(self, record: VerdictRecord) -> None: ...


WRONG_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"policy": 7}, "must be a path, a mapping or a Policy, not 'int'"),
    ({"model": 7}, "model must be a string, not of type int"),
    ({"model": " "}, "model is empty; pass a value, or None for the default"),
    ({"api_base": 7}, "api_base must be a string, not of type int"),
    ({"api_key": b"sk-secret"}, "api_key must be a string, not of type bytes"),
    ({"sinks": "x"}, "sinks must be a list of sinks, not of type str"),
    ({"sinks": Tally()}, "sinks must be a list of sinks, not of type Tally"),
    ({"sinks": [Tally]}, "an item of `sinks` is the class 'Tally'; pass an object of it"),
    ({"params": [("n", 3)]}, "params must be a mapping"),
    ({"params": {7: 3}}, "a name in `params` must be a string, not of type int"),
    ({"params": {"n": 3}}, "the guard returns one complete answer; omit `n`"),
    ({"params": {"stream": True}}, "use `astream` instead of `stream`"),
    ({"provider": 7}, "provider is a 'int', which has no method `complete`"),
    ({"provider": ReplayProvider}, "provider is the class 'ReplayProvider'; pass an object of it"),
    ({"retriever": 7}, "is of the type 'int'; name a function, or an object with `retrieve"),
    ({"on_verdict": 7}, "on_verdict must be a function, not of type int"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG_ARGUMENTS)
def test_a_wrong_argument_is_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    makers: tuple[Any, ...] = (Guard, Guard(NGRAM).with_options)
    for make in makers:
        with pytest.raises(ConfigurationError, match=re.escape(message)) as error:
            make(**arguments)
        assert "secret" not in str(error.value)


def test_one_response_is_not_many() -> None:
    guard: Any = Guard(NGRAM)
    for items in ("It is.", b"It is.", {"response": "It is."}):
        with pytest.raises(ConfigurationError, match="items must be a list of responses"):
            list(guard.check_many(items))
    (checked,) = guard.check_many([7])
    assert "an item must be a response, or a mapping" in str(checked.error)


async def test_a_requests_model_precedes_the_guards() -> None:
    provider = FromSettings()
    guard = Guard({**NGRAM, "cache": {"store": "none"}}, model="acme/small", provider=provider)
    request = Request.of(QUESTION, model="acme/large")
    await guard.aask(request)
    await guard.acheck("In 1900.", question=request)
    assert {asked.model for asked in provider.queries} == {"acme/large"}
    provider.queries.clear()
    await guard.aask(request, model="acme/huge")
    assert {asked.model for asked in provider.queries} == {"acme/huge"}


class Recording(FromSettings):
    @property
    def params(self) -> list[dict[str, Any]]:
        return [dict(query.params) for query in self.queries]


async def test_a_guard_s_own_parameters_are_defaults_of_each_request() -> None:
    provider = Recording()
    guard = Guard(
        {**NGRAM, "cache": {"store": "none"}},
        model=MODEL,
        api_base="http://own/v1",
        api_key="sk-own",
        params={"temperature": 0.3, "top_p": 0.5},
        provider=provider,
    )
    own = {"temperature": 0.3, "top_p": 0.5, "api_base": "http://own/v1", "api_key": "sk-own"}
    await guard.aask(QUESTION)
    await guard.acheck("In 1900.", question=QUESTION)
    assert all(params == own for params in provider.params)

    provider.queries.clear()
    request = Request.of(QUESTION, params={"top_p": 0.7})
    await guard.aask(request, params={"api_key": "sk-other", "temperature": 0.4})
    changed = {"temperature": 0.4, "top_p": 0.7, "api_key": "sk-other"}
    assert all(params == own | changed for params in provider.params)


async def test_a_copy_has_other_options_and_the_original_its_own() -> None:
    provider, heard = Recording(), list[Any]()
    guard = Guard(
        {**NGRAM, "cache": {"store": "none"}},
        model=MODEL,
        api_key="sk-own",
        params={"top_p": 0.5},
        provider=provider,
        on_verdict=heard.append,
    )
    copied = guard.with_options(model="openai/other", params={"top_p": 0.9}, on_verdict=None)
    await copied.aask(QUESTION)
    assert heard == []
    assert {query.model for query in provider.queries} == {"openai/other"}
    assert all(params == {"top_p": 0.9, "api_key": "sk-own"} for params in provider.params)

    provider.queries.clear()
    await copied.with_options(api_key=None, api_base="http://x").aask(QUESTION)
    assert all(params == {"top_p": 0.9, "api_base": "http://x"} for params in provider.params)

    provider.queries.clear()
    await guard.aask(QUESTION)
    assert len(heard) == 1
    assert {query.model for query in provider.queries} == {MODEL}
    assert all(params == {"top_p": 0.5, "api_key": "sk-own"} for params in provider.params)


def test_a_copy_may_have_another_policy_and_is_checked_like_a_new_guard() -> None:
    guard = Guard(NGRAM, model=MODEL)
    assert (
        guard.with_options(policy={"chain": [{"method": "facts"}]}).policy.chain[0].method_name
        == "facts"
    )
    second = {**NGRAM, "second_opinion": {"model": MODEL}}
    with pytest.raises(ConfigurationError, match="would repeat its own mistakes"):
        guard.with_options(policy=second)


async def test_a_guard_shows_in_one_line_and_without_keys() -> None:
    secrets = {"api_key": "sk-secret", "api_base": "http://user:sk-secret@host/v1"}
    params = {"headers": {"authorization": "sk-secret"}}
    guard = Guard(NGRAM, model=MODEL, params=params, **secrets)
    shown = f"Guard(policy='unnamed', model={MODEL!r}, chain='ngram', action='annotate')"
    assert repr(guard) == shown
    assert repr(GuardRuntime(guard)) == f"GuardRuntime({shown})"
    copied = pickle.loads(pickle.dumps(guard.with_options(provider=FromSettings())))
    assert repr(copied) == shown
    assert (await copied.aask(QUESTION)).response


class Prepared(FromSettings):
    prepared = 0

    async def prepare(self) -> None:
        self.prepared += 1


class Slow:
    """A sink that takes a while, and may fail when it is flushed."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.taken = 0
        self.failure = failure

    async def on_verdict(self, record: VerdictRecord) -> None:
        await anyio.lowlevel.checkpoint()
        self.taken += 1

    async def aflush(self) -> None:
        if self.failure is not None:
            raise self.failure


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_guard_as_context_manager_prepares_and_waits_for_its_sinks(is_async: bool) -> None:
    provider, sink = Prepared(), Slow()
    guard = Guard(NGRAM, provider=provider, sinks=[sink])
    if is_async:
        async with guard as entered:
            await entered.acheck("It has 11 lamps.", samples=LAMPS)
    else:
        with guard as entered:
            entered.check("It has 11 lamps.", samples=LAMPS)
    assert entered is guard
    assert (provider.prepared, sink.taken) == (1, 1)
    # It can still be used.
    guard.check("It has 11 lamps.", samples=LAMPS)
    guard.close()
    assert sink.taken == 2


def test_a_sink_s_error_is_raised_unless_the_body_has_its_own() -> None:
    guard = Guard(NGRAM, sinks=[Slow(OSError("disk full"))])
    with pytest.raises(OSError, match="disk full"), guard:
        pass
    with pytest.raises(ValueError, match="of the body"), guard:
        raise ValueError("of the body")


@pytest.mark.parametrize("name", ["api_base", "api_key"])
def test_an_empty_address_or_key_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is empty"):
        Guard({"chain": [{"method": "ngram"}]}, model="openai/m", **{name: " "}).ask("Which?")
