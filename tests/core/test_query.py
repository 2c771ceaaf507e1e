from __future__ import annotations

import pytest

from resay import ConfigurationError, Query
from resay.providers import Completion, Completions
from resay.providers.caching.keys import keys_of
from resay.scorers.judge import Judge


def test_a_question_becomes_a_user_message() -> None:
    query = Query.of("Who?", model="openai/x", temperature=0.2)
    assert query.messages == ({"role": "user", "content": "Who?"},)
    assert (query.model, query.params) == ("openai/x", {"temperature": 0.2})


def test_a_query_is_built_upon() -> None:
    base = Query.of("Who?", model="a", temperature=0, api_key="k")
    query = Query.of(base, model="b", temperature=1)
    assert (query.model, dict(query.params)) == ("b", {"temperature": 1, "api_key": "k"})
    assert Query.of(base).model == "a"


@pytest.mark.parametrize("bad", ["", "  \n", [], [{"content": "no role"}], ["not a mapping"]])
def test_a_question_that_is_none_is_refused(bad: object) -> None:
    with pytest.raises(ConfigurationError):
        Query.of(bad)  # pyright: ignore[reportArgumentType] - what the test is about


def test_repr_shows_no_key() -> None:
    assert "sk-secret" not in repr(Query.of("Who?", model="m", api_key="sk-secret"))


def test_a_sample_leaves_out_what_would_make_it_a_copy() -> None:
    query = Query.of(
        "Who?", model="m", temperature=0, seed=1, store=True, metadata={}, max_tokens=9, api_key="k"
    )
    assert dict(query.for_sampling().params) == {"max_tokens": 9, "api_key": "k"}


def test_a_key_for_idempotency_goes_with_the_main_call_alone() -> None:
    headers = {"Idempotency-Key": "once", "x-mine": "1"}
    query = Query.of("Who?", extra_headers=headers)
    assert query.params["extra_headers"] == headers
    assert query.for_sampling().params["extra_headers"] == {"x-mine": "1"}
    assert query.connection == {"extra_headers": {"x-mine": "1"}}


def test_a_sample_may_differ_each_time_whatever_is_made_of_its_query() -> None:
    query = Query.of("Who?", model="m")
    sample = query.for_sampling()
    assert not query.varied
    assert sample.varied
    assert query.for_sampling(model="b/y").varied
    assert Query.of(sample, temperature=1).varied
    # What was asked for before is found still: the parameters say all that is sent.
    assert keys_of(query, 2, version="1") == keys_of(sample, 2, version="1")


@pytest.mark.anyio
async def test_a_judge_asked_for_answers_that_differ_says_so_with_every_question() -> None:
    asked: list[Query] = []

    class Listening:
        async def takes_n(self, query: Query) -> bool:
            return False

        async def complete(self, query: Query, *, n: int = 1) -> Completions:
            asked.append(query)
            return Completions((Completion("Yes."),))

    judge = Judge(Listening(), Query((), "m"))

    await judge.ask("Who?")
    await judge.varied().at(1).with_params(top_p=0.5).ask("Who?")
    await judge.varied(0.5).complete("Who?", n=2)
    assert [query.varied for query in asked] == [False, True, True, True]


def test_a_temperature_that_samples_is_kept() -> None:
    assert Query.of("Who?", temperature=0.7).for_sampling().params == {"temperature": 0.7}
    assert Query.of("Who?").for_sampling(temperature=1.0).params == {"temperature": 1.0}


def test_the_key_does_not_follow_to_another_model() -> None:
    query = Query.of("Who?", model="a/x", api_key="k", api_base="u", max_tokens=9)
    elsewhere = query.for_sampling(model="b/y", params={"api_key": "other"})
    assert (elsewhere.model, dict(elsewhere.params)) == (
        "b/y",
        {"max_tokens": 9, "api_key": "other"},
    )
    assert query.for_sampling(model="a/x").params["api_key"] == "k"
    # What nobody knows here may be a key, too, and a client knows only its own address.
    further = {"client": object(), "extra_body": {"token": "t"}, "hf_token": "t", "user": "u"}
    query = Query.of("Who?", model="a/x", top_p=0.9, **further)
    assert query.for_sampling(model="b/y").params == {"top_p": 0.9}
    assert query.for_sampling().params == {"top_p": 0.9, **further}


def test_the_question_is_the_text_of_the_users_last_message() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Whom do you mean?"},
        {"role": "user", "content": [{"type": "text", "text": " Ada. "}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
    ]
    assert Query.of(messages).question == "Ada."
    assert Query.of("  Who? ").question == "Who?"
    assert Query.of(messages[:1]).question == ""
    assert Query(()).question == ""


def test_the_entity_stays_with_the_question_and_is_not_sent() -> None:
    query = Query.of("Who?", entity="Ada Lovelace", temperature=0.5)
    assert (query.entity, dict(query.params)) == ("Ada Lovelace", {"temperature": 0.5})
    assert Query.of(query).entity == "Ada Lovelace"
    assert Query.of(query, entity="Marie Curie").entity == "Marie Curie"
    assert query.for_sampling(model="b/y").entity == "Ada Lovelace"
