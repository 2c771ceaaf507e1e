from __future__ import annotations

import pytest

from resay.core.links import addresses_in, links_in, normal_link

PAGE = "https://example.com/docs/a?x=1&y=2"


@pytest.mark.parametrize(
    "link",
    [
        PAGE,
        "http://example.com/docs/a?x=1&y=2",
        "https://www.example.com/docs/a?x=1&y=2",
        "https://EXAMPLE.com/docs/a?x=1&y=2",
        "https://example.com/docs/a/?x=1&y=2",
        "https://example.com/docs/a?y=2&x=1",
        "https://example.com/docs/a?x=1&y=2#part",
        "https://example.com:443/docs/a?x=1&y=2",
        "https://example.com/docs/%61?x=1&y=2",
        "www.example.com/docs/a?x=1&y=2",
        "https://example.com/docs/a?x=1&y=2.",
    ],
)
def test_one_page_has_one_form(link: str) -> None:
    assert normal_link(link) == normal_link(PAGE)


@pytest.mark.parametrize(
    "link",
    [
        "https://example.com/docs",
        "https://example.com/docs/a",
        "https://example.com/docs/A?x=1&y=2",
        "https://example.com/docs/a?x=1&y=3",
        "https://example.com/docs/ab?x=1&y=2",
        "https://docs.example.com/docs/a?x=1&y=2",
        "https://example.org/docs/a?x=1&y=2",
        "https://example.com.evil.org/docs/a?x=1&y=2",
    ],
)
def test_another_page_has_another_form(link: str) -> None:
    assert normal_link(link) != normal_link(PAGE)


def test_links_are_found_with_and_without_a_scheme() -> None:
    text = f"See {PAGE}, (http://a.org/b) or www.c.net/d; also e.io/f and mail@g.com."
    assert list(links_in(text)) == [PAGE, "http://a.org/b", "www.c.net/d", "e.io/f"]
    assert addresses_in(text) >= {"a.org/b", "c.net/d", "e.io/f", normal_link(PAGE)}
    assert "g.com" not in addresses_in(text)


def test_tracking_parameters_make_no_other_page() -> None:
    assert normal_link(f"{PAGE}&utm_source=chat&gclid=7") == normal_link(PAGE)


@pytest.mark.parametrize(
    "text", ["Use Node.js and report.pdf.", "either and/or both", "a 1.5/2 score", "at 5.km/h"]
)
def test_a_dot_or_a_slash_alone_makes_no_link(text: str) -> None:
    assert list(links_in(text)) == []
