"""Claims against the documents of a request."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Guard, Passage, Request
from resay.adapters import Message
from resay.core.normalization import normalized
from resay.core.references import Reference
from resay.core.scores import UnsupportedSpan
from resay.plugins import Completion, Completions, Evidence, Grounds, Scores
from resay.scorers.common.document_prompt import excerpts, render
from resay.scorers.references import References
from resay.testing import ScriptedProvider

pytestmark = pytest.mark.anyio

BRIDGE = "The Garmo bridge opened in 1932. It is painted grey."
TUNNEL = "The Silo tunnel opened in 1950. It is 2 km long."
OPENED, PAINTED, BUILT = (
    "The Garmo bridge opened in 1932.",
    "The Garmo bridge is painted grey.",
    "Ada Moor built the Garmo bridge.",
)


def said(
    n: int, supports: tuple[int, ...] = (), contradicts: tuple[int, ...] = (), quote: str = ""
):
    return {
        "claim": n,
        "supported_by": list(supports),
        "contradicted_by": list(contradicts),
        "quote": quote,
    }


class Judge:
    """Says what it is told to, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [a if isinstance(a, str) else json.dumps(a) for a in answers]
        self.asked: list[tuple[Message, ...]] = []

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked.append(request.messages)
        return Completions((Completion(self.answers[len(self.asked) - 1]),))


def references(*texts: str, labels: str = "") -> tuple[Reference, ...]:
    names = [*labels, *[None] * (len(texts) - len(labels))]
    return tuple(
        Reference(text, f"references[{i}]", label=names[i]) for i, text in enumerate(texts)
    )


async def scored(
    claims: list[str],
    judge: Judge | None,
    sources: tuple[Reference, ...] = references(BRIDGE, TUNNEL),
    question: str = "When did the Garmo bridge open?",
    **settings: Any,
) -> Scores:
    config = References.Config.model_validate({"by": "judge" if judge else "words", **settings})
    request = Request.of(question, model="judge")
    evidence = Evidence(sources=sources, request=request, judge_provider=judge)
    return await References(config).score(Passage.from_sentences(claims), evidence)


async def test_one_call_says_which_documents_are_for_and_against_each_claim() -> None:
    judge = Judge([said(1, (1,), quote="opened in 1932"), said(2, (), (1,)), said(3)])
    found = await scored([OPENED, "The Garmo bridge is painted red.", BUILT], judge)
    assert found.sentences == (0.0, 1.0, 1.0)
    assert found.columns == ((0.0, 1.0, None), (None, None, None))
    assert found.grounds == (
        (Grounds(0, supports=True, start=17, end=31),),
        (Grounds(0, supports=False),),
        (),
    )
    assert found.reasons == (
        "reference 1 supports it",
        "reference 1 contradicts it",
        "no reference mentions it",
    )
    (messages,) = judge.asked
    assert "When did the Garmo bridge open?" in messages[0]["content"]


async def test_many_claims_are_divided_among_calls_that_models_can_answer() -> None:
    claims = [f"Pillar {n} of the Garmo bridge is of red stone." for n in range(45)]
    shown = re.compile(r"^\d+\. Pillar (\d+) ", re.MULTILINE)

    class Reader(Judge):
        """Supports the even pillars."""

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            self.asked.append(request.messages)
            pillars = shown.findall(str(request.messages[0]["content"]))
            lists = [((), (1,)) if int(pillar) % 2 else ((1,), ()) for pillar in pillars]
            verdicts = [said(number, *both) for number, both in enumerate(lists, 1)]
            return Completions((Completion(json.dumps(verdicts)),))

    judge = Reader()
    found = await scored(claims, judge)
    assert [len(shown.findall(str(messages[0]["content"]))) for messages in judge.asked] == [22, 23]
    assert found.sentences == tuple(float(n % 2) for n in range(45))


THREE = references(
    "The Garmo bridge opened in 1932.",
    "The Silo tunnel opened in 1950.",
    "The Garmo bridge is 212 m long.",
    labels="123",
)
BOTH = "The Garmo bridge, opened in 1932, is 212 m long"


async def test_documents_support_a_claim_together() -> None:
    row = said(1, (1, 3)) | {"quotes": ["opened in 1932", "212 m long"]}
    found = await scored([f"{BOTH}."], Judge([row]), THREE)
    assert (found.sentences, found.reasons) == ((0.0,), ("references 1 and 3 support it",))
    assert found.columns == ((0.0,), (None,), (0.0,))
    assert found.grounds == ((Grounds(0, True, 17, 31), Grounds(2, True, 20, 30)),)


@pytest.mark.parametrize(
    "quotes",
    [
        "opened in 1932 ... 212 m long",
        ["opened in 1932", "is 212 m long"],
        {"1": "opened in 1932", "3": "is 212 m long"},
        [{"document": 1, "text": "opened in 1932"}, {"document": "3", "text": "212 m long"}],
        [{"1": ["opened in 1932"]}, {"3": ["212 m long"]}],
        "",
        None,
        [],
    ],
)
async def test_quotes_of_several_documents_are_read_in_any_shape(quotes: Any) -> None:
    found = await scored([f"{BOTH}."], Judge([said(1, (1, 3)) | {"quotes": quotes}]), THREE)
    assert found.sentences == (0.0,)


async def test_one_quote_that_stands_nowhere_makes_the_others_worthless() -> None:
    row = said(1, (1, 3)) | {"quotes": ["opened in 1932", "it is 640 m wide"]}
    found = await scored([f"{BOTH}."], Judge([row]), THREE, restate=False)
    assert (found.sentences, found.lost) == ((None,), (0,))


@pytest.mark.parametrize(
    ("marks", "why"),
    [
        ("[1][3]", None),
        ("[1, 3]", None),
        ("[3]", None),
        ("[1]", None),
        ("[2]", "it cites [2], which does not support it; references 1 and 3 support it"),
        ("[1][2]", "it cites [2], which does not support it; references 1 and 3 support it"),
        ("[2, 3]", "it cites [2], which does not support it; references 1 and 3 support it"),
        ("[1][4]", "it cites [4], which does not exist"),
    ],
)
@pytest.mark.parametrize("by", ["judge", "words"])
async def test_each_cited_document_says_a_part_of_the_claim(
    by: str, marks: str, why: str | None
) -> None:
    judge = Judge([said(1, (1, 3))]) if by == "judge" else None
    found = await scored([f"{BOTH} {marks}."], judge, THREE)
    supported = found.sentences[0] is not None and found.sentences[0] < 0.5
    assert supported is (why is None)
    if why is not None:
        assert found.reasons == (why,)


@pytest.mark.parametrize("unmentioned", [1.0, None])
async def test_words_that_no_document_says_are_shown_flagged(unmentioned: float | None) -> None:
    row = said(1, (1,)) | {"unsupported_words": "is 640 m long"}
    claim = "The Garmo bridge, opened in 1932, is 640 m long."
    found = await scored([claim], Judge([row]), THREE, unmentioned=unmentioned)
    assert found.sentences == (unmentioned,)
    assert found.reasons == ("reference 1 supports it except for 'is 640 m long'",)
    start = claim.index("is 640")
    assert found.spans == ((UnsupportedSpan(start, len(claim) - 1, 1.0),),)


async def test_words_that_only_another_document_speaks_of_are_contradicted() -> None:
    claim = "The Garmo bridge, opened in 1932, is 640 m long."
    row = said(1, (1,), (2,), quote="212 m long") | {"unsupported_words": "640 m"}
    sources = references(BRIDGE, "The Garmo bridge is 212 m long.")
    found = await scored([claim], Judge([row]), sources)
    assert (found.sentences, found.denied) == ((1.0,), (True,))
    assert found.reasons == (
        "reference 1 supports it except for '640 m'; reference 2 contradicts it",
    )
    # A document that says these words supports them, whatever another says.
    row = said(1, (1,), (2,)) | {"unsupported_words": "opened in 1932"}
    found = await scored([OPENED], Judge([row]), sources)
    assert (found.sentences, found.reasons) == (
        (0.0,),
        ("reference 1 supports it; reference 2 contradicts it",),
    )


async def test_words_that_are_not_the_claims_own_take_nothing_back() -> None:
    row = said(1, (1, 3)) | {"unsupported_words": ["painted red"]}
    found = await scored([f"{BOTH}."], Judge([row]), THREE)
    assert (found.sentences, found.spans) == ((0.0,), ((),))


@pytest.mark.parametrize(("newest", "score"), [("2021", 1.0), ("2018", 0.0)])
async def test_a_newer_edition_overrules_the_document_that_says_these_words(
    newest: str, score: float
) -> None:
    sources = tuple(
        replace(reference, edition=edition)
        for reference, edition in zip(THREE, ("2019", newest, "2024"), strict=True)
    )
    row = said(1, (1, 3), (2,)) | {"unsupported_words": "1932"}
    assert (await scored([f"{BOTH}."], Judge([row]), sources)).sentences == (score,)


async def test_one_that_supports_is_enough_and_a_conflict_is_said() -> None:
    found = await scored([OPENED], Judge([said(1, (1,), (2,))]))
    assert found.sentences == (0.0,)
    assert found.reasons == ("reference 1 supports it; reference 2 contradicts it",)
    assert [g.supports for g in found.grounds[0]] == [True, False]


async def test_unmentioned_claims_may_stay_open() -> None:
    found = await scored([BUILT, OPENED], Judge([said(1), said(2, (1,))]), unmentioned=None)
    assert found.sentences == (None, 0.0)
    found = await scored([BUILT], Judge([said(1)]), unmentioned=0.4)
    assert found.sentences == (0.4,)


async def test_a_quote_that_stands_nowhere_is_not_believed() -> None:
    invented = [said(1, (1,), quote="it opened on a Sunday")]
    judge = Judge(invented, [said(1, (1,), quote="Opened,  in 1932")])
    assert (await scored([OPENED], judge)).sentences == (0.0,)
    assert len(judge.asked) == 2
    found = await scored([OPENED], Judge(invented, invented))
    assert (found.sentences, found.lost, found.undetermined) == ((None,), (0,), 1)
    # It stands in a document, but not in the one that is named.
    elsewhere = [said(1, (1,), quote="2 km long")]
    assert (await scored([OPENED], Judge(elsewhere, elsewhere))).sentences == (None,)


@pytest.mark.parametrize(
    "answer",
    [
        "Supported.",
        "[]",
        "[1, 2]",
        "{",
        '[{"claim": 7, "supported_by": [1]}]',
        "[" * 100_000,  # deeper than JSON is read
    ],
)
async def test_an_answer_that_cannot_be_read_is_asked_for_once_more(answer: str) -> None:
    judge = Judge(answer, f"```json\n{json.dumps([said(1, (1,))])}\n```")
    assert (await scored([OPENED], judge)).sentences == (0.0,)
    assert len(judge.asked) == 2
    found = await scored([OPENED], Judge(answer, answer))
    assert (found.sentences, found.undetermined) == ((None,), 1)
    judge = Judge(answer)
    await scored([OPENED], judge, restate=False)
    assert len(judge.asked) == 1


async def test_verdicts_on_documents_not_shown_are_asked_for_again_and_ignored() -> None:
    judge = Judge([said(1, (3, 0, 9)), said(2, (), (-1,))])
    found = await scored([OPENED, PAINTED], judge)
    assert found.sentences == (None, None)
    assert found.undetermined == 2


async def test_a_claim_that_is_answered_in_two_ways_is_asked_about_once_more() -> None:
    two_ways = [said(1, (1,)), said(1, (), (1,))]
    judge = Judge(two_ways, [said(1, (), (1,))])
    assert (await scored([OPENED], judge)).sentences == (1.0,)
    assert len(judge.asked) == 2
    found = await scored([OPENED], Judge(two_ways, two_ways))
    assert (found.sentences, found.undetermined, found.lost) == ((None,), 1, (0,))


SUPPORTED_BY_ONE = [
    '{"claim": 1, "supported_by": ["1"], "contradicted_by": [], "quote": ""}',
    '[{"claim": 1, "supported_by": ["document 1"], "contradicted_by": []}]',
    '[{"claim": "1", "supported_by": "1"}]',
    '[{"claim": "Claim 1", "supported_by": 1}]',
    '[{"claim": 1, "supported_by": [{"document": 1}], "contradicted_by": null}]',
    '[{"claim": 1, "supported_by": ["[1]"]}]',
    '[{"claim": 0, "supported_by": [0], "contradicted_by": []}]',
    '{"claims": [{"claim": 1, "supported_by": [1], "contradicted_by": []}]}',
    '{"1": {"supported_by": [1], "contradicted_by": [], "quote": ""}}',
    '[{"supported_by": [1], "contradicted_by": []}]',
    '[{"claim": 1, "verdict": "supported", "documents": [1]}]',
    'I compared [claim 1] with [2 documents]:\n[{"claim": 1, "supported_by": [1]}]\nDone [1].',
    '```json\n[{"claim": 1, "supported_by": [1], "contradicted_by": [],}]\n```',
    "[{'claim': 1, 'supported_by': [1], 'contradicted_by': [], 'quote': ''}]",
    '[{"claim": 1, "supported_by": [1], "contradicted_by": []}, {"claim": 2, "suppor',
    "1: supported by document 1",
    "Claim 1: supported [1]",
]


@pytest.mark.parametrize("answer", SUPPORTED_BY_ONE)
async def test_documents_are_named_in_many_ways(answer: str) -> None:
    judge = Judge(answer)
    assert (await scored([OPENED], judge)).sentences == (0.0,)
    assert len(judge.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        '[{"claim": 1, "supported_by": ["the handbook"]}]',
        '[{"claim": 1, "supported_by": true}]',
        '[{"claim": 1, "supported_by": [99]}]',
        '[{"claim": 1}]',
        '[{"claim": 1, "verdict": "supported"}]',
        "1: supported by document 1, or contradicted by document 2?",
        "Claim 1: supported, contradicted or not_mentioned",
    ],
)
async def test_answers_without_a_document_are_no_verdict(answer: str) -> None:
    judge = Judge(answer, answer)
    assert (await scored([OPENED], judge)).sentences == (None,)
    assert len(judge.asked) == 2


async def test_a_judge_that_fails_leaves_the_claims_open() -> None:
    class Broken(Judge):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            raise RuntimeError

    found = await scored([OPENED], Broken())
    assert found.sentences == (None,)
    assert found.failures == ("ProviderError",)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_nothing_that_is_quoted_can_end_its_section(document: str, claim: str, talk: str) -> None:
    shown = render([claim], [(0, document)], talk)
    code = shown.split("<documents-")[1][:16]
    assert code not in document + claim + talk
    assert shown.count(f"</documents-{code}>") == 1
    assert shown.count(f"</claims-{code}>") == 1


# Citations


async def test_a_citation_of_another_document_is_wrong() -> None:
    claims = ["The Garmo bridge opened in 1932 [2].", "It is painted grey [1]."]
    judge = Judge([said(1, (1,)), said(2, (1,))])
    found = await scored(claims, judge, references(BRIDGE, TUNNEL, labels="12"))
    assert found.sentences == (1.0, 0.0)
    assert found.reasons[0] == "it cites [2], which does not support it; reference 1 supports it"
    assert "1932 [2]" not in judge.asked[0][0]["content"]


async def test_a_citation_of_no_document_is_wrong() -> None:
    claims = ["The Garmo bridge opened in 1932 [1, 7]."]
    found = await scored(claims, Judge([said(1, (1,))]), references(BRIDGE, TUNNEL, labels="12"))
    assert found.sentences == (1.0,)
    assert found.reasons == ("it cites [7], which does not exist",)


async def test_brackets_that_cite_nothing_are_left_alone() -> None:
    claims = ["The Garmo bridge opened in 1932 [sic]."]
    for sources in (references(BRIDGE), references(BRIDGE, labels="1")):
        found = await scored(claims, Judge([said(1, (1,))]), sources)
        assert found.sentences == (0.0,)


async def test_a_link_must_be_in_a_reference_or_the_conversation() -> None:
    sources = references(BRIDGE + " See https://garmo.example/bridge.")
    for link, score in (
        ("https://garmo.example/bridge", 0.0),
        ("https://asked.example/", 0.0),
        ("https://garmo.example/tunnel", 1.0),
    ):
        claim = f"The Garmo bridge opened in 1932 ({link})."
        asked = "When? I looked at https://asked.example/ already."
        found = await scored([claim], Judge([said(1, (1,))]), sources, asked)
        assert found.sentences == (score,)


# What a judge is shown


def test_short_references_are_shown_as_they_are() -> None:
    assert excerpts(references(BRIDGE, TUNNEL), [OPENED], 1000) == [(0, BRIDGE), (1, TUNNEL)]


def test_of_long_references_that_is_shown_which_bears_on_the_claims() -> None:
    page = "\n\n".join(f"Part {i} of the handbook speaks of matter {i}." for i in range(400))
    long = references(page, f"{page}\n\n{BRIDGE}\n\n{page}", page)
    shown = excerpts(long, [OPENED], 3000)
    assert sum(len(text) for _, text in shown) <= 3000 + 100
    assert any(place == 1 and "opened in 1932" in text for place, text in shown)


# By words


async def test_words_are_compared_with_the_documents_about_the_same_subject() -> None:
    for claim, is_said in (
        ("The Garmo bridge opened in 1932.", True),
        ("The Garmo bridge opened in 1950.", False),
        ("It opened in 1932.", True),
        ("It opened in 1950.", False),
        ("It is 2 km long.", False),
    ):
        (score,) = (await scored([claim], None)).sentences
        assert score is not None
        assert (score <= 0.5) is is_said, claim
    found = await scored(["It opened in 1932.", "It opened in 1950."], None, unmentioned=None)
    assert found.sentences[1] is None
    against = Grounds(0, False, 0, len(OPENED) - 1)
    assert found.grounds == ((Grounds(0, supports=True),), (against,))


@pytest.mark.parametrize(
    "question",
    [
        "How long does the Aria 2 battery last?",
        "How long does the battery last?",
        "Tell me about the Aria 2.",
    ],
)
def test_by_words_the_sentence_with_another_value_is_quoted_whatever_the_question_says(
    question: str,
) -> None:
    guard = Guard({"chain": [{"method": "facts"}]})
    document = "The Aria 2 headphones weigh 250 g. Their battery lasts 30 hours."
    answer = "The Aria 2 battery lasts 35 hours."
    (claim,) = guard.check(answer, question=question, references=[document]).claims
    assert claim.contradicted_by is not None
    assert claim.contradicted_by.text == "Their battery lasts 30 hours."


async def test_by_words_a_document_about_something_else_acquits_nothing() -> None:
    claim = "The tenant may sell the flat."
    denies = "The tenant may not sell the flat."
    bakery = "The bakery opens at seven and sells rye bread."
    question = "May the tenant sell the flat?"
    alone = (await scored([claim], None, references(denies), question)).sentences[0]
    beside = (await scored([claim], None, references(denies, bakery), question)).sentences[0]
    says = (await scored([claim], None, references(denies, claim), question)).sentences[0]
    assert alone is not None
    assert beside is not None
    assert says is not None
    assert min(alone, beside) > 0.5 > says


# In a chain

RAG = f"Answer only from the context.\n\nContext:\n[1] {BRIDGE}\n[2] {TUNNEL}\n\nQuestion: When?"


class Model(Judge):
    """Answers with its first texts, judges with the others, and counts."""

    def __init__(self, answers: list[str], *verdicts: Any) -> None:
        super().__init__(*verdicts)
        self.texts = list(answers)
        self.drawn = 0

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        if "<claims-" in str(request.messages[-1]["content"]):
            return await super().complete(request, n=n)
        self.drawn += 1
        return Completions((Completion(self.texts[(self.drawn - 1) % len(self.texts)]),))


JUDGED = {"chain": [{"method": "prompt", "mode": "per_sample"}], "cache": {"store": "none"}}


@pytest.mark.parametrize(
    ("question", "answer", "documents", "consistent"),
    [
        # The trap: what has the value is another product's page.
        ("What does the Garmo X100 weigh?", "It weighs 7.5 kg.", ("X110", "X100"), False),
        ("What does the Garmo X110 weigh?", "It weighs 7.5 kg.", ("X110", "X100"), True),
        ("What does the Garmo X100 weigh?", "It weighs 4.2 kg.", ("X110", "X100"), True),
        # None of them is about it.
        ("What does the Garmo X200 weigh?", "It weighs 7.5 kg.", ("X110", "X100"), False),
        ("What does it weigh?", "It weighs 7.5 kg.", ("X110",), True),
    ],
)
async def test_a_page_about_something_with_nearly_the_same_name_supports_nothing(
    question: str, answer: str, documents: tuple[str, ...], consistent: bool
) -> None:
    pages = {
        "X110": "Garmo X110\nIt weighs 7.5 kg.",
        "X100": "Garmo X100\nIt weighs 4.2 kg.",
    }
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = await guard.acheck(
        answer, question=question, references=[pages[name] for name in documents]
    )
    assert (verdict.decision == "consistent") is consistent


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ("Yes. The Garmo bridge opened in 1932.", "consistent"),
        ("Yes. The Garmo bridge opened in 1950.", "flagged"),
        ("No. The Garmo bridge opened in 1932.", "consistent"),
        ("No. The Garmo bridge opened in 1950.", "flagged"),
    ],
)
async def test_a_bare_yes_goes_with_its_reason(answer: str, decision: str) -> None:
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = await guard.acheck(
        answer, question="Did the Garmo bridge open before the war?", references=[BRIDGE]
    )
    assert verdict.decision == decision


@pytest.mark.parametrize(("cited", "decision"), [(1, "consistent"), (2, "flagged"), (7, "flagged")])
async def test_references_that_are_given_are_cited_by_their_place(
    cited: int, decision: str
) -> None:
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = await guard.acheck(
        f"The Garmo bridge opened in 1932 [{cited}].",
        question="When did the Garmo bridge open?",
        references=[BRIDGE, TUNNEL],
    )
    assert verdict.decision == decision


async def test_references_come_first_and_spare_the_samples() -> None:
    model = Model(["The Garmo bridge opened in 1932."], [said(1, (1,))])
    answer = await Guard(JUDGED, provider=model).aask(RAG)
    verdict = answer.verdict
    assert (verdict.decision, verdict.samples) == ("consistent", 0)
    assert verdict.reason.endswith("by 2 references")
    assert (model.drawn, len(model.asked)) == (1, 1)
    assert [(r.source, r.label) for r in verdict.references] == [
        ("messages[0]", "1"),
        ("messages[0]", "2"),
    ]
    first = verdict.references[0]
    assert RAG[first.start : first.end] == first.text == BRIDGE
    assert verdict.claims[0].grounds == (Grounds(0, supports=True),)
    assert verdict.claims[0].by == "references"
    assert BRIDGE not in json.dumps(verdict.to_dict())


async def test_what_contradicts_a_claim_is_not_what_supports_the_rest_of_it() -> None:
    claim = "The Garmo bridge, opened in 1932, is 640 m long."
    length = "The Garmo bridge is 212 m long."
    quotes = ["opened in 1932", "212 m long"]
    row = said(1, (1,), (2,)) | {"unsupported_words": "640 m", "quotes": quotes}
    guard = Guard(JUDGED, provider=Model([], [row]), model="m")
    verdict = await guard.acheck(claim, question="How long is it?", references=[BRIDGE, length])
    (ground, other) = verdict.claims[0].grounds
    assert (ground.supports, ground.start, other.supports) == (True, 17, False)
    contradiction = verdict.claims[0].contradicted_by
    assert contradiction is not None
    assert (contradiction.index, contradiction.text) == (1, length)


async def test_unmentioned_claims_are_flagged_or_compared_with_samples() -> None:
    text = "The Garmo bridge opened in 1932. Ada Moor built it."
    held = [said(1, (1,)), said(2)]
    model = Model([text], held)
    verdict = (await Guard(JUDGED, provider=model).aask(RAG)).verdict
    assert [c.score for c in verdict.claims] == [0.0, 1.0]
    assert verdict.flagged
    lenient = JUDGED | {"references": {"unmentioned": "samples"}, "sampling": {"max": 3}}
    model = Model([text], held, *["1: supported"] * 3)
    verdict = (await Guard(lenient, provider=model).aask(RAG)).verdict
    assert verdict.decision == "consistent"
    assert [c.by for c in verdict.claims] == ["references", "prompt"]
    assert verdict.samples == 3
    # Only what is open is asked about again.
    assert all("1932" not in str(m[0]["content"]).partition("<claims-")[2] for m in model.asked[1:])


async def test_context_that_the_answer_need_not_be_from_binds_nobody() -> None:
    beside = "Context: I am a nurse in Berlin.\n\nWhen did the Garmo bridge open?"
    model = Model([OPENED], [said(1)], *["1: supported"] * 5)
    verdict = (await Guard(JUDGED, provider=model).aask(beside)).verdict
    assert (verdict.decision, verdict.claims[0].by) == ("consistent", "prompt")
    # One that binds is enough to bind.
    model = Model([OPENED], [said(1)])
    verdict = (await Guard(JUDGED, provider=model).aask(beside, references=[TUNNEL])).verdict
    assert (verdict.decision, verdict.claims[0].by) == ("flagged", "references")


@pytest.mark.parametrize(
    ("of_samples", "decision"), [("supported", "inconclusive"), ("contradicted", "flagged")]
)
async def test_where_the_judge_fails_samples_flag_but_do_not_acquit(
    of_samples: str, decision: str
) -> None:
    model = Model([OPENED], "?", "?", *[f"1: {of_samples}"] * 5)
    verdict = (await Guard(JUDGED, provider=model).aask(RAG)).verdict
    assert (verdict.decision, verdict.claims[0].by) == (decision, "prompt")
    assert verdict.steps[0].method == "references"
    assert verdict.steps[0].undetermined == 1
    if decision == "inconclusive":
        assert "1 of 1 sentence could not be compared with the references" in verdict.reason
    assert "could not be read" in verdict.reason


@pytest.mark.parametrize("problem", ["identical", "missing"])
async def test_a_contradiction_stands_whatever_became_of_the_samples(problem: str) -> None:
    """The rest of the answer is open, but a policy that blocks must block."""
    built = "Ada Moor built it for the railway company of the northern coast, with two of her sons."
    answer = f"The Garmo bridge opened in 1950. {built}"
    policy = {
        **JUDGED,
        "references": {"unmentioned": "samples"},
        "sampling": {"max": 3},
        "action": "block",
    }
    samples = [answer] * 3 if problem == "identical" else [answer]
    model = Model([], [said(1, (), (1,)), said(2)], *["1: supported"] * 3)
    guard = Guard(policy, provider=model, model="m")
    verdict = await guard.acheck(
        answer, question="When did it open?", references=[BRIDGE], samples=samples
    )
    assert verdict.decision == "flagged"
    assert [claim.flagged for claim in verdict.claims] == [True, False]
    assert [claim.band for claim in verdict.claims] == ["contradicted", None]
    assert "1 of 2 sentences could not be scored" in verdict.reason
    assert ("identical" if problem == "identical" else "only 1 usable sample") in verdict.reason


async def test_a_chain_without_a_judge_compares_words() -> None:
    model = Model([OPENED])
    guard = Guard({"chain": [{"method": "ngram"}], "cache": {"store": "none"}}, provider=model)
    verdict = (await guard.aask(RAG)).verdict
    assert (verdict.decision, model.drawn) == ("consistent", 1)
    verdict = await guard.acheck(
        "It opened in 1950.", question="When did Garmo open?", references=[BRIDGE]
    )
    assert verdict.flagged
    assert verdict.claims[0].contradicted_by is not None
    assert verdict.claims[0].contradicted_by.source == "reference"


@pytest.mark.parametrize(
    "policy",
    [
        JUDGED | {"references": {"from": []}},
        {**JUDGED, "chain": [{"method": "prompt", "mode": "per_sample", "evidence": "samples"}]},
        JUDGED | {"references": {"from": ["tools"]}},
    ],
)
async def test_a_policy_may_leave_references_alone(policy: dict[str, Any]) -> None:
    model = Model([OPENED], *["1: supported"] * 5)
    verdict = (await Guard(policy, provider=model).aask(RAG)).verdict
    assert verdict.claims[0].by == "prompt"
    assert verdict.references == ()


@pytest.mark.parametrize("mode", ["hold", "buffer", "after"])
async def test_streams_are_held_against_references_too(mode: str) -> None:
    class Streaming(Model):
        def stream(self, request: Request) -> Any:
            self.drawn += 1
            return ScriptedProvider(self.texts).stream(request)

    text = "The Garmo bridge opened in 1932. Ada Moor built the Garmo bridge."
    whole = [[said(1, (1,)), said(2)]]
    model = Streaming([text], *([[said(1, (1,))], [said(1)]] if mode == "hold" else whole))
    async with Guard(JUDGED, provider=model).astream(RAG, stream_mode=mode) as stream:
        shown = "".join([part.text async for part in stream])
    assert shown.startswith("The Garmo bridge opened in 1932.")
    verdict = stream.answer.verdict
    assert [c.score for c in verdict.claims] == [0.0, 1.0]
    assert model.drawn == 1


async def test_a_structured_answer_is_compared_field_by_field() -> None:
    model = Model(['{"opened": 1932}'])
    answer = await Guard(JUDGED, provider=model).aask(
        RAG, params={"response_format": {"type": "json_object"}}
    )
    assert [step.method for step in answer.verdict.steps] == ["fields"]


async def test_by_words_a_value_of_something_else_is_shown_flagged() -> None:
    claim = "The Garmo bridge, opened in 1932, is 2 km long."
    verdict = await Guard({"chain": [{"method": "facts"}]}).acheck(
        claim, question="Tell me about the Garmo bridge.", references=[BRIDGE, TUNNEL]
    )
    (found,) = verdict.claims
    assert found.flagged
    flagged = [claim[part.start : part.end] for part in found.parts if part.flagged]
    assert flagged == ["2 km long"]


@pytest.mark.parametrize(
    ("answer", "is_wrong"),
    [
        ("The Garmo bridge opened in 1932 [1] and the Silo tunnel in 1950 [2].", False),
        ("The Garmo bridge opened in 1932 [2] and the Silo tunnel in 1950 [1].", True),
        ("While the bridge opened in 1932 [2], the tunnel opened in 1950 [1].", True),
        (
            "By [1], the Garmo bridge opened in 1932; by [2], the Silo tunnel in 1950.",
            False,
        ),
    ],
)
async def test_by_words_each_part_of_a_claim_cites_its_own_document(
    answer: str, is_wrong: bool
) -> None:
    verdict = Guard({"chain": [{"method": "facts"}]}).check(
        answer,
        question=[
            {
                "role": "user",
                "content": f"Context:\n\n[1] {BRIDGE}\n\n[2] {TUNNEL}\n\nQuestion: Tell me.",
            }
        ],
    )
    (claim,) = verdict.claims
    assert (claim.reason or "").startswith("it cites [") == is_wrong
    assert claim.flagged == is_wrong


async def test_by_words_every_document_that_says_so_may_be_cited() -> None:
    both = references(OPENED, f"In short: {OPENED}", TUNNEL, labels="123")
    found = await scored([f"{OPENED} [2]", f"{OPENED} [3]"], None, both)
    assert found.sentences == (0.0, 1.0)
    assert found.grounds[0] == (Grounds(0, supports=True), Grounds(1, supports=True))
    assert (found.reasons[1] or "").startswith("it cites [3], which does not support it")


GARMO = (
    "The Garmo bridge crosses the Lorne. It opened on 3 May 1932. It has 12 arches."
    " It is 503 m long."
)
DENIED = {
    "a year": ("It opened in 1950.", "It opened on 3 May 1932.", "date"),
    "a day": ("It opened on 4 May 1932.", "It opened on 3 May 1932.", "date"),
    "a number": ("It has 14 arches.", "It has 12 arches.", "number"),
    "a length": ("It is 640 m long.", "It is 503 m long.", "number"),
}


@pytest.mark.parametrize(("claim", "said", "kind"), DENIED.values(), ids=DENIED)
def test_by_words_what_a_document_says_otherwise_is_quoted(
    claim: str, said: str, kind: str
) -> None:
    guard = Guard({"chain": [{"method": "ngram"}]})
    verdict = guard.check(
        claim, question="What about the Garmo bridge?", references=[TUNNEL, GARMO]
    )
    (found,) = verdict.claims
    assert found.flagged
    start = GARMO.index(said)
    assert found.grounds == (Grounds(1, False, start, start + len(said) - 1),)
    assert found.reason == "reference 2 contradicts it"
    assert found.contradicted_by is not None
    known = found.contradicted_by
    assert (known.source, known.index, known.text, known.kind) == ("reference", 1, said, kind)


@pytest.mark.parametrize("claim", ["It has 14 lamps.", "Ada Moor built it.", "It cost 9 dollars."])
def test_by_words_what_no_document_mentions_is_not_said_otherwise(claim: str) -> None:
    guard = Guard({"chain": [{"method": "ngram"}]})
    verdict = guard.check(
        claim, question="What about the Garmo bridge?", references=[TUNNEL, GARMO]
    )
    (found,) = verdict.claims
    assert found.flagged
    assert found.grounds == ()
    assert found.reason == "no reference has its facts"


def test_by_words_the_document_on_the_subject_contradicts_not_the_one_that_has_the_value() -> None:
    verdict = Guard({"chain": [{"method": "ngram"}]}).check(
        "It opened in 1950.",
        question="When did the Garmo bridge open?",
        references=["The Garmo bridge opened in 1932.", "The Silo tunnel opened in 1950."],
    )
    (found,) = verdict.claims
    assert found.contradicted_by is not None
    assert found.contradicted_by.text == "The Garmo bridge opened in 1932."
    assert found.contradicted_by.kind == "date"
    assert found.grounds == (Grounds(0, False, 0, 31),)


def test_by_words_what_no_document_has_is_named() -> None:
    claim = "The Garmo bridge was built by Ada Moor and opened in 1932."
    verdict = Guard({"chain": [{"method": "facts"}]}).check(claim, references=[BRIDGE, TUNNEL])
    assert verdict.claims[0].reason == "no reference about its subject has 'Ada Moor'"


def test_by_words_the_sentence_with_the_value_of_the_reason_is_quoted() -> None:
    x100 = "The X100 weighs 4.2 kg and has a cable of 8 metres. Its warranty is 24 months."
    x200 = "The X200 weighs 5.1 kg. Its warranty is 36 months from the date of purchase."
    verdict = Guard({"chain": [{"method": "facts"}]}).check(
        "The X100 has a warranty of 36 months.",
        question="What is the X100's warranty?",
        references=[x100, x200],
    )
    (found,) = verdict.claims
    assert found.reason == "reference 1 gives 24 months, the answer says '36 months'"
    assert found.contradicted_by is not None
    assert found.contradicted_by.text == "Its warranty is 24 months."


POOL = "The pool closes at 8 pm."
DISPLACED = {
    "a time": ("The pool closes at 10 pm.", POOL, "The bar closes at 10 pm."),
    "a price": (
        "The basic plan costs $20 per month.",
        "The basic plan costs $10 per month.",
        "The pro plan costs $20 per month.",
    ),
    "no unit": (
        "The minimum age is 16.",
        "The minimum age is 18 years.",
        "Our team has 16 members.",
    ),
    "another unit": (
        "You can return goods within 30 days.",
        "Returns: customers may return unused goods within 14 days.",
        "Our office is in room 30.",
    ),
    "French": (
        "La piscine ferme à 22 heures.",
        "La piscine ferme à 20 heures.",
        "Le bar ferme à 22 heures.",
    ),
}


@pytest.mark.parametrize(("claim", "denial", "other"), DISPLACED.values(), ids=DISPLACED)
def test_by_words_a_value_of_something_else_supports_nothing(
    claim: str, denial: str, other: str
) -> None:
    guard = Guard({"chain": [{"method": "facts"}]})
    for documents in ([denial, other], [other, denial]):
        verdict = guard.check(claim, question="What are the rules?", references=documents)
        (found,) = verdict.claims
        assert found.band == "contradicted"
        assert found.contradicted_by is not None
        assert found.contradicted_by.text == denial
        assert found.reason == f"reference {documents.index(denial) + 1} contradicts it"
    assert not guard.check(denial, references=[denial, other]).flagged
    assert not guard.check(other, references=[denial, other]).flagged


@pytest.mark.parametrize(
    ("claim", "documents"),
    [
        (
            "The deposit is 500 euros.",
            ["The deposit for pets is 100 euros.", "A security payment of 500 euros is due."],
        ),
        ("The tower is 120 m tall.", ["The old tower was 80 m tall.", "Height: 120 m"]),
    ],
)
def test_by_words_a_sentence_that_says_more_may_be_of_something_narrower(
    claim: str, documents: list[str]
) -> None:
    verdict = Guard({"chain": [{"method": "facts"}]}).check(claim, references=documents)
    (found,) = verdict.claims
    assert not found.flagged
    assert [(ground.reference, ground.supports) for ground in found.grounds] == [
        (1, True),
        (0, False),
    ]
    assert found.reason is not None
    assert found.reason.endswith("words cannot tell which is about the same")


def test_by_words_documents_that_disagree_are_left_so() -> None:
    verdict = Guard({"chain": [{"method": "facts"}]}).check(
        "The pool closes at 10 pm.", references=[POOL, "Our pool closes at 10 pm."]
    )
    assert verdict.claims[0].reason == "reference 2 supports it"


@pytest.mark.parametrize(("newer", "score"), [(0, 1.0), (1, 0.0)])
async def test_by_words_a_newer_document_is_believed_in_fewer_words(
    newer: int, score: float
) -> None:
    sources = [
        replace(reference, edition="2026" if i == newer else "2024")
        for i, reference in enumerate(references(POOL, "We close at 10 pm."))
    ]
    found = await scored(
        ["The pool closes at 10 pm."], None, tuple(sources), "When does the pool close?"
    )
    (by_words,) = found.sentences
    assert by_words is not None
    assert round(by_words) == score


@pytest.mark.parametrize(
    ("document", "flagged"),
    [("Version 30 was released.", True), ("Delivery of parcels, in days: 30", False)],
)
def test_by_words_a_bare_number_is_no_measure_of_something_else(
    document: str, flagged: bool
) -> None:
    verdict = Guard({"chain": [{"method": "facts"}]}).check(
        "Delivery takes 30 days.", question="How long does delivery take?", references=[document]
    )
    assert verdict.flagged is flagged


@pytest.mark.parametrize(
    ("claim", "document", "is_flagged"),
    [
        ("Returns are not possible.", "Returns are possible within 14 days with a receipt.", True),
        ("Rückgaben sind nicht möglich.", "Rückgaben sind binnen 14 Tagen möglich.", True),
        ("No se permiten mascotas.", "Se permiten mascotas.", True),
        ("Cats are not allowed.", "Dogs are allowed. Cats are not.", False),
        ("Worn shoes cannot be returned.", "Shoes can be returned unless worn.", False),
        ("Parking is not included.", "Breakfast is included, and parking costs 9 euros.", False),
        ("It covers water damage.", "It covers all damage except water damage.", True),
        ("The plan covers hail.", "The plan covers everything except hail.", True),
        ("Der Schutz umfasst Hagel.", "Der Schutz umfasst alles außer Hagel.", True),
        ("La póliza cubre granizo.", "La póliza cubre todo salvo granizo.", True),
        ("The plan covers all but hail.", "The plan covers all except hail.", False),
        ("The plan covers fire.", "The plan covers fire and storms, except hail.", False),
        ("The plan does not cover hail.", "The plan covers everything except hail.", False),
        ("You cannot return it after 30 days.", "You may return it within 30 days.", False),
        ("You cannot return it within 30 days.", "You may return it within 30 days.", True),
    ],
)
def test_by_words_conditions_and_exceptions_are_told_from_denials(
    claim: str, document: str, is_flagged: bool
) -> None:
    guard = Guard({"chain": [{"method": "facts"}]})
    verdict = guard.check(claim, question="What does it say?", references=[document])
    assert verdict.flagged == is_flagged
    if is_flagged:
        assert verdict.claims[0].reason == "reference 1 contradicts it"


def test_by_words_a_document_may_say_what_a_claim_denies() -> None:
    carries = "The Garmo bridge carries trains."
    verdict = Guard({"chain": [{"method": "ngram"}]}).check(
        "The Garmo bridge does not carry trains.",
        question="Tell me about the Garmo bridge.",
        references=[f"{OPENED} {carries}", TUNNEL],
    )
    (found,) = verdict.claims
    assert found.contradicted_by is not None
    assert (found.contradicted_by.text, found.contradicted_by.kind) == (carries, "negation")
    assert [(g.reference, g.supports) for g in found.grounds] == [(0, False)]


async def test_quotes_of_the_judge_are_contradictions() -> None:
    held = [said(1, (), (1,), quote="opened in 1932")]
    model = Model(["The Garmo bridge opened in 1950."], held)
    (found,) = (await Guard(JUDGED, provider=model).aask(RAG)).verdict.claims
    assert found.contradicted_by is not None
    assert found.contradicted_by.text == "The Garmo bridge opened in 1932."


MARKS = [
    *("[1]", "[doc1]", "【4:0†source】", "[^1]", "(Document 1)", "(handbook.pdf, p. 12)"),
    *("(Moor, 2019)", "[1, 2]", "[1][2]", "(source: handbook.pdf)"),
]


@pytest.mark.parametrize("mark", MARKS)
async def test_a_citation_mark_is_no_part_of_what_the_judge_is_asked(mark: str) -> None:
    judge = Judge([said(1, (1,))])
    claim = f"{OPENED.rstrip('.')} {mark}."
    assert (await scored([claim], judge)).sentences == (0.0,)
    (prompt,) = (messages[0]["content"] for messages in judge.asked)
    assert f"1. {OPENED.rstrip('.')} ." in prompt or f"1. {OPENED}" in prompt
    assert mark not in prompt


@pytest.mark.parametrize("by", ["judge", "words"])
async def test_a_list_of_sources_claims_nothing(by: str) -> None:
    text = "The bridge opened in 1932.\n\nSources:\n- handbook.pdf\n- Moor, 2019, page 12"
    policy = {"chain": [{"method": "references", "by": by}], "cache": {"store": "none"}}
    judge = Judge([said(1, (1,))])
    guard = Guard(policy, provider=judge, model="m")
    verdict = await guard.acheck(
        text, question="When did it open?", references=["The bridge opened in 1932."]
    )
    assert (verdict.decision, verdict.score) == ("consistent", 0.0)


LINKED = Reference("See https://example.com/a?x=1&y=2 for more.", url="https://example.com/b")


@pytest.mark.parametrize(
    ("link", "exists"),
    [
        ("http://www.example.com/a/?y=2&x=1#top", True),
        ("https://EXAMPLE.com/b/", True),
        ("https://example.com/a", False),
        ("https://example.com/bc", False),
        ("https://example.com/", False),
    ],
)
async def test_a_link_is_the_documents_own_however_it_is_written(link: str, exists: bool) -> None:
    evidence = Evidence(sources=(LINKED,), judge_provider=Judge([said(1, (1,))]))
    scores = await References().score(Passage.from_sentences([f"It is at {link}."]), evidence)
    assert scores.sentences == ((0.0,) if exists else (1.0,))


@pytest.mark.parametrize(
    ("mark", "score"),
    [
        ("(handbook.pdf, p. 12)", 0.0),
        ("(bakery.pdf, p. 12)", 1.0),
        ("(other.pdf, p. 12)", 0.0),
        ("[doc1]", 0.0),
        ("[doc2]", 1.0),
        ("(Document 2)", 1.0),
        ("[9]", 1.0),
    ],
)
async def test_cited_documents_are_checked_where_marks_resolve(mark: str, score: float) -> None:
    documents = (
        Reference("The bridge opened in 1932.", label="1", title="handbook.pdf"),
        Reference("The bakery sells bread.", label="2", id="bakery.pdf"),
    )
    evidence = Evidence(sources=documents, judge_provider=Judge([said(1, (1,))]))
    passage = Passage.from_sentences([f"The bridge opened in 1932 {mark}."])
    assert (await References().score(passage, evidence)).sentences == (score,)


WORDS = ("The", "lock", "opens", "with", "code", "4711")
CITED = st.lists(
    st.sampled_from(["", " [1]", " [1][2]", " [1] [2]", "【4:0†source】", " (Document 1)"]),
    min_size=len(WORDS),
    max_size=len(WORDS),
)


@given(CITED)
def test_a_judge_reads_a_claim_as_if_it_had_no_citation_marks(marks: list[str]) -> None:
    answer = "".join(f"{mark} {word}" for mark, word in zip(["", *marks], WORDS, strict=False))
    answer = f"{answer.strip()}{marks[-1]}."
    wrong = {**said(1, contradicts=(1,), quote="The lock opens with 4712"), "words": "4711"}
    prompts: list[str] = []

    def judged(request: Request) -> str:
        prompts.append("\n".join(str(message["content"]) for message in request.messages))
        return json.dumps([wrong])

    policy = {"chain": [{"method": "prompt", "evidence": "documents"}], "cache": {"store": "none"}}
    guard = Guard(policy, model="m", provider=ScriptedProvider(judged))
    verdict = guard.check(answer, references=["The lock opens with 4712."])
    assert "1. The lock opens with code 4711.\n" in f"{prompts[0]}\n"
    start = answer.index("4711")
    (span,) = verdict.claims[0].spans_in_doubt
    assert span == (start, start + len("4711"))


async def test_a_long_claim_is_compared_outside_of_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: set[int] = set()

    def noting(text: str) -> str:
        if len(text) > 50_000:
            threads.add(threading.get_ident())
        return normalized(text)

    monkeypatch.setattr("resay.scorers.references.normalized", noting)
    guard = Guard({"chain": [{"method": "references", "by": "words"}]})
    await guard.acheck(f"It opened in {'x' * 60_000}.", references=["It opened in 1932."])
    assert threads
    assert threading.get_ident() not in threads
