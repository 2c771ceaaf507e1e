"""Answers, samples and judges' answers with the model's reasoning in their text."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from resay import Guard, Request, Verdict
from resay.plugins import Chunk, Completion, Completions
from support.writing import MODES, QUESTION, Mode, Server, ask, policy, read

pytestmark = pytest.mark.anyio

RIGHT, WRONG = "The bridge opened in 1932.", "The bridge opened in 1950."
DRAFT = "Opened in 1950? Others say 1932. Then it is so."
ENDINGS = ("In all, so it is.", "That is known.", "It was spring.", "So they say.")
SAMPLES = [f"<think>{DRAFT}</think> {RIGHT} {ending}" for ending in ENDINGS]
UNOPENED = [f"{DRAFT}\n</think>\n\n{RIGHT} {ending}" for ending in ENDINGS]
BLOCK: dict[str, Any] = {
    "action": {"do": "block", "message": "Withheld."},
    "on_error": "block",
    "on_unscored": "block",
}


def assert_offsets(verdict: Verdict, text: str) -> None:
    for unit in (*verdict.sentences, *verdict.unscored):
        assert text[unit.start : unit.end] == unit.text
    for claim in verdict.claims:
        assert text[claim.start : claim.end].strip()


def reasoning_in(verdict: Verdict) -> list[str]:
    return [stretch.text for stretch in verdict.unscored if stretch.kind == "reasoning"]


RESPONSES = {
    "tag": f"<think>\n{DRAFT}\n</think>\n\n{{}}",
    "line": f"<think>{DRAFT}</think>{{}}",
    "opened in the prompt": f"{DRAFT}\n</think>\n\n{{}}",
    "answer tag": f"<think>{DRAFT}</think>\n<answer>\n{{}}\n</answer>",
    "Magistral": f"[THINK]{DRAFT}[/THINK]{{}}",
    "harmony": f"<|channel|>analysis<|message|>{DRAFT}<|end|>"
    "<|start|>assistant<|channel|>final<|message|>{}",
}
each_form = pytest.mark.parametrize("form", RESPONSES.values(), ids=RESPONSES)


# Evidence


@pytest.mark.parametrize("method", ["facts", "ngram"])
@pytest.mark.parametrize("samples", [SAMPLES, UNOPENED], ids=["tag", "opened in the prompt"])
async def test_reasoning_of_samples_is_no_evidence(method: str, samples: list[str]) -> None:
    bare = [text.rpartition("</think>")[2].strip() for text in samples]
    with_reasoning = await ask(Server(WRONG, samples), method=method)
    without = await ask(Server(WRONG, bare), method=method)
    assert with_reasoning.verdict.score == without.verdict.score
    given = await Guard(policy(method), provider=Server("", SAMPLES)).acheck(
        WRONG, question=QUESTION, samples=samples
    )
    assert given.score == without.verdict.score


async def test_an_invention_that_only_the_reasoning_of_samples_has_is_flagged() -> None:
    assert (await ask(Server(WRONG, SAMPLES))).verdict.flagged


async def test_samples_that_are_only_reasoning_are_none() -> None:
    cut = [f"<think>{WRONG} {ending}" for ending in ENDINGS]
    verdict = (await ask(Server(WRONG, cut))).verdict
    assert (verdict.decision, verdict.samples) == ("inconclusive", 0)


# The answer


@each_form
@pytest.mark.parametrize("is_right", [True, False])
async def test_only_the_answer_is_scored(form: str, is_right: bool) -> None:
    response = form.format(RIGHT if is_right else WRONG)
    answer = await ask(Server(response, SAMPLES))
    verdict = answer.verdict
    bare = await ask(Server(RIGHT if is_right else WRONG, SAMPLES))
    assert answer.text == answer.response == response
    assert (verdict.decision, verdict.score) == (bare.verdict.decision, bare.verdict.score)
    assert [s.text for s in verdict.sentences] == [RIGHT if is_right else WRONG]
    assert_offsets(verdict, response)
    assert DRAFT in reasoning_in(verdict)[0]
    assert "not scored" not in verdict.reason
    checked = await Guard(policy(), provider=Server("", SAMPLES)).acheck(
        response, question=QUESTION, samples=SAMPLES
    )
    assert (checked.decision, checked.sentences) == (verdict.decision, verdict.sentences)


@each_form
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_stream_gives_the_text_and_the_verdict_of_the_whole(
    form: str, mode: Mode, size: int
) -> None:
    response = form.format(f"{RIGHT} It has 31415 lamps. {WRONG}")
    whole = await ask(Server(response, SAMPLES))
    parts, answer = await read(Server(response, SAMPLES, size=size), mode)
    assert "".join(part.text for part in parts) == answer.text == response
    assert [s.text for s in answer.verdict.sentences] == [s.text for s in whole.verdict.sentences]
    assert answer.verdict.unscored == whole.verdict.unscored
    assert answer.verdict.flagged
    assert_offsets(answer.verdict, response)
    for part in parts:
        for unit in (*part.sentences, *part.unscored):
            assert response[unit.start : unit.end] == unit.text


async def test_held_reasoning_is_shown_before_the_answer_where_nothing_is_withheld() -> None:
    response = RESPONSES["tag"].format(f"{RIGHT} It is grey.")
    parts, _ = await read(Server(response, SAMPLES, size=10), "hold")
    first = next(i for i, part in enumerate(parts) if part.sentences)
    assert first > 2
    assert "".join(part.text for part in parts[:first]) == response[: response.index(RIGHT)]


@each_form
@pytest.mark.parametrize("mode", MODES)
async def test_a_right_answer_passes_under_strict_rules(form: str, mode: Mode) -> None:
    samples = UNOPENED if "<" not in form[:1] else SAMPLES
    _, answer = await read(Server(form.format(RIGHT), samples), mode, **BLOCK)
    assert (answer.action, answer.text) == ("allow", form.format(RIGHT))


@each_form
@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("size", [3, 1000])
async def test_reasoning_does_not_leak_withheld_answers(form: str, mode: Mode, size: int) -> None:
    samples = UNOPENED if "<" not in form[:1] else SAMPLES
    response = form.format(f"{RIGHT} {WRONG}").replace("1950?", "1950.")
    parts, answer = await read(Server(response, samples, size=size), mode, **BLOCK)
    assert answer.blocked
    assert [part.text for part in parts] == ["Withheld."]


async def test_a_notice_is_not_hidden_inside_reasoning() -> None:
    parts, answer = await read(Server(f"<think>{DRAFT}", SAMPLES), "after", **BLOCK)
    assert answer.blocked
    assert parts[-1].is_replacement
    assert "".join(part.text for part in parts) == f"<think>{DRAFT}</think>\n\nWithheld."


@pytest.mark.parametrize("mode", MODES)
async def test_nothing_but_reasoning_is_no_answer(mode: Mode) -> None:
    response = f"<think>{RIGHT} {WRONG}"
    server = Server(response, SAMPLES, finish_reason="length")
    parts, answer = await read(server, mode)
    assert "".join(part.text for part in parts) == response
    assert answer.verdict.decision == "inconclusive"
    assert answer.verdict.reason == (
        "the text ends inside the model's reasoning, before an answer;"
        " the answer was cut off (length)"
    )
    assert reasoning_in(answer.verdict) == [response]
    _, strict = await read(server, mode, **BLOCK)
    assert strict.blocked


async def test_reasoning_between_the_parts_of_an_answer_is_not_scored() -> None:
    response = f"<think>Hm.</think>{RIGHT}\n<think>{WRONG}</think>\nIn all, so it is."
    for size in (2, 9, 1000):
        parts, answer = await read(Server(response, SAMPLES, size=size), "hold")
        assert "".join(part.text for part in parts) == response
        assert not answer.flagged
        assert len(reasoning_in(answer.verdict)) == 2
        assert_offsets(answer.verdict, response)


async def test_scoring_what_turns_out_to_be_no_answer_is_stopped() -> None:
    scoring, stopped = anyio.Event(), anyio.Event()

    class Judging(Server):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            prompt = request.question
            if prompt == QUESTION:
                return await super().complete(request, n=n)
            if "1950" not in prompt:
                return Completions((Completion("Yes"),))
            scoring.set()
            try:
                await anyio.sleep_forever()
            finally:
                stopped.set()

        async def _chunks(self) -> AsyncGenerator[Chunk]:
            yield Chunk("Opened in 1950? ")
            yield Chunk("It opened in 1950. So it is. ")
            await scoring.wait()
            yield Chunk(f"\n</think>\n\n{RIGHT}")
            await stopped.wait()

    chain = [{"method": "prompt", "form": "published"}]
    with anyio.fail_after(5):
        parts, _ = await read(Judging("", SAMPLES), "hold", chain=chain)
    assert "".join(part.text for part in parts).endswith(RIGHT)


@pytest.mark.parametrize(
    "response",
    [
        f"```\n<think>\nHm.\n</think>\n```\n\n{WRONG}",
        f"{WRONG} Close it with </think> and answer.",
        f"<think> is a tag. {WRONG}",
        f"{WRONG} Use `<think>` and `</think>`.",
    ],
)
@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_that_speaks_of_the_marks_is_scored(response: str, mode: Mode) -> None:
    _, answer = await read(Server(response, SAMPLES), mode)
    assert WRONG in [sentence.text for sentence in answer.verdict.flagged_sentences]


async def test_an_object_after_reasoning_is_the_one_that_is_judged() -> None:
    def response(year: int) -> str:
        return f'<think>{{"year": {year - 1}}} or so?</think>\n{{"year": {year}}}'

    samples = [response(1932), response(1932), response(1932), response(1932)]
    wanted = {"type": "json_object"}
    for year, decision in ((1932, "consistent"), (1931, "flagged")):
        server = Server(response(year), samples)
        guard = Guard(policy(), provider=server)
        answer = await guard.aask(QUESTION, params={"seed": 1, "response_format": wanted})
        assert answer.verdict.decision == decision
        assert [s.text for s in answer.verdict.sentences] == [f"year: {year}"]
        assert json.loads(answer.text.rpartition("</think>")[2]) == {"year": year}


async def test_an_earlier_turn_is_quoted_to_a_judge_without_its_reasoning() -> None:
    request = Request(
        (
            {"role": "user", "content": "Which bridge?"},
            {"role": "assistant", "content": f"<think>{DRAFT}</think>The one in Sydney."},
            {"role": "user", "content": "<think>is my tag</think> When?"},
        )
    )
    said = request.conversation(1000)
    assert "assistant: The one in Sydney." in said
    assert DRAFT not in said
    assert "<think>is my tag</think>" in said


@pytest.mark.parametrize("mode", MODES)
async def test_reasoning_that_the_prompt_opened_and_that_was_cut_off_is_no_answer(
    mode: Mode,
) -> None:
    response = f"{RIGHT} {WRONG} Others say"
    _, cut = await read(Server(response, UNOPENED, finish_reason="length"), mode)
    assert cut.verdict.decision == "inconclusive"
    assert reasoning_in(cut.verdict) == [response]
    # What ended by itself was not opened in the prompt this time.
    _, whole = await read(Server(f"{RIGHT} {WRONG}", UNOPENED), mode)
    assert whole.flagged


@pytest.mark.parametrize("mode", ["hold", "buffer"])
async def test_a_regenerated_answer_comes_without_the_reasoning(mode: Mode) -> None:
    arch = "It is a steel arch of 1,149 metres."
    samples = [f"<think>{DRAFT}</think> {RIGHT} {arch} {ending}" for ending in ENDINGS]
    action = {"do": "regenerate", "from": "samples", "mode": "consistent"}
    for form in RESPONSES.values():
        response = form.format(f"{RIGHT} {arch} {WRONG}")
        parts, answer = await read(Server(response, samples), mode, action=action)
        assert answer.text == f"{RIGHT} {arch}"
        assert "".join(part.text for part in parts) == answer.text
        assert answer.verdict.decision == "consistent"
        assert_offsets(answer.verdict, answer.text)
