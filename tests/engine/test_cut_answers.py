"""Answers and samples that end where a limit of their length cut them off."""

from __future__ import annotations

from typing import Any

import pytest

from resay import Verdict
from resay.plugins import Completion, ToolCall
from support.writing import MODES, Mode, Server, ask, read

pytestmark = pytest.mark.anyio

RIGHT = "The bridge opened in 1932."
ENDINGS = ("John Bradfield designed it.", "It was designed by John Bradfield.")
SAMPLES = [f"{RIGHT} {ending} {more}" for ending in ENDINGS for more in ("So it is.", "Indeed.")]
STRICT: dict[str, Any] = {"action": {"do": "block", "message": "Withheld."}, "on_unscored": "block"}
REASONS = ("length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "incomplete", "model_length")
METHODS = ("facts", "ngram")


def left_out(verdict: Verdict) -> list[str]:
    return [stretch.text for stretch in verdict.unscored]


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_that_mean_that_a_text_was_cut(reason: str) -> None:
    assert Completion("It is", reason).was_cut


@pytest.mark.parametrize("reason", [None, "stop", "end_turn", "tool_calls", "COMPLETE", "eos"])
def test_reasons_that_do_not(reason: str | None) -> None:
    assert not Completion("It is", reason).was_cut


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mode", [None, *MODES])
@pytest.mark.parametrize(
    "end",
    [
        "It was designed by John Brad",
        "It was designed by John",
        "Its designer, John Bradfield, was born in 18",
        "- It was designed by John Brad",
        "| Designer | John Br",
    ],
)
async def test_the_sentence_an_answer_breaks_off_in_is_not_scored(
    method: str, mode: Mode | None, end: str
) -> None:
    response = f"{RIGHT} It is in Sydney.\n\n{end}"
    server = Server(response, [f"{s} It is in Sydney." for s in SAMPLES], finish_reason="length")
    settings: dict[str, Any] = {"chain": [{"method": method}], "threshold": {"passage": None}}
    answer = (
        await ask(server, **settings) if mode is None else (await read(server, mode, **settings))[1]
    )
    verdict = answer.verdict
    assert answer.text == response
    assert [s.text for s in verdict.sentences] == [RIGHT, "It is in Sydney."]
    assert any(end.strip("-| ").endswith(text.strip("-| ")) for text in left_out(verdict))
    assert not any(claim.contradicted_by for claim in verdict.claims)
    assert verdict.decision == "consistent"
    assert verdict.reason.endswith("; the answer was cut off (length)")
    assert "not scored: 1" in verdict.reason


@pytest.mark.parametrize("mode", MODES)
async def test_text_before_the_cut_is_scored(mode: Mode) -> None:
    response = "The bridge opened in 1950. It was designed by John Brad"
    _, answer = await read(Server(response, SAMPLES, finish_reason="length"), mode)
    assert [s.text for s in answer.verdict.flagged_sentences] == ["The bridge opened in 1950."]


@pytest.mark.parametrize("mode", MODES)
async def test_strict_rules_withhold_what_was_not_scored(mode: Mode) -> None:
    server = Server(f"{RIGHT} It was designed by John Brad", SAMPLES, finish_reason="length")
    _, answer = await read(server, mode, **STRICT)
    assert answer.blocked


@pytest.mark.parametrize("end", ["It was designed by John Bradfield.", "\n\n- John Bradfield\n"])
async def test_an_answer_that_was_cut_at_an_end_has_all_scored(end: str) -> None:
    server = Server(f"{RIGHT} {end}", SAMPLES, finish_reason="length")
    verdict = (await ask(server)).verdict
    assert len(verdict.sentences) == 2
    assert left_out(verdict) == []


async def test_without_a_limit_the_last_sentence_is_scored() -> None:
    verdict = (await ask(Server(f"{RIGHT} It was designed by John Brad", SAMPLES))).verdict
    assert len(verdict.sentences) == 2
    assert "cut off" not in verdict.reason


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("response", "samples"),
    [
        ("Canb", ["Canberra", "Canberra", "It is Canberra."]),
        ("Canberra", ["Canberra", "Canberra.", "It is Canberra."]),
        ("John Brad", ["John Bradfield", "John Bradfield.", "It was John Bradfield."]),
        ("19", ["1932", "1932.", "In 1932."]),
    ],
)
async def test_an_only_word_is_compared_by_its_beginning(
    method: str, response: str, samples: list[str]
) -> None:
    server = Server(response, samples, finish_reason="length")
    verdict = (await ask(server, chain=[{"method": method}], threshold={"passage": None})).verdict
    assert not verdict.flagged
    assert not any(claim.contradicted_by for claim in verdict.claims)


async def test_an_only_word_with_another_beginning_is_flagged() -> None:
    server = Server("Sydn", ["Canberra", "Canberra.", "It is Canberra."], finish_reason="length")
    assert (await ask(server)).verdict.flagged


@pytest.mark.parametrize("method", METHODS)
async def test_cut_sentences_of_samples_are_no_evidence(method: str) -> None:
    response = f"{RIGHT} {ENDINGS[1]}"
    cut = [f"{RIGHT} {ENDINGS[1]} {more}" for more in ("It was opened in 19", "In 1950 it", "And")]
    settings: dict[str, Any] = {"chain": [{"method": method}]}
    with_end = await ask(Server(response, cut, samples_finish="length"), **settings)
    whole = [text.rpartition(". ")[0] + "." for text in cut]
    without = await ask(Server(response, whole), **settings)
    assert with_end.verdict.score == without.verdict.score


async def test_a_tool_call_that_was_cut_off_is_not_compared() -> None:
    call = ToolCall("find", '{"city": "Syd')
    server = Server("", ["Hm."], finish_reason="length", calls=(call,))
    answer = await ask(server, tools="arguments")
    assert answer.verdict.decision == "inconclusive"
    assert "ends inside a tool call" in answer.verdict.reason


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("finish_reason", ["length", "stop"])
async def test_a_name_that_code_breaks_off_in_is_not_compared(
    mode: Mode, finish_reason: str
) -> None:
    def written(name: str) -> str:
        return f"Use this:\n\n```python\nimport requests\nrequests.{name}"

    samples = [f"{written('get_everything')}()\n```\n{ending}" for ending in ENDINGS * 2]
    server = Server(written("get_every"), samples, finish_reason=finish_reason)
    _, answer = await read(server, mode, code="names")
    is_compared = any(
        claim.unit == "code" and "get_" in claim.text for claim in answer.verdict.claims
    )
    assert is_compared is (finish_reason == "stop")
    assert answer.flagged is is_compared
