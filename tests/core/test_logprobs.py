from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from resay import ConfigurationError, TokenLogprob
from resay.adapters import read_logprobs, tokens_of
from resay.core.logprobs import TopLogprob

ENTRY: dict[str, Any] = {
    "token": " é",
    "logprob": -0.5,
    "bytes": [32, 195, 169],
    "top_logprobs": [
        {"token": " é", "logprob": -0.5, "bytes": None},
        {"token": " e", "logprob": -1, "bytes": None},
    ],
}
TOKEN = TokenLogprob(" é", -0.5, (32, 195, 169), (TopLogprob(" é", -0.5), TopLogprob(" e", -1.0)))


def test_tokens_of_a_chat_completion() -> None:
    assert read_logprobs({"content": [ENTRY], "refusal": None}) == (TOKEN,)
    tops = [SimpleNamespace(**top) for top in ENTRY["top_logprobs"]]
    entry = SimpleNamespace(**{**ENTRY, "top_logprobs": tops})
    assert read_logprobs(SimpleNamespace(content=[entry])) == (TOKEN,)


def test_tokens_of_a_completion() -> None:
    read = read_logprobs(
        {
            "tokens": ["A", " b"],
            "token_logprobs": [None, -1.5],
            "top_logprobs": [None, {" b": -1.5, " c": -2}],
        }
    )
    assert read == (
        TokenLogprob("A", None),
        TokenLogprob(" b", -1.5, None, (TopLogprob(" b", -1.5), TopLogprob(" c", -2.0))),
    )
    assert read_logprobs({"tokens": ["A"], "token_logprobs": [-1.0]}) == (TokenLogprob("A", -1.0),)


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": None},
        {"bytes": "no"},
        {"bytes": [300]},
        {"top_logprobs": None},
        {"top_logprobs": [None, {"token": 3, "logprob": -1.0}, {"token": " e"}]},
    ],
)
def test_missing_and_malformed_fields_are_left_out(change: dict[str, Any]) -> None:
    (token,) = read_logprobs({"content": [{**ENTRY, **change}]})
    assert (token.token, token.logprob) == (" é", -0.5)
    assert not (token.top if "top_logprobs" in change else token.bytes)


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        {"content": None},
        {"content": []},
        {"content": "text"},
        {"content": [ENTRY, None]},
        {"content": [ENTRY, {"token": 3, "logprob": -1.0}]},
        {"content": [ENTRY, {"token": "x", "logprob": "-1.0"}]},
        {"content": [ENTRY, {"token": "x", "logprob": float("nan")}]},
        {"tokens": ["a", "b"], "token_logprobs": [-1.0]},
        {"tokens": [1], "token_logprobs": [-1.0]},
        "text",
        7,
    ],
)
def test_tokens_that_do_not_add_up_to_the_text_are_ignored(logprobs: object) -> None:
    assert read_logprobs(logprobs) == ()


def test_a_token_may_be_without_a_probability() -> None:
    assert read_logprobs({"content": [{"token": "x", "logprob": None}]}) == (
        TokenLogprob("x", None),
    )


def test_tokens_of_a_user_may_be_mappings() -> None:
    assert tokens_of([TOKEN, ENTRY]) == (TOKEN, TOKEN)
    assert tokens_of(()) == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("text", "must be a list of tokens, not 'str'"),
        ({"content": [ENTRY]}, "must be a list of tokens, not 'dict'"),
        ([ENTRY, {"text": "secret words"}], "entry 1 of logprobs is not a token"),
        ([3], "entry 0 of logprobs is not a token"),
    ],
)
def test_invalid_tokens_of_a_user_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        tokens_of(given)
    assert "secret" not in str(caught.value)


def test_only_whole_lists_of_bytes_are_bytes() -> None:
    for given, read in (([0, 255], (0, 255)), ([32, 256], None), ([32, -1], None)):
        (token,) = read_logprobs({"content": [{**ENTRY, "bytes": given}]})
        assert token.bytes == read


def test_an_alternative_without_a_number_is_left_out() -> None:
    tops = [{" b": None, " c": -2}]
    (token,) = read_logprobs({"tokens": ["A"], "token_logprobs": [-1], "top_logprobs": tops})
    assert token.top == (TopLogprob(" c", -2.0),)
