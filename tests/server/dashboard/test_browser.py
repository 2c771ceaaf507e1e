"""The dashboard in a real browser, where one is installed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette

from resay import Contradiction, SentenceVerdict, Usage, Verdict
from resay.adapters import run_sync
from resay.plugins import JudgeCall, RecordedEvidence, VerdictRecord
from resay_server.dashboard import routes
from resay_server.journal import Entry, Journal, JournalConfig, open_journal
from support.chromium import BROWSER, Tab
from support.claims import claim_verdict
from support.dashboard import make, recent, write

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")

ATTACK = (
    '<script>document.title="ran";alert(1)</script>'
    '<img src=x onerror="document.title=\'ran\';alert(2)">"onfocus="alert(3)" autofocus="'
)
LIGHT, DARK = "rgb(246, 246, 244)", "rgb(21, 23, 26)"
ROWS = "document.querySelectorAll('.log tbody tr').length"
NEWS = "document.getElementById('news').textContent"
# Tells when the page has made of the figures whatever it makes of them.
MARK_FIGURES = """(() => {
  const real = window.fetch;
  window.fetch = async (url, how) => {
    const answer = await real(url, how);
    const text = answer.text.bind(answer);
    answer.text = async () => {
      const said = await text();
      if (url.includes('/figures')) setTimeout(() => (document.body.dataset.came = 'yes'));
      return said;
    };
    return answer;
  };
})()"""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    one = open_journal(JournalConfig(url=f"sqlite:///{tmp_path / 'j.db'}", content="all"))
    yield one
    run_sync(one.aclose)


@contextmanager
def served(journal: Journal) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=routes(journal))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def url(journal: Journal) -> Iterator[str]:
    with served(journal) as one:
        yield f"{one}/ui"


def attacked() -> Entry:
    sentences = (
        SentenceVerdict("It opened in 1932.", 0, 18, 0.1, by="nli"),
        SentenceVerdict(
            ATTACK, 19, 99, 0.9, True, "nli", ATTACK, Contradiction("sample", 0, ATTACK)
        ),
    )
    verdict = Verdict("flagged", 0.5, ATTACK, sentences, 5, usage=Usage(5, 10, 10, 0.01))
    named = {"model": ATTACK, "policy": ATTACK, "tenant": ATTACK, "request_id": ATTACK}
    return Entry.of(VerdictRecord(verdict=verdict, action="annotate", question=ATTACK, **named))


def look_now(tab: Tab) -> None:
    """Have the page do what it does when somebody looks at it again."""
    tab.run("document.dispatchEvent(new Event('visibilitychange'))")


def first_link(tab: Tab) -> str:
    return tab.run("document.querySelector('.log tbody a').href")


def test_new_verdicts_come_by_themselves(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, *recent(2))
    tab.open(url)
    tab.run("window.kept = true")
    assert tab.run(ROWS) == 2
    # The focus stays where it is.
    tab.tab_to(".log a")
    focused = tab.run("document.activeElement.href")
    run_sync(write, journal, make(id="new", model="brand-new", time=time.time()))
    tab.until(f"{ROWS} === 3")
    assert tab.run("document.querySelector('.log tbody tr').textContent").count("brand-new") == 1
    assert tab.run("document.activeElement.href") == focused
    assert tab.run("window.kept") is True
    assert tab.run(NEWS) == "1 new verdict, 1 flagged"
    # One that was written late comes where it belongs.
    run_sync(write, journal, make(id="late", time=time.time() - 1000))
    look_now(tab)
    tab.until(f"{ROWS} === 4")
    assert tab.run("document.querySelector('.log tbody').lastElementChild.id") == "row-late"
    assert len(tab.events("Page.loadEventFired")) == 1
    assert tab.troubles() == []


def test_the_first_verdict_takes_the_place_of_the_words_for_newcomers(
    tab: Tab, journal: Journal, url: str
) -> None:
    tab.open(url)
    assert "No verdicts yet" in tab.run("document.body.textContent")
    run_sync(write, journal, make())
    look_now(tab)
    tab.until(f"{ROWS} === 1")
    assert "No verdicts yet" not in tab.run("document.body.textContent")


def test_a_full_list_stays_as_long_as_it_is(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, *recent(50))
    tab.open(url)
    assert tab.run("document.querySelector('[rel=next]')") is None
    run_sync(write, journal, make(id="new", time=time.time()))
    look_now(tab)
    tab.until("document.getElementById('row-new')")
    assert tab.run(ROWS) == 50
    # What fell out of it is on the next page.
    assert tab.run("document.getElementById('row-entry-49')") is None
    tab.open(tab.run("document.querySelector('[rel=next]').href"))
    assert tab.run("document.querySelector('.log tbody tr').id") == "row-entry-49"


def test_it_can_be_paused(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, *recent(1))
    tab.open(url)
    tab.tab_to("#pause")
    tab.press(" ")
    assert tab.run("document.getElementById('state').textContent") == "Paused"
    before = len(tab.asked())
    run_sync(write, journal, make())
    look_now(tab)
    assert tab.run(ROWS) == 1
    assert len(tab.asked()) == before
    tab.press("Enter")
    tab.until(f"{ROWS} === 2")
    assert tab.run("document.activeElement.id") == "pause"
    assert tab.run("document.getElementById('state').textContent") == "Live"


def test_it_says_when_it_cannot_be_reached(tab: Tab, journal: Journal) -> None:
    with served(journal) as one:
        tab.open(f"{one}/ui")
    look_now(tab)
    tab.until("document.getElementById('state').dataset.state === 'failing'")
    assert tab.run(NEWS) == ""


def test_figures_follow_and_what_was_opened_stays_open(
    tab: Tab, journal: Journal, url: str
) -> None:
    run_sync(write, journal, *recent(1))
    tab.open(url)
    tab.run(MARK_FIGURES)
    tab.run("document.getElementById('latency-table').open = true")
    tab.run("window.old = document.getElementById('figures')")
    look_now(tab)
    tab.until("document.getElementById('figures') !== window.old")
    assert tab.run("document.getElementById('latency-table').open") is True
    assert tab.run("document.getElementById('cost-table').open") is False
    # Whoever reads there is left in peace.
    tab.run("document.querySelector('#latency-table summary').focus()")
    tab.run("window.old = document.getElementById('figures'); delete document.body.dataset.came")
    look_now(tab)
    tab.until("document.body.dataset.came")
    assert tab.run("document.getElementById('figures') === window.old") is True


def test_there_and_back_by_keyboard(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, attacked(), *recent(60))
    tab.open(f"{url}?decision=flagged&span=1h")
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Skip to the list"
    tab.press("Enter")
    tab.tab_to(".log a")
    row = tab.run("document.activeElement.closest('tr').id")
    with tab.loading():
        tab.press("Enter")
    assert tab.run("document.querySelector('h1').textContent") == "Verdict"
    # A sentence that has the focus tells its score and its method.
    tip = "document.querySelector('.sentence .tip')"
    assert tab.run(f"getComputedStyle({tip}).display") == "none"
    tab.tab_to(".sentence")
    assert tab.run(f"getComputedStyle({tip}).display") == "block"
    assert tab.run(f"{tip}.textContent") == "score 0.10 by nli"
    tab.run("document.activeElement.blur()")
    tab.tab_to(".trail a")
    with tab.loading():
        tab.press("Enter")
    assert tab.run("location.search") == "?span=1h&decision=flagged"
    assert tab.run("document.querySelector(':target').id") == row
    # The next key goes on from there.
    tab.press("Tab")
    assert tab.run("document.activeElement.closest('tr')?.id") == row
    # And older ones can be reached, too.
    tab.tab_to("[rel=next]")
    with tab.loading():
        tab.press("Enter")
    assert tab.run(ROWS) == 11
    assert tab.troubles() == []


def test_feedback_by_keyboard(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, attacked())
    tab.open(url)
    tab.open(first_link(tab))
    tab.tab_to("#rater")
    tab.send("Input.insertText", text="Ann")
    tab.tab_to(".rate [value=wrong]")
    with tab.loading():
        tab.press("Enter")
    (said,) = run_sync(journal.feedback)
    assert (said.rating, said.rater, said.source) == ("wrong", "Ann", "dashboard")
    assert tab.run("document.querySelector('ul.said').textContent").startswith(
        "Ann: the answer is wrong"
    )
    assert tab.run("document.getElementById('rater').value") == "Ann"
    assert tab.troubles() == []


def test_samples_and_prompts_are_opened_by_keyboard(tab: Tab, journal: Journal, url: str) -> None:
    sentences = (
        SentenceVerdict("It opened in 1932.", 0, 18, 0.1),
        SentenceVerdict("It has 31 lamps.", 19, 35, 0.9, True),
    )
    claims = (
        claim_verdict("It opened in 1932.", 0, 18, score=0.1),
        claim_verdict("It has 31 lamps.", 19, 35, score=0.9, flagged=True, sentence=1),
    )
    verdict = Verdict("flagged", 0.9, "so", sentences, claims=claims)
    asked = tuple(sentence.text for sentence in sentences)
    call = JudgeCall(method="prompt", prompt="Is it so?", answers=("1: no",), claims=asked)
    evidence = RecordedEvidence(samples=("It has 30.",), judge_calls=(call,))
    run_sync(write, journal, replace(make(id="e"), verdict=verdict.to_dict(), evidence=evidence))
    tab.open(f"{url}/verdicts/e")
    assert tab.run("document.querySelectorAll('details.source[open]').length") == 0
    tab.tab_to("section[aria-labelledby=evidence] summary")
    tab.press("Enter")
    tab.until("document.getElementById('sample-1').checkVisibility()")
    # The link beside the second claim opens what is beside the first.
    assert tab.run("document.getElementById('call-1').checkVisibility()") is False
    tab.run("document.querySelector('a[href=\"#call-1\"]').click()")
    tab.until("document.getElementById('call-1').checkVisibility()")
    assert tab.troubles() == []


def test_claims_are_labelled_by_keys(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, attacked())
    entry = run_sync(journal.recent, 1)[0]
    tab.open(f"{url}/label?entry={entry.id}")
    claims = tab.run("document.querySelectorAll('fieldset').length")
    assert claims > 1
    for _ in range(claims - 1):
        tab.press("1")
    # A key that is no label does nothing.
    tab.press("4")
    assert run_sync(journal.feedback) == []
    with tab.loading():
        tab.press("2")
    ratings = {rating.claim: rating.rating for rating in run_sync(journal.feedback)}
    assert ratings == {
        **dict.fromkeys(range(claims - 1), "right"),
        claims - 1: "wrong",
        None: "wrong",
    }
    assert "Resay:" in tab.run("document.querySelector('main').textContent")
    assert tab.troubles() == []


def test_the_mouse_shows_the_method_too(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, attacked())
    tab.open(url)
    tab.open(first_link(tab))
    x, y = tab.run(
        "(() => { const r = document.querySelector('.said').getBoundingClientRect();"
        " return [r.x + 5, r.y + 5]; })()"
    )
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert tab.run("getComputedStyle(document.querySelector('.sentence .tip')).display") == "block"


@pytest.mark.parametrize(("scheme", "paper"), [("light", LIGHT), ("dark", DARK)])
def test_it_is_painted_as_the_reader_likes_it(
    tab: Tab, journal: Journal, url: str, scheme: str, paper: str
) -> None:
    run_sync(write, journal, attacked(), *recent(3))
    tab.looks(scheme)
    for path in (url, ""):
        tab.open(path or first_link(tab))
        assert tab.run("getComputedStyle(document.body).backgroundColor") == paper
        assert tab.picture()[:4] == b"\x89PNG"
    assert tab.troubles() == []


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1280])
def test_small_windows_show_everything_without_scrolling_sideways(
    tab: Tab, journal: Journal, url: str, width: int
) -> None:
    run_sync(write, journal, attacked(), *recent(3, tenant="t" * 90))
    tab.looks("light", width, 800)
    for path in (url, ""):
        tab.open(path or first_link(tab))
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")
    entry = run_sync(journal.recent, 4)[-1]
    tab.open(f"{url}/label?entry={entry.id}")
    assert tab.run("document.querySelectorAll('fieldset').length")
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


def test_a_table_stays_one_where_it_looks_like_cards(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, *recent(2))
    tab.looks("light", 390, 800)
    tab.open(url)
    tab.send("Accessibility.enable")
    nodes = tab.send("Accessibility.getFullAXTree")["nodes"]
    roles = [node.get("role", {}).get("value") for node in nodes if not node["ignored"]]
    assert roles.count("rowheader") >= 2
    assert roles.count("columnheader") >= 10
    names = {
        node["name"]["value"]
        for node in nodes
        if node.get("role", {}).get("value") in {"image", "img"} and "name" in node
    }
    assert any(name.startswith("Flag rate over 24 hours") for name in names)


def test_what_a_model_says_stays_words(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, attacked())
    entry_id = run_sync(journal.recent, 1)[0].id
    for path in (url, f"{url}?by=tenant", f"{url}/verdicts/{entry_id}"):
        tab.open(path)
        assert tab.run("document.title") != "ran"
        assert tab.run("document.querySelectorAll('img, [autofocus], [onerror]').length") == 0
        assert ATTACK[:40] in tab.run("document.body.textContent")
    # It comes in by way of the script, too.
    tab.open(url)
    run_sync(write, journal, attacked())
    look_now(tab)
    tab.until(f"{ROWS} === 2")
    assert tab.run("document.title") == "Verdicts – Resay"
    assert tab.troubles() == []


def test_nothing_is_fetched_from_elsewhere(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, attacked())
    tab.open(url)
    look_now(tab)
    tab.open(first_link(tab))
    home = url.removesuffix("/ui")
    assert all(one.startswith(f"{home}/ui") for one in tab.asked())


def test_everything_works_without_the_script(tab: Tab, journal: Journal, url: str) -> None:
    run_sync(write, journal, *recent(51, model="m"), make(model="other"))
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(url)
    assert tab.run("getComputedStyle(document.getElementById('controls')).display") == "none"
    assert tab.run("document.getElementById('refresh').textContent") == "Refresh"
    tab.run("document.getElementById('model').value = 'm'")
    tab.tab_to(".filters button")
    with tab.loading():
        tab.press("Enter")
    assert tab.run("new URLSearchParams(location.search).get('model')") == "m"
    assert tab.run(ROWS) == 50
    with tab.loading():
        tab.run("document.querySelector('[rel=next]').click()")
    assert tab.run(ROWS) == 1
    tab.tab_to("#latency-table summary")
    tab.press("Enter")
    assert tab.run("document.getElementById('latency-table').open") is True
