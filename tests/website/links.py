"""Finds links of the built site that lead nowhere, and what its pages load from other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["problems"]

_LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class _Page(HTMLParser):
    """What a page links to and loads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append((tag, name, value))


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with the links of a site.

    Args:
        site: The folder with its pages.
    """
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        here = path.relative_to(site)
        if here.name == "404.html":  # its links are those of the server's root
            continue
        for tag, name, link in page.links:
            if fault := _fault(path, tag, name, link, pages):
                yield f"{here}: {fault}"
    for link in re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8")):
        if not (site / link).exists():
            yield f"llms.txt: {link} leads nowhere"


def _fault(path: Path, tag: str, name: str, link: str, pages: Mapping[Path, _Page]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        loaded = (tag, name) in _LOADED and parts.scheme != "data"
        return f"loads {link}" if loaded else None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return f"{link} leads nowhere"
    anchor = unquote(parts.fragment)
    known = target not in pages or not anchor or anchor in pages[target].anchors
    return None if known or anchor == "__skip" else f"{link} has no such anchor"
