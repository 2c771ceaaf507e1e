from __future__ import annotations

import pytest

from resay import ConfigurationError, Request
from resay.plugins import Completion, Completions, Judge
from resay.providers.caching.keys import keys_of


def test_a_question_becomes_a_user_message() -> None:
    request = Request.of("Who?", model="openai/x", params={"temperature": 0.2})
    assert request.messages == ({"role": "user", "content": "Who?"},)
    assert (request.model, request.params) == ("openai/x", {"temperature": 0.2})


def test_a_query_is_extended() -> None:
    base = Request.of("Who?", model="a", params={"temperature": 0, "api_key": "k"})
    request = Request.of(base, model="b", params={"temperature": 1})
    assert (request.model, dict(request.params)) == ("b", {"temperature": 1, "api_key": "k"})
    assert Request.of(base).model == "a"


@pytest.mark.parametrize("bad", ["", "  \n", [], [{"content": "no role"}], ["not a mapping"]])
def test_an_invalid_question_is_refused(bad: object) -> None:
    with pytest.raises(ConfigurationError):
        Request.of(bad)  # pyright: ignore[reportArgumentType] - what the test is about


def test_repr_shows_no_key() -> None:
    assert "sk-secret" not in repr(Request.of("Who?", model="m", params={"api_key": "sk-secret"}))


def test_a_sample_has_no_parameters_that_make_it_a_copy() -> None:
    request = Request.of(
        "Who?",
        model="m",
        params={
            "temperature": 0,
            "seed": 1,
            "store": True,
            "metadata": {},
            "max_tokens": 9,
            "api_key": "k",
        },
    )
    assert dict(request.for_sampling().params) == {"max_tokens": 9, "api_key": "k"}


def test_only_the_main_call_has_the_idempotency_key() -> None:
    headers = {"Idempotency-Key": "once", "x-mine": "1"}
    request = Request.of("Who?", params={"extra_headers": headers})
    assert request.params["extra_headers"] == headers
    assert request.for_sampling().params["extra_headers"] == {"x-mine": "1"}
    assert request.connection == {"extra_headers": {"x-mine": "1"}}


def test_a_changed_query_of_a_sample_stays_varied() -> None:
    request = Request.of("Who?", model="m")
    sample = request.for_sampling()
    assert not request.varied
    assert sample.varied
    assert request.for_sampling(model="b/y").varied
    assert Request.of(sample, params={"temperature": 1}).varied
    # The key of a cache entry is made of what is sent, and this is not.
    assert keys_of(request, 2, version="1") == keys_of(sample, 2, version="1")


@pytest.mark.anyio
async def test_every_call_of_a_judge_that_is_sampled_is_varied() -> None:
    queries: list[Request] = []

    class RecordingProvider:
        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            queries.append(request)
            return Completions((Completion("Yes."),))

    judge = Judge(RecordingProvider(), Request((), "m"))

    await judge.ask("Who?")
    await judge.varied().at(1).with_params(top_p=0.5).ask("Who?")
    await judge.varied(0.5).complete("Who?", n=2)
    assert [query.varied for query in queries] == [False, True, True, True]


def test_a_temperature_that_samples_is_kept() -> None:
    assert Request.of("Who?", params={"temperature": 0.7}).for_sampling().params == {
        "temperature": 0.7
    }
    assert Request.of("Who?").for_sampling(temperature=1.0).params == {"temperature": 1.0}


def test_the_key_does_not_follow_to_another_model() -> None:
    request = Request.of(
        "Who?", model="a/x", params={"api_key": "k", "api_base": "u", "max_tokens": 9}
    )
    other_model = request.for_sampling(model="b/y", params={"api_key": "other"})
    assert (other_model.model, dict(other_model.params)) == (
        "b/y",
        {"max_tokens": 9, "api_key": "other"},
    )
    assert request.for_sampling(model="a/x").params["api_key"] == "k"
    # An unknown parameter may be a key too.
    unknown = {"client": object(), "extra_body": {"token": "t"}, "hf_token": "t", "user": "u"}
    request = Request.of("Who?", model="a/x", params={"top_p": 0.9, **unknown})
    assert request.for_sampling(model="b/y").params == {"top_p": 0.9}
    assert request.for_sampling().params == {"top_p": 0.9, **unknown}


def test_the_question_is_the_text_of_the_users_last_message() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Whom do you mean?"},
        {"role": "user", "content": [{"type": "text", "text": " Ada. "}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    assert Request.of(messages).question == "Ada."
    assert Request.of("  Who? ").question == "Who?"
    assert Request.of(messages[:1]).question == ""
    assert Request(()).question == ""
