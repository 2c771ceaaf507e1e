from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("litellm")

from resay import HallucinationBlocked, Policy
from resay.adapters import GuardRuntime, marked
from resay.errors import ConfigurationError, PolicyError
from resay_litellm import VERDICT_KEY, HallucinationGuardrail, verdict_of
from simulation import IgnoreN, ServerError, SimulatedProvider
from support.known_world import KNOWN, MADE_UP
from support.litellm import BLOCK, JUDGED, RAISE, STRICT, N, as_sent, ask, deployments_in

pytestmark = pytest.mark.anyio

LOOKUP = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}


async def checked(guardrail: Any, router: Any, body: dict[str, Any]) -> Any:
    response = await router.acompletion(**body)
    return await guardrail.async_post_call_success_hook(as_sent(body), None, response)


def sent(provider: SimulatedProvider) -> list[dict[str, Any]]:
    return [record.body or {} for record in provider.requests]


def is_judging(body: dict[str, Any]) -> bool:
    return body["messages"][-1]["content"] not in (MADE_UP, KNOWN)


@pytest.mark.parametrize("question", [KNOWN, MADE_UP])
async def test_a_response_gets_its_verdict(make_guardrail, router, question):
    response = await checked(make_guardrail(JUDGED), router, ask(question))

    verdict = verdict_of(response)
    assert verdict.flagged is (question == MADE_UP)
    assert (verdict.samples, verdict.via) == (N, "litellm")
    data = json.loads(response.model_dump_json())
    assert data[VERDICT_KEY]["action"] == ("annotate" if question == MADE_UP else "allow")
    assert verdict_of(data) == verdict


async def test_samples_and_judge_are_the_deployment_that_answered(make_guardrail, router, provider):
    answered = set()
    while len(answered) < 2:
        before = len(provider.requests)
        await checked(make_guardrail(JUDGED), router, ask(KNOWN))
        models = {body["model"] for body in sent(provider)[before:]}
        assert len(models) == 1
        answered |= models
    assert answered == {"sim-a", "sim-b"}


async def test_a_sample_is_the_users_request_without_what_is_for_the_main_call(
    make_guardrail, router, provider
):
    params = {"temperature": 0, "max_tokens": 500, "seed": 4, "logprobs": True, "user": "u"}
    await checked(make_guardrail(STRICT), router, ask(MADE_UP, **params))

    main, *samples = sent(provider)
    assert main.keys() >= {"max_tokens", "temperature", "seed", "logprobs"}
    kept = {k: v for k, v in main.items() if k not in ("temperature", "seed", "logprobs")}
    for body in samples:
        assert {k: v for k, v in body.items() if k != "n"} == kept
    assert sum(body.get("n", 1) for body in samples) == N


async def test_a_provider_that_ignores_n_is_asked_again(make_guardrail, router, provider):
    provider.set_faults(IgnoreN())
    response = await checked(make_guardrail(STRICT), router, ask(MADE_UP))

    assert verdict_of(response).samples == N


async def test_what_other_hooks_have_changed_is_what_is_asked_again(
    make_guardrail, router, provider
):
    body = ask(MADE_UP)
    response = await router.acompletion(**body)
    data = as_sent(body)
    data["messages"] = [{"role": "user", "content": KNOWN}]
    await make_guardrail(STRICT).async_post_call_success_hook(data, None, response)

    assert {b["messages"][-1]["content"] for b in sent(provider)[1:]} == {KNOWN}


async def test_what_litellm_notes_beside_a_request_is_not_sent(make_guardrail, router, provider):
    body = ask(MADE_UP, max_tokens=300)
    response = await router.acompletion(**body)
    notes = {"litellm_logging_obj": object(), "deployment": {"id": "x"}, "model_group": "chat"}
    data = {**as_sent(body), **notes}
    del data["proxy_server_request"]
    given = await make_guardrail(STRICT).async_post_call_success_hook(data, None, response)

    assert verdict_of(given).samples == N
    assert all(b.keys() <= {"model", "messages", "max_tokens", "n"} for b in sent(provider))


@pytest.mark.parametrize("router", [{"fallbacks": [{"*": ["judge-group"]}]}], indirect=True)
async def test_samples_fall_back_to_no_other_model(make_guardrail, router, provider):
    provider.set_faults(ServerError(after=1))
    policy = {**STRICT, "limits": {"retries": 0}}
    response = await checked(make_guardrail(policy), router, ask(MADE_UP))

    assert verdict_of(response).inconclusive
    assert len({body["model"] for body in sent(provider)}) == 1


async def test_a_judge_may_be_one_of_the_proxys_models(make_guardrail, router, provider):
    policy = {"chain": [{"method": "prompt", "judge": "judge-group"}], "sampling": {"max": 2}}
    response = await checked(make_guardrail(policy), router, ask(MADE_UP))

    assert verdict_of(response).flagged
    assert {b["model"] for b in sent(provider) if is_judging(b)} == {"sim-judge"}


async def test_another_model_may_give_the_samples(make_guardrail, router, provider):
    policy = {**STRICT, "sampling": {"max": 2, "min": 2, "model": "judge-group"}}
    response = await checked(make_guardrail(policy), router, ask(MADE_UP))

    assert verdict_of(response).samples == 2
    assert {body["model"] for body in sent(provider)[1:]} == {"sim-judge"}


async def test_a_judge_that_the_router_does_not_know_is_litellms(make_guardrail, router, provider):
    judge = {"model": "openai/elsewhere", "params": provider.params}
    policy = {"chain": [{"method": "prompt", "judge": judge}], "sampling": {"max": 2}}
    response = await checked(make_guardrail(policy), router, ask(MADE_UP))

    assert verdict_of(response).flagged
    assert {b["model"] for b in sent(provider) if is_judging(b)} == {"elsewhere"}


async def test_a_proxy_without_a_router_asks_litellm(
    make_guardrail, litellm, provider, monkeypatch
):
    body = {**ask(MADE_UP), "model": "openai/direct", **provider.params}
    monkeypatch.delitem(sys.modules, "litellm.proxy.proxy_server")
    response = await litellm.acompletion(**body)
    guardrail = make_guardrail(STRICT)
    response = await guardrail.async_post_call_success_hook(as_sent(body), None, response)

    assert verdict_of(response).samples == N
    assert {b["model"] for b in sent(provider)} == {"direct"}


async def test_a_withheld_answer_leaves_no_word_behind(make_guardrail, router):
    body = ask(MADE_UP, logprobs=True)
    response = await router.acompletion(**body)
    words = response.choices[0].message.content
    response.choices[0].message.reasoning_content = f"I think {words}"
    guardrail = make_guardrail({**STRICT, **BLOCK})
    given = await guardrail.async_post_call_success_hook(as_sent(body), None, response)

    assert given.choices[0].message.content == "Withheld."
    assert given.choices[0].finish_reason == "content_filter"
    assert (given.id, given.model, given.usage) == (response.id, response.model, response.usage)
    assert given.hallucination["action"] == "block"
    assert "Zorblatt" not in given.model_dump_json()
    assert given._hidden_params["model_id"] == response._hidden_params["model_id"]


async def test_exit_raise_raises_where_there_is_no_web_server(make_guardrail, router, monkeypatch):
    monkeypatch.setattr("resay_litellm._guardrail.find_spec", lambda name: None)
    with pytest.raises(HallucinationBlocked):
        await checked(make_guardrail({**STRICT, **RAISE}), router, ask(MADE_UP))


async def test_each_of_several_choices_is_checked(make_guardrail, router):
    body = ask(MADE_UP, n=3)
    annotated = await checked(make_guardrail(STRICT), router, body)
    withheld = await checked(make_guardrail({**STRICT, **BLOCK}), router, body)

    assert [verdict_of(choice).flagged for choice in annotated.choices] == [True] * 3
    assert verdict_of(annotated).flagged
    assert [choice.message.content for choice in withheld.choices] == ["Withheld."] * 3
    assert [choice.index for choice in withheld.choices] == [0, 1, 2]
    assert "Zorblatt" not in withheld.model_dump_json()


async def test_one_of_several_choices_is_withheld(make_guardrail, router):
    body = ask(KNOWN, n=2)
    response = await router.acompletion(**body)
    response.choices[1].message.content = "It was built by Fenella Marwick in 1612."
    guardrail = make_guardrail({**JUDGED, **BLOCK})
    given = await guardrail.async_post_call_success_hook(as_sent(body), None, response)

    assert given.choices[0].message == response.choices[0].message
    assert given.choices[1].message.content == "Withheld."
    assert given.hallucination["action"] == "block"
    assert "Fenella" not in given.model_dump_json()


async def test_an_answer_that_calls_tools_passes(make_guardrail, router, provider):
    body = ask("[[lookup]] it", tools=[LOOKUP])
    response = await checked(make_guardrail({**STRICT, **BLOCK}), router, body)

    assert response.choices[0].message.tool_calls
    assert verdict_of(response).skipped
    assert len(provider.requests) == 1


async def test_arguments_of_calls_are_compared_where_the_policy_says_so(make_guardrail, router):
    given = {
        "type": "object",
        "properties": {"amount": {"type": "integer"}},
        "required": ["amount"],
    }
    pay = {"type": "function", "function": {"name": "pay", "parameters": given}}
    policy = {**JUDGED, **BLOCK, "tools": "arguments"}
    body = ask("[[tool]] Canberra", tools=[pay])
    response = await checked(make_guardrail(policy), router, body)

    (choice,) = response.choices
    assert not choice.message.tool_calls
    assert choice.message.content == "Withheld."
    assert verdict_of(response).flagged


@pytest.mark.parametrize(
    "params",
    [
        {"web_search_options": {"search_context_size": "low"}},
        {"tools": [LOOKUP, {"type": "web_search_preview"}]},
        {"tools": [{"type": "mcp", "server_label": "files"}]},
        {"thread_id": "t-1"},
    ],
)
async def test_what_the_provider_runs_or_keeps_is_not_asked_again(
    make_guardrail, router, provider, params
):
    response = await router.acompletion(**ask(MADE_UP))
    data = as_sent(ask(MADE_UP, **params))
    # The answer is there already: it is too late to refuse the request.
    guardrail = make_guardrail({**STRICT, **BLOCK})
    given = await guardrail.async_post_call_success_hook(data, None, response)

    verdict = verdict_of(given)
    assert verdict.inconclusive
    assert "every sample" in verdict.reason
    assert given.choices == response.choices
    assert len(provider.requests) == 1


async def test_what_is_no_text_of_a_model_passes_untouched(make_guardrail, router):
    guardrail = make_guardrail({**STRICT, **BLOCK})
    for response in ({"object": "list", "data": []}, b"audio", None, object()):
        given = await guardrail.async_post_call_success_hook(
            as_sent({"model": "chat", "input": ["a text"]}), None, response
        )
        assert given is response


async def test_a_guard_inside_a_guard_stands_aside(make_guardrail, router, provider):
    with marked():
        response = await checked(make_guardrail(STRICT), router, ask(MADE_UP))

    assert verdict_of(response) is None
    assert len(provider.requests) == 1


async def test_an_answer_is_checked_once(make_guardrail, router, provider):
    first, second = make_guardrail(JUDGED), make_guardrail({**STRICT, **BLOCK})
    response = await checked(first, router, ask(KNOWN))
    before = len(provider.requests)
    again = await second.async_post_call_success_hook(as_sent(ask(KNOWN)), None, response)

    assert again is response
    assert len(provider.requests) == before


async def test_the_router_calls_no_guardrail(make_guardrail, router, provider, litellm):
    litellm.callbacks = [make_guardrail(STRICT)]
    response = await router.acompletion(**ask(MADE_UP), guardrails=["hallucination"])

    assert verdict_of(response) is None
    assert len(provider.requests) == 1


@pytest.mark.parametrize("on_error", ["annotate", "block"])
async def test_a_guard_that_breaks_does_not_lose_the_answer(
    make_guardrail, router, monkeypatch, on_error
):
    async def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("words of the answer")

    monkeypatch.setattr(GuardRuntime, "aask_with", broken)
    policy = {**JUDGED, **BLOCK, "on_error": on_error}
    response = await checked(make_guardrail(policy), router, ask(MADE_UP))

    verdict = verdict_of(response)
    assert verdict.inconclusive
    assert verdict.reason == "the check failed with RuntimeError"
    text = response.choices[0].message.content
    assert (text == "Withheld.") is (on_error == "block")


async def test_what_samples_cost_is_counted(make_guardrail, router):
    for deployment in deployments_in(router):
        price = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.001}
        deployment["litellm_params"] |= price
    response = await checked(make_guardrail(STRICT), router, ask(MADE_UP))

    usage = verdict_of(response).usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    assert usage.cost_usd == pytest.approx(tokens * 0.001)


async def test_what_the_provider_says_beside_is_withheld_too(make_guardrail, router):
    body = ask(MADE_UP)
    response = await router.acompletion(**body)
    response.citations = ["Zorblatt, as was said"]
    response._hidden_params["original_response"] = "Zorblatt"
    guardrail = make_guardrail({**STRICT, **BLOCK})
    given = await guardrail.async_post_call_success_hook(as_sent(body), None, response)

    assert "Zorblatt" not in given.model_dump_json()
    assert "Zorblatt" not in json.dumps(given._hidden_params, default=str)


async def test_litellms_logs_hear_of_it_without_a_word(make_guardrail, router):
    body, data = ask(MADE_UP), as_sent(ask(MADE_UP))
    response = await router.acompletion(**body)
    await make_guardrail(JUDGED).async_post_call_success_hook(data, None, response)

    (entry,) = data["metadata"]["standard_logging_guardrail_information"]
    assert entry["guardrail_name"] == "hallucination"
    assert entry["guardrail_status"] == "success"
    assert entry["guardrail_response"]["decision"] == "flagged"
    assert entry["duration"] > 0
    assert "Zorblatt" not in json.dumps(entry, default=str)


async def test_messages_of_anthropic(make_guardrail, router, provider):
    body = {**ask(MADE_UP), "model": "claude", "max_tokens": 300, "system": "Be brief."}
    response = await router.aanthropic_messages(**body)
    annotated = await make_guardrail(STRICT).async_post_call_success_hook(
        as_sent(body), None, response
    )
    withheld = await make_guardrail({**STRICT, **BLOCK}).async_post_call_success_hook(
        as_sent(body), None, response
    )

    assert verdict_of(annotated).samples == N
    assert annotated["content"] == response["content"]
    assert [block["text"] for block in withheld["content"]] == ["Withheld."]
    assert withheld.get("_hidden_params") == response.get("_hidden_params")
    assert withheld["stop_reason"] == "refusal"
    assert "Zorblatt" not in json.dumps({**withheld, "_hidden_params": None})
    main, *samples = sent(provider)
    assert len(samples) == 2 * N
    for sample in samples:
        assert {k: v for k, v in sample.items() if k != "stream"} == {
            k: v for k, v in main.items() if k != "stream"
        }


async def test_anthropics_own_tools_are_not_run_again(make_guardrail, router, provider):
    body = {**ask(MADE_UP), "model": "claude", "max_tokens": 300}
    response = await router.aanthropic_messages(**body)
    data = as_sent({**body, "tools": [{"type": "web_search_20250305", "name": "web_search"}]})
    given = await make_guardrail(STRICT).async_post_call_success_hook(data, None, response)

    assert verdict_of(given).skipped
    assert len(provider.requests) == 1


async def test_responses(make_guardrail, router, provider):
    body = {"model": "chat", "input": MADE_UP, "instructions": "Be brief."}
    response = await router.aresponses(**body)
    annotated = await make_guardrail(STRICT).async_post_call_success_hook(
        as_sent(body), None, response
    )
    withheld = await make_guardrail({**STRICT, **BLOCK}).async_post_call_success_hook(
        as_sent(body), None, response
    )

    assert verdict_of(annotated).samples == N
    assert annotated.output == response.output
    assert withheld.status == "incomplete"
    data = json.loads(withheld.model_dump_json())
    assert data["output"][0]["content"][0]["text"] == "Withheld."
    assert "Zorblatt" not in json.dumps({**data, "instructions": None})
    main, *samples = sent(provider)
    for sample in samples:
        assert sample["input"] == main["input"]
        assert sample["instructions"] == "Be brief."
        assert sample["store"] is False
        assert sample["model"] == main["model"]


async def test_the_policy_may_be_a_path_a_mapping_or_the_environments(
    make_guardrail, tmp_path, monkeypatch
):
    path = tmp_path / "policy.yaml"
    path.write_text(json.dumps(STRICT))
    monkeypatch.setenv("RESAY_POLICY", str(path))
    for policy in (str(path), STRICT, Policy.of(STRICT), None):
        assert make_guardrail(policy).resay_guard.policy == Policy.of(STRICT)


async def test_what_a_proxy_cannot_do_is_refused(make_guardrail):
    with pytest.raises(PolicyError):
        make_guardrail({"chain": []})
    with pytest.raises(ConfigurationError, match="references"):
        make_guardrail({"chain": [{"method": "prompt", "evidence": "references"}]})
    with pytest.raises(ConfigurationError, match="via"):
        make_guardrail({**STRICT, "sampling": {"via": "native"}})
    with pytest.raises(ValueError, match="pre_call"):
        make_guardrail(STRICT, event_hook="pre_call")
    assert [hook.value for hook in HallucinationGuardrail.get_supported_event_hooks()] == [
        "post_call"
    ]


async def test_there_is_no_verdict_where_nothing_was_guarded():
    assert verdict_of(None) is None
    assert verdict_of({"choices": [{"message": {"content": "x"}}]}) is None


async def test_answers_that_nobody_asked_for_are_checked_too(make_guardrail, router):
    guardrail = make_guardrail(STRICT | BLOCK)
    two = await router.acompletion(**ask(MADE_UP, n=2))
    given = await guardrail.async_post_call_success_hook(as_sent(ask(MADE_UP)), None, two)
    assert [choice.message.content for choice in given.choices] == ["Withheld."] * 2
    assert all(verdict_of(choice).flagged for choice in given.choices)


async def test_a_response_without_answers_ends_by_on_error(make_guardrail, router):
    none = await router.acompletion(**ask(MADE_UP))
    none.choices = []
    told = as_sent(ask(MADE_UP))
    passed = await make_guardrail(STRICT).async_post_call_success_hook(told, None, none)
    assert verdict_of(passed).inconclusive
    strict = make_guardrail(STRICT | BLOCK | {"on_error": "block"})
    withheld = await strict.async_post_call_success_hook(told, None, none)
    assert [choice.message.content for choice in withheld.choices] == ["Withheld."]


_IMPORTS = """
import os
import socket

asked = []


def unreachable(*args, **options):
    asked.append(args[0])
    raise OSError("there is no network")


socket.getaddrinfo = unreachable
import resay_litellm

print(asked, os.environ.get("LITELLM_LOCAL_MODEL_COST_MAP"))
"""


def test_importing_it_asks_nobody_for_prices() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("LITELLM_")}
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] None\n"
