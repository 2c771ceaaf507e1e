"""A judge that is asked about all claims and several samples in one call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Passage, PolicyError, Request, Verdict
from resay.lang.language import languages, load
from resay.plugins import Completion, Completions, Evidence, Sample, Samples
from resay.scorers.common.together import answer_beside, render
from resay.scorers.prompt import Prompt
from support.judge_cost import judged

pytestmark = pytest.mark.anyio

ANSWER = "The bridge opened in 1923 and is red. It has six lanes."
SAMPLES = [
    "The bridge opened in 1932. It is red.",
    "It opened in 1932, and it has six lanes.",
    "The red bridge with six lanes opened in 1932.",
]
_TEXT = re.compile(r'<sample-\w+ number="(\d+)">\n(.*?)\n</sample-\w+>', re.DOTALL)
_CLAIM = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


class Judge:
    """Answers by a function of the claims and the samples it is shown."""

    def __init__(self, answer: Callable[[Sequence[str], dict[int, str]], Any]) -> None:
        self.answer = answer
        self.prompts: list[str] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        prompt = request.messages[0]["content"]
        self.prompts.append(prompt)
        shown = {int(number): text for number, text in _TEXT.findall(prompt)}
        claims = prompt.partition("<claims-")[2].partition("</claims-")[0]
        answer = self.answer([text for _, text in _CLAIM.findall(claims)], shown)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Completions((Completion(text),))


def of_years(claims: Sequence[str], samples: dict[int, str]) -> list[dict[str, Any]]:
    """Find 1923 wrong, and support other claims by the samples that have their last word."""
    rows: list[dict[str, Any]] = []
    for number, claim in enumerate(claims, 1):
        row: dict[str, Any] = {"claim": number, "supported_by": [], "contradicted_by": []}
        if "1923" in claim:
            row |= {"contradicted_by": list(samples), "words": "1923", "quote": "opened in 1932"}
        else:
            row["supported_by"] = [n for n, text in samples.items() if "six lanes" in text]
        rows.append(row)
    return rows


async def checked(judge: Judge, answer: str = ANSWER, **settings: Any) -> Verdict:
    step = {"method": "prompt", "mode": "together"}
    policy = {"chain": [step], "cache": {"store": "none"}, **settings}
    guard = Guard(policy, provider=judge, model="m")
    return await guard.acheck(answer, question="What do you know of it?", samples=SAMPLES)


@pytest.mark.parametrize(("chars", "calls"), [(24_000, 1), (24_001, 2)])
async def test_samples_of_24000_characters_fit_into_one_prompt(chars: int, calls: int) -> None:
    judge = Judge(of_years)
    policy = {"chain": [{"method": "prompt", "mode": "together"}], "cache": {"store": "none"}}
    samples = ["It opened. ".ljust(size, "x") for size in (12_000, chars - 12_000)]
    sampling = {"min": 2, "max": 2}
    guard = Guard(policy | {"sampling": sampling}, provider=judge, model="m")
    await guard.acheck("It has six lanes.", question="What is it?", samples=samples)
    assert len(judge.prompts) == calls


async def test_what_a_list_says_and_no_sample_does_weighs_most() -> None:
    def find_nothing(claims: Sequence[str], shown: dict[int, str]) -> list[dict[str, Any]]:
        del shown
        numbers = range(1, len(claims) + 1)
        return [{"claim": n, "supported_by": [], "contradicted_by": []} for n in numbers]

    step = {
        "method": "prompt",
        "mode": "together",
        "weights": {"not_mentioned": {"min": 0.2, "max": 0.9}},
    }
    policy = {"chain": [step]}
    listed = await checked(
        Judge(find_nothing), "- The bridge is red.\n- The bridge has lanes.", **policy
    )
    told = await checked(Judge(find_nothing), "The bridge is red. The bridge has lanes.", **policy)
    assert [claim.score for claim in listed.claims] == [0.9, 0.9]
    assert all((claim.score or 0.0) < 0.9 for claim in told.claims)


async def test_the_first_call_shows_no_more_than_six_samples_that_have_arrived() -> None:
    judge = Judge(of_years)
    policy = {"chain": [{"method": "prompt", "mode": "together"}], "cache": {"store": "none"}}
    guard = Guard(policy | {"sampling": {"min": 3, "max": 8}}, provider=judge, model="m")
    samples = [f"It has six lanes. Note {i}." for i in range(8)]
    await guard.acheck("It has six lanes.", question="What is it?", samples=samples)
    assert len(_TEXT.findall(judge.prompts[0])) == 6


async def test_one_call_shows_all_samples_and_claims_once() -> None:
    judge = Judge(of_years)
    verdict = await checked(judge)
    (prompt,) = judge.prompts
    assert all(prompt.count(text) == 1 for text in (*SAMPLES, "1. The bridge opened in 1923"))
    assert verdict.usage.calls == 1
    assert [s.score for s in verdict.sentences] == [1.0, pytest.approx(0.2)]


async def test_the_words_that_are_wrong_are_flagged_and_quoted() -> None:
    verdict = await checked(Judge(of_years))
    claim = verdict.claims[0]
    assert (claim.band, verdict.score, verdict.threshold) == ("contradicted", 1.0, 0.5)
    (part,) = claim.parts
    assert ANSWER[part.start : part.end] == "1923"
    assert (part.band, part.kind) == ("contradicted", "date")
    said = claim.contradicted_by
    assert said is not None
    assert (said.source, said.index, said.text) == ("sample", 0, "The bridge opened in 1932.")
    assert said.evidence_span is not None
    assert said.text[slice(*said.evidence_span)] == "1932"
    assert claim.reason == "contradicted by 3 of 3 samples"


@pytest.mark.parametrize(
    ("answer", "sample", "words", "quote", "claimed", "said", "kind"),
    [
        # "The" is no name, and 12 is not in the place of 90.
        (
            "Halden: The bridge, built by Ada Moor, has 9 lanes.",
            "It was built by Ben Finch.",
            *("Ada Moor", "Ben Finch", "Ada Moor", "Ben Finch", "name"),
        ),
        (
            "It has 14 arches and 90 lamps.",
            "It has 80 lamps and 12 arches.",
            *("14 arches", "12 arches", "14", "12", "number"),
        ),
        (
            "It cost $5 million; see https://one.example/a.",
            "It cost $7 million; see https://two.example/b.",
            *("https://one.example/a", "https://two.example/b"),
            *("https://one.example/a", "https://two.example/b", "other"),
        ),
    ],
)
async def test_the_words_that_a_judge_names_are_those_that_differ(
    answer: str, sample: str, words: str, quote: str, claimed: str, said: str, kind: str
) -> None:
    verdicts = [{"claim": 1, "contradicted_by": [1, 2, 3], "words": words, "quote": quote}]
    guard = Guard(
        {"chain": [{"method": "prompt"}], "cache": {"store": "none"}},
        provider=Judge(lambda claims, samples: verdicts),
        model="m",
    )
    samples = [sample, f"{sample} Really.", f"Well, {sample}"]
    verdict = await guard.acheck(answer, question="What is it?", samples=samples)
    (claim,) = verdict.claims
    against = claim.contradicted_by
    assert against is not None
    assert against.claim_span is not None
    assert against.evidence_span is not None
    assert answer[slice(*against.claim_span)] == claimed
    assert against.text[slice(*against.evidence_span)] == said
    assert against.kind == kind


async def test_words_that_overlap_are_one_part() -> None:
    answer = "It opened in 1923, in Bern, by Ada Moor."
    words = ["Ada Moor", "1923", "opened in 1923"]
    verdicts = [{"claim": 1, "contradicted_by": [1, 2, 3], "words": words}]
    verdict = await checked(Judge(lambda claims, samples: verdicts), answer)
    (claim,) = verdict.claims
    assert [answer[start:end] for start, end in claim.spans_in_doubt] == [
        "opened in 1923",
        "Ada Moor",
    ]


async def test_a_flagged_sentence_is_not_said_to_have_no_score() -> None:
    answer = "Colour: red\nOpened: 1923\nLanes: six"
    verdicts = [
        {"claim": 2, "contradicted_by": [1, 2, 3]},
        {"claim": 3, "supported_by": [2, 3]},
    ]
    settings = {"method": "prompt", "restate": False}
    verdict = await checked(
        Judge(lambda claims, samples: verdicts), answer, chain=[settings], sampling={"min": 3}
    )
    assert [claim.band for claim in verdict.claims] == [None, "contradicted", "supported"]
    assert verdict.reason == (
        "1 of 1 sentence > 0.50 with 3 samples; the answer of the judge 'm' could be read only in"
        " part"
    )


async def test_words_and_quotes_that_stand_nowhere_are_not_believed() -> None:
    def invents(claims: Sequence[str], samples: dict[int, str]) -> list[dict[str, Any]]:
        rows = of_years(claims, samples)
        return [
            {**row, "words": "opened by the queen", "quote": "It opened in 1812"} for row in rows
        ]

    claim = (await checked(Judge(invents))).claims[0]
    assert claim.flagged
    assert all("queen" not in ANSWER[part.start : part.end] for part in claim.parts)
    assert claim.contradicted_by is None or "1812" not in claim.contradicted_by.text


async def test_unmentioned_claims_are_unsupported_not_contradicted() -> None:
    def silent(claims: Sequence[str], samples: dict[int, str]) -> list[dict[str, Any]]:
        return [{"claim": n, "supported_by": [], "contradicted_by": []} for n in range(1, 3)]

    verdict = await checked(Judge(silent))
    assert [s.band for s in verdict.sentences] == ["unsupported", "unsupported"]
    assert [s.contradicted_by for s in verdict.sentences] == [None, None]
    assert verdict.sentences[0].reason == "not mentioned by any of 3 samples"


async def test_an_unreadable_answer_is_asked_for_again_and_then_inconclusive() -> None:
    judge = Judge(lambda claims, samples: "I would rather not say.")
    verdict = await checked(judge)
    assert len(judge.prompts) == 2
    assert verdict.inconclusive
    assert verdict.score is None


async def test_a_judge_whose_answer_is_cut_off_is_asked_again_with_more_room() -> None:
    class Cut(Judge):
        """Writes each answer up to the limit, at 3 characters a token, after much ado."""

        def __init__(self) -> None:
            super().__init__(lambda claims, samples: "Well, let me see. " * 90)
            self.limits: list[int] = []

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            ado = (await super().complete(request, n=n)).first.text
            limit = request.params["max_tokens"]
            self.limits.append(limit)
            row = {"supported_by": [1, 2, 3], "contradicted_by": []}
            text = ado + json.dumps([{"claim": claim, **row} for claim in (1, 2)])
            return Completions((Completion(text[: 3 * limit], "length"),))

    judge = Cut()
    verdict = await checked(judge, "The bridge is red. It has six lanes.")
    assert judge.limits[1] > judge.limits[0]
    assert verdict.decision == "consistent"


@pytest.mark.parametrize(("claims", "calls"), [(30, 1), (31, 2), (200, 7)])
async def test_many_claims_are_divided_among_calls_that_models_can_answer(
    claims: int, calls: int
) -> None:
    class Short(Judge):
        """Writes no more than 4,096 tokens of 3 characters, in its own form of the JSON."""

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            assert request.params["max_tokens"] <= 4_096
            return Completions((Completion((await super().complete(request)).first.text[:12_288]),))

    def of_odd(claims: Sequence[str], samples: dict[int, str]) -> str:
        rows: list[dict[str, Any]] = []
        for number, claim in enumerate(claims, 1):
            is_odd = int(claim.split()[1]) % 2
            lists: tuple[list[int], ...] = ([], [*samples]) if is_odd else ([*samples], [])
            rows.append({"claim": number, "supported_by": lists[0], "contradicted_by": lists[1]})
        return json.dumps({"verdicts": rows}, indent=4)

    judge = Short(of_odd)
    answer = " ".join(f"Stone {n} is of a very dark red." for n in range(claims))
    verdict = await checked(judge, answer)
    assert len(judge.prompts) == calls
    assert [claim.flagged for claim in verdict.claims] == [bool(n % 2) for n in range(claims)]
    asked = [text for prompt in judge.prompts for text in prompt.split("<claims-")[1].splitlines()]
    assert all(sum(f"Stone {n} " in text for text in asked) == 1 for n in range(claims))


class Hanging(Judge):
    """Finds every sample against every claim, and never answers a prompt with some words."""

    def __init__(self, words: str) -> None:
        super().__init__(self.contradict)
        self.words = words

    def contradict(self, claims: Sequence[str], samples: dict[int, str]) -> list[dict[str, Any]]:
        numbers = range(1, len(claims) + 1)
        return [{"claim": n, "supported_by": [], "contradicted_by": [*samples]} for n in numbers]

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if self.words in request.messages[0]["content"]:
            await anyio.sleep_forever()
        return await super().complete(request, n=n)


@pytest.mark.parametrize(
    ("words", "scores", "column"),
    [
        # The second group of claims, whose samples are those of the first.
        ("20. Stone 39 ", [1.0] * 20 + [None] * 20, [1.0, 1.0, 1.0]),
        # One of three batches of samples. Columns stand in the order of the samples.
        ("first", [1.0] * 40, [None, 1.0, 1.0]),
        ("third", [1.0] * 40, [1.0, 1.0]),
        ("Stone", [None] * 40, []),
    ],
)
async def test_answers_count_though_others_are_pending_at_the_deadline(
    words: str,
    scores: list[float | None],
    column: list[float | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resay.scorers.prompt._MAX_CHARS", 1_000 if "Stone" in words else 0)
    passage = Passage.of(" ".join(f"Stone {n} is of a very dark red." for n in range(40)))
    samples = Samples([f"It is the {word} sample." for word in ("first", "second", "third")])
    evidence = Evidence(samples, judge_provider=Hanging(words))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Prompt().score, passage, evidence)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    (partial,) = evidence.partial_scores
    assert list(partial.sentences) == scores
    assert [entries[0] for entries in partial.columns] == column


async def test_claims_of_a_long_answer_are_shown_what_comes_before_them() -> None:
    sentences = [f"Stone {n} of the bridge is of a very dark red." for n in range(100)]
    passage = Passage.of(" ".join(sentences))
    beside = answer_beside(passage.only(range(50, 100)))
    assert sentences[49] in beside
    assert sentences[50] not in beside
    assert answer_beside(passage.only(range(50))) == ""


async def test_the_rest_of_the_samples_is_asked_about_only_in_doubt() -> None:
    class Model(Judge):
        """Gives the samples too."""

        drawn = 0

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            if "<claims-" in request.messages[0]["content"]:
                return await super().complete(request, n=n)
            self.drawn += 1
            return Completions((Completion(SAMPLES[self.drawn - 1]),))

    def all_agree(claims: Sequence[str], samples: dict[int, str]) -> list[dict[str, Any]]:
        return [{"claim": n, "supported_by": [*samples]} for n in range(1, len(claims) + 1)]

    async def shown(ahead: int, decide: Any) -> list[int]:
        sampling = {"max": 3, "min": 2, "ahead": ahead}
        policy = {"chain": [{"method": "prompt"}], "sampling": sampling, "cache": {"store": "none"}}
        model = Model(decide)
        await Guard(policy, provider=model, model="m").acheck(ANSWER, question="What is it?")
        return [len(_TEXT.findall(prompt)) for prompt in model.prompts]

    assert await shown(0, of_years) == [2, 1]
    assert await shown(0, all_agree) == [2]
    # What came with the first costs no further call.
    assert await shown(2, of_years) == [3]


async def test_a_long_answer_takes_one_call_of_bounded_length() -> None:
    judge = await judged()
    (prompt,), (answer,) = judge.read, judge.written
    assert len(_TEXT.findall(prompt)) == 5
    assert len(_CLAIM.findall(prompt)) == 12
    # 3,240 tokens of cl100k_base, as docs/runtime.md says.
    assert len(prompt) + len(answer) < 12_000


@given(st.text(max_size=60))
def test_no_sample_ends_its_marks(text: str) -> None:
    prompt = render(["It is red."], [Sample(0, text), Sample(1, text)])
    assert len(re.findall(r"</sample-\w{16}>", prompt)) - text.count("</sample-") * 2 == 2


def test_one_call_for_all_is_no_order_of_pairs() -> None:
    for setting in ({"order": "nearest"}, {"form": "published"}):
        with pytest.raises(PolicyError, match="works on pairs"):
            Guard({"chain": [{"method": "prompt", "mode": "together", **setting}]})


@pytest.mark.parametrize("mode", ["together", "per_sample"])
async def test_a_judge_may_be_asked_for_short_reasons(mode: str) -> None:
    def reasoned(claims: Sequence[str], samples: dict[int, str]) -> Any:
        if mode == "per_sample":
            return (
                "1: the sample says 1932, not contradicted elsewhere – contradicted\n2: six – yes"
            )
        return {
            "verdicts": [{"reason": "supported by 1?", **row} for row in of_years(claims, samples)]
        }

    judge = Judge(reasoned)
    step = {"method": "prompt", "mode": mode, "judge": {"reasoning": "brief"}}
    verdict = await checked(judge, chain=[step])
    assert [sentence.flagged for sentence in verdict.sentences] == [True, False]
    assert len(judge.prompts) == {"together": 1, "per_sample": 3}[mode]
    plain = Judge(of_years)
    await checked(plain, chain=[{"method": "prompt", "mode": mode, "judge": {}}])
    assert len(plain.prompts[0]) < len(judge.prompts[0])


@pytest.mark.parametrize("settings", [{"form": "published"}, {"task": "paraphrase"}])
def test_published_questions_ask_for_no_reasons(settings: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="asks for no reasons; omit `reasoning: brief`"):
        Guard({"chain": [{"method": "prompt", "judge": {"reasoning": "brief"}, **settings}]})


async def test_the_answer_is_shown_where_its_claims_leave_out_much_of_it() -> None:
    long = "The bridge is long. " * 20
    judge = Judge(of_years)
    await checked(judge)
    assert "<answer-" not in judge.prompts[0]
    beside = answer_beside(Passage.of(f"{long}{ANSWER}").only([20, 21]))
    assert beside == f"{long}{ANSWER}"
    cut = answer_beside(Passage.of(f"{long * 10}{ANSWER}{long}").only([201]))
    assert ANSWER in cut
    assert len(cut) < 2_020
    shown = render(["It is red."], [Sample(0, "It is red.")], answer=beside)
    assert shown.count(beside) == 1


@pytest.mark.parametrize(
    "language", [language.code for language in languages() if language.has_prompts]
)
async def test_samples_are_compared_in_each_language(language: str) -> None:
    judge = Judge(of_years)
    step = {"method": "prompt", "language": language}
    verdict = await checked(judge, chain=[step])
    prompt = load(language).prompts.together
    assert all(text in judge.prompts[0] for text in (prompt.task, prompt.rules, prompt.example))
    assert [sentence.flagged for sentence in verdict.sentences] == [True, False]
    shown = json.loads(judge.prompts[0].splitlines()[-1])
    assert shown["verdicts"][0]["words"] in prompt.example
    assert shown["verdicts"][0]["quote"] in prompt.example
    unreadable = Judge(lambda claims, samples: "?")
    await checked(unreadable, chain=[step])
    assert len(unreadable.prompts) == 2


@pytest.mark.parametrize(
    ("answer", "samples"),
    [
        (
            "She never married.",
            ["She remained unmarried.", "She stayed single all her life.", "She had no husband."],
        ),
        (
            "Moskau liegt an der Moskwa.",
            ["Moscow stands on the Moskva River.", "Москва стоит на Москве-реке.", "Na Moskvě."],
        ),
        ("It is 100 °C.", ["It is 212 °F.", "373 K", "Der Siedepunkt liegt bei hundert Grad."]),
    ],
)
async def test_support_in_other_words_and_other_languages_is_believed(
    answer: str, samples: list[str]
) -> None:
    def understands(claims: Sequence[str], shown: dict[int, str]) -> list[dict[str, Any]]:
        return [{"claim": 1, "supported_by": [*shown], "contradicted_by": []}]

    guard = Guard({"chain": [{"method": "prompt"}]}, provider=Judge(understands), model="m")
    verdict = await guard.acheck(answer, samples=samples)
    assert (verdict.decision, verdict.score) == ("consistent", 0.0)
    assert verdict.claims[0].reason == "supported by 3 of 3 samples"


async def test_references_can_contradict_claims() -> None:
    policy = {"chain": [{"method": "prompt", "evidence": "references"}]}
    guard = Guard(policy, provider=Judge(of_years), model="m")
    verdict = await guard.acheck(ANSWER, references=SAMPLES)
    against = verdict.claims[0].contradicted_by
    assert against is not None
    assert (against.source, against.index) == ("reference", 0)
