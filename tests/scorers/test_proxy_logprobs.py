from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from resay import ConfigurationError, Guard, Passage, Policy, PolicyError, Request, TokenLogprob
from resay.plugins import Evidence
from resay.scorers.proxy_logprobs import ProxyLogprobs
from simulation import Refused, ServerError, SimulatedProvider

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about Marie Curie."
KNOWN = "Marie Curie was born in Warsaw in 1867."
MADE_UP = "She kept 42 owls in Zagreb with Silas Corvane."
RESPONSE = f"{KNOWN} {MADE_UP}"
SERVED = {"name": "base", "url": "http://127.0.0.1:9/v1"}


class Reader:
    """Reads word by word, and remembers what it was given."""

    def __init__(self, logprob: float | None = -1.0) -> None:
        self.read: list[tuple[str, str]] = []
        self.logprob = logprob

    async def score_text(self, prompt: str, text: str) -> Sequence[TokenLogprob]:
        self.read.append((prompt, text))
        words = [" " * bool(i) + word for i, word in enumerate(text.split(" "))]
        return [
            TokenLogprob(prompt, -50.0),
            *(TokenLogprob(word, self.logprob, entropy=0.5) for word in words),
        ]


def built(reader: Reader | None = None, **config: Any) -> ProxyLogprobs:
    settings = {"model": SERVED, **config}
    return ProxyLogprobs(ProxyLogprobs.Config(**settings), reader)


def guard(simulated: SimulatedProvider, **config: Any) -> Guard:
    model = {"name": "base", "url": simulated.base_url}
    return Guard({"chain": [{"method": "proxy_logprobs", "model": model, **config}]})


@pytest.mark.parametrize("api", ["echo", "prompt_logprobs"])
@pytest.mark.parametrize("measure", ["probability", "entropy"])
@pytest.mark.parametrize("pool", ["average", "maximum"])
@pytest.mark.parametrize("context", ["question", "none"])
async def test_tokens_improbable_to_the_proxy_score_higher(
    simulated: SimulatedProvider, api: str, measure: str, pool: str, context: str
) -> None:
    checked = guard(simulated, api=api, measure=measure, pool=pool, context=context)
    verdict = await checked.acheck(RESPONSE, question=QUESTION)
    known, made_up = (sentence.score or 0.0 for sentence in verdict.sentences)
    assert known + 0.1 < made_up
    assert "Warsaw" not in (verdict.sentences[1].reason or "")
    # It is one request, and none that a provider of language models would bill.
    assert (simulated.calls, verdict.usage.calls) == (1, 0)


async def test_both_apis_score_the_same(simulated: SimulatedProvider) -> None:
    found = [
        await guard(simulated, api=api, measure=measure).acheck(RESPONSE, question=QUESTION)
        for measure in ("probability", "entropy")
        for api in ("echo", "prompt_logprobs")
    ]
    scores = [[s.score for s in verdict.sentences] for verdict in found]
    assert scores[0] == scores[1]
    assert scores[2] == scores[3] != scores[0]


async def test_the_question_stands_before_the_response() -> None:
    passage, evidence = Passage.of(RESPONSE), Evidence(request=Request.of(QUESTION))
    reader = Reader()
    await built(reader).score(passage, evidence)
    await built(reader, template="<user>{question}</user>\n").score(passage, evidence)
    await built(reader, context="none").score(passage, evidence)
    assert reader.read == [
        (f"{QUESTION}\n\n", RESPONSE),
        (f"<user>{QUESTION}</user>\n", RESPONSE),
        ("", RESPONSE),
    ]


async def test_the_prompts_tokens_count_for_nothing() -> None:
    scores = await built(Reader(-2.0)).score(
        Passage.of(RESPONSE), Evidence(request=Request.of(QUESTION))
    )
    assert scores.raw == (2.0, 2.0)
    assert scores.sentences == pytest.approx((1 - math.exp(-2),) * 2)


async def test_a_model_here_gives_the_whole_distribution() -> None:
    scorer = built(Reader(), measure="entropy", context="none")
    scores = await scorer.score(Passage.of(RESPONSE), Evidence())
    assert scores.raw_passage == pytest.approx(math.exp(0.5))
    assert "the whole vocabulary" in (scores.reasons[0] or "")


async def test_only_the_sentences_not_yet_settled_are_scored() -> None:
    reader = Reader()
    scores = await built(reader, context="none").score(Passage.of(RESPONSE).only([1]), Evidence())
    assert (len(scores.sentences), reader.read[0][1]) == (1, RESPONSE)


def test_the_question_is_needed_where_it_is_the_context() -> None:
    assert built(Reader()).needs == {"question"}
    assert built(Reader(), context="none").needs == frozenset()


async def test_without_the_question_the_guard_says_so(simulated: SimulatedProvider) -> None:
    with pytest.raises(ConfigurationError, match="pass `question`"):
        await guard(simulated).acheck(RESPONSE)
    verdict = await guard(simulated, context="none").acheck(RESPONSE)
    assert len(verdict.sentences) == 2


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "HTTP 401; check `api_key`"), (500, "HTTP 500"), (422, "HTTP 422")],
)
async def test_a_failing_server_decides_nothing_and_is_named(
    simulated: SimulatedProvider, status: int, reason: str
) -> None:
    fault = Refused(status=status) if status < 500 else ServerError(status=status)
    simulated.set_faults(fault)
    verdict = await guard(simulated).acheck(RESPONSE, question=QUESTION)
    assert verdict.decision == "inconclusive"
    assert reason in verdict.reason
    assert "127.0.0.1" in verdict.reason
    assert "Curie" not in verdict.reason


async def test_tokens_that_are_not_the_texts_decide_nothing() -> None:
    class Other(Reader):
        async def score_text(self, prompt: str, text: str) -> Sequence[TokenLogprob]:
            return [TokenLogprob("Something else.", -1.0)]

    scores = await built(Other(), context="none").score(Passage.of(RESPONSE), Evidence())
    assert scores.error == "the tokens given do not make up the text of the response"


def test_the_key_is_never_shown() -> None:
    config = ProxyLogprobs.Config.model_validate({"model": {**SERVED, "api_key": "sk-secret"}})
    assert "sk-secret" not in repr(config)


@pytest.mark.parametrize(
    "wrong", [{"template": "Answer: "}, {"api": "completions"}, {"model": None}, {"context": "all"}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Policy.of({"chain": [{"method": "proxy_logprobs", "model": SERVED, **wrong}]})
