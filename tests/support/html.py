"""Parses a page into a tree, strictly enough to notice what a browser would forgive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Element", "parsed"]

_VOID = {"input", "link", "meta"}


@dataclass
class Element:
    """An element with its content."""

    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, name: str | None = None, cls: str | None = None) -> list[Element]:
        return [e for e in self.walk() if name in (None, e.name) and cls in (None, *e.classes)]

    def one(self, name: str | None = None, cls: str | None = None) -> Element:
        (found,) = self.all(name, cls)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("#page")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")


def parsed(markup: str) -> Element:
    """Return the tree of a page, or of a fragment.

    Raises:
        AssertionError: It is not well-formed.
    """
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    (page,) = reader.open
    return page
