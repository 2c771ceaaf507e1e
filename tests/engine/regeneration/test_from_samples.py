from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from resay import Answer, Guard, Policy, Request, Usage
from resay.adapters import Regenerate
from resay.errors import ConfigurationError, PolicyError, ProviderTimeoutError
from resay.plugins import Completion, Completions
from resay.testing import SimulatedProvider, Subject, World
from support.alone import needs

pytestmark = pytest.mark.anyio


QUESTION = "Tell me about the Old Mill."
RIGHT = "The Old Mill was built in 1801."
WHEEL = "Its wheel measures 7 metres."
WRONG = "The Old Mill was built in 1845."
DRAFT = f"{WRONG} {WHEEL}"
CORRECTION = "Sentences of an answer are in doubt."


class Model:
    """Draws samples, writes sentences, and answers questions, as a test wants."""

    def __init__(
        self,
        written: str | Exception = f"1: {RIGHT}",
        *,
        draft: str = DRAFT,
        sample: str | Callable[[int], str] = f"{RIGHT} {WHEEL}",
        answer: Callable[[str], str] = lambda prompt: "1801",
        quiz: str = "1: In which year was the Old Mill built? | 1845",
    ) -> None:
        self.written = written
        self.quiz = quiz
        self.draft = draft
        self.sample = sample
        self.answer = answer
        self.prompts: list[str] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        return Completions((Completion(self._say(request)),), Usage(1, 10, 10))

    def _say(self, request: Request) -> str:
        asked = request.question
        if asked == QUESTION:
            if not request.varied:
                return self.draft
            said = self.sample if isinstance(self.sample, str) else self.sample(request.index)
            return f"{said} That is what note {request.index} of the archive says about it."
        self.prompts.append(asked)
        if asked.startswith((CORRECTION, "Shorten sentences")):
            if isinstance(self.written, Exception):
                raise self.written
            return self.written
        if asked.startswith("Prepare a quiz"):
            return self.quiz
        return self.answer(asked)


async def repaired(
    model: Model, mode: str = "repair", *, question: str | Request = QUESTION, **policy: Any
) -> Answer:
    action = {"do": "regenerate", "from": "samples", "mode": mode, **policy.pop("action", {})}
    basic = {"chain": [{"method": "facts"}], "limits": {"retries": 0}, "action": action}
    return await Guard({**basic, **policy}, provider=model).aask(question)


async def test_the_prompt_lists_the_facts_in_doubt_and_what_samples_say_instead() -> None:
    model = Model()
    answer = await repaired(model)
    assert answer.text == f"{RIGHT} {WHEEL}"
    assert (answer.action, answer.regenerated, answer.flagged) == ("regenerate", True, False)
    (prompt,) = model.prompts
    assert f'1. {WRONG}\n   in doubt: "1845"\n   other answers: {RIGHT} (x5)' in prompt
    assert f">\n{QUESTION}\n</question-" in prompt
    told = answer.verdict.regeneration
    assert told is not None
    assert (told.by, told.mode, told.adopted, told.draft) == ("samples", "repair", 0, DRAFT)
    assert [(edit.before, edit.after) for edit in told.edits] == [(WRONG, RIGHT)]
    (attempt,) = told.attempts
    assert attempt.decision == "consistent"
    assert attempt.score_before is not None
    assert attempt.score_after is not None
    assert attempt.score_after < attempt.score_before
    assert (attempt.usage.calls, attempt.documents) == (1, ())
    # The check is not made anew: the same samples, and only what is new.
    assert answer.verdict.usage.calls == answer.verdict.samples + 1


IN_PART = "The Old Mill was built in 1845, and its wheel measures 7 metres."
BY_PASSAGE: dict[str, Any] = {"threshold": {"passage": 0.2, "sentence": None}}


def named_in_doubt(prompt: str) -> list[str]:
    return [named for line in prompt.split("\n") for named in line.split("   in doubt: ")[1:]]


@pytest.mark.parametrize(
    ("draft", "policy", "expected"),
    [
        (IN_PART, {}, ['"1845"']),
        # Without a flagged claim, nothing is told from the rest.
        (IN_PART, BY_PASSAGE, [IN_PART]),
        ("Built: 1845\nWheel: 7 metres", {}, ['"1845"']),
        ("Built: 1845\nWheel: 7 metres", BY_PASSAGE, ["Built: 1845", "Wheel: 7 metres"]),
    ],
)
async def test_the_writer_reads_which_words_of_a_sentence_are_in_doubt(
    draft: str, policy: dict[str, Any], expected: list[str]
) -> None:
    model = Model("1: The Old Mill was built in 1801.", draft=f"{draft}\n\n{RIGHT}")
    answer = await repaired(model, **policy)
    assert answer.regenerated
    (prompt,) = model.prompts
    assert named_in_doubt(prompt) == expected


async def test_a_writer_may_use_two_tokens_for_each_character_of_a_sentence() -> None:
    limits: list[int] = []

    class Limited(Model):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if request.question.startswith(CORRECTION):
                limits.append(request.params["max_tokens"])
            return await super().complete(request, n=n)

    wrong = f"The Old Mill, {'which is old, ' * 50}was built in 1845."
    await repaired(Limited(draft=f"{wrong} {WHEEL}"), action={"attempts": 1})
    assert limits
    assert min(limits) >= 2 * len(wrong)


async def test_to_each_doubt_belongs_what_samples_say_about_it() -> None:
    wheel = "It has 90 sails, and its wheel measures 8 metres."
    model = Model(
        "1: It has 4 sails, and its wheel measures 7 metres.",
        draft=f"{RIGHT} {wheel}",
        sample=f"{RIGHT} It has 4 sails. {WHEEL}",
    )
    answer = await repaired(model)
    assert answer.text == f"{RIGHT} It has 4 sails, and its wheel measures 7 metres."
    (prompt,) = model.prompts
    assert (
        f'1. {wheel}\n   in doubt: "90 sails"\n   other answers: It has 4 sails. (x5)\n'
        f'   in doubt: "8 metres"\n   other answers: {WHEEL} (x5)\n'
    ) in prompt


class JudgingModel(Model):
    """Finds the words "in 1845" wrong, and everything else right."""

    def _say(self, request: Request) -> str:
        prompt = request.question
        if "<claims-" not in prompt:
            return super()._say(request)
        listed = prompt.partition("<claims-")[2].partition("</claims-")[0]
        claims = re.findall(r"^(\d+)\. (.*)$", listed, re.MULTILINE)
        samples = [int(number) for number in re.findall(r'<sample-\w+ number="(\d+)">', prompt)]
        rows: list[dict[str, object]] = []
        for number, claim in claims:
            row: dict[str, object] = {"claim": int(number), "supported_by": samples}
            if "1845" in claim:
                row = {
                    "claim": int(number),
                    "supported_by": [],
                    "contradicted_by": samples,
                    "words": "in 1845",
                    "quote": "in 1801",
                }
            rows.append(row)
        return json.dumps(rows)


async def test_the_words_that_a_judge_finds_wrong_are_named_to_the_writer() -> None:
    model = JudgingModel(f"1: {IN_PART.replace('1845', '1801')}", draft=f"{IN_PART} {RIGHT}")
    answer = await repaired(model, chain=[{"method": "prompt"}])
    assert answer.text == f"{IN_PART.replace('1845', '1801')} {RIGHT}"
    (prompt,) = model.prompts
    assert named_in_doubt(prompt) == ['"in 1845"']
    assert f"   other answers: {RIGHT} (x5)\n" in prompt


async def test_the_writer_reads_the_beginning_of_a_long_answer() -> None:
    draft = f"{DRAFT} {' '.join(f'It has a room {i}.' for i in range(300))}"
    model = Model(draft=draft, sample=draft.replace(WRONG, RIGHT))
    answer = await repaired(model)
    assert answer.text == draft.replace(WRONG, RIGHT)
    assert f"\n{draft[:4000]} […]\n" in model.prompts[0]


async def test_an_answer_that_is_no_better_is_not_given() -> None:
    model = Model(f"1: {WRONG.replace('1845', '1846')}")
    answer = await repaired(model)
    assert (answer.text, answer.action, answer.flagged) == (DRAFT, "annotate", True)
    told = answer.verdict.regeneration
    assert told is not None
    assert told.adopted is None
    assert [attempt.decision for attempt in told.attempts] == ["flagged", "flagged"]
    blocked = await repaired(model, action={"otherwise": "block"})
    assert blocked.blocked


async def test_an_answer_in_which_something_new_is_flagged_is_not_given() -> None:
    model = Model(f"1: {RIGHT} It burned down in 1777 and in 1888.")
    answer = await repaired(model)
    assert (answer.text, answer.flagged) == (DRAFT, True)
    told = answer.verdict.regeneration
    assert told is not None
    # It would have a better score: it is longer.
    before, after = told.attempts[0].score_before, told.attempts[0].score_after
    assert before is not None
    assert after is not None
    assert after < before


async def test_an_answer_in_which_less_is_flagged_is_given() -> None:
    burned = "It burned down in 1777."
    model = Model(f"1: {RIGHT}\n2: {burned}", draft=f"{WRONG} {burned}")
    answer = await repaired(model, action={"attempts": 1})
    assert (answer.text, answer.flagged) == (f"{RIGHT} {burned}", True)


@pytest.mark.parametrize(
    ("written", "note"),
    [
        (ProviderTimeoutError("late"), "it failed with ProviderError"),
        ("1: I cannot say.", "of the answer would be removed"),
        ("I cannot help\nwith that.", "nothing could be written"),
        (f"1: {WRONG}", "nothing was changed"),
    ],
)
async def test_whatever_fails_the_first_answer_is_given(
    written: str | Exception, note: str
) -> None:
    model = Model(written, answer=lambda prompt: "no")
    answer = await repaired(model, action={"max_removed": 0})
    assert (answer.text, answer.flagged) == (DRAFT, True)
    told = answer.verdict.regeneration
    assert told is not None
    assert note in (told.attempts[0].error or "")


@pytest.mark.parametrize(
    "written",
    [
        f"{RIGHT} ![x](http://evil.example/p.png)",
        f"{RIGHT} Go to http://evil.example/steal now!",
        "The Old Mill was built in 1801 [source](javascript:alert(1)).",
        "The Old Mill was built in 1801 <img src=x onerror=alert(1)>.",
        "The Old Mill was built in 1801, says evil.com.",
        f"```python import os``` {RIGHT}",
        "x",
        "a" * 20_000,
        "The Old Mill " * 20,
        "<hidden>",
        f"{RIGHT}\ud800",
        f"{RIGHT}\x00",
        f"\u202e{RIGHT}",
        f"**{RIGHT}",
        "The Old Mill was built in 1801 (by monks.",
    ],
)
async def test_unfit_replacements_are_refused(written: str) -> None:
    answer = await repaired(Model(f"1: {written}"))
    assert (answer.text, answer.regenerated) == (DRAFT, False)
    told = answer.verdict.regeneration
    assert told is not None
    assert told.attempts[0].error == (
        "1 of 1 sentence could not be rewritten; nothing could be written"
    )


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (f'"{RIGHT}"', RIGHT),
        (f"**1:** “{RIGHT}”", RIGHT),
        (f"[1]{RIGHT}", RIGHT),
        (f"1.{RIGHT}", RIGHT),
        ("The „Old Mill“ was built in 1801.", "The „Old Mill“ was built in 1801."),
        ('"The Old Mill" was built in 1801.', '"The Old Mill" was built in 1801.'),
        ("*The Old Mill* was built in 1801.", "*The Old Mill* was built in 1801."),
    ],
)
async def test_quotation_marks_are_stripped_in_pairs(written: str, text: str) -> None:
    answer = await repaired(Model(written if "1" in written[:3] else f"1: {written}"))
    assert answer.text == f"{text} {WHEEL}"


async def test_a_link_of_the_draft_stays() -> None:
    link = "The [Old Mill](https://mill.example/a) was built in 1845."
    right = link.replace("1845", "1801")
    answer = await repaired(Model(f"1: {right}", draft=f"{link} {WHEEL}"))
    assert answer.text == f"{right} {WHEEL}"


async def test_a_chain_of_verification_asks_without_the_answer_in_sight() -> None:
    model = Model()
    answer = await repaired(model, "verify")
    assert answer.text == f"{RIGHT} {WHEEL}"
    quiz, *questions, last = model.prompts
    assert quiz.startswith("Prepare a quiz")
    assert len(questions) == 3
    assert not any(WRONG in prompt or "1845" in prompt for prompt in questions)
    assert last.startswith(CORRECTION)
    assert "   asked: In which year was the Old Mill built?\n   answered: 1801 (x3)\n" in last
    model = Model(answer=lambda prompt: "I don't know.")
    assert (await repaired(model, "verify")).text == f"{RIGHT} {WHEEL}"
    assert "   answered: I don't know (x3)\n" in model.prompts[-1]
    assert re.search(r"<sentences-[0-9a-f]{16}>", model.prompts[-1])
    # Without an answer nothing is written.
    model = Model(quiz="1: none")
    unasked = await repaired(model, "verify", action={"attempts": 1})
    assert (unasked.text, len(model.prompts)) == (DRAFT, 1)
    told = unasked.verdict.regeneration
    assert told is not None
    assert told.attempts[0].error == "1 of 1 have no evidence; nothing could be written"


async def test_questions_are_asked_with_both_ends_of_the_conversation() -> None:
    before = "".join(f"{i}," for i in range(2000))
    turns = ({"role": "user", "content": before}, {"role": "user", "content": QUESTION})
    model = Model()
    answer = await repaired(model, "verify", question=Request(turns))
    assert answer.text == f"{RIGHT} {WHEEL}"
    beginning, end = before[: 1000 - len("user: ")], before[len(f"user: {QUESTION}") - 3000 :]
    assert f"user: {beginning}\n[…] {end}\nuser: {QUESTION}\n" in model.prompts[0]


async def test_consistent_claims_are_kept_and_contradicted_ones_dropped_without_a_call() -> None:
    model = Model()
    answer = await repaired(model, "consistent")
    assert (answer.text, answer.action) == (WHEEL, "regenerate")
    assert model.prompts == []
    told = answer.verdict.regeneration
    assert told is not None
    assert [(edit.before, edit.after) for edit in told.edits] == [(WRONG, "")]
    # Where only the passage is flagged, the sentences over its threshold are.
    model = Model(draft=f"{IN_PART} {RIGHT} {WHEEL}")
    answer = await repaired(model, "consistent", **BY_PASSAGE)
    assert (answer.text, model.prompts) == (f"{RIGHT} {WHEEL}", [])


@pytest.mark.parametrize(
    ("wheel", "hedge"),
    [
        (WHEEL, "uncertain"),
        ("Das Rad der Mühle misst 7 Meter.", "unsicher"),
        # Nobody can tell in which language this is.
        ("Wheel: 7 metres.", "uncertain"),
    ],
)
async def test_doubtful_claims_are_hedged_once(wheel: str, hedge: str) -> None:
    def sample(index: int) -> str:
        return f"{RIGHT} {wheel.replace('7', '9') if index < 2 else wheel}"

    policy: dict[str, Any] = {"threshold": {"sentence": 0.6, "passage": None, "doubtful": 0.2}}
    model = Model(sample=sample, draft=f"{WRONG} {wheel}")
    answer = await repaired(model, "consistent", **policy)
    assert answer.text == f"{wheel[:-1]} ({hedge})."
    (hedged,) = answer.verdict.sentences
    assert hedged.band == "doubtful"
    told = answer.verdict.regeneration
    assert told is not None
    assert len(told.attempts) == 1


async def test_a_hedge_is_put_before_whatever_closes_a_sentence() -> None:
    # So many that a search from each of them would not end.
    marks = "*_" * 25_000
    told = f"Its wheel measures 7 metres{marks}x{marks}"

    def sample(index: int) -> str:
        return f"{RIGHT} {WHEEL.replace('7', '9') if index < 2 else WHEEL}"

    policy: dict[str, Any] = {"threshold": {"sentence": 0.6, "passage": None, "doubtful": 0.2}}
    model = Model(sample=sample, draft=f"{WRONG} {told}.*")
    answer = await repaired(model, "consistent", **policy)
    assert answer.text.endswith("_ (uncertain).*")


async def test_of_a_sentence_that_is_wrong_in_part_the_rest_is_kept() -> None:
    draft = f"{IN_PART} {RIGHT}"
    model = Model("1: Its wheel measures 7 metres.", draft=draft)
    answer = await repaired(model, "consistent")
    assert answer.text == f"{WHEEL} {RIGHT}"
    (prompt,) = model.prompts
    assert f'1. {IN_PART}\n   leave out: "1845"\n   keep: the rest\n' in prompt
    # What cannot be shortened is dropped.
    answer = await repaired(Model("no", draft=draft), "consistent", action={"max_removed": 0.9})
    assert answer.text == RIGHT


@pytest.mark.parametrize(
    ("mode", "draft", "written", "left"),
    [
        (
            "repair",
            "Mill: Old Mill\r\nBuilt: 1845\r\nWheel: 7 metres",
            "Mill: Old Mill Built: 1801 Wheel: 7 metres",
            "Mill: Old Mill\r\nBuilt: 1801\r\nWheel: 7 metres",
        ),
        (
            "consistent",
            "> Mill: Old Mill\n> Built: 1845\n> Wheel: 7 metres\n",
            "Mill: Old Mill Wheel: 7 metres",
            "> Mill: Old Mill\n> Wheel: 7 metres\n",
        ),
        (
            "consistent",
            "| Mill | Built | Wheel |\n|---|---|---|\n| Old Mill | 1845 | 7 metres |\n",
            "| Old Mill | | 7 metres |",
            "| Mill | Built | Wheel |\n|---|---|---|\n| Old Mill | | 7 metres |\n",
        ),
    ],
)
async def test_fields_and_rows_keep_their_form(
    mode: str, draft: str, written: str, left: str
) -> None:
    answer = await repaired(Model(f"1: {written}", draft=draft), mode)
    assert answer.text == left


async def test_where_nothing_is_left_the_answer_says_so() -> None:
    answer = await repaired(Model(draft=WRONG), "consistent")
    assert answer.text == "I do not know this for certain."
    assert answer.verdict.skipped
    assert answer.verdict.reason == "nothing that the answer said could be confirmed"
    told = answer.verdict.regeneration
    assert told is not None
    assert told.abstains
    assert [attempt.decision for attempt in told.attempts] == ["skipped"]
    table = "| mill | x |\n|---|---|\n"
    answer = await repaired(Model(draft=f"{table}| {WRONG} | y |\n"), "consistent")
    assert answer.text == f"{table}| I do not know this for certain. | |\n"
    own = {"abstention": "not known | not known"}
    answer = await repaired(Model(draft=f"{table}| {WRONG} | y |\n"), "consistent", action=own)
    assert answer.text == f"{table}| not known | not known |\n"
    silent = await repaired(Model(draft=WRONG), "consistent", action={"abstention": None})
    assert (silent.text, silent.flagged) == (WRONG, True)


async def test_a_stream_goes_on_with_the_repaired_answer() -> None:
    action = {"do": "regenerate", "from": "samples"}
    policy = {"chain": [{"method": "facts"}], "action": action}
    draft = f"{WHEEL} {WRONG}"
    async with Guard(policy, provider=Model(draft=draft)).astream(QUESTION) as stream:
        parts = [part.text async for part in stream]
    assert "".join(parts) == f"{WHEEL} {RIGHT}"
    assert stream.answer.regenerated


async def test_what_a_document_supports_is_by_the_document_after_a_repair_too() -> None:
    document = f"{RIGHT} It stands on a hill."
    judgement = '[{"claim": 1, "supported_by": [1]}, {"claim": 2, "contradicted_by": [1]}]'
    model = Model(draft=f"{RIGHT} {WHEEL}", answer=lambda prompt: judgement)
    guard = Guard(
        {
            "chain": [{"method": "prompt"}],
            "action": {"do": "regenerate", "from": "samples", "mode": "consistent"},
        },
        provider=model,
    )
    repair = await guard.aask(QUESTION, references=[document])
    assert (repair.text.strip(), repair.action) == (RIGHT, "regenerate")
    assert repair.verdict.reason.endswith("by 1 reference")
    assert [reference.text for reference in repair.verdict.references] == [document]


@needs("litellm")
async def test_a_simulated_model_repairs_what_another_contradicts() -> None:
    wrong = World([Subject("Old Mill", (), ["The Old Mill was built in 1801 by monks."])])
    known = World([Subject("Old Mill", (), ["The Old Mill was built in 1799 by monks."])])
    with SimulatedProvider(world=wrong) as own, SimulatedProvider(world=known) as other:
        policy = {
            "chain": [{"method": "facts"}],
            "second_opinion": {"model": "openai/simulated", "params": other.params},
            "action": {"do": "regenerate", "from": "samples", "mode": "consistent"},
        }
        answer = await Guard(policy, model="openai/simulated").aask(QUESTION, params=own.params)
    assert answer.text == "I do not know this for certain."


def test_a_policy_says_what_the_new_answer_is_written_from() -> None:
    policy = Policy.parse("chain: [{method: facts}]\naction: {do: regenerate, from: samples}")
    assert isinstance(policy.action, Regenerate)
    assert (policy.action.from_, policy.action.mode) == ("samples", "repair")
    assert Policy.of(policy.model_dump()) == policy
    for action, message in (
        (
            "from: samples, mode: rewrite",
            "must be repair, verify or consistent, not 'rewrite'",
        ),
        ("mode: verify", "with `from: documents`, mode must be repair or rewrite, not 'verify'"),
        ("from: samples, retriever: 'a:b'", "`retriever` is about documents"),
        ("from: files", "must be 'documents' or 'samples'|documents"),
    ):
        with pytest.raises(PolicyError, match=message):
            Policy.parse(f"chain: [{{method: facts}}]\naction: {{do: regenerate, {action}}}")
    action = {"do": "regenerate", "from": "samples"}
    with pytest.raises(ConfigurationError, match="no method of the chain compares with samples"):
        Guard({"chain": [{"method": "zero_shot"}], "action": action})
    with pytest.raises(ConfigurationError, match="omit `retriever`"):
        Guard({"chain": [{"method": "facts"}], "action": action}, retriever=lambda query: [])
