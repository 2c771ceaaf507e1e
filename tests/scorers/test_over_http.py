"""Every method against the simulated provider: guard, litellm and HTTP are the real ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from resay import Guard, Request, Verdict
from resay.adapters.providers import LiteLLMProvider
from resay.plugins import Completions, Layer, Provider
from resay.testing.faults import GarbledStyle
from simulation import Garbled, Hang, IgnoreN, ServerError, SimulatedProvider, World

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("litellm")]

MODEL = "openai/simulated"


@dataclass(frozen=True)
class Topic:
    """Something to respond about, with a response that is known and one that is made up."""

    name: str
    known: str
    made_up: str

    @property
    def question(self) -> str:
        return f"Tell me about {self.name}."


TOPICS = [
    Topic(
        subject.name,
        " ".join(wordings[0] for wordings in subject.wordings[:2]),
        f"{subject.name} was first seen in {1722 + i} by Silas Corvane. On {3 + i} June 1888 it was"
        f" moved to Odense, all {4312 + i} stones of it.",
    )
    for i, subject in enumerate(World.default().subjects[:2])
]
SENTENCES, SAMPLES = 2, 3


@dataclass(frozen=True)
class Case:
    """A chain, what its judge is asked (about a known response, and more about a made-up one)."""

    chain: tuple[dict[str, Any], ...]
    calls: int = 0
    ask: Callable[[Topic], dict[str, Any]] = lambda topic: {"question": topic.question}
    samples: bool = False
    more: int = 0

    def guard(self, provider: Provider | None = None, **settings: Any) -> Guard:
        """Return a guard whose judged steps have these settings."""
        policy = {
            "chain": [_with(step, settings) for step in self.chain],
            "sampling": {"max": SAMPLES},
            "limits": {"retries": 0},
        }
        return Guard(policy, model=MODEL, provider=provider)

    def price(self, known: bool) -> int:
        return self.calls + (0 if known else self.more)


def _with(step: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    if "parts" in step:
        parts = [{**p, "scorer": _with(p["scorer"], settings)} for p in step["parts"]]
        return {**step, "parts": parts}
    unjudged = step["method"] in ("ngram", "snowballing", "leaning")
    return step if unjudged else {**step, **settings}


def _entity(topic: Topic) -> dict[str, Any]:
    return {"question": topic.question, "entity": topic.name}


def _references(topic: Topic) -> dict[str, Any]:
    return {"references": [topic.known]}


def _translation(topic: Topic) -> dict[str, Any]:
    return {"question": f"Übersetze: … ({topic.name})", **_references(topic)}


def _definition(topic: Topic) -> dict[str, Any]:
    return {"question": f'What is the meaning of "{topic.name}"?', **_references(topic)}


FIBE = {"method": "fibe"}
DIRECT = {"method": "direct_question"}
TOGETHER = {"method": "prompt"}
PAIRS = {"method": "prompt", "mode": "per_pair"}
LISTED = {"method": "prompt", "mode": "per_sample"}
ZERO = {"method": "zero_shot"}
SEMANTIC = {"method": "semantic", "by": "judge"}
QUESTION = {"method": "reverse_validation", "variant": "question"}
MATCHING = {"method": "reverse_validation", "variant": "matching"}
CROSS = {"method": "cross_examination"}
SNOWBALLING = {"method": "snowballing"}
LEANING = {"method": "leaning"}
ENSEMBLE = {
    "method": "ensemble",
    "parts": [
        {"scorer": FIBE, "weight": 0.5},
        {"scorer": LISTED, "weight": 0.5},
        {"scorer": DIRECT, "weight": 0.2},
    ],
}
COMBINATION = {
    "method": "combination",
    "parts": [
        {"scorer": DIRECT, "mean": 0.5, "deviation": 0.5},
        {"scorer": ZERO, "mean": 0.5, "deviation": 0.5, "weight": 2},
    ],
}

CASES = {
    "ngram": Case(({"method": "ngram"},), samples=True),
    "ngram references": Case(({"method": "ngram", "evidence": "references"},), 0, _references),
    "prompt together": Case((TOGETHER,), 1, samples=True),
    "prompt per_pair": Case((PAIRS,), SENTENCES * SAMPLES, samples=True),
    "prompt per_sample": Case((LISTED,), SAMPLES, samples=True),
    "prompt references": Case(({**PAIRS, "evidence": "references"},), SENTENCES, _references),
    "prompt definition": Case(({**PAIRS, "task": "definition"},), 1, _definition),
    "prompt paraphrase": Case(
        ({**PAIRS, "task": "paraphrase"},), 1, lambda topic: {"question": topic.known}
    ),
    "prompt translation": Case(({**PAIRS, "task": "translation"},), 1, _translation),
    # The exam and its answers; what is answered right in every word needs no points.
    "fibe": Case((FIBE,), 2, more=SENTENCES),
    "direct_question": Case((DIRECT,), SENTENCES),
    "direct_question logprobs": Case(({**DIRECT, "logprobs": True},), SENTENCES),
    "reverse_validation question": Case((QUESTION,), 3),
    "reverse_validation question, entity given": Case((QUESTION,), 2, _entity),
    "reverse_validation matching": Case((MATCHING,), 3),
    "reverse_validation matching, entity given": Case((MATCHING,), 2, _entity),
    "cross_examination": Case((CROSS,), 4),
    "zero_shot": Case((ZERO,), 1),
    "semantic": Case((SEMANTIC,), SAMPLES, samples=True),
    "snowballing": Case((DIRECT, SNOWBALLING), SENTENCES),
    "leaning": Case((DIRECT, LEANING), SENTENCES),
    "ensemble": Case((ENSEMBLE,), 2 + SAMPLES + SENTENCES, samples=True, more=SENTENCES),
    "combination": Case((COMBINATION,), SENTENCES + 1),
}
JUDGED = {name: case for name, case in CASES.items() if case.calls}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
# One of each method: its variants ask in the same way.
EACH_METHOD = {name: case for name, case in CASES.items() if case.samples or " " not in name}
# Where a judge fails, these do as the others: it is asked in other words, or less.
ALIKE = ("entity given", "logprobs", "definition", "translation")
FAILING = {name: case for name, case in JUDGED.items() if not name.endswith(ALIKE)}


async def check(
    guard: Guard, simulated: SimulatedProvider, case: Case, topic: Topic, known: bool
) -> Verdict:
    response = topic.known if known else topic.made_up
    return await guard.acheck(response, **case.ask(topic), params=simulated.params)


@every_case
@pytest.mark.parametrize("known", [True, False], ids=["known", "made up"])
async def test_the_verdict_and_its_price(
    simulated: SimulatedProvider, case: Case, known: bool
) -> None:
    verdict = await check(case.guard(), simulated, case, TOPICS[0], known)

    assert verdict.decision == ("consistent" if known else "flagged")
    assert [step.usage.calls for step in verdict.steps][:1] == [case.price(known)]
    assert verdict.usage.calls == simulated.calls == case.price(known) + case.samples
    assert verdict.usage.prompt_tokens == simulated.prompt_tokens
    assert verdict.usage.completion_tokens == simulated.completion_tokens
    assert sum(step.undetermined for step in verdict.steps) == 0
    assert not any(step.failures or step.error for step in verdict.steps)
    assert verdict.samples == SAMPLES * case.samples


class Reasoning(Layer):
    """A server that leaves the reasoning of its models in their texts: drafts of both answers."""

    def __init__(self, opening: str = "<think>\n") -> None:
        super().__init__(LiteLLMProvider())
        self._opening = opening

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        completions = await self.inner.complete(request, n=n)
        items = [replace(c, text=self._with_draft(c.text)) for c in completions.items]
        return replace(completions, items=tuple(items))

    def _with_draft(self, text: str) -> str:
        draft = "1: supported\n2: supported\nNo.\nYes.\nIt opened on 4 July 1950 in Oslo.\n"
        return f"{self._opening}{draft}{text}\nWait: contradicted. False.\n</think>\n\n{text}"


@every_case
@pytest.mark.parametrize("known", [True, False], ids=["known", "made up"])
@pytest.mark.parametrize("opening", ["<think>\n", ""], ids=["tag", "opened in the prompt"])
async def test_reasoning_in_the_text_changes_neither_the_verdict_nor_its_price(
    case: Case, known: bool, opening: str
) -> None:
    verdicts: list[Verdict] = []
    for guard in (case.guard(), case.guard(Reasoning(opening))):
        with SimulatedProvider(seed=7) as simulated:
            verdicts.append(await check(guard, simulated, case, TOPICS[0], known))
    without, verdict = verdicts

    assert verdict.decision == ("consistent" if known else "flagged")
    assert verdict.usage.calls == without.usage.calls
    assert [s.score for s in verdict.sentences] == [s.score for s in without.sentences]
    assert sum(step.undetermined for step in verdict.steps) == 0


async def test_logprobs_weigh_the_answers(simulated: SimulatedProvider) -> None:
    case = CASES["direct_question logprobs"]
    scores = (await check(case.guard(), simulated, case, TOPICS[0], known=True)).sentences
    assert all(0 < (sentence.score or 0) < 0.05 for sentence in scores)


# Many at once


@pytest.mark.parametrize("case", EACH_METHOD.values(), ids=EACH_METHOD)
async def test_concurrent_checks_give_what_each_gives_alone(case: Case) -> None:
    guard = case.guard()
    plans = [(topic, i % 2 == 0) for i, topic in enumerate(TOPICS)]
    with SimulatedProvider(seed=7) as simulated:
        alone = [await check(guard, simulated, case, *plan) for plan in plans]
    together: dict[int, Verdict] = {}

    with SimulatedProvider(seed=7, faults=[Hang()]) as simulated:

        async def run(i: int) -> None:
            together[i] = await check(guard, simulated, case, *plans[i])

        async with anyio.create_task_group() as tasks:
            for i in range(len(plans)):
                tasks.start_soon(run, i)
            if case.calls or case.samples:
                # Nobody gets an answer before everybody has asked.
                await anyio.to_thread.run_sync(_wait_for_all, simulated)
                simulated.clear_faults()
                simulated.release()

    assert [_timeless(together[i]) for i in range(len(plans))] == list(map(_timeless, alone))
    assert [v.decision for v in alone] == ["consistent", "flagged"]


def _wait_for_all(simulated: SimulatedProvider) -> None:
    missing, count = {topic.name for topic in TOPICS}, 0
    while missing:
        count += 1
        simulated.wait_calls(count, 30)
        said = str(simulated.requests[count - 1].body)
        missing = {name for name in missing if name not in said}


def _timeless(verdict: Verdict) -> dict[str, Any]:
    found = verdict.to_dict()
    steps = [{**step, "elapsed_s": None} for step in found["steps"]]
    return {**found, "elapsed_s": None, "steps": steps}


@pytest.mark.parametrize(
    ("name", "faults", "before", "at_once"),
    [
        ("prompt per_pair", [], 1, SENTENCES * SAMPLES),
        ("prompt per_sample", [], 1, SAMPLES),
        ("prompt references", [], 0, SENTENCES),
        ("direct_question", [], 0, SENTENCES),
        ("fibe", [], 2, SENTENCES),
        ("combination", [], 0, SENTENCES + 1),
        # The exam is made and the sentences are asked about while the samples are drawn.
        ("ensemble", [], 0, 1 + SENTENCES + 1),
        # With a provider that ignores `n`, one answer is there and the others are made up for.
        ("fibe", [IgnoreN(after=1, first=1)], 1, 4),
        ("prompt paraphrase", [IgnoreN(first=1)], 0, 4),
    ],
)
async def test_independent_calls_are_in_flight_together(
    simulated: SimulatedProvider, name: str, faults: list[IgnoreN], before: int, at_once: int
) -> None:
    case = CASES[name]
    simulated.set_faults(*faults, Hang(after=before))
    verdicts: list[Verdict] = []

    async def run() -> None:
        verdicts.append(await check(case.guard(), simulated, case, TOPICS[0], known=False))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        asked = before + len(faults) + at_once
        await anyio.to_thread.run_sync(simulated.wait_calls, asked, 30)
        assert simulated.in_flight == at_once
        simulated.clear_faults()
        simulated.release()

    assert verdicts[0].decision == "flagged"


# Judges that cannot be read, and judges that fail

# Where the first unreadable answer is one that is asked for again, and how often.
GARBLED = {
    name: ({"after": 3} if name == "cross_examination" else {}, 5 if "task" in case.chain[0] else 1)
    for name, case in FAILING.items()
}


@pytest.mark.parametrize("name", FAILING)
async def test_an_unreadable_answer_is_asked_for_once_more(
    simulated: SimulatedProvider, name: str
) -> None:
    case, (where, again) = CASES[name], GARBLED[name]
    simulated.set_faults(Garbled(first=1, **where))
    verdict = await check(case.guard(), simulated, case, TOPICS[0], known=True)

    assert verdict.decision == "consistent"
    assert verdict.steps[0].usage.calls == case.calls + again
    assert verdict.steps[0].undetermined == 0


@pytest.mark.parametrize(
    ("name", "style", "again"),
    [
        ("prompt per_sample", "markdown", SAMPLES),
        ("direct_question", "empty", SENTENCES),
        # The exam itself, its five answers, and the points of each sentence.
        ("fibe", "foreign", 1 + 5 + SENTENCES),
        # The questions and the conclusion; what the examinee says is taken as it comes.
        ("cross_examination", "prose", 2),
        ("zero_shot", "refusal", 1),
        ("reverse_validation question", "empty", 3),
        ("reverse_validation matching", "empty", 3),
    ],
)
async def test_every_answer_may_be_unreadable_at_first(
    simulated: SimulatedProvider, name: str, style: GarbledStyle, again: int
) -> None:
    case = CASES[name]
    simulated.set_faults(Garbled(style))
    verdict = await check(case.guard(), simulated, case, TOPICS[0], known=False)

    assert verdict.decision == "flagged"
    assert verdict.steps[0].usage.calls == case.price(known=False) + again
    assert verdict.steps[0].undetermined == 0


# How many answers are left undetermined, of how many calls.
UNDETERMINED = {
    "prompt together": (SENTENCES, 1),
    "prompt per_pair": (SENTENCES * SAMPLES, SENTENCES * SAMPLES),
    "prompt per_sample": (SENTENCES * SAMPLES, SAMPLES),
    "prompt references": (SENTENCES, SENTENCES),
    "prompt paraphrase": (5, 1),
    "fibe": (SENTENCES, 1),
    "direct_question": (SENTENCES, SENTENCES),
    "reverse_validation question": (1, 1),
    "reverse_validation matching": (1, 1),
    "cross_examination": (1, 1),
    "zero_shot": (1, 1),
    "semantic": (SENTENCES * SAMPLES, SAMPLES),
    "snowballing": (SENTENCES, SENTENCES),
    "leaning": (SENTENCES, SENTENCES),
    "ensemble": (SENTENCES * (SAMPLES + 2), 1 + SAMPLES + SENTENCES),
    "combination": (SENTENCES + 1, SENTENCES + 1),
}


@pytest.mark.parametrize("name", FAILING)
async def test_unreadable_answers_stay_undetermined_without_restating(
    simulated: SimulatedProvider, name: str
) -> None:
    undetermined, calls = UNDETERMINED[name]
    case = CASES[name]
    simulated.set_faults(Garbled())
    verdict = await check(case.guard(restate=False), simulated, case, TOPICS[0], known=True)

    step = verdict.steps[0]
    assert verdict.decision == "inconclusive"
    assert (step.undetermined, step.usage.calls, step.failures) == (undetermined, calls, {})
    assert step.error is not None
    assert step.error in verdict.reason


@pytest.mark.parametrize("case", FAILING.values(), ids=FAILING)
async def test_a_failing_judge_is_never_wrong(simulated: SimulatedProvider, case: Case) -> None:
    for known, answered in ((True, 0), (True, case.calls - 1), (False, case.calls + case.more - 1)):
        simulated.set_faults(ServerError(only="judge", after=answered))
        verdict = await check(case.guard(), simulated, case, TOPICS[0], known)

        assert verdict.decision == "inconclusive" or answered
        assert verdict.decision in ("inconclusive", "consistent" if known else "flagged")
        assert verdict.steps[0].failures.keys() == {"ProviderError: HTTP 500"}


# Chains


async def test_a_chain_of_three_methods(simulated: SimulatedProvider) -> None:
    case = Case(({**LISTED, "settle": {"below": 0.1}}, DIRECT, SNOWBALLING))
    first, *others = (wordings[0] for wordings in World.default().subjects[0].wordings)
    response = " ".join([first, "It is held together by 31,415 hand-driven rivets.", *others])
    topic = replace(TOPICS[0], known=response)
    verdict = await check(case.guard(), simulated, case, topic, known=True)

    assert verdict.flagged
    assert [s.flagged for s in verdict.sentences] == [False, True, False, False]
    assert [step.sentences for step in verdict.steps] == [4, 1, 4]
    assert [step.usage.calls for step in verdict.steps] == [SAMPLES, 1, 0]
    by = ["prompt", "direct_question", "snowballing", "snowballing"]
    assert [s.by for s in verdict.sentences] == by
    assert verdict.usage.calls == simulated.calls == 1 + SAMPLES + 1


async def test_a_chain_whose_second_judge_fails_is_inconclusive(
    simulated: SimulatedProvider,
) -> None:
    case = Case(({**LISTED, "settle": {"below": 0.1}}, DIRECT, SNOWBALLING))
    simulated.set_faults(ServerError(only="judge", after=SAMPLES))
    verdict = await check(case.guard(), simulated, case, TOPICS[0], known=False)

    assert verdict.decision == "inconclusive"
    assert "direct_question: 2 of 2 questions failed (ProviderError: HTTP 500 x2)" in verdict.reason
    assert not verdict.flagged_sentences
