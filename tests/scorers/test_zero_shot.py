from __future__ import annotations

import pytest

from resay import Passage, Policy
from resay.adapters.providers import Metered, ReplayProvider
from resay.engine.chain import Chain
from resay.plugins import Evidence
from resay.scorers.zero_shot import ZeroShot, render
from resay.testing import ScriptedProvider

pytestmark = pytest.mark.anyio

PASSAGE = Passage.of("The bridge opened in 1932. Its painter was Harold Finch.")
QUIET = ZeroShot(ZeroShot.Config(restate=False))


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("factual", 0.0),
        ("Factual.", 0.0),
        ("**Non-factual**", 1.0),
        ("nonfactual", 1.0),
        ("Non factual, because it opened later.", 1.0),
        ("Not factual", 1.0),
        ("Answer: non-factual", 1.0),
        ("NON-FACTUAL", 1.0),
        ("It is hard to tell.", None),
        ("The claim is factual", 0.0),
        ("I'm sorry, but I cannot judge that.", None),
        ("", None),
    ],
)
async def test_stated_answers_count(answer: str, score: float | None) -> None:
    judge = ReplayProvider({render(PASSAGE.text): [answer]})
    scores = await QUIET.score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.passage, scores.sentences) == (score, ())
    assert (scores.error is None) is (score is not None)
    assert scores.undetermined == (score is None)


async def test_one_call_and_one_more_to_restate_the_format() -> None:
    meter = Metered(ScriptedProvider(["factual"]))
    await ZeroShot().score(PASSAGE, Evidence(judge_provider=meter))
    assert meter.usage.calls == 1
    meter = Metered(ScriptedProvider(["Well …", "non-factual"]))
    scores = await ZeroShot().score(PASSAGE, Evidence(judge_provider=meter))
    assert (scores.passage, scores.undetermined, meter.usage.calls) == (1.0, 0, 2)


async def test_a_failed_call_is_inconclusive() -> None:
    judge = ReplayProvider({render(PASSAGE.text): [None]})
    scores = await ZeroShot().score(PASSAGE, Evidence(judge_provider=judge))
    assert (scores.passage, scores.failures) == (None, ("ProviderError",))
    assert scores.error == "the judge did not answer"


async def test_in_a_chain_it_decides_about_the_passage() -> None:
    chain = Chain(Policy.of({"chain": [{"method": "zero_shot"}]}))
    judge = ScriptedProvider(["non-factual"])
    verdict = await chain.run(PASSAGE, Evidence(judge_provider=judge), 1e12)
    assert (verdict.decision, verdict.reason) == ("flagged", "passage 1.00 > 0.50")
    assert verdict.steps[0].reason == "the judge called the response non-factual"
    assert [s.score for s in verdict.sentences] == [None, None]
    assert verdict.to_dict(content=False)["steps"][0]["reason"] is None
    judge = ScriptedProvider(["factual"])
    verdict = await chain.run(PASSAGE, Evidence(judge_provider=judge), 1e12)
    assert (verdict.decision, verdict.reason) == ("consistent", "passage 0.00 <= 0.50")
