"""The page about the results of a batch."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from resay_lab.batch import results_page
from support.batch import write_lines
from support.chromium import BROWSER, Tab
from support.html import Element, parsed

TEXT = "It opened in 1932. It has 31 lamps. Nobody knows."


def row(decision: str | None = "flagged", score: float | None = 0.9, **changes: Any) -> Any:
    claims = [
        {"text": TEXT[:18], "start": 0, "end": 18, "score": 0.1, "flagged": False},
        {"text": "It has 31 lamps", "start": 19, "end": 35, "score": score, "flagged": True},
    ]
    return {
        "id": "a",
        "response": TEXT,
        "decision": decision,
        "score": score,
        "reason": "1 of 2 sentences > 0.50 with 5 samples",
        "claims": claims if decision == "flagged" else [],
        "usage": {"calls": 1, "prompt_tokens": 2, "completion_tokens": 3, "cost_usd": 0.5},
        "error": None,
        **changes,
    }


def page_of(folder: Path, rows: list[Any], **options: Any) -> Element:
    path = write_lines(folder / "out.jsonl", rows)
    return parsed(results_page(path, **options)[0])


def bars(page: Element) -> list[tuple[str, float, bool]]:
    """Return the colour, the height and whether it is flagged of each bar of the histogram."""
    (chart,) = [e for e in page.all("svg") if e.attributes.get("class") == "histogram"]
    result: list[tuple[str, float, bool]] = []
    for group in chart.all("g"):
        shapes = [e for e in group.children if isinstance(e, Element) and e.name != "title"]
        for index, shape in enumerate(shapes):
            if shape.name == "rect":
                is_hatched = index + 1 < len(shapes) and shapes[index + 1].name == "path"
                colour = (shape.attributes["class"] or "").removeprefix("bar ")
                result.append((colour, float(shape.attributes["height"] or 0), is_hatched))
    return result


def test_bars_have_the_colour_of_their_score_and_not_of_their_height(tmp_path: Path) -> None:
    page = page_of(
        tmp_path,
        [
            *[row("consistent", 0.02, reason="every sentence <= 0.50")] * 4,
            row("flagged", 0.97),
            row("flagged", 0.55),
            row("consistent", 0.55, reason="every sentence <= 0.50"),
        ],
    )
    assert bars(page) == [
        ("l0", 176.0, False),
        # One upon the other.
        ("l2", 44.0, False),
        ("l2", 44.0, True),
        ("l4", 44.0, True),
    ]


def test_the_threshold_is_drawn(tmp_path: Path) -> None:
    page = page_of(tmp_path, [row(), row("consistent", 0.2, reason="passage 0.20 <= 0.30")])
    texts = [e.text for e in page.all("text") if "flagged over" in e.text]
    assert texts == ["flagged over 0.3", "flagged over 0.5"]


def test_the_worst_rows_are_flagged_and_coloured(tmp_path: Path) -> None:
    rows = [
        row("flagged", 0.6, id="mild"),
        row("inconclusive", 1.0, id="unknown"),
        row("flagged", 0.8, id="grave"),
        row("flagged", None, id="without"),
    ]
    page = page_of(tmp_path, rows, worst=2)
    cards = page.all("article")
    assert [card.one("h3").one("bdi").text for card in cards] == ["grave", "mild"]
    answer = cards[0].one("div", "answer")
    assert [
        (e.attributes["class"], len(e.all("mark"))) for e in answer.all("span", "sentence")
    ] == [
        ("sentence l0", 0),
        ("sentence l4", 1),
    ]
    assert answer.one("mark").text == "It has 31 lamps."
    assert answer.text.endswith("Nobody knows.")


def test_claims_that_overlap_or_lie_outside_leave_the_text_whole(tmp_path: Path) -> None:
    spans = [(0, 18), (5, 30), (19, 400), (-3, 2), (None, None), (19, 35)]
    claims = [
        {"text": "x", "start": start, "end": end, "score": 0.9, "flagged": False}
        for start, end in spans
    ]
    page = page_of(tmp_path, [row(claims=claims)])
    answer = page.one("div", "answer")
    chips = [chip.text for chip in answer.all("span", "chip")]
    text = answer.text
    for chip in chips:
        text = text.replace(chip, "", 1)
    assert text == TEXT
    assert len(chips) == 2


def test_rows_without_a_decision_are_listed_by_reason(tmp_path: Path) -> None:
    failed = dict.fromkeys(("score", "reason", "usage")) | {"claims": []}
    rows = [
        row("inconclusive", 0.9, reason="only 0 usable samples"),
        row("inconclusive", 0.9, reason="only 2 usable samples"),
        row(None, error="ConfigurationError: <i>needs samples", **failed),
        row("skipped", None, reason="the response is only code"),
    ]
    page = page_of(tmp_path, rows)
    (section,) = [e for e in page.all("section") if "Rows without" in e.text]
    lines = [[cell.text for cell in line.all("td")] for line in section.one("tbody").all("tr")]
    assert [line[1:] for line in lines] == [
        ["1", "row 3", "ConfigurationError: <i>needs samples"],
        ["2", "row 1", "only 0 usable samples"],
        ["1", "row 4", "the response is only code"],
    ]
    assert bars(page) == []


def test_what_strangers_say_ends_no_script(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script>\u202e<!--&amp;"
    page = page_of(
        tmp_path, [row(id=attack, response=attack, reason=attack, lang=attack)], group="lang"
    )
    data, code = page.all("script")
    assert data.attributes["type"] == "application/json"
    ((_, name, *_rest),) = json.loads(data.text)
    assert name == attack.replace("\u202e", "\ufffd")
    assert "alert(1)" not in code.text
    policy = [e.attributes.get("content") or "" for e in page.all("meta")][1]
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+';"
        r" base-uri 'none'; form-action 'none'",
        policy,
    )


def test_headings_are_in_order_and_every_column_has_one(tmp_path: Path) -> None:
    failed = dict.fromkeys(("score", "reason", "usage")) | {"claims": [], "error": "x"}
    page = page_of(tmp_path, [row(lang="en"), row(None, lang="de", **failed)], group="lang")
    levels = [int(e.name[1]) for e in page.walk() if e.name in {"h1", "h2", "h3"}]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(second <= first + 1 for first, second in pairwise(levels))
    headings = [e for table in page.all("table") for e in table.one("thead").all("th")]
    assert all(heading.text and heading.attributes["scope"] == "col" for heading in headings)
    names = [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
    assert len(set(names)) == len(names)
    for element in page.walk():
        for key in ("aria-labelledby", "for"):
            assert element.attributes.get(key, names[0]) in names
    for chart in page.all("svg"):
        if chart.attributes.get("class") in ("histogram", "shares"):
            assert chart.attributes["role"] == "img"
            assert chart.attributes["aria-label"]


def test_without_scripts_the_empty_table_is_hidden(tmp_path: Path) -> None:
    page = page_of(tmp_path, [row()])
    (section,) = [e for e in page.all("section") if e.attributes.get("id") == "all-rows"]
    assert "hidden" in section.attributes


@pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")
def test_rows_are_sorted_and_filtered_in_the_browser(tmp_path: Path, tab: Tab) -> None:
    rows = [
        row(
            "flagged" if i % 2 else "consistent",
            (i * 7 % 100) / 100,
            id=f"row-{i}",
            lang=["de", "en"][i % 2],
        )
        for i in range(250)
    ]
    path = write_lines(tmp_path / "out.jsonl", rows)
    file = tmp_path / "page.html"
    file.write_text(results_page(path, group="lang")[0], encoding="utf-8")
    tab.open(file.as_uri())
    names = "[...document.querySelectorAll('#all-rows tbody th')].map((e) => e.textContent)"
    status = "document.getElementById('rows-status').textContent"
    assert len(tab.run(names)) == 100
    assert tab.run(status) == "1 to 100 of 250 rows"
    tab.run("document.querySelector('[data-column=\"3\"]').click()")
    assert tab.run(names)[0] == "row-57"
    fill = "(() => {{ const e = document.getElementById('{}'); e.value = '{}';"
    fill += " e.dispatchEvent(new Event('input')); }})()"
    tab.run(fill.format("decision", "consistent"))
    assert tab.run(status) == "1 to 100 of 125 rows"
    tab.run(fill.format("search", "ROW-24"))
    assert sorted(tab.run(names)) == [
        "row-24",
        "row-240",
        "row-242",
        "row-244",
        "row-246",
        "row-248",
    ]
    tab.run(fill.format("group", "en"))
    assert tab.run(status) == "0 rows"
    tab.looks("dark", 390, 800)
    tab.open(file.as_uri())
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    assert tab.troubles() == []
