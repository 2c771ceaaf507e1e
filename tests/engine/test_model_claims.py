"""Claims as a model finds them, held against the response."""

from __future__ import annotations

import json
import re

import anyio.lowlevel
import pytest

from resay import Guard, Query
from resay.core.verdict import Verdict
from resay.providers.base import Completion, Completions

pytestmark = pytest.mark.anyio

ANSWER = (
    "The bridge, opened in 1932, is red. It was painted, in secret, by Ada Moor. I hope this helps!"
)
SAMPLES = ["The bridge opened in 1932. It was painted by Ada Moor."] * 3
OPENED = {"sentence": 1, "claim": "The bridge opened in 1932.", "quote": "opened in 1932"}
RED = {"sentence": 1, "claim": "The bridge is red.", "quote": "The bridge, opened in 1932, is red."}
PAINTED = {
    "sentence": 2,
    "claim": "Ada Moor painted it in secret.",
    "quote": "painted, in secret, by Ada Moor",
}


class Splitter:
    """Gives answers in turn, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[Query] = []

    async def takes_n(self, query: Query) -> bool:
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        self.asked.append(query)
        return Completions((Completion(self._answers.pop(0)),))


async def checked(*answers: object, claims: str = "model") -> tuple[Verdict, Splitter]:
    splitter = Splitter(*(a if isinstance(a, str) else json.dumps({"claims": a}) for a in answers))
    policy = {"chain": [{"method": "ngram"}], "claims": claims, "threshold": {"passage": None}}
    guard = Guard(policy, provider=splitter, model="m")
    verdict = await guard.acheck(ANSWER, question="Tell me about it.", samples=SAMPLES)
    return verdict, splitter


def texts(verdict: Verdict) -> list[str]:
    return [claim.text for claim in verdict.claims]


async def test_a_model_takes_sentences_apart() -> None:
    verdict, splitter = await checked([RED, PAINTED, OPENED])
    assert texts(verdict) == [RED["claim"], OPENED["claim"], PAINTED["claim"], "I hope this helps!"]
    for claim, quote in zip(verdict.claims, (RED, OPENED, PAINTED), strict=False):
        assert ANSWER[claim.start : claim.end] == quote["quote"]
    assert [claim.sentence for claim in verdict.claims] == [0, 0, 1, 2]
    assert verdict.usage.calls == len(splitter.asked) == 1


async def test_what_it_reads_is_fenced_and_only_what_claims() -> None:
    _, splitter = await checked([RED, OPENED, PAINTED])
    prompt = splitter.asked[0].question
    code = re.search("<sentences-([0-9a-f]{16})>", prompt)
    assert code is not None
    assert f"</sentences-{code[1]}>" in prompt
    assert f"user: Tell me about it.\n</conversation-{code[1]}>" in prompt
    assert "2. It was painted, in secret, by Ada Moor." in prompt
    assert "hope" not in prompt


async def test_bad_json_is_asked_for_again_once() -> None:
    verdict, splitter = await checked(
        "Sure!", f"```json\n{json.dumps({'claims': [RED, OPENED, PAINTED]})}\n```"
    )
    assert texts(verdict)[0] == RED["claim"]
    assert len(splitter.asked) == 2
    verdict, splitter = await checked("Sure!", "[1, 2]")
    assert verdict.claims == (await checked(claims="rules"))[0].claims
    assert len(splitter.asked) == 2


@pytest.mark.parametrize(
    "found",
    [
        [],
        # Words that are not there; a number that is left out; most of the sentence left out.
        [{**RED, "quote": "opened in 1933"}, PAINTED],
        [{**RED, "quote": "is red"}, PAINTED],
        [{**RED, "quote": "The bridge, opened in"}, PAINTED],
        [{**OPENED, "quote": "1932"}, PAINTED],
        [{**RED, "sentence": 7}, PAINTED],
        [{**RED, "claim": " "}, PAINTED],
    ],
)
async def test_a_sentence_it_does_not_cover_has_the_claims_of_the_rules(
    found: list[object],
) -> None:
    by_rules, _ = await checked(claims="rules")
    verdict, _ = await checked(found)
    assert [c for c in verdict.claims if not c.sentence] == [
        c for c in by_rules.claims if not c.sentence
    ]
    assert (PAINTED["claim"] in texts(verdict)) is (PAINTED in found)


async def test_where_nobody_can_be_asked_there_are_rules() -> None:
    policy = {"chain": [{"method": "ngram"}], "claims": "model", "threshold": {"passage": None}}
    verdict = await Guard(policy).acheck(ANSWER, question="Tell me about it.", samples=SAMPLES)
    assert verdict.claims == (await checked(claims="rules"))[0].claims


async def test_a_call_that_fails_leaves_the_rules() -> None:
    verdict, _ = await checked()
    assert texts(verdict) == texts((await checked(claims="rules"))[0])
