"""Documents in the place of samples: any one that supports a claim is enough."""

from __future__ import annotations

from typing import Any

import pytest

from resay import Guard, Request, Verdict
from resay.plugins import Completion, Completions
from support.tiny_models import make_bert, make_deberta

pytestmark = pytest.mark.anyio

OPENED = "The Garmo bridge opened in 1932."
OTHERS = [
    "The Silo tunnel was dug by hand and is 2 km long.",
    "Admission to the Halden museum is free on Mondays.",
    "Tickets for the ferry are sold at the harbour.",
]


class Judge:
    """Says of each document what it is told to."""

    def __init__(self, **said: str) -> None:
        self._said = {name.replace("_", " "): word for name, word in said.items()}

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        prompt = str(request.messages[-1]["content"])
        found = [word for name, word in self._said.items() if name in prompt]
        return Completions((Completion(found[0] if found else "not mentioned"),))


async def checked(
    step: dict[str, Any], documents: list[str], claim: str = OPENED, provider: Any = None
) -> Verdict:
    policy = {"chain": [{"evidence": "references", **step}], "cache": {"store": "none"}}
    guard = Guard(policy, provider=provider)
    return await guard.acheck(claim, references=documents)


@pytest.mark.parametrize("mode", ["per_pair", "per_sample"])
async def test_one_document_that_supports_is_enough_for_a_judge(mode: str) -> None:
    judge = Judge(Garmo_bridge_was="1: supported", Silo="1: contradicted")
    documents = ["The Garmo bridge was opened in 1932.", *OTHERS]
    verdict = await checked({"method": "prompt", "mode": mode}, documents, provider=judge)
    assert verdict.claims[0].score == 0.0
    assert verdict.decision == "consistent"
    assert verdict.claims[0].reason == "supported by 1 of 4 references"


async def test_claims_that_one_document_contradicts_and_none_supports_are_contradicted() -> None:
    judge = Judge(Garmo_bridge_was="1: contradicted")
    weights = {"contradicted": 1.0, "not_mentioned": 0.4}
    documents = ["The Garmo bridge was opened in 1950.", *OTHERS]
    step = {"method": "prompt", "mode": "per_pair", "weights": weights}
    assert (await checked(step, documents, provider=judge)).claims[0].score == 1.0
    # What none of them mentions counts as that.
    assert (await checked(step, OTHERS, provider=judge)).claims[0].score == 0.4


@pytest.mark.parametrize(
    "settings",
    [{"mode": "per_pair"}, {"form": "published"}, {"form": "published", "order": "nearest"}],
)
async def test_the_order_and_the_form_of_questions_change_nothing(settings: Any) -> None:
    words = "yes" if "form" in settings else "1: supported"
    judge = Judge(Garmo_bridge_was=words, Silo="no", Halden="no", ferry="no")
    documents = ["The Garmo bridge was opened in 1932.", *OTHERS]
    verdict = await checked({"method": "prompt", **settings}, documents, provider=judge)
    assert verdict.claims[0].score == 0.0


@pytest.mark.parametrize("settings", [{}, {"n": 2}, {"pool": "average"}, {"counted": "response"}])
async def test_words_that_one_document_has_are_enough(settings: dict[str, Any]) -> None:
    step = {"method": "ngram", **settings}
    alone = (await checked(step, [OPENED])).claims[0].score
    beside = (await checked(step, [*OTHERS, OPENED])).claims[0].score
    none = (await checked(step, OTHERS)).claims[0].score
    assert alone is not None
    assert none is not None
    assert alone == beside < none


async def test_words_of_two_documents_make_no_support() -> None:
    claim = "The Garmo bridge is 2 km long."
    verdict = await checked({"method": "ngram"}, [OPENED, OTHERS[0]], claim)
    assert verdict.flagged
    joined = await checked({"method": "ngram"}, [f"{OPENED} {OTHERS[0]}"], claim)
    assert not joined.flagged


@pytest.mark.parametrize("method", ["nli", "bertscore", "similarity"])
async def test_a_model_goes_by_the_document_that_supports_best(tiny: Any, method: str) -> None:
    make = make_deberta if method == "nli" else make_bert
    step = {"method": method, "model": str(tiny(make))}
    if method == "bertscore":
        step["rescale"] = False
    documents = [OPENED, *OTHERS]
    each = [(await checked(step, [one])).claims[0].score for one in documents]
    together = (await checked(step, documents)).claims[0].score
    known = [score for score in each if score is not None]
    assert together == pytest.approx(min(known), abs=1e-5)
    assert min(known) < max(known)
