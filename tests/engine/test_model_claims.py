"""Claims as a model finds them, held against the response."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio.lowlevel
import pytest

from resay import Guard, Request, Verdict
from resay.plugins import Completion, Completions

pytestmark = pytest.mark.anyio

ANSWER = (
    "The bridge, opened in 1932, is grey. It was painted, in secret, by Ada Moor. I hope this"
    " helps!"
)
SAMPLES = ["The bridge opened in 1932. It was painted by Ada Moor."] * 3
OPENED = {"sentence": 1, "claim": "The bridge opened in 1932.", "quote": "opened in 1932"}
GREY = {
    "sentence": 1,
    "claim": "The bridge is grey.",
    "quote": "The bridge, opened in 1932, is grey.",
}
PAINTED = {
    "sentence": 2,
    "claim": "Ada Moor painted it in secret.",
    "quote": "painted, in secret, by Ada Moor",
}


class Splitter:
    """Gives answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[Request] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        self.asked.append(request)
        return Completions((Completion(self._answers.pop(0)),))


async def checked(
    *answers: object,
    claims: str = "model",
    text: str = ANSWER,
    question: str = "Tell me about it.",
    **evidence: Any,
) -> tuple[Verdict, Splitter]:
    splitter = Splitter(*(a if isinstance(a, str) else json.dumps({"claims": a}) for a in answers))
    policy = {"chain": [{"method": "ngram"}], "claims": claims, "threshold": {"passage": None}}
    guard = Guard(policy, provider=splitter, model="m")
    verdict = await guard.acheck(text, question=question, **({"samples": SAMPLES} | evidence))
    return verdict, splitter


def texts(verdict: Verdict) -> list[str]:
    return [claim.text for claim in verdict.claims]


async def test_a_model_takes_sentences_apart() -> None:
    verdict, splitter = await checked([PAINTED, OPENED, GREY])
    assert texts(verdict) == [
        GREY["claim"],
        OPENED["claim"],
        PAINTED["claim"],
        "I hope this helps!",
    ]
    for claim, quote in zip(verdict.claims, (GREY, OPENED, PAINTED), strict=False):
        assert ANSWER[claim.start : claim.end] == quote["quote"]
    assert [claim.sentence for claim in verdict.claims] == [0, 0, 1, 2]
    assert verdict.usage.calls == len(splitter.asked) == 1


async def test_prompts_fence_the_claiming_sentences_only() -> None:
    _, splitter = await checked([GREY, OPENED, PAINTED])
    prompt = splitter.asked[0].question
    code = re.search("<sentences-([0-9a-f]{16})>", prompt)
    assert code is not None
    assert f"</sentences-{code[1]}>" in prompt
    assert f"user: Tell me about it.\n</conversation-{code[1]}>" in prompt
    assert "2. It was painted, in secret, by Ada Moor." in prompt
    assert "hope" not in prompt
    sentences = (
        "1. The bridge, opened in 1932, is grey.\n2. It was painted, in secret, by Ada Moor."
    )
    # A judge's answer may have 256 tokens around what is asked for.
    assert splitter.asked[0].params == {"max_tokens": 256 + 1024 + 4 * len(sentences)}


async def test_of_a_long_conversation_it_reads_the_beginning_and_the_end() -> None:
    _, splitter = await checked([GREY, OPENED, PAINTED], question=f"{'x' * 4_000}{'y' * 3_999}?")
    said = re.search(
        r"<conversation-\w+>\nuser: (x+)\n\[…\] (y+)\?\n</conversation", splitter.asked[0].question
    )
    assert said is not None
    assert len(f"user: {said[1]}{said[2]}?") == 4_000


async def test_references_are_reason_enough_to_ask_it() -> None:
    found = [GREY, OPENED, PAINTED]
    verdict, _ = await checked(found, samples=[], references=SAMPLES[:1])
    assert OPENED["claim"] in texts(verdict)
    # Without them and without samples nothing is decided, whatever it finds.
    verdict, splitter = await checked(found, samples=[])
    assert (verdict.decision, splitter.asked) == ("inconclusive", [])


@pytest.mark.parametrize(
    "clauses",
    [
        {"I don't know who built it": "refusal", "it opened in spring": "fact"},
        {"It opened in spring": "fact", "I don't know who built it": "refusal"},
        {"It opened in spring": "fact", ", but I don't know who built it": "refusal"},
    ],
)
async def test_non_claims_are_separated_from_claims(clauses: dict[str, str]) -> None:
    parts = [{"sentence": 1, "claim": clause, "quote": clause} for clause in clauses]
    text = f"{', but '.join(clause.removeprefix(', but ') for clause in clauses)}."
    verdict, splitter = await checked(parts, text=text)
    assert len(splitter.asked) == 1
    assert {claim.text: claim.kind for claim in verdict.claims} == clauses
    assert {claim.kind for claim in verdict.claims if claim.score is not None} == {"fact"}
    # Of a sentence that claims something, what is cut across its clauses is scored.
    verdict, _ = await checked([{"sentence": 1, "claim": text, "quote": text}], text=text)
    assert [claim.kind for claim in verdict.claims] == ["fact"]


async def test_bad_json_is_asked_for_again_once() -> None:
    verdict, splitter = await checked(
        "Sure!", f"```json\n{json.dumps({'claims': [GREY, OPENED, PAINTED]})}\n```"
    )
    assert texts(verdict)[0] == GREY["claim"]
    assert len(splitter.asked) == 2
    verdict, splitter = await checked("Sure!", "[1, 2]")
    assert verdict.claims == (await checked(claims="units"))[0].claims
    assert len(splitter.asked) == 2


@pytest.mark.parametrize(
    "found",
    [
        [],
        # Words that are not there; a number that is left out; most of the sentence left out.
        [{**GREY, "quote": "opened in 1933"}, PAINTED],
        [{**GREY, "quote": "is grey"}, PAINTED],
        [{**GREY, "quote": "The bridge, opened in"}, PAINTED],
        [{**OPENED, "quote": "1932"}, PAINTED],
        [{**GREY, "sentence": 7}, PAINTED],
        [{**GREY, "claim": " "}, PAINTED],
    ],
)
async def test_a_sentence_it_does_not_cover_keeps_its_units(
    found: list[object],
) -> None:
    units, _ = await checked(claims="units")
    verdict, _ = await checked(found)
    assert [c for c in verdict.claims if not c.sentence] == [
        c for c in units.claims if not c.sentence
    ]
    assert (PAINTED["claim"] in texts(verdict)) is (PAINTED in found)


async def test_claims_without_words_are_left_out() -> None:
    verdict, _ = await checked([GREY, {**OPENED, "quote": " "}, {**OPENED, "claim": ""}, PAINTED])
    assert texts(verdict)[:2] == [GREY["claim"], PAINTED["claim"]]


async def test_half_of_a_sentence_is_enough_if_no_number_is_left_out() -> None:
    half = {**OPENED, "quote": "opened in 1932, is"}
    assert 2 * len(half["quote"]) == len(GREY["quote"])
    assert half["claim"] in texts((await checked([half, PAINTED]))[0])


async def test_where_nobody_can_be_asked_there_are_units() -> None:
    policy = {"chain": [{"method": "ngram"}], "claims": "model", "threshold": {"passage": None}}
    verdict = await Guard(policy).acheck(ANSWER, question="Tell me about it.", samples=SAMPLES)
    assert verdict.claims == (await checked(claims="units"))[0].claims


async def test_a_call_that_fails_leaves_the_units() -> None:
    verdict, _ = await checked()
    assert texts(verdict) == texts((await checked(claims="units"))[0])
