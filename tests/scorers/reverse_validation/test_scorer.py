from __future__ import annotations

from typing import Any

import pytest

from resay import Guard, Passage, Request, ScorerError
from resay.adapters.methods import Entity, ReverseValidation
from resay.adapters.providers import Metered
from resay.plugins import Completions, Evidence, Scores
from resay.scorers.reverse_validation import render_construct, render_search, without
from resay.testing import ScriptedProvider

pytestmark = pytest.mark.anyio

PASSAGE = Passage.of("The Sydney Harbour Bridge opened in 1932. John Bradfield oversaw its design.")
ENTITY = "Sydney Harbour Bridge"
QUESTION = "Which Australian bridge, overseen by John Bradfield, opened in 1932?"
LIST = "1. A steel arch bridge\n2. Opened in 1932\n3. Design overseen by John Bradfield"


class Listening(ScriptedProvider):
    """Follows a script and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        super().__init__(answers)
        self.asked: list[str] = []

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(request.messages[-1]["content"])
        return await super().complete(request, n=n)


async def score(judge: ScriptedProvider, *, subject: str | None = None, **settings: Any) -> Scores:
    config = ReverseValidation.Config(**{"entity": ENTITY, **settings})
    return await ReverseValidation(config).score(
        PASSAGE, Evidence(entity=subject, judge_provider=judge)
    )


async def test_a_question_that_leads_back_is_consistent() -> None:
    judge = Listening(QUESTION, "The Sydney Harbour Bridge.")
    scores = await score(judge, variant="question")
    assert (scores.passage, scores.sentences, scores.error) == (0.0, (), None)
    assert scores.passage_reason == f"from what it says the judge found {ENTITY} again"
    assert judge.asked == [
        render_construct("question", ENTITY, PASSAGE.text),
        render_search("question", QUESTION),
    ]


async def test_a_question_that_leads_elsewhere_is_flagged() -> None:
    scores = await score(Listening(QUESTION, "The Golden Gate Bridge."), variant="question")
    assert scores.passage == 1.0
    assert scores.passage_reason == (
        f"from what it says the judge found no {ENTITY}: The Golden Gate Bridge."
    )


@pytest.mark.parametrize(
    ("answer", "flagged"),
    [
        ("Sydney Harbour Bridge meets 100% of the requirements.", 0.0),
        ("The Sydney Harbour Bridge, which meets 95 % of them.", 0.0),
        ("Sydney Harbour Bridge, 80%", 0.0),
        ("Sydney Harbour Bridge, 79%", 1.0),
        ("Sydney Harbour Bridge. It meets 6 of the 8 requirements.", 1.0),
        ("The Sydney Harbour Bridge meets only 40% of the requirements.", 1.0),
        ("The Golden Gate Bridge meets 100% of the requirements.", 1.0),
        ("I could not find an entity that meets them.", 1.0),
    ],
)
async def test_requirements_must_lead_back_and_be_met(answer: str, flagged: float) -> None:
    judge = Listening(LIST, answer)
    assert (await score(judge, variant="matching")).passage == flagged
    assert judge.asked[1] == render_search("matching", LIST)


async def test_how_much_must_be_met_is_the_policys() -> None:
    answer = "Sydney Harbour Bridge, 70%"
    assert (await score(Listening(LIST, answer))).passage == 1.0
    assert (await score(Listening(LIST, answer), share=60)).passage == 0.0


async def test_an_entity_the_question_gives_away_is_taken_out() -> None:
    leaky = "Who oversaw the design of the Sydney Harbour Bridge, an arch bridge opened in 1932?"
    judge = Listening(leaky, ENTITY)
    await score(judge, variant="question")
    bare = "Who oversaw the design of this entity, an arch bridge opened in 1932?"
    assert judge.asked[1] == render_search("question", bare)


async def test_a_list_that_names_the_entity_loses_the_name() -> None:
    leaky = "1. The Sydney Harbour Bridge opened in 1932\n2. Known as the Coathanger"
    judge = Listening(leaky, ENTITY)
    await score(judge, aliases=["the Coathanger"])
    assert "Harbour" not in judge.asked[1]
    assert "Coathanger" not in judge.asked[1]
    assert "opened in 1932" in judge.asked[1]


async def test_a_question_of_nothing_but_the_name_is_refused() -> None:
    scores = await score(Listening("What is the Sydney Harbour Bridge?"), variant="question")
    assert (scores.passage, scores.undetermined) == (None, 1)
    assert scores.error == "the judge named the entity and said nothing else about it"


async def test_exact_matching_takes_nothing_out_and_compares_strings() -> None:
    leaky = "Which bridge called the Sydney Harbour Bridge opened in 1932?"
    judge = Listening(leaky, "The Harbour Bridge in Sydney.")
    assert (await score(judge, variant="question", match="exact")).passage == 1.0
    assert judge.asked[1] == render_search("question", leaky)
    judge = Listening(QUESTION, "Sydney Harbour Bridge.")
    assert (await score(judge, variant="question", match="exact")).passage == 0.0


async def test_the_querys_entity_comes_before_the_policys() -> None:
    scores = await score(Listening(LIST, ENTITY), subject=ENTITY, entity="Golden Gate Bridge")
    assert scores.passage == 0.0


@pytest.mark.parametrize(
    "named", ["Sydney Harbour Bridge", "**Sydney Harbour Bridge**", "Entity: Sydney Harbour Bridge"]
)
async def test_an_entity_nobody_names_is_asked_for(named: str) -> None:
    judge = Listening(named, LIST, f"{ENTITY}, 100%")
    request = Request.of("What is the bridge in Sydney like?")
    meter = Metered(judge)
    scorer = ReverseValidation()
    scores = await scorer.score(PASSAGE, Evidence(request=request, judge_provider=meter))
    assert (scores.passage, meter.usage.calls) == (0.0, 3)
    assert "Question: What is the bridge in Sydney like?" in judge.asked[0]
    assert judge.asked[1] == render_construct("matching", ENTITY, PASSAGE.text)


async def test_with_the_entity_given_it_costs_two_calls() -> None:
    for variant, first in (("question", QUESTION), ("matching", LIST)):
        meter = Metered(Listening(first, f"{ENTITY}, 100%"))
        config = ReverseValidation.Config.model_validate({"variant": variant, "entity": ENTITY})
        await ReverseValidation(config).score(PASSAGE, Evidence(judge_provider=meter))
        assert meter.usage.calls == 2


@pytest.mark.parametrize(
    "unclear",
    [
        "",
        "I'm sorry, I cannot tell.",
        "I’m sorry, I can’t help with that.",
        "Which one do you mean?",
        "It is hard to say.",
        "That depends on the text.",
        "Hard to say, " * 12,
    ],
)
async def test_an_unreadable_entity_is_asked_for_once_more(unclear: str) -> None:
    judge = Listening(unclear, ENTITY, LIST, f"{ENTITY}, 100%")
    assert (await score(judge, entity=None)).passage == 0.0
    assert judge.asked[1] == "Answer with the name of one entity and nothing else."
    scores = await score(Listening(unclear, unclear), entity=None)
    assert scores.error == "the judge did not say what the response is about"
    assert scores.undetermined == 1


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"Question: {QUESTION}", QUESTION),
        (f'"{QUESTION}"', QUESTION),
        (f"**Question:** {QUESTION}", QUESTION),
        (f"Sure! Here is one:\n\n{QUESTION}\n", QUESTION),
    ],
)
async def test_questions_are_read_without_what_stands_around_them(text: str, read: str) -> None:
    judge = Listening(text, ENTITY)
    await score(judge, variant="question")
    assert judge.asked[1] == render_search("question", read)


async def test_lists_are_read_without_what_stands_around_them() -> None:
    judge = Listening(f"Here are the features:\n\n{LIST}\n\nI hope this helps.", ENTITY)
    await score(judge)
    assert judge.asked[1] == render_search("matching", LIST)


@pytest.mark.parametrize(
    ("variant", "problem"),
    [("question", "wrote no question"), ("matching", "wrote no list of features")],
)
async def test_unusable_descriptions_are_inconclusive(variant: str, problem: str) -> None:
    scores = await score(Listening("I cannot.", "I cannot."), variant=variant)
    assert (scores.passage, scores.undetermined) == (None, 1)
    assert scores.error == f"the judge {problem}"
    scores = await score(Listening("I cannot."), variant=variant, restate=False)
    assert scores.error == f"the judge {problem}"


@pytest.mark.parametrize("answered", [0, 1])
async def test_a_failed_call_is_inconclusive(answered: int) -> None:
    scores = await score(Listening(*[LIST][:answered]))
    assert (scores.passage, scores.failures) == (None, ("ProviderError",))
    assert scores.error is not None


REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "As an AI, I cannot answer this.",
    "I won’t respond to that.",
    "  ",
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_refused_searches_prove_nothing(refusal: str) -> None:
    judge = Listening(LIST, refusal, f"{ENTITY}, 100%")
    assert (await score(judge)).passage == 0.0
    assert judge.asked[2].startswith("Answer with the name of one entity")
    scores = await score(Listening(LIST, refusal, refusal))
    assert (scores.passage, scores.undetermined) == (None, 1)
    assert scores.error == "the judge did not say what it found"


@pytest.mark.parametrize(
    "nothing", ["I do not know such an entity.", "I couldn't find one.", "There is no such bridge."]
)
async def test_empty_search_results_are_answers(nothing: str) -> None:
    assert (await score(Listening(LIST, nothing))).passage == 1.0


async def test_a_short_question_without_the_name_is_a_question() -> None:
    judge = Listening("Who painted Guernica?", "Pablo Picasso")
    assert (await score(judge, variant="question", entity="Pablo Picasso")).passage == 0.0


def test_taking_a_name_out_leaves_the_rest_alone() -> None:
    entity = Entity("Ada Lovelace", ("Augusta Ada King",))
    text = "1. Ada Lovelace wrote notes\n2. Augusta Ada King was a countess"
    assert without(text, entity, "matching") == (
        "1. the entity wrote notes\n2. the entity was a countess"
    )
    assert without("Who wrote notes?", entity, "question") == "Who wrote notes?"


async def test_a_missing_judge_is_an_error() -> None:
    with pytest.raises(ScorerError, match="no judge available"):
        await ReverseValidation().score(PASSAGE, Evidence())


async def test_a_guard_takes_the_entity_with_the_call() -> None:
    judge = Listening(LIST, "The Golden Gate Bridge, 100%")
    guard = Guard({"chain": [{"method": "reverse_validation"}]}, provider=judge)
    verdict = await guard.acheck(PASSAGE.text, entity=ENTITY)
    assert (verdict.decision, verdict.reason) == ("flagged", "passage 1.00 > 0.50")
    assert verdict.usage.calls == 2
    assert judge.asked[0] == render_construct("matching", ENTITY, PASSAGE.text)
