from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from resay import (
    Contradiction,
    Document,
    SentenceVerdict,
    StepRecord,
    Unscored,
    Usage,
    Verdict,
)
from resay.adapters.pages import Reported, environment, page, stylesheet, verdict_section
from resay.core.claim_verdict import Part
from resay.core.display.texts import words
from resay.core.regeneration import Attempt, Edit, Regeneration
from resay.errors import ConfigurationError
from support.claims import claim_verdict
from support.html import Element, parsed

RESPONSE = "# Bridge\n\nIt opened in 1932. It has six lanes.\n\n```\ncode\n```\n"
KEPT = SentenceVerdict("It opened in 1932.", 10, 28, 0.1, by="nli", citations=("doc-a",))
MADE_UP = SentenceVerdict(
    "It has six lanes.",
    29,
    46,
    0.83,
    True,
    "prompt",
    "not supported by 4 of 5 texts compared",
    Contradiction("reference", 2, "It has nine lanes."),
)
REPAIRED = Regeneration(
    "repair",
    (
        Attempt(
            "1 of 2 sentences > 0.50",
            ("lanes of the bridge",),
            ("doc-a", "doc-b"),
            0.71,
            0.32,
            "flagged",
            "the judge was late",
            Usage(3, 30, 3, 0.5),
            2.0,
        ),
        Attempt("still flagged"),
    ),
    0,
    "2 of 2 sentences > 0.50",
    0.93,
    "It opened in 1950. It has six lanes.",
    (
        Edit("It opened in 1950.", "It opened in 1932.", 0, 18, ("doc-a",)),
        Edit("It is.", "", 37, 43),
    ),
    (
        Document(
            "doc-a", "Opened in 1932.", 1.0, {"title": "Guide", "url": "https://example.org/a"}
        ),
        Document("doc-b", "Lanes.", 1.0, {"title": "Notes", "url": "javascript:alert(1)"}),
    ),
)
VERDICT = Verdict(
    "flagged",
    0.47,
    "1 of 2 sentences > 0.50 with 5 samples",
    (KEPT, MADE_UP),
    5,
    (
        StepRecord("nli", 2, 0.4, Usage(), 0.2, {"ProviderTimeoutError": 2}, 3, "too few"),
        StepRecord("prompt", 0, skip_reason="when: long"),
    ),
    Usage(6, 1000, 200, 0.0123),
    1.26,
    "native",
    REPAIRED,
)
ANSWER = {
    "id": 17,
    "text": RESPONSE,
    "action": "annotate",
    "verdict": VERDICT.to_dict(),
    "usage": {"calls": 9, "prompt_tokens": 1, "completion_tokens": 1, "cost_usd": None},
}


def shown(verdict: Verdict | Reported = VERDICT, **options: Any) -> Element:
    return parsed(verdict_section(verdict, **options))


def rows(element: Element) -> list[list[str]]:
    return [
        [cell.text for cell in row.children if isinstance(cell, Element)]
        for row in element.all("tr")
    ]


def facts(element: Element) -> dict[str, str]:
    return {
        row.children[0].text: row.children[1].text
        for row in element.one("dl", "facts").children
        if isinstance(row, Element)
        and isinstance(row.children[0], Element)
        and isinstance(row.children[1], Element)
    }


def whole_page() -> Element:
    bare = Verdict.from_dict(VERDICT.to_dict(content=False))
    skipped = Verdict("skipped", None, "the answer contains no words")
    return parsed(page([Reported.from_dict(ANSWER), VERDICT, bare, skipped], title="log.jsonl"))


# --- templates ------------------------------------------------------------------------------------


def rendered(template: str, **values: Any) -> str:
    imports = '{% import "resay/parts.html" as parts %}'
    return environment().from_string(imports + template).render(values)


def test_text_is_escaped() -> None:
    template = '<p class="{{ name }}" hidden>{{ text }}{{ parts.hidden(text) }}{{ nothing }}</p>'
    assert rendered(template, name='"><i>', text="<b>&\"'", nothing=None) == (
        '<p class="&#34;&gt;&lt;i&gt;" hidden>&lt;b&gt;&amp;&#34;&#39;'
        '<span class="sr">&lt;b&gt;&amp;&#34;&#39;</span></p>'
    )


def test_html_of_a_string_is_words() -> None:
    assert rendered("{{ '%s' % text }}{{ text ~ '<i>' }}", text="<b>") == (
        "&lt;b&gt;&lt;b&gt;&lt;i&gt;"
    )
    assert rendered("{{ parts.hidden('x') ~ text }}", text="<b>") == (
        '<span class="sr">x</span>&lt;b&gt;'
    )


def test_an_undefined_name_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        rendered("{{ misspelt }}")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " https://example.org",
        "\x01javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//example.org",
        "guide.md#3",
        "https://exam ple.org",
        "https://example.org\n",
        "https://",
        "",
        None,
        7,
    ],
)
def test_only_addresses_of_the_web_are_links(url: object) -> None:
    assert rendered("{{ parts.link('it', url) }}", url=url) == "<bdi>it</bdi>"


@pytest.mark.parametrize("url", ["https://example.org/a?b=c&d#e", "HTTP://example.org"])
def test_addresses_of_the_web_are_links(url: str) -> None:
    made = parsed(rendered("{{ parts.link('it', url) }}", url=url)).one("a")
    assert made.attributes == {"href": url, "rel": "noopener noreferrer nofollow"}


def test_a_models_control_characters_are_replaced() -> None:
    text = rendered("{{ text }}", text="a\r\nb\x00c\x1bd\u202ee\ud800f")
    assert text == "a\nb\ufffdc\ufffdd\ufffde\ufffdf"


# --- one verdict ----------------------------------------------------------------------------------


def test_the_head_says_what_was_decided_and_why() -> None:
    part = shown(Reported.from_dict(ANSWER), title="17")
    assert part.one("h2").text == "!flagged 17"
    assert part.one("p", "reason").text == VERDICT.reason
    assert facts(part) == {
        "Score": "0.47 0.47",
        "Action": "annotated: given with its verdict",
        "Samples": "5",
        "The check": "6 calls, 1,200 tokens, $0.0123, 1.3 s",
        "Total": "9 calls, 2 tokens, price unknown",
    }


def test_the_head_says_why_a_method_scored_the_passage() -> None:
    step = StepRecord("zero_shot", 2, 1.0, reason="the judge called it non-factual")
    head = shown(replace(VERDICT, steps=(step,))).one("header")
    assert head.one("p", "score-reason").text == "zero_shot: the judge called it non-factual"
    told = replace(step, method="nli")
    assert not shown(replace(VERDICT, steps=(told,))).one("header").all("p", "score-reason")


def test_each_sentence_is_coloured_and_says_its_score_in_digits() -> None:
    first, second = shown().all("a", "sentence")
    assert (first.classes, second.classes) == (["sentence", "l0"], ["sentence", "l4", "flagged"])
    assert first.one("span", "chip").text == "score 0.10"
    assert second.one("span", "chip").text == "score 0.83! flagged"
    assert first.one("span", "said").text == "It opened in 1932."


def test_doubtful_sentences_are_marked_in_words_and_by_class() -> None:
    doubtful = replace(VERDICT.sentences[0], score=0.4, band="doubtful")
    part = shown(replace(VERDICT, sentences=(doubtful, *VERDICT.sentences[1:])))
    first = part.all("a", "sentence")[0]
    assert first.classes == ["sentence", "l2", "doubtful"]
    assert first.one("span", "tip").text == "score 0.40 by nli, doubtful"


def test_score_and_method_can_be_had_by_keyboard() -> None:
    part = shown(key="k")
    for sentence, tip in zip(
        part.all("a", "sentence"),
        ["score 0.10 by nli", "score 0.83 by prompt, flagged"],
        strict=True,
    ):
        # A link can be focused; its description is what is shown then.
        assert sentence.attributes["href"]
        described = sentence.one("span", "tip")
        assert described.attributes["id"] == sentence.attributes["aria-describedby"]
        assert described.text == tip


@pytest.mark.parametrize(
    ("score", "level", "text"),
    [
        (0.0, "l0", "0.00"),
        (0.2, "l1", "0.20"),
        (0.5, "l2", "0.50"),
        (0.79, "l3", "0.79"),
        (1.0, "l4", "1.00"),
        (None, "none", "?"),
        (math.nan, "none", "?"),
        (math.inf, "none", "?"),
        (7.0, "l4", "1.00"),
        (-1.0, "l0", "0.00"),
    ],
)
def test_any_number_is_shown(score: float | None, level: str, text: str) -> None:
    verdict = Verdict("consistent", score, "fine", (SentenceVerdict("It is.", 0, 6, score),))
    sentence = shown(verdict).one("a", "sentence")
    assert level in sentence.classes
    assert sentence.one("span", "chip").text == f"score {text}"


def test_unscored_text_is_shown_with_the_text() -> None:
    part = shown(Reported(VERDICT, text=RESPONSE)).one("div", "answer")
    assert [e.text for e in part.all("span", "unscored")] == [
        "# Bridge\n\n",
        "\n\n```\ncode\n```\n",
    ]


def test_unscored_text_is_shown_with_the_verdict_alone() -> None:
    unscored = (Unscored("# <Bridge>", 0, 8, "heading"), Unscored("```code```", 48, 58, "code"))
    section = shown(replace(VERDICT, unscored=unscored))
    part = section.one("div", "answer")
    told = [(e.text, e.attributes["title"]) for e in part.all("span", "unscored")]
    assert told == [("# <Bridge>", "heading, not scored"), ("```code```", "code block, not scored")]
    assert "Not scored (2)" in [e.text for e in section.all("summary")]
    bare = shown(Verdict.from_dict(replace(VERDICT, unscored=unscored).to_dict(content=False)))
    assert "Bridge" not in bare.text
    assert "0–8" in bare.text


def test_a_text_with_marks_in_it_is_not_taken_apart() -> None:
    marked = RESPONSE.replace("1932.", "1932. [1]")
    part = shown(Reported(VERDICT, text=marked)).one("div", "answer")
    assert not part.all("span", "unscored")
    assert len(part.all("a", "sentence")) == 2


def test_lines_that_are_not_known_still_break() -> None:
    apart = replace(MADE_UP, start=40, end=57)
    text = shown(replace(VERDICT, sentences=(KEPT, apart))).one("div", "answer").children
    assert "\n" in text
    assert "\n" not in shown().one("div", "answer").children


def test_a_flagged_sentence_stands_beside_what_contradicts_it() -> None:
    card = shown().one("ol", "cards")
    (item,) = card.all("li")
    assert [e.text for e in item.all("dt")] == ["The answer says", "Reference 3 says"]
    assert [e.text for e in item.all("dd")] == ["It has six lanes.", "It has nine lanes."]
    assert "by prompt" in item.text
    assert item.one("p", "score-reason").text == MADE_UP.reason


HALF_WRONG = "It opened in 1932, has <b>40</b> lamps and spans 503 m."


def half_wrong(*parts: Part) -> Element:
    claim = claim_verdict(
        text=HALF_WRONG,
        start=0,
        end=len(HALF_WRONG),
        score=0.9,
        flagged=True,
        parts=parts,
    )
    sentence = SentenceVerdict(HALF_WRONG, 0, len(HALF_WRONG), 0.9, True, "facts")
    verdict = Verdict("flagged", 0.9, "", (sentence,), claims=(claim,))
    return parsed(verdict_section(Reported(verdict, text=HALF_WRONG), key="v"))


def test_of_a_sentence_half_right_the_other_half_is_marked_and_named() -> None:
    shown = half_wrong(
        Part(start=13, end=17, band="supported", kind="date"),
        Part(start=23, end=38, band="unsupported"),
        Part(start=49, end=54, band="contradicted", kind="number"),
    )
    said = shown.one("span", "said")
    assert said.text == HALF_WRONG
    assert [mark.text for mark in said.all("mark")] == ["<b>40</b> lamps", "503 m"]
    card = shown.one("ol", "cards")
    terms = {row.one("dt").text: row.one("dd").text for row in card.one("dl").all("div")}
    assert terms["In doubt"] == "“<b>40</b> lamps”, “503 m”"


def test_of_a_sentence_that_is_wrong_as_a_whole_all_is_marked() -> None:
    shown = half_wrong()
    assert [mark.text for mark in shown.one("span", "said").all("mark")] == [HALF_WRONG]
    assert "In doubt" not in shown.text


def test_steps_are_a_table() -> None:
    steps = shown().all("table")[1]
    first, second = rows(steps)[1:]
    assert first[:4] == ["nli", "2", "score 0.40", "0 calls, 0 tokens, $0.0000"]
    assert first[4:] == ["0.2 s", "ProviderTimeoutError x2", "3", "too few"]
    assert second[:4] == ["prompt", "0", "score ?", "0 calls, 0 tokens, $0.0000"]
    assert second[4:] == ["0.0 s", "none", "0", "skipped: when: long"]


def test_sentences_are_a_table() -> None:
    first, _ = shown().all("table")
    assert rows(first) == [
        ["Characters", "Score", "Method", "Sentence", "Reason", "Sources"],
        ["10–28", "score 0.10", "nli", "It opened in 1932.", "", "[1]"],
        ["29–46", "score 0.83! flagged", "prompt", "It has six lanes.", MADE_UP.reason, ""],
    ]


def test_how_it_was_repaired() -> None:
    part = shown()
    assert "Repaired" in [e.text for e in part.all("h3")]
    first, second = part.one("ol", "edits").all("li")
    assert first.one("del").text == "It opened in 1950."
    assert first.one("ins").text == "It opened in 1932."
    assert first.one("a", "cite").attributes["href"] == "#verdict-d1"
    assert (second.one("del").text, second.one("em").text) == ("It is.", "removed")
    assert REPAIRED.draft in part.text


def test_attempts_list_searches_documents_and_scores() -> None:
    items = [e for e in shown().one("ol", "attempts").children if isinstance(e, Element)]
    assert [e.one("h4").text for e in items] == ["Attempt 1, adopted", "Attempt 2"]
    told = items[0].text
    for said in ("lanes of the bridge", "doc-b", "0.71", "0.32", "the judge was late", "$0.5000"):
        assert said in told


def test_sources_are_links_where_they_lead_to_the_web() -> None:
    first, second = [e for e in shown().one("ol", "sources").children if isinstance(e, Element)]
    assert first.one("a").attributes["href"] == "https://example.org/a"
    assert first.one("code").text == "doc-a"
    assert not second.all("a")
    assert second.one("bdi").text == "Notes"


@pytest.mark.parametrize(
    ("change", "title"),
    [({"mode": "rewrite"}, "Rewritten"), ({"adopted": None}, "Not repaired")],
)
def test_outcomes_of_regeneration(change: dict[str, Any], title: str) -> None:
    part = shown(replace(VERDICT, regeneration=replace(REPAIRED, **change)))
    assert title in [e.text for e in part.all("h3")]


def test_without_words_offsets_and_scores_remain() -> None:
    part = shown(Verdict.from_dict(VERDICT.to_dict(content=False)))
    assert "was not stored" in part.text
    assert not part.all("a", "sentence")
    table = part.all("table")[0]
    assert rows(table)[1:] == [
        ["10–28", "score 0.10", "nli", "[1]"],
        ["29–46", "score 0.83! flagged", "prompt", ""],
    ]
    assert "open" in part.all("details")[-2].attributes
    assert "text not stored" in part.one("ol", "edits").text
    for said in ("1932", "1950", "lanes"):
        assert said not in part.text


def test_a_withheld_answer_shows_what_was_given_in_its_place() -> None:
    verdict = Verdict.from_dict(VERDICT.to_dict(content=False))
    part = shown(Reported(verdict, text="I am not certain.", action="block"))
    assert part.one("q").text == "I am not certain."
    assert "blocked: withheld" in part.text


def test_an_answer_that_was_not_looked_at_is_shown() -> None:
    skipped = Verdict("skipped", None, "it is a greeting")
    part = shown(Reported(skipped, text="Hello!", action="allow"))
    assert part.one("div", "answer").text == "Hello!"


def test_a_section_fits_into_another_page() -> None:
    part = shown(key="x9", level=4, title="Yours")
    assert [e.text for e in part.all("h4")] == ["!flagged Yours"]
    names = [e.attributes["id"] for e in part.walk() if "id" in e.attributes]
    assert names
    assert all(name == "x9" or str(name).startswith("x9-") for name in names)


# --- the page -------------------------------------------------------------------------------------


def test_a_page_has_landmarks_and_headings_in_order() -> None:
    tree = whole_page()
    assert tree.one("html").attributes["lang"] == "en"
    assert [e.name for e in tree.one("body").children if isinstance(e, Element)] == [
        "a",
        "header",
        "nav",
        "main",
        "footer",
    ]
    levels = [int(e.name[1]) for e in tree.walk() if re.fullmatch(r"h[1-6]", e.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_every_reference_leads_to_one_element() -> None:
    tree = whole_page()
    names = [e.attributes["id"] for e in tree.walk() if "id" in e.attributes]
    assert len(set(names)) == len(names)
    for element in tree.walk():
        href = element.attributes.get("href") or ""
        if href.startswith("#"):
            assert href[1:] in names
        for key in ("aria-describedby", "aria-labelledby"):
            assert {*(element.attributes.get(key) or "").split()} <= {*names}


def test_nothing_is_fetched_and_nothing_runs() -> None:
    tree = whole_page()
    assert not {e.name for e in tree.walk()} & {
        *("script", "link", "img", "iframe", "object", "embed", "form", "base", "svg"),
    }
    for element in tree.walk():
        for name in element.attributes:
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "action")
    assert not re.search(r"url\(|@import|https?:", tree.one("style").text)


def test_the_content_security_policy_allows_the_style_sheet_alone() -> None:
    tree = whole_page()
    policy = next(e for e in tree.all("meta") if "http-equiv" in e.attributes)
    digest = hashlib.sha256(tree.one("style").text.encode()).digest()
    assert policy.attributes["content"] == (
        f"default-src 'none'; style-src 'sha256-{base64.b64encode(digest).decode()}';"
        " base-uri 'none'; form-action 'none'"
    )


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_words_stand_out_from_every_colour_behind_them(scheme: int) -> None:
    # WCAG 2.2, success criterion 1.4.3
    block = re.findall(r":root \{(.*?)\}", stylesheet(), re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", block))
    behind = ["card", "quiet", "l0", "l1", "l2", "l3", "l4"]
    pairs = [(ink, paper) for ink in ("ink", "soft") for paper in behind]
    pairs += [("flagged", paper) for paper in behind[2:]]
    pairs += [("soft", "paper"), ("accent", "card"), ("card", "ink")]
    pairs += [("add", "quiet"), ("drop", "quiet")]
    badges = ("consistent", "flagged", "inconclusive", "skipped")
    pairs += [("on-badge", badge) for badge in badges]
    for pair in pairs:
        low, high = sorted(luminance(colours[name]) for name in pair)
        assert (high + 0.05) / (low + 0.05) >= 4.5, pair


def test_several_verdicts_have_an_overview() -> None:
    table = whole_page().one("nav").one("table")
    assert [row[:4] for row in rows(table)[1:]] == [
        ["17", "!flagged", "score 0.47", "1 of 2"],
        ["Verdict 2", "!flagged", "score 0.47", "1 of 2"],
        ["Verdict 3", "!flagged", "score 0.47", "1 of 2"],
        ["Verdict 4", "–skipped", "score ?", "0 of 0"],
    ]
    assert not parsed(page([VERDICT])).all("nav")


def test_invalid_verdicts_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="not a verdict; check decision"):
        Reported.from_dict({"text": "secret"})
    with pytest.raises(ConfigurationError, match="`usage` does not match") as refused:
        Reported.from_dict({"verdict": VERDICT.to_dict(), "usage": "secret"})
    assert "secret" not in str(refused.value)


def test_other_keys_next_to_a_verdict_are_read() -> None:
    logged = Reported.from_dict({**VERDICT.to_dict(), "id": "a", "action": "block", "text": "x"})
    assert (logged.verdict, logged.id, logged.action) == (VERDICT, "a", "block")
    assert (logged.text, logged.usage) == (None, None)
    odd = Reported.from_dict(
        {"verdict": VERDICT.to_dict(), "id": [], "action": "explode", "text": 1}
    )
    assert odd == Reported(VERDICT)


# --- whatever is said -----------------------------------------------------------------------------

NASTY = st.one_of(
    st.text(),
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            '"><img src=x onerror=alert(1)>',
            "' onmouseover='alert(1)",
            "</style><script>",
            "</a></article><!-- ",
            "-->",
            "<!doctype html>",
            "]]><svg/onload=alert(1)>",
            "&lt;script&gt;&#60;b&#62;",
            "javascript:alert(1)",
            "\x00<\x00script>",
            "<\ud800b>",
        ]
    ),
    st.text(alphabet="<>\"'&/=!-`abc \n\r\t\x00\u2028\u202e;#x3", max_size=40),
)


def respoken(value: Any, say: Iterator[str]) -> Any:
    """Return a value with other words in the place of every one that somebody else wrote."""
    if isinstance(value, str):
        return f"{next(say)}{value}"
    if isinstance(value, tuple):
        return tuple(respoken(item, say) for item in value)
    if isinstance(value, dict):
        return {key: respoken(item, say) for key, item in value.items()}
    if is_dataclass(value):
        fixed = {"decision", "mode", "via", "source", "usage"}
        return replace(
            value,  # pyright: ignore[reportArgumentType] - an instance, not a class
            **{
                f.name: respoken(getattr(value, f.name), say)
                for f in fields(value)
                if f.name not in fixed
            },
        )
    return value


def skeleton(tree: Element) -> list[tuple[str, tuple[tuple[str, str | None], ...]]]:
    """Return the elements and attributes, without the addresses and words that may differ."""
    return [
        (e.name, tuple((k, v) for k, v in e.attributes.items() if k != "content"))
        for e in tree.walk()
        if e.name not in ("style", "#page")
    ]


def spoken(element: Element) -> set[str]:
    return {e.text for e in element.walk()}


@given(NASTY, NASTY, NASTY)
def test_no_words_add_an_element_or_an_attribute(name: str, said: str, text: str) -> None:
    # The same words everywhere, so that what belongs together still does; never an address.
    def words_forever(word: str) -> Iterator[str]:
        while True:
            yield word

    hostile: Verdict = respoken(VERDICT, words_forever(f"x{said}"))
    plain: Verdict = respoken(VERDICT, words_forever("x"))
    made = parsed(page([Reported(hostile, name, f"{text}ab", "allow")], title=text))
    expected = parsed(page([Reported(plain, "name", "ab", "allow")], title="title"))
    assert skeleton(made) == skeleton(expected)
    assert words(hostile.sentences[0].text) in spoken(made.one("div", "answer"))
    made_up = hostile.sentences[1].contradicted_by
    assert made_up
    assert words(made_up.text) in spoken(made.one("ol", "cards"))
    assert words(name) in spoken(made.one("h2"))
    page([Reported(hostile, name, text, "block")], title=text).encode()


def test_a_flagged_name_in_code_has_a_card_of_its_own() -> None:
    said = Contradiction("sample", 1, "numpy", "name")
    name = claim_verdict(
        "The code imports nunpy.",
        53,
        57,
        unit="code",
        score=1.0,
        flagged=True,
        by="code_names",
        contradicted_by=said,
        sentence=-1,
    )
    quiet = replace(
        name,
        claim=replace(name.claim, text="The code imports os."),
        score=0.2,
        flagged=False,
    )
    section = shown(replace(VERDICT, claims=(name, quiet)))
    cards = section.one("ol", "cards").text
    assert "The code imports nunpy." in cards
    assert "Sample 2 says" in cards
    assert "The code imports os." not in cards
    assert "Flagged (2)" in section.text
    code = Unscored("```\nimport nunpy\n```", 0, 20, "code")
    alone = Verdict("flagged", 1.0, "1 of 1 name in code", claims=(name,), unscored=(code,))
    assert "Flagged (1)" in shown(alone).text
    assert "nunpy" not in shown(Verdict.from_dict(alone.to_dict(content=False))).text
