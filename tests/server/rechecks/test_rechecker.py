"""A recorded answer is checked again with what it was checked with then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from resay import Guard, Policy, Verdict
from resay.errors import ConfigurationError
from resay.plugins import RecordedEvidence, Reference
from resay.testing import ScriptedProvider
from resay_server.journal import Entry, Journal, JournalSink
from resay_server.rechecks import (
    Rechecker,
    UncheckableEntryError,
    calls_reason,
    guard_for_rechecks,
)
from support.journal import entry

pytestmark = pytest.mark.anyio
QUESTION = "What do you know about the bridge?"
ANSWER = """The bridge opened in 1932.

- It has 31 lamps.
- It weighs 40 tons

| part | length |
|---|---|
| arch | 503 m |

It carries `trains` and cars."""
SAMPLES = [
    ANSWER.replace("31", "30").replace("503", "490"),
    ANSWER.replace("31", "29"),
    ANSWER.replace("40 tons", "41 tons"),
]
CONTEXT = [
    {"role": "system", "content": "Context: [1] The bridge opened in 1932 and has 30 lamps."},
    {"role": "user", "content": QUESTION},
]


@pytest.fixture
def url(tmp_path: Any) -> str:
    """An empty database."""
    return f"sqlite:///{tmp_path / 'journal.db'}"


async def recorded(journal: Journal, policy: Any, **arguments: Any) -> tuple[Entry, Any]:
    """Check an answer, and return what the journal has of it."""
    guard = Guard(policy, sinks=[JournalSink(journal)])
    await guard.acheck(ANSWER, **arguments)
    await guard.aclose()
    (item,) = await journal.recent()
    return item, (await journal.evidence(item.id)).get(item.id)


def rechecker(policy: Any, **options: Any) -> Rechecker:
    return Rechecker(guard_for_rechecks(Policy.of(policy)), **options)


def same(verdict: Verdict, item: Entry) -> bool:
    """Return whether a verdict is the recorded one, apart from its time."""
    old = Verdict.from_dict(item.verdict)

    def timeless(verdict: Verdict) -> Verdict:
        steps = tuple(replace(step, elapsed_s=0.0) for step in verdict.steps)
        return replace(verdict, elapsed_s=0.0, steps=steps, references=())

    return timeless(verdict).to_dict() == timeless(old).to_dict()


@pytest.mark.parametrize(
    "policy",
    [
        {"chain": [{"method": "facts"}]},
        {"chain": [{"method": "ngram"}], "threshold": {"passage": 0.3}},
        {"chain": [{"method": "ngram", "settle": {"below": 0.2}}, {"method": "facts"}]},
        {"chain": [{"method": "facts"}], "action": {"do": "block"}, "when": {"min_chars": 20}},
    ],
)
async def test_the_same_policy_comes_to_the_same_verdict(
    opened: Callable[..., Journal], policy: Any
) -> None:
    item, evidence = await recorded(
        opened(content="all"), policy, question=QUESTION, samples=SAMPLES
    )
    assert same(await rechecker(policy).check(item, evidence), item)


@pytest.mark.parametrize(
    "arguments",
    [
        {"question": QUESTION, "references": ["The bridge opened in 1932 and has 30 lamps."]},
        {"question": CONTEXT},
    ],
)
async def test_recorded_references_are_compared_with_again(
    opened: Callable[..., Journal], arguments: Any
) -> None:
    policy = {"chain": [{"method": "facts"}]}
    item, evidence = await recorded(opened(content="all"), policy, samples=SAMPLES, **arguments)
    assert evidence.references
    verdict = await rechecker(policy).check(item, evidence)
    assert (verdict.decision, verdict.score) == (item.decision, item.score)
    none = {**policy, "references": {"from": []}}
    assert verdict.references
    assert not (await rechecker(none).check(item, evidence)).references


async def test_another_policy_comes_to_another_verdict(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    item, evidence = await recorded(
        journal, {"chain": [{"method": "facts"}]}, question=QUESTION, samples=SAMPLES
    )
    assert item.decision == "flagged"
    lenient = {"chain": [{"method": "facts"}], "threshold": {"passage": 1, "sentence": 1}}
    verdict = await rechecker(lenient).check(item, evidence)
    assert verdict.decision == "consistent"
    # What was recorded stays.
    assert await journal.recent() == [item]


async def test_references_that_need_not_be_used_are_not_binding() -> None:
    reference = Reference("It has 31 lamps.", "messages[0]", "messages", binding=False)
    evidence = RecordedEvidence(
        response="It opened in 1932.", samples=("It opened in 1932.",) * 3, references=(reference,)
    )
    item = entry(Verdict("consistent", 0.0, ""))
    policy = {"chain": [{"method": "facts"}]}
    assert (await rechecker(policy).check(item, evidence)).decision == "consistent"
    binding = replace(evidence, references=(replace(reference, binding=True),))
    assert (await rechecker(policy).check(item, binding)).decision == "flagged"


def judge() -> ScriptedProvider:
    return ScriptedProvider(lambda request: '{"1": {"contradicts": [1, 2, 3]}}')


async def test_a_judge_is_asked_only_if_the_operator_says_so() -> None:
    policy = Policy.of({"chain": [{"method": "prompt"}]})
    guard = guard_for_rechecks(policy).with_options(provider=judge(), model="acme/judge")
    assert calls_reason(guard) == "method 'prompt' asks a judge"
    with pytest.raises(ConfigurationError, match="'prompt' asks a judge, and no model may"):
        Rechecker(guard)
    evidence = RecordedEvidence(response="It opened in 1947.", samples=("It opened in 1932.",) * 3)
    item = entry(Verdict("consistent", 0.0, ""))
    verdict = await Rechecker(guard, calls=True).check(item, evidence)
    assert verdict.decision == "flagged"
    assert verdict.usage.calls == 1


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ({"chain": [{"method": "facts"}]}, None),
        ({"chain": [{"method": "ngram"}]}, None),
        ({"chain": [{"method": "facts"}], "claims": "model"}, "`claims: model` asks"),
        ({"chain": [{"method": "facts"}], "second_opinion": "acme/m"}, "`second_opinion` asks"),
        ({"chain": [{"method": "facts"}], "references": {"by": "judge"}}, "`references.by: judge`"),
        ({"chain": [{"method": "p_true"}]}, "method 'p_true' asks"),
    ],
)
def test_it_knows_which_policies_ask_a_model(policy: Any, reason: str | None) -> None:
    given = calls_reason(guard_for_rechecks(Policy.of(policy)))
    assert given is None if reason is None else (given or "").startswith(reason)


async def test_no_model_is_called_without_leave() -> None:
    def refuse(request: object) -> str:
        raise AssertionError

    provider = ScriptedProvider(refuse)
    guard = Guard({"chain": [{"method": "facts"}]}, provider=provider, model="acme/large")
    evidence = RecordedEvidence(response="It opened in 1947.", samples=("It opened in 1932.",))
    verdict = await Rechecker(guard).check(entry(Verdict("consistent", 0.0, "")), evidence)
    assert verdict.samples == 1
    assert verdict.usage.calls == 0


def test_a_judge_that_nobody_names_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"name the judge in the policy \(`judge:`\)"):
        rechecker({"chain": [{"method": "p_true"}]}, calls=True)
    rechecker({"chain": [{"method": "p_true", "judge": "acme/judge"}]}, calls=True)


def test_probabilities_are_not_recorded() -> None:
    with pytest.raises(ConfigurationError, match="token probabilities, which are not recorded"):
        rechecker({"chain": [{"method": "logprobs"}]})


FIELDS = Guard({"chain": [{"method": "facts"}]}).check(
    '{"city": "Paris"}',
    samples=['{"city": "Rome"}'] * 3,
    params={"response_format": {"type": "json_object"}},
)


@pytest.mark.parametrize(
    ("verdict", "evidence", "reason"),
    [
        (Verdict("consistent", 0.0, ""), None, "text of the answer is not stored"),
        (
            Verdict("consistent", 0.0, ""),
            RecordedEvidence(response="It opened."),
            "no samples are stored",
        ),
        (FIELDS, RecordedEvidence(samples=("x",)), "an object, not a text"),
    ],
)
async def test_what_was_not_stored_cannot_be_checked(
    verdict: Verdict, evidence: RecordedEvidence | None, reason: str
) -> None:
    with pytest.raises(UncheckableEntryError, match=reason):
        await rechecker({"chain": [{"method": "facts"}]}).check(entry(verdict), evidence)


async def test_the_text_of_an_earlier_versions_entry_is_put_together() -> None:
    verdict = Guard({"chain": [{"method": "facts"}]}).check(
        "It opened in 1932. It has 31 lamps.", samples=["It opened in 1932. It has 31 lamps."] * 3
    )
    evidence = RecordedEvidence(samples=("It opened in 1932. It has 30 lamps.",) * 3)
    again = await rechecker({"chain": [{"method": "facts"}]}).check(entry(verdict), evidence)
    assert [claim.flagged for claim in again.claims] == [False, True]


async def test_a_guards_own_sinks_get_nothing() -> None:
    class Failing:
        async def on_verdict(self, record: object) -> None:
            raise AssertionError

    calls: list[Verdict] = []
    guard = Guard({"chain": [{"method": "facts"}]}, sinks=[Failing()], on_verdict=calls.append)
    evidence = RecordedEvidence(response="It opened in 1947.", samples=("It opened in 1932.",) * 3)
    await Rechecker(guard, calls=True).check(entry(Verdict("consistent", 0.0, "")), evidence)
    await guard.aclose()
    assert calls == []
