"""The page in a real browser, where one is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from resay import Contradiction, SentenceVerdict, Verdict
from resay.adapters.pages import Reported, page
from support.chromium import BROWSER, Tab

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")

ATTACK = '<script>document.title="ran"</script><img src=x onerror="document.title=\'ran\'">'
VERDICT = Verdict(
    "flagged",
    0.5,
    "1 of 2 sentences > 0.50",
    (
        SentenceVerdict("It opened in 1932.", 0, 18, 0.1, by="nli"),
        SentenceVerdict(
            ATTACK,
            19,
            19 + len(ATTACK),
            0.9,
            True,
            "nli",
            ATTACK,
            Contradiction("sample", 0, ATTACK),
        ),
    ),
)
PAPER = {"light": "rgb(246, 246, 244)", "dark": "rgb(21, 23, 26)"}
Browse = Callable[..., str]


@pytest.fixture
def browse(tab: Tab, tmp_path: Path) -> Browse:
    """Opens a page and returns what the browser has made of it."""

    def run(markup: str, *, at: str = "") -> str:
        file = tmp_path / f"page{at}.html".replace("#", "-")
        file.write_text(markup, encoding="utf-8")
        tab.open(f"{file.as_uri()}{at}")
        return tab.run("document.documentElement.outerHTML")

    return run


@pytest.mark.parametrize("scheme", PAPER)
def test_colours_follow_the_colour_scheme(browse: Browse, tab: Tab, scheme: str) -> None:
    tab.looks(scheme)
    browse(page([VERDICT]))
    # The colour comes from the style sheet: the policy has let it in.
    assert tab.run("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]


def test_output_of_a_model_stays_text(browse: Browse) -> None:
    said = Reported(VERDICT, id=ATTACK, text=f"It opened in 1932. {ATTACK}", action="annotate")
    dom = browse(page([said], title=ATTACK))
    assert "<script" not in dom
    assert "<img" not in dom
    assert "<title>ran" not in dom
    assert dom.count("&lt;script&gt;") >= 5


def test_the_policy_stops_what_should_get_in_nevertheless(browse: Browse) -> None:
    broken = page([VERDICT]).replace("</main>", f"</main>{ATTACK}")
    assert "<title>Verdicts – Resay</title>" in browse(broken)
    open_page = broken.replace("Content-Security-Policy", "x")
    assert "<title>ran</title>" in browse(open_page)


def test_the_link_of_a_sentence_opens_what_is_folded(browse: Browse) -> None:
    folded = '<details class="part">'
    assert folded in browse(page([VERDICT]))
    assert '<details class="part" open="">' in browse(page([VERDICT]), at="#v1-s1")
