"""Finding entries, deleting them, and what people say of them, in both databases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any, get_args

import pytest

from resay import ConfigurationError, Document, Usage
from resay.core.regeneration import Regeneration
from resay_server.journal import Feedback, Journal, SampledEntry, Sort
from support.journal import NOW, entry, make_verdict

pytestmark = pytest.mark.anyio


async def write(journal: Journal, *changes: dict[str, Any]) -> None:
    for i, one in enumerate(changes):
        await journal.append(entry(**{"id": f"e-{i}", "time": NOW + i, **one}))
    await journal.flush()


async def ids(journal: Journal, **filters: Any) -> list[str]:
    return [one.id for one in await journal.recent(**filters)]


async def test_by_time_and_request(journal: Journal) -> None:
    await write(journal, {"request_id": "a"}, {"request_id": "b"}, {"request_id": "a"})
    assert await ids(journal, since=NOW + 1) == ["e-2", "e-1"]
    assert await ids(journal, until=NOW + 1) == ["e-0"]
    assert await ids(journal, request_id="a") == ["e-2", "e-0"]
    assert (await journal.find("a")) == (await journal.get("e-2"))
    assert (await journal.find("e-1")) == (await journal.get("e-1"))
    assert await journal.find("c") is None


async def test_by_words(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    said = make_verdict()
    texts = ["The Brücke has 31 lamps", "100% of it, and_more", "An unrelated flagged one"]
    for i, text in enumerate(texts):
        sentence = replace(said.sentences[0], text=text)
        about = replace(said, sentences=(sentence,))
        await journal.append(entry(about, id=f"e-{i}", time=NOW + i, question=f"Question {i}?"))
    await journal.flush()
    assert await ids(journal, words="brücke LAMPS") == ["e-0"]
    assert await ids(journal, words="question 1?") == ["e-1"]
    assert await ids(journal, words="100%") == ["e-1"]
    # The beginning of a word is found where that is asked for.
    assert await ids(journal, words="lam*") == ["e-0"]
    assert await ids(journal, words="lam") == []
    assert await ids(journal, words="amps*") == []
    # Signs separate words, and are none themselves; nor are names of fields.
    assert await ids(journal, words="10%of") == []
    assert await ids(journal, words="it,100") == ["e-1"]
    assert await ids(journal, words="and?more") == []
    assert await ids(journal, words="?!") == []
    assert await ids(journal, words="contradicted_by") == []
    assert await ids(journal, words="question", decision="consistent") == []
    assert await ids(journal, words="question", since=NOW + 1, until=NOW + 2) == ["e-1"]
    assert await ids(journal, words="question", limit=2) == ["e-2", "e-1"]
    assert await ids(journal, words="question", limit=2, before="e-1") == ["e-0"]


async def test_words_of_languages_without_spaces(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    await write(journal, {"question": "東京タワーの高さは?"}, {"question": "Ｔｏｋｙｏ, Straße"})
    assert await ids(journal, words="京タワ") == ["e-0"]
    assert await ids(journal, words="高") == ["e-0"]
    assert await ids(journal, words="京東") == []
    assert await ids(journal, words="tokyo STRASSE") == ["e-1"]


async def test_filters_apply_to_figures_too(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    await write(
        journal,
        {"model": "a", "tenant": "x", "question": "Which bridge?", "request_id": "r"},
        {"model": "b", "tenant": "x", "question": "Which tower?", "decision": "consistent"},
        {"model": "a", "tenant": None, "question": "Which bridge then?"},
    )

    async def counted(**filters: Any) -> list[tuple[str | None, int]]:
        slices = await journal.summary(NOW, NOW + 60, 60, "model", **filters)
        return [(one.name, one.entries) for one in slices]

    assert await counted() == [("a", 2), ("b", 1)]
    assert await counted(model="b") == [("b", 1)]
    assert await counted(policy="other") == []
    assert await counted(decision="flagged") == [("a", 2)]
    assert await counted(tenant="x") == [("a", 1), ("b", 1)]
    assert await counted(request_id="r") == [("a", 1)]
    assert await counted(words="bridge") == [("a", 2)]
    assert await counted(words="bridge which", tenant="x") == [("a", 1)]
    assert await counted(words="?") == []


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("newest", ["e-3", "e-2", "e-1", "e-0"]),
        ("score", ["e-2", "e-3", "e-1", "e-0"]),
        ("cost", ["e-0", "e-3", "e-2", "e-1"]),
        ("latency", ["e-1", "e-3", "e-2", "e-0"]),
    ],
)
async def test_other_orders(journal: Journal, sort: Any, order: list[str]) -> None:
    paid = Usage(1, cost_usd=0.5)
    await write(
        journal,
        {"score": None, "usage": paid, "latency_s": 1.0},
        {"score": 0.1, "usage": Usage(1, cost_usd=None), "latency_s": 3.0},
        {"score": 0.9, "latency_s": 2.0},
        {"score": 0.5, "latency_s": 2.0},
    )
    assert await ids(journal, sort=sort) == order
    pages = [await ids(journal, sort=sort, limit=2)]
    pages.append(await ids(journal, sort=sort, limit=2, before=pages[0][-1]))
    assert pages == [order[:2], order[2:]]


@pytest.mark.parametrize("sort", get_args(Sort))
@pytest.mark.parametrize("words", [None, "zqsentencezq"])
async def test_pages_go_on_after_an_entry_that_was_deleted(
    opened: Callable[..., Journal], sort: Any, words: str | None
) -> None:
    journal = opened(content="all")
    usages = (Usage(1, cost_usd=cost) for cost in (0.3, None, 0.1, 0.1, 0.2))
    scores = (None, 0.1, 0.1, 0.3, 0.2)
    changes = [{"usage": u, "score": s} for u, s in zip(usages, scores, strict=True)]
    await write(journal, *({"request_id": f"r-{i}", **one} for i, one in enumerate(changes)))
    read = await journal.recent(words=words, sort=sort)
    assert len(read) == 5
    for i, one in enumerate(read, 1):
        await journal.forget(request_id=one.request_id)
        assert await journal.recent(before=one, words=words, sort=sort) == read[i:]


async def test_names_with_the_same_hash_are_told_apart(
    opened: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hashlib.blake2s", lambda *_, **__: sha256())
    journal = opened(content="all")
    await write(journal, {"tenant": "acme"}, {"tenant": "other"})
    assert await ids(journal, words="zqsentencezq", tenant="acme") == ["e-0"]


async def test_words_are_found_in_any_order(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    times = [{"time": NOW + 5}, {"time": NOW}, {"time": NOW}, {"time": 1e300}]
    await write(journal, *(one | {"score": i / 10} for i, one in enumerate(times)))
    found = await ids(journal, words="zqsentencezq")
    assert (found[:2], set(found[2:])) == (["e-3", "e-0"], {"e-1", "e-2"})
    pages = [await ids(journal, words="zqsentencezq", limit=1)]
    while pages[-1]:
        pages.append(await ids(journal, words="zqsentencezq", limit=1, before=pages[-1][0]))
    assert [one for page in pages for one in page] == found
    assert await ids(journal, words="zqsentencezq", sort="score") == ["e-3", "e-2", "e-1", "e-0"]


async def test_the_words_of_one_that_was_kept_without_are_not_indexed(
    opened: Callable[..., Journal],
) -> None:
    bare, whole = opened(), opened(content="all")
    await write(bare, {"id": "e"})
    await write(whole, {"id": "e"})
    assert await ids(whole, words="zqsentencezq") == []


async def test_no_text_passes_by_the_redaction(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all", redact="server.journal.test_finding:without_anna")
    known = {"source": "anna.pdf", "by": "anna", "kind": ["anna"], "anna": {"via": "anna"}}
    source = Document("d", "Of anna.", metadata=known)
    regeneration = Regeneration(
        "repair", (), reason="r", score=0.9, draft="anna", sources=(source,)
    )
    await write(journal, {"about": make_verdict(regeneration=regeneration)})
    await journal.rate(Feedback(entry_id="e-0", rating="right", note="anna said so"))
    (said,) = await journal.feedback("e-0")
    assert said.note == "X said so"
    read = await journal.get("e-0")
    assert read is not None
    assert "anna" not in str(read.verdict)
    assert read.verdict["regeneration"]["sources"][0]["metadata"]["source"] == "X.pdf"


def without_anna(text: str) -> str:
    return text.replace("anna", "X")


async def test_redacted_words_are_not_found(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all", redact="server.journal.test_finding:without_names")
    await write(journal, {"question": "Where does Ada live?"})
    assert await ids(journal, words="ada") == []
    assert await ids(journal, words="somebody live") == ["e-0"]


def without_names(text: str) -> str:
    return text.replace("Ada", "Somebody")


async def test_without_words_none_are_found(journal: Journal) -> None:
    await write(journal, {})
    assert await ids(journal, words="zqsentencezq") == []
    assert await ids(journal, words="sentences") == []


async def test_a_tenant_is_forgotten(journal: Journal) -> None:
    await write(journal, {"tenant": "a"}, {"tenant": "b"}, {"tenant": "a"}, {"tenant": None})
    for name in ("e-0", "e-1"):
        await journal.rate(Feedback(entry_id=name, rating="wrong", rater="x"))
        await journal.add_sampled([SampledEntry(name, "random", 2.0)])
    assert await journal.forget(tenant="a") == 2
    assert await ids(journal) == ["e-3", "e-1"]
    assert [one.entry_id for one in await journal.feedback()] == ["e-1"]
    assert [one.entry_id for one in await journal.sampled()] == ["e-1"]
    assert await journal.forget(tenant="a") == 0


async def test_a_request_is_forgotten(journal: Journal) -> None:
    await write(journal, {"request_id": "a"}, {"request_id": "b"})
    assert await journal.forget(request_id="a") == 1
    assert await ids(journal) == ["e-1"]
    with pytest.raises(ConfigurationError, match="to choose the entries to delete"):
        await journal.forget()


async def test_feedback_goes_with_old_entries(opened: Callable[..., Journal]) -> None:
    journal = opened()
    await write(journal, {}, {})
    for name in ("e-0", "e-1"):
        await journal.rate(Feedback(entry_id=name, rating="right"))
    assert await opened(max_entries=1).prune() == 1
    assert [one.entry_id for one in await journal.feedback()] == ["e-1"]


async def test_feedback(journal: Journal) -> None:
    await write(journal, {}, {})
    first = Feedback(entry_id="e-0", rating="wrong", rater="ann", note="It has 30.", time=NOW)
    claim = Feedback(entry_id="e-0", rating="right", rater="ann", claim=0, time=NOW + 1)
    await journal.rate(first)
    await journal.rate(claim)
    await journal.rate(Feedback(entry_id="e-1", rating="unsure", rater="bob", time=NOW + 2))
    assert await journal.feedback("e-0") == [first, claim]
    # Who says it again has changed their mind.
    changed = replace(first, rating="right", note=None, source="api", time=NOW + 3)
    await journal.rate(changed)
    assert await journal.feedback("e-0") == [claim, changed]
    assert len(await journal.feedback()) == 3
    assert len(await journal.feedback(["e-0", "e-1"])) == 3
    assert await journal.feedback(["e-0"], limit=1) == [changed]
    assert await journal.feedback([]) == []


async def test_feedback_on_nothing_is_refused(journal: Journal) -> None:
    await write(journal, {})
    with pytest.raises(ConfigurationError, match="no entry 'e-9'"):
        await journal.rate(Feedback(entry_id="e-9", rating="wrong"))


async def test_what_was_drawn_waits_for_each_rater(journal: Journal) -> None:
    await write(journal, {}, {}, {})
    draws = [SampledEntry(f"e-{i}", "uncertainty", 1.5 * (i + 1), NOW + i) for i in range(3)]
    assert await journal.add_sampled(draws) == 3
    assert await journal.sampled() == draws
    await journal.rate(Feedback(entry_id="e-0", rating="wrong", rater="ann"))
    # One on a claim is none on the whole.
    await journal.rate(Feedback(entry_id="e-1", rating="wrong", rater="ann", claim=0))
    assert await journal.sampled(unrated_by="ann") == draws[1:]
    assert await journal.sampled(unrated_by="bob") == draws
    assert await journal.sampled(unrated_by="") == draws[1:]


async def test_what_is_drawn_again_has_both_weights(journal: Journal) -> None:
    await write(journal, {}, {})
    await journal.add_sampled(
        [SampledEntry("e-0", "uncertainty", 2.0, NOW), SampledEntry("e-1", "random", 4.0, NOW)]
    )
    assert await journal.add_sampled([SampledEntry("e-0", "uncertainty", 1.5, NOW + 1)]) == 0
    assert await journal.sampled() == [
        SampledEntry("e-0", "uncertainty", 3.5, NOW),
        SampledEntry("e-1", "random", 4.0, NOW),
    ]
    # Once at random is at random: it is then part of that draw, and of its place in the queue.
    again = [
        SampledEntry("e-0", "random", 4.0, NOW + 2),
        SampledEntry("e-1", "uncertainty", 1.5, NOW + 2),
    ]
    assert await journal.add_sampled(again) == 0
    assert await journal.sampled() == [
        SampledEntry("e-1", "random", 5.5, NOW),
        SampledEntry("e-0", "random", 7.5, NOW + 2),
    ]


@pytest.mark.parametrize(
    ("rating", "about", "decision", "hallucinated"),
    [
        ("right", "verdict", "flagged", True),
        ("wrong", "verdict", "flagged", False),
        ("right", "verdict", "consistent", False),
        ("wrong", "verdict", "consistent", True),
        ("unsure", "verdict", "flagged", None),
        ("right", "verdict", "inconclusive", None),
        ("right", "answer", "flagged", False),
        ("wrong", "answer", "inconclusive", True),
        ("unsure", "answer", "flagged", None),
    ],
)
def test_what_feedback_says_of_an_answer(
    rating: Any, about: Any, decision: Any, hallucinated: bool | None
) -> None:
    said = Feedback(entry_id="e", rating=rating, about=about)
    assert said.hallucinated(decision) is hallucinated


@pytest.mark.parametrize("wrong", [{"rating": "bad"}, {"about": "me"}, {"claim": -2}])
def test_feedback_that_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not"):
        Feedback(**{"entry_id": "e", "rating": "right", **wrong})


async def test_words_of_claims_are_found_in_verdicts_of_older_versions(
    opened: Callable[..., Journal],
) -> None:
    verdict = make_verdict().to_dict()
    sentence = verdict["sentences"][0]
    claim = {
        "text": "A zqclaimzq is made.",
        "start": 0,
        "end": 12,
        "kind": "fact",
        "score": 0.75,
        "flagged": True,
        "by": "ngram",
        "why": "zqnotezq",
        "contradicted_by": None,
    }
    old = {key: value for key, value in sentence.items() if key != "reason"} | {"why": "zqoldzq"}
    verdict = {**verdict, "sentences": [old], "claims": [claim]}
    journal = opened(content="all")
    await write(journal, {"verdict": verdict})
    assert await ids(journal, words="zqclaimzq zqnotezq zqoldzq") == ["e-0"]
    bare = opened()
    await write(bare, {"id": "bare", "verdict": verdict})
    (entry_without_text,) = [one for one in await bare.recent() if one.id == "bare"]
    assert "zq" not in str(entry_without_text.verdict)
