"""Questions to the simulated judge over HTTP: how many answers, and how they can go wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import httpx
import pytest

from resay.errors import ConfigurationError
from resay.scorers import direct_question, fibe
from resay.scorers.common.named_scores import parse_named_scores
from resay.scorers.common.numbered_lines import parse_numbered
from resay.scorers.common.yes_no import parse_yes_no
from resay.scorers.cross_examination import parse_conclusion
from resay.scorers.fibe import Blank, Listing, build_exam, parse_exam_answers, parse_listings
from resay.testing.faults import GarbledStyle
from simulation import Garbled, IgnoreN, ServerError, SimulatedProvider

ABOUT = "Tell me about Canberra."
JUDGED = direct_question.render("It was founded in 1913.", ABOUT)
RESTATED = "Answer with one word, Yes or No. Is the claim true?"
EXAM = fibe.render_answer(['It was sold to "$name_0" in "$year_1".'], ABOUT)
STYLES = get_args(GarbledStyle)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    # Loading the certificates takes longer than the requests, which need none.
    with httpx.Client(verify=False) as client:
        yield client


@pytest.fixture
def provider(http: httpx.Client) -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


def ask(http: httpx.Client, provider: SimulatedProvider, *said: str, **params: Any) -> list[str]:
    roles = ["user", "assistant"] * len(said)
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=False)]
    response = http.post(
        f"{provider.base_url}/chat/completions", json={"messages": messages, **params}
    )
    choices = response.raise_for_status().json()["choices"]
    return [choice["message"]["content"] for choice in choices]


def test_only_what_is_made_up_differs(http: httpx.Client, provider: SimulatedProvider) -> None:
    assert ask(http, provider, JUDGED, n=3) == ["Yes"] * 3
    assert len({*ask(http, provider, EXAM, n=5), *ask(http, provider, EXAM)}) == 6
    assert len({*ask(http, provider, EXAM, n=5, temperature=0)}) == 1
    provider.set_faults(IgnoreN())
    assert len(ask(http, provider, EXAM, n=5)) == 1


def test_a_direct_question_has_the_probability_of_its_answer(
    http: httpx.Client, provider: SimulatedProvider
) -> None:
    body = {"messages": [{"role": "user", "content": JUDGED}], "logprobs": True, "top_logprobs": 2}
    choice = http.post(f"{provider.base_url}/chat/completions", json=body).json()["choices"][0]

    (token,) = choice["logprobs"]["content"]
    assert token["token"] == "Yes"
    assert [top["token"] for top in token["top_logprobs"]] == ["Yes", "No"]
    assert -0.1 < token["logprob"] < 0


@pytest.mark.parametrize("style", STYLES)
def test_the_first_answer_is_garbled_and_the_second_is_not(
    http: httpx.Client, provider: SimulatedProvider, style: GarbledStyle
) -> None:
    fault = Garbled(style)
    provider.set_faults(fault)

    assert ask(http, provider, JUDGED, n=2) == [fault.text] * 2
    assert ask(http, provider, JUDGED, fault.text, RESTATED) == ["Yes"]
    assert ask(http, provider, JUDGED) == [fault.text]
    assert "Canberra" in ask(http, provider, ABOUT)[0]
    assert [r.fault for r in provider.requests] == ["Garbled", None, "Garbled", None]


@pytest.mark.parametrize("style", STYLES)
def test_nothing_can_be_read_out_of_it(style: GarbledStyle) -> None:
    text = Garbled(style).text
    exam = build_exam(["It was sold in 1913."], [Listing("It", (Blank("1913", "year"),))])

    assert parse_yes_no(text) is None
    assert parse_numbered(text, 2, parse_yes_no) == [None, None]
    assert parse_named_scores(text, ["Tom"]) == [None]
    assert parse_conclusion(text) is None
    assert parse_listings(text, 1) == [None]
    assert parse_exam_answers(text, exam) == [None]


def test_how_many_answers_are_garbled(http: httpx.Client, provider: SimulatedProvider) -> None:
    garbled = Garbled().text
    provider.set_faults(Garbled(after=1, first=1))

    # A question asked once more counts for nothing.
    assert ask(http, provider, JUDGED, "?", RESTATED) == ["Yes"]
    said = [ask(http, provider, JUDGED)[0] for _ in range(3)]
    assert said == ["Yes", garbled, "Yes"]


def test_what_else_can_be_garbled(http: httpx.Client, provider: SimulatedProvider) -> None:
    garbled = [Garbled().text]
    provider.set_faults(Garbled(restated=True))
    assert ask(http, provider, JUDGED, "?", RESTATED) == garbled
    assert ask(http, provider, ABOUT) != garbled
    provider.set_faults(Garbled(only="any"))
    assert ask(http, provider, ABOUT) == garbled
    assert ask(http, provider, JUDGED) == garbled
    provider.set_faults(Garbled(only="chat"))
    assert ask(http, provider, ABOUT) == garbled
    assert ask(http, provider, JUDGED) == ["Yes"]


def test_other_faults_make_no_difference_between_first_and_second(
    http: httpx.Client, provider: SimulatedProvider
) -> None:
    provider.set_faults(ServerError(only="judge"))
    with pytest.raises(httpx.HTTPStatusError):
        ask(http, provider, JUDGED, "?", RESTATED)
    provider.set_faults(ServerError(only="chat"))
    assert ask(http, provider, JUDGED, "?", RESTATED) == ["Yes"]


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="style is 'rude'; give one of 'prose'"):
        Garbled("rude")  # type: ignore[arg-type]  # that it is refused is the point
