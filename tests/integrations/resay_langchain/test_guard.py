from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from itertools import cycle

import httpx
import openai
import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_openai import ChatOpenAI

from resay import ConfigurationError, DeadlineExceededError, Guard, HallucinationBlocked
from resay_langchain import guard_runnable
from simulation import (
    Hang,
    RateLimited,
    Refused,
    ServerError,
)
from support.langchain import (
    JUDGED,
    KNOWN,
    MADE_UP,
    MESSAGE,
    PATIENT,
    PROMPT,
    RAISE,
    REPLACE,
    UNJUDGED,
    N,
    Recorder,
    bodies,
    verdict_of,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def llm_cache() -> Iterator[None]:
    set_llm_cache(InMemoryCache())
    yield
    set_llm_cache(None)


@pytest.mark.all_turns
async def test_gives_the_message_with_its_verdict(ask, model, provider):
    message = await ask(guard_runnable(model, JUDGED), MADE_UP)
    verdict = verdict_of(message)
    assert isinstance(message, AIMessage)
    assert (verdict["decision"], verdict["action"], verdict["samples"]) == (
        "flagged",
        "annotate",
        N,
    )
    assert [s["text"] in message.text for s in verdict["sentences"]] == [True] * len(
        verdict["sentences"]
    )
    assert provider.calls == 1 + 1 + N


async def test_an_answer_that_repeats_is_consistent(ask, model):
    verdict = verdict_of(await ask(guard_runnable(model, JUDGED), KNOWN))
    assert (verdict["decision"], verdict["action"]) == ("consistent", "allow")


def test_works_where_no_event_loop_runs(provider):
    with httpx.Client() as client:
        model = ChatOpenAI(
            model="simulated", base_url=provider.base_url, api_key="x", http_client=client
        )
        assert verdict_of(guard_runnable(model, JUDGED).invoke(MADE_UP))["flagged"]


async def test_counts_the_tokens_of_the_check(ask, model, provider):
    message = await ask(guard_runnable(model, JUDGED), MADE_UP)
    used, usage = message.usage_metadata, verdict_of(message)["usage"]
    assert usage["calls"] == 1 + N
    assert usage["cost_usd"] is None
    assert usage["prompt_tokens"] == provider.prompt_tokens - used["input_tokens"]
    assert usage["completion_tokens"] == provider.completion_tokens - used["output_tokens"]


async def test_guards_a_prompt_with_a_model(ask, model, provider):
    message = await ask(guard_runnable(PROMPT | model, JUDGED), {"question": MADE_UP})
    assert verdict_of(message)["flagged"]
    asked = [body["messages"] for body in bodies(provider)]
    assert asked == [asked[0]] * 2
    assert asked[0][0]["content"] == "Be brief."


@pytest.mark.all_turns
async def test_a_plain_text_has_its_verdict_in_an_event(ask, model, provider):
    recorder = Recorder()
    chain = guard_runnable(PROMPT | model | StrOutputParser(), JUDGED)
    text = await ask(chain, {"question": MADE_UP}, {"callbacks": [recorder]})
    assert isinstance(text, str)
    (verdict,) = recorder.verdicts
    assert verdict["flagged"]
    assert all(text[s["start"] : s["end"]] == s["text"] for s in verdict["sentences"])
    assert 0 < verdict["usage"]["prompt_tokens"] < provider.prompt_tokens


@pytest.mark.parametrize("way", ["batch", "abatch"])
async def test_a_batch_does_not_mix_up_verdicts(way, model):
    guarded = guard_runnable(PROMPT | model, JUDGED)
    questions = [{"question": q} for q in (MADE_UP, KNOWN, f"{MADE_UP} Tell me more.")]
    if way == "batch":
        messages = guarded.batch(questions)
    else:
        messages = await guarded.abatch(questions, {"max_concurrency": 2})
    assert [verdict_of(m)["flagged"] for m in messages] == [True, False, True]
    for message in messages:
        sentences = verdict_of(message)["sentences"]
        assert [message.text[s["start"] : s["end"]] for s in sentences] == [
            s["text"] for s in sentences
        ]


async def test_a_batch_may_return_exceptions(model):
    results = guard_runnable(model, RAISE).batch([MADE_UP, KNOWN], return_exceptions=True)
    assert isinstance(results[0], HallucinationBlocked)
    assert isinstance(results[1], AIMessage)


async def test_a_withheld_message_keeps_nothing_of_its_words(ask, make_model):
    recorder = Recorder()
    guarded = guard_runnable(make_model(logprobs=True), REPLACE)
    message = await ask(guarded, MADE_UP, {"callbacks": [recorder]})
    # The run of the answer shows what is given, not what was withheld.
    (shown,) = (recorder.messages[run] for run in recorder.named("ChatOpenAI"))
    assert (message.content, message.id) == (MESSAGE, shown.id)
    assert shown.content == MESSAGE
    assert message.usage_metadata["output_tokens"] > 0
    assert message.response_metadata["model_name"] == "simulated"
    assert verdict_of(message)["action"] == "block"
    for withheld in ("Zorblatt", "built", "visit"):
        assert withheld not in repr(message)
        assert withheld not in repr(recorder.verdicts)


async def test_a_withheld_text_is_replaced(ask, model):
    chain = guard_runnable(model | StrOutputParser(), REPLACE)
    assert await ask(chain, MADE_UP) == MESSAGE
    assert await ask(chain, KNOWN) != MESSAGE


async def test_blocking_may_raise(ask, model):
    recorder = Recorder()
    with pytest.raises(HallucinationBlocked) as caught:
        await ask(guard_runnable(model, RAISE), MADE_UP, {"callbacks": [recorder]})
    assert caught.value.verdict.flagged
    (verdict,) = recorder.verdicts
    assert verdict["action"] == "block"
    assert {s["text"] for s in verdict["sentences"]} == {""}


def weather(city: str) -> str:
    """Say what the weather is like."""
    return f"Sunny in {city}."


async def test_a_tool_call_passes_and_no_sample_is_paid_for(ask, model, provider):
    for guarded in (
        guard_runnable(model.bind_tools([weather])),
        guard_runnable(model).bind_tools([weather]),
    ):
        before = provider.calls
        message = await ask(guarded, "[[tool]] weather in Paris")
        assert message.tool_calls[0]["name"] == "weather"
        verdict = verdict_of(message)
        assert (verdict["decision"], verdict["action"]) == ("skipped", "allow")
        assert verdict["reason"] == "the answer calls tools"
        assert provider.calls == before + 1


async def test_tools_given_with_the_call_make_samples_wait(ask, model, provider):
    tools = model.bind_tools([weather]).kwargs["tools"]
    message = await ask(guard_runnable(model, JUDGED), "[[tool]] weather in Paris", tools=tools)
    assert message.tool_calls
    assert provider.calls == 1


async def test_what_a_function_makes_of_the_answer_is_left_to_it(ask, model):
    chain = guard_runnable(model | RunnableLambda(lambda message: {"answer": message.text}), JUDGED)
    output = await ask(chain, MADE_UP)
    assert "Zorblatt" in output["answer"]
    assert output["hallucination"]["flagged"]
    assert all(s["text"] in output["answer"] for s in output["hallucination"]["sentences"])


async def test_what_is_no_text_passes_and_no_sample_is_paid_for(ask, model, provider):
    recorder = Recorder()
    function = RunnableLambda(lambda question: [model.invoke(question).text])
    (output,) = await ask(guard_runnable(function, UNJUDGED), MADE_UP, {"callbacks": [recorder]})
    assert "Zorblatt" in output
    (verdict,) = recorder.verdicts
    assert verdict["decision"] == "skipped"
    assert verdict["reason"] == "the output is of type 'list', not text"
    assert provider.calls == 1


@pytest.mark.usefixtures("llm_cache")
async def test_samples_do_not_come_from_the_global_cache(ask, model, provider):
    guarded = guard_runnable(PROMPT | model, JUDGED)
    first = await ask(guarded, {"question": MADE_UP})
    again = await ask(guarded, {"question": MADE_UP})
    assert again.text == first.text
    assert verdict_of(again)["decision"] == "flagged"
    # The second main call is the application's own, and its cache answers it.
    assert len(bodies(provider)) == 1 + 1 + 1


def frozen_field(make_model):
    return make_model(temperature=0, seed=1, store=True, model_kwargs={"prediction": {}})


def frozen_binding(make_model):
    return make_model().bind(temperature=0, seed=1, store=True, prediction={})


def frozen_fallback(make_model):
    return frozen_field(make_model).with_fallbacks([make_model()]).with_retry()


@pytest.mark.parametrize("frozen", [frozen_field, frozen_binding, frozen_fallback])
async def test_samples_are_free_where_the_main_call_is_not(ask, make_model, provider, frozen):
    policy = PATIENT | {"chain": [{"method": "ngram"}]}
    message = await ask(guard_runnable(PROMPT | frozen(make_model), policy), {"question": MADE_UP})
    assert "samples are identical" not in verdict_of(message)["reason"]
    main, *samples = bodies(provider)
    only_main = {"temperature", "seed", "store", "prediction"}
    assert only_main <= main.keys()
    assert sum(body.get("n", 1) for body in samples) == N
    for body in samples:
        assert not only_main & body.keys()


async def test_samples_are_free_of_the_calls_own_arguments(ask, model, provider):
    await ask(guard_runnable(model, PATIENT), MADE_UP, temperature=0, max_tokens=40)
    main, *samples = bodies(provider)
    assert (main["temperature"], main["max_completion_tokens"]) == (0, 40)
    for body in samples:
        assert "temperature" not in body
        assert body["max_completion_tokens"] == 40


@pytest.mark.parametrize("bound", [{}, {"temperature": 0.2, "top_p": 0.1}])
async def test_the_policys_parameters_reach_the_samples(ask, model, provider, bound):
    sampling = {"max": N, "start": "after", "temperature": 0.9, "params": {"top_p": 0.5}}
    await ask(guard_runnable(model.bind(**bound), UNJUDGED | {"sampling": sampling}), MADE_UP)
    main, *samples = bodies(provider)
    assert main.get("temperature") == bound.get("temperature")
    assert [(b["temperature"], b["top_p"]) for b in samples] == [(0.9, 0.5)]


async def test_a_frozen_model_that_cannot_be_reached_is_inconclusive(ask, make_model):
    frozen = make_model(temperature=0)
    hidden = RunnableLambda(lambda question: frozen.invoke(question))
    verdict = verdict_of(await ask(guard_runnable(hidden, UNJUDGED), MADE_UP))
    assert verdict["inconclusive"]
    assert "samples are identical" in verdict["reason"]


@pytest.mark.all_turns
async def test_every_call_is_a_child_run(ask, model):
    recorder = Recorder()
    config = {
        "callbacks": [recorder],
        "run_name": "mine",
        "tags": ["app"],
        "metadata": {"user": "u1"},
    }
    await ask(guard_runnable(model, JUDGED), MADE_UP, config)
    ((guarded, top),) = recorder.named("mine").items()
    assert top.parent is None
    ((_, main),) = recorder.named("ChatOpenAI").items()
    assert (main.parent, main.tags, main.metadata["user"]) == (guarded, ["app"], "u1")
    for name, calls in (("resay:sample", 1), ("resay:judge", N)):
        runs = recorder.named(name).values()
        assert len(runs) == calls
        for run in runs:
            assert run.parent == guarded
            assert {"app", "nostream", name} <= set(run.tags)
            assert run.metadata["resay_call"] == name


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Refused(), openai.AuthenticationError),
        (RateLimited(), openai.RateLimitError),
        (ServerError(), openai.InternalServerError),
    ],
)
async def test_an_exception_of_the_main_call_is_the_providers_own(
    ask, model, provider, fault, error
):
    provider.set_faults(fault)
    with pytest.raises(error):
        await ask(guard_runnable(PROMPT | model, PATIENT), {"question": MADE_UP})
    assert provider.calls == 1


@pytest.mark.all_turns
async def test_samples_that_fail_do_not_cost_the_answer(ask, model, provider):
    provider.set_faults(ServerError(after=1))
    message = await ask(guard_runnable(model, PATIENT), MADE_UP)
    assert "Zorblatt" in message.text
    verdict = verdict_of(message)
    assert (verdict["decision"], verdict["action"]) == ("inconclusive", "annotate")
    assert "Error x1" in verdict["reason"]


async def test_one_judgement_that_fails_does_not_cost_the_verdict(ask, model, provider):
    provider.set_faults(ServerError(only="judge", first=1))
    verdict = verdict_of(await ask(guard_runnable(model, JUDGED), MADE_UP))
    assert verdict["flagged"]
    assert verdict["steps"][0]["failures"] == {"ProviderError": 1}


@pytest.mark.all_turns
async def test_the_deadline_does_not_wait_for_what_hangs(ask, model, provider):
    provider.set_faults(Hang())
    guarded = guard_runnable(model, PATIENT | {"limits": {"deadline_s": 0.05}})
    with pytest.raises(DeadlineExceededError):
        await ask(guarded, MADE_UP)
    provider.release()
    provider.wait_idle()


async def test_what_is_no_longer_wanted_is_cut_off(model, provider):
    provider.set_faults(Hang())
    task = asyncio.create_task(guard_runnable(model, UNJUDGED).ainvoke(MADE_UP))
    await asyncio.to_thread(provider.wait_calls, 1 + 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(provider.wait_idle)
    assert [request.disconnected for request in provider.requests] == [True] * 2


async def test_guards_inside_a_guard_do_nothing(ask, model, provider):
    inner = guard_runnable(model, JUDGED)
    parallel = PROMPT | {"answer": inner} | RunnableLambda(lambda outputs: outputs["answer"])
    hidden = RunnableLambda(lambda x: (PROMPT | inner).invoke(x))
    # A chain whose model is hidden runs again for each sample.
    for chain, requests in ((PROMPT | inner, 1), (parallel, 1), (hidden, N)):
        before = provider.calls
        message = await ask(guard_runnable(chain, UNJUDGED), {"question": MADE_UP})
        assert verdict_of(message)["samples"] == N
        assert provider.calls == before + 1 + requests
    # The mark is gone with the guard that set it.
    before = provider.calls
    await ask(inner, MADE_UP)
    assert provider.calls == before + 1 + 1 + N


async def test_the_judge_is_found_inside_an_inner_guard(ask, model, provider):
    await ask(
        guard_runnable(PROMPT | guard_runnable(model, UNJUDGED), JUDGED), {"question": MADE_UP}
    )
    assert provider.calls == 1 + 1 + N


async def test_a_judge_named_in_the_policy_is_asked_through_litellm(ask, model, provider):
    judge = {"model": "openai/judge", "params": provider.params}
    chain = [{"method": "prompt", "mode": "per_sample", "judge": judge}]
    function = RunnableLambda(lambda question: model.invoke(question).text)
    recorder = Recorder()
    await ask(
        guard_runnable(function, JUDGED | {"chain": chain}), MADE_UP, {"callbacks": [recorder]}
    )
    assert recorder.verdicts[0]["flagged"]
    assert [body["model"] for body in bodies(provider, judged=True)] == ["judge"] * N


request_id: ContextVar[str] = ContextVar("request_id")


async def test_samples_run_at_once_and_see_the_callers_context():
    many, seen = 60, list[str]()
    together = threading.Barrier(many, timeout=5)

    def answer(question: str) -> str:
        seen.append(request_id.get())
        if len(seen) > 1:
            together.wait()
        return f"This is answer number {len(seen)}."

    policy = UNJUDGED | {"sampling": {"max": many}, "limits": {"concurrency": many}}
    request_id.set("r1")
    # More threads than an event loop's own pool has; `ainvoke` of a function would use that.
    recorder = Recorder()
    guard_runnable(RunnableLambda(answer), policy).invoke("What?", {"callbacks": [recorder]})
    assert recorder.verdicts[0]["samples"] == many
    assert seen == ["r1"] * (1 + many)


async def test_the_message_of_the_model_is_not_changed(ask):
    original = AIMessage("The bridge was opened in 1932.", id="m1")
    fake = GenericFakeChatModel(messages=cycle([original]))
    message = await ask(guard_runnable(fake, UNJUDGED), MADE_UP)
    assert verdict_of(message)["decision"] == "consistent"
    assert "hallucination" not in original.response_metadata
    assert (message.id, message.text) == (original.id, original.text)


@pytest.mark.parametrize(
    "wrap", [guard_runnable, lambda m, p: guard_runnable(m.with_fallbacks([m]), p)]
)
async def test_attributes_of_the_runnable_inside_are_there(model, wrap):
    guarded = wrap(model, Guard(JUDGED))
    assert guarded.model_name == "simulated"
    assert guarded.InputType == model.InputType
    with pytest.raises(AttributeError, match="nonsense"):
        _ = guarded.nonsense


def history(_session: str) -> InMemoryChatMessageHistory:
    return InMemoryChatMessageHistory()


REFERENCES = {"chain": [{"method": "ngram", "evidence": "references"}]}
ELSEWHERE = UNJUDGED | {"sampling": {"model": "openai/other"}}
TWO_WAYS = UNJUDGED | {"sampling": {"model": "openai/other", "via": "native"}}
LITELLM = UNJUDGED | {"sampling": {"via": "litellm"}}


def opaque(model):
    return RunnableLambda(lambda x: model.invoke(x))


def graph(model):
    return create_agent(model, [weather])


# Deprecated in favour of LangGraph's, but there until langchain-core 2.
@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
@pytest.mark.parametrize(
    ("wrap", "policy", "problem"),
    [
        (opaque, None, "name a judge .* `judge:`"),
        (opaque, ELSEWHERE, "`sampling.model` is 'openai/other'"),
        (opaque, REFERENCES, "compares with references"),
        (opaque, LITELLM, "no chat model can be found"),
        (lambda m: m, LITELLM, "`sampling.via` is 'litellm', but ChatOpenAI sets 'http_"),
        (lambda m: m, TWO_WAYS, "omit `via: native`"),
        (lambda m: RunnableWithMessageHistory(m, history), UNJUDGED, "inside .* instead"),
        (lambda m: graph(m) | RunnableLambda(str), UNJUDGED, "CompiledStateGraph is a graph"),
        (graph, UNJUDGED, "CompiledStateGraph is a graph"),
        (lambda m: {"a": m, "b": m} | RunnableLambda(str), UNJUDGED, r"under \['a', 'b'\]"),
        (lambda m: "a model", UNJUDGED, "not 'str'"),
    ],
)
async def test_what_cannot_work_is_refused_at_once(model, wrap, policy, problem):
    with pytest.raises(ConfigurationError, match=problem):
        guard_runnable(wrap(model), policy)


async def test_several_models_are_what_is_wrong_not_their_missing_judge(model):
    with pytest.raises(ConfigurationError, match="several models write the output"):
        guard_runnable(RunnableParallel(a=model, b=model), JUDGED)
