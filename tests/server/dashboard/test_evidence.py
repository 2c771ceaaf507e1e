"""The samples, and each judge's prompt and answer, are beside the claims that they concern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resay import Contradiction, SentenceVerdict, Verdict
from resay.plugins import JudgeCall, RecordedEvidence, Reference
from resay_server.journal import Entry, Journal
from support.claims import claim_verdict
from support.dashboard import asking, shown, write
from support.html import Element
from support.journal import entry

pytestmark = pytest.mark.anyio
OPENED, LAMPS = "It opened in 1932.", "It has 31 lamps."


def call(*claims: str, **fields: Any) -> JudgeCall:
    given = {"method": "prompt", "prompt": "Is it <b>so</b>?", "answers": ("1: supported",)}
    return JudgeCall(claims=claims, **(given | fields))


def checked(evidence: RecordedEvidence | None, **changes: Any) -> Entry:
    against = Contradiction("sample", 1, "It has 30 lamps.")
    verdict = Verdict(
        "flagged",
        0.9,
        "1 of 2 sentences > 0.50 with 2 samples",
        (SentenceVerdict(OPENED, 0, 18, 0.1), SentenceVerdict(LAMPS, 19, 35, 0.9, True)),
        claims=(
            claim_verdict(OPENED, 0, 18, score=0.1),
            claim_verdict(
                LAMPS, 19, 35, score=0.9, flagged=True, contradicted_by=against, sentence=1
            ),
        ),
        samples=2,
    )
    return entry(verdict, id="e-1", evidence=evidence, **changes)


async def page_of(journal: Journal, item: Entry) -> Element:
    await write(journal, item)
    async with asking(journal) as client:
        return await shown(client, "/ui/verdicts/e-1")


def claims_of(page: Element) -> list[Element]:
    return [item for item in page.one("ol", "claims").children if isinstance(item, Element)]


def section_of(page: Element) -> Element:
    (section,) = [
        item for item in page.all("section") if item.attributes.get("aria-labelledby") == "evidence"
    ]
    return section


async def test_a_sample_is_one_click_away(opened: Callable[..., Journal]) -> None:
    samples = (f"{OPENED} It has 31 lamps.", f"{OPENED}\nIt has <i>30</i> lamps.")
    page = await page_of(opened(content="all"), checked(RecordedEvidence(samples=samples)))
    details = section_of(page).all("details")
    assert [item.one("pre").text for item in details] == list(samples)
    assert all("open" not in item.attributes for item in details)
    assert details[1].one("summary").text == "Sample 2: It opened in 1932. …"
    (link,) = [item for item in claims_of(page)[1].all("a") if item.text == "Sample 2: "]
    assert link.attributes["href"] == "#sample-2"
    assert details[1].one("pre").attributes["id"] == "sample-2"


async def test_a_judges_prompt_and_answer_are_beside_their_claim(
    opened: Callable[..., Journal],
) -> None:
    evidence = RecordedEvidence(
        judge_calls=(
            call(LAMPS, model="acme/judge", answers=("2: contradicted", "2: supported")),
            # As prompts show a claim: on one line.
            call(OPENED, LAMPS.replace(" ", "\n")),
            call(answers=(), error="RateLimitError"),
        )
    )
    page = await page_of(opened(content="all"), checked(evidence))
    first, second = claims_of(page)
    (of_both,) = first.all("details")
    assert of_both.one("summary").text == "prompt asked the model that answered"
    assert [item.text for item in of_both.all("pre")] == ["Is it <b>so</b>?", "1: supported"]
    (alone,) = second.all("details")
    assert alone.one("summary").text == "prompt asked acme/judge"
    assert [item.text for item in alone.all("p")] == ["Prompt", "Answer 1", "Answer 2"]
    (link,) = [item for item in second.all("a") if "asked about" in item.text]
    assert link.text == "prompt asked about claim 1 and this one"
    targets = [item.attributes.get("id") for item in of_both.walk()]
    assert (link.attributes["href"] or "").removeprefix("#") in targets
    # What is about no claim is below.
    (other,) = section_of(page).all("details")
    assert "No answer: RateLimitError" in other.text


async def test_several_questions_about_the_same_claims_are_counted(
    opened: Callable[..., Journal],
) -> None:
    evidence = RecordedEvidence(judge_calls=tuple(call(OPENED, LAMPS) for _ in range(3)))
    page = await page_of(opened(content="all"), checked(evidence))
    first, second = claims_of(page)
    assert [item.text for item in first.all("summary")] == [
        f"prompt asked the model that answered, {index} of 3" for index in (1, 2, 3)
    ]
    (line,) = second.all("p", "source")
    assert line.text == "prompt asked about claim 1 and this one 3 times"


async def test_references_and_what_was_left_out_are_shown(opened: Callable[..., Journal]) -> None:
    evidence = RecordedEvidence(
        second_samples=("It has 32.",),
        references=(Reference("It has 30 lamps.", "documents[0]", title="Guide"),),
        omitted_texts=1,
        omitted_calls=2,
    )
    section = section_of(await page_of(opened(content="all"), checked(evidence)))
    summaries = [item.text for item in section.all("summary")]
    assert summaries == ["Second opinion 1: It has 32.", "Guide: It has 30 lamps."]
    assert "3 more texts were too long to store." in section.text


@pytest.mark.parametrize(
    ("settings", "changes", "reason"),
    [
        ({"content": "none"}, {}, "stores no text (content: none)"),
        ({"content": "all", "evidence": False}, {}, "(evidence: false)"),
        (
            {"content": "flagged"},
            {"decision": "consistent", "action": "allow"},
            "set content to all",
        ),
    ],
)
async def test_it_says_which_setting_stores_them(
    opened: Callable[..., Journal], settings: Any, changes: Any, reason: str
) -> None:
    evidence = RecordedEvidence(samples=("zqsamplezq",))
    page = await page_of(opened(**settings), checked(evidence, **changes))
    assert reason in section_of(page).text
    assert "zqsamplezq" not in page.text


async def test_it_says_that_a_check_had_none(opened: Callable[..., Journal]) -> None:
    page = await page_of(opened(content="all"), checked(None))
    assert "its check used none" in section_of(page).text
