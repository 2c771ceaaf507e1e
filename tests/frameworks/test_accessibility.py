"""Every page that Resay makes, examined by axe-core in a real browser: `make test-frameworks`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.chromium import BROWSER, Tab, browser, tab
from support.gallery import gallery

__all__ = ["browser", "tab"]

INSTALLED = os.environ.get("RESAY_TEST_FRAMEWORKS")
pytestmark = [
    pytest.mark.skipif(
        INSTALLED is None or BROWSER is None,
        reason="`make test-frameworks` installs axe-core, and `.ci/servers` a browser",
    ),
    pytest.mark.timeout(180),
]
PAGES = (
    "batch report",
    "calibration",
    "verdicts",
    "to_html",
    "dashboard",
    "dashboard by model",
    "dashboard without verdicts",
    "verdict",
    "label",
    "label queue",
    "missing",
)
# Pages that answer a form: the page with the form, and what somebody does there.
ANSWERS = {
    "checked again": (
        "verdict",
        "(() => { const form = document.querySelector('form[action*=recheck]');"
        " form.querySelector('select').value = 'cheap'; form.requestSubmit(); })()",
    ),
    "labelled": (
        "label",
        "(() => { document.querySelectorAll('input[value=right]').forEach((e) => e.click());"
        " document.getElementById('label-form').requestSubmit(); })()",
    ),
}
# What is folded is shown: else nobody looks at it.
EXAMINE = """(() => {
  document.querySelectorAll('details').forEach((folded) => { folded.open = true; });
  return axe.run(document, {resultTypes: ['violations']}).then((result) =>
    result.violations.flatMap((violation) => violation.nodes.map((node) =>
      `${violation.id}: ${node.html} ${node.failureSummary}`)));
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    with gallery(tmp_path_factory.mktemp("gallery")) as addresses:
        yield addresses


@pytest.fixture(scope="module")
def axe(node: Path) -> str:
    """Return axe-core's source, to be run on a page."""
    return (node / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def violations(tab: Tab, axe: str) -> list[Any]:
    """Return what axe-core objects to on the page of a tab."""
    tab.run(f"{axe}; true")
    return tab.run(EXAMINE)


def test_the_gallery_has_the_pages_that_are_examined(pages: Mapping[str, str]) -> None:
    assert set(pages) == set(PAGES)


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_violations(
    tab: Tab, pages: Mapping[str, str], axe: str, name: str, scheme: str, width: int
) -> None:
    tab.looks(scheme, width)
    tab.open(pages[name])
    assert violations(tab, axe) == []
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_to_a_form_has_no_violations(
    tab: Tab, pages: Mapping[str, str], axe: str, name: str, scheme: str, width: int
) -> None:
    page, act = ANSWERS[name]
    tab.looks(scheme, width)
    tab.open(pages[page])
    heading = tab.run("document.querySelector('main').textContent")
    with tab.loading():
        tab.run(act)
    assert tab.run("document.querySelector('main').textContent") != heading
    assert violations(tab, axe) == []
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


def test_violations_are_noticed(tab: Tab, axe: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p style='color: #ccc'>pale</p><img src='x.png'>", encoding="utf-8")
    tab.open(page.as_uri())
    rules = {violation.partition(":")[0] for violation in violations(tab, axe)}
    assert {"color-contrast", "document-title", "html-has-lang", "image-alt"} <= rules
