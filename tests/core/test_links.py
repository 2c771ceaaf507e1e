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
    assert list(links_in(text)) == [PAGE, "http://a.org/b", "www.c.net/d"]
    assert addresses_in(text) >= {"a.org/b", "c.net/d", "e.io/f", normal_link(PAGE)}
    assert "g.com" not in addresses_in(text)
