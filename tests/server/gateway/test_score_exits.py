"""A score is above its threshold if and only if the answer is flagged, wherever it is shown."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import anyio.lowlevel
import pytest
from rich.console import Console

from resay import Answer, Guard, Request, Verdict
from resay.adapters.pages import verdict_section
from resay.adapters.terminal import print_verdict
from resay.plugins import Completion, Completions, VerdictRecord
from resay_lab.batch.scoring import columns_of
from resay_server.gateway.guarded_request import verdict_headers
from resay_server.journal.entry import Entry

pytestmark = pytest.mark.anyio

RED, BLUE, OPENED = "The bridge is red.", "The bridge is blue.", "It opened in 1923."
SAMPLES = ["The bridge is red.", "A red bridge.", "It is a red bridge."]
QUIZ = "1: In which year did the bridge open? | 1923"
_CLAIM = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


class Model:
    """Knows that the bridge is red, and answers questions about it as it is told."""

    def __init__(self, answer: str, says: str) -> None:
        self._answer = answer
        self._says = says

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        return Completions((Completion(self._written(request)),))

    def _written(self, request: Request) -> str:
        prompt = request.question
        if prompt.startswith("Prepare a quiz"):
            return QUIZ
        if "<questions-" in prompt:
            return self._says
        if "<claims-" not in prompt:
            return SAMPLES[request.index % 3] if request.varied else self._answer
        words = {"red": "supported", "blue": "contradicted"}
        lines: list[str] = []
        for number, claim in _CLAIM.findall(prompt.partition("<claims-")[2]):
            verdicts = [verdict for word, verdict in words.items() if word in claim]
            lines.append(f"{number}: {(*verdicts, 'not_mentioned')[0]}")
        return "\n".join(lines)


async def answered(text: str, says: str, **policy: Any) -> Answer:
    chain = [{"method": "prompt", "mode": "per_sample", "probe": 3}]
    settings = {"chain": chain, "sampling": {"max": 3}, "cache": {"store": "none"}, **policy}
    return await Guard(settings, provider=Model(text, says), model="m").aask("And the bridge?")


def scores_shown(answer: Answer) -> dict[str, float | None]:
    """Return the score of an answer at each exit."""
    verdict = answer.verdict
    headers = {name.decode(): value.decode() for name, value in verdict_headers([answer])}
    header = headers.get("x-resay-score")
    assert headers["x-resay-decision"] == verdict.decision
    stored = json.loads(json.dumps(verdict.to_dict()))
    entry = Entry.of(
        VerdictRecord(verdict=verdict, model="m", policy="default", action="annotate", api="chat")
    )
    return {
        "header": None if header is None else float(header),
        "JSON": stored["score"],
        "read again": Verdict.from_dict(stored).score,
        "without content": verdict.to_dict(content=False)["score"],
        "batch": columns_of(verdict)["score"],
        "journal": entry.score,
    }


@pytest.mark.parametrize(
    ("text", "says", "decision"),
    [
        (RED, "", "consistent"),
        (BLUE, "", "flagged"),
        (f"{RED} {OPENED}", "1932", "flagged"),
        (f"{RED} {OPENED}", "1923", "consistent"),
        (f"{RED} {OPENED}", "I don't know", "inconclusive"),
        (f"{RED} {BLUE} {OPENED}", "I don't know", "flagged"),
    ],
)
@pytest.mark.parametrize("sentence", [0.5, 0.59999])
async def test_every_exit_shows_a_score_that_tells_whether_the_answer_is_flagged(
    text: str, says: str, decision: str, sentence: float
) -> None:
    answer = await answered(text, says, threshold={"passage": None, "sentence": sentence})
    verdict = answer.verdict
    assert verdict.decision == decision
    for where, score in scores_shown(answer).items():
        threshold = 0.0 if verdict.threshold is None else verdict.threshold
        above = score is not None and score > threshold
        assert above == (decision == "flagged"), where
        assert (score is None) == (decision == "inconclusive"), where
    for row in columns_of(verdict)["claims"]:
        assert row["flagged"] == (row["score"] is not None and row["score"] > sentence)


async def test_a_score_just_above_the_threshold_is_not_rounded_to_it() -> None:
    weights = {"contradicted": 1.0, "not_mentioned": 0.50001}
    chain = [{"method": "prompt", "mode": "per_sample", "weights": weights}]
    answer = await answered(OPENED, "", chain=chain)
    assert answer.verdict.flagged
    assert set(scores_shown(answer).values()) == {0.50001}
    assert answer.verdict.reason.startswith("passage 0.50001 > 0.50000, 1 of 1 sentence > 0.50")


async def test_people_see_why_a_claim_was_not_flagged() -> None:
    verdict = (await answered(f"{RED} {OPENED}", "I don't know")).verdict
    why = "3 of 3 samples do not mention it; asked 'In which year did the bridge open?'"
    html = str(verdict_section(verdict))
    assert "3 of 3 samples do not mention it" in html
    shown = StringIO()
    print_verdict(verdict, f"{RED} {OPENED}", Console(file=shown, width=300))
    assert "INCONCLUSIVE" in shown.getvalue()
    assert why in shown.getvalue()
    assert "!" not in shown.getvalue().replace("INCONCLUSIVE", "")
