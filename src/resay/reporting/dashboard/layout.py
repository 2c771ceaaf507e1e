"""What all pages have in common: the frame, the style sheet, the script and the icon."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from importlib import resources
from urllib.parse import quote

from resay._internal._version import __version__
from resay.reporting.dashboard.query import Wanted
from resay.reporting.render.html import Html, stylesheet, tag


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that is served.

    Attributes:
        name: Its name, which changes with what is in it.
        kind: Its media type.
        content: What is in it.
    """

    name: str
    kind: str
    content: bytes = field(repr=False)


class Assets:
    """The files, read once."""

    def __init__(self) -> None:
        self.style = _asset("dashboard", "css", "text/css", stylesheet() + _read("dashboard.css"))
        self.script = _asset("dashboard", "js", "text/javascript", _read("dashboard.js"))
        self.icon = _asset("icon", "svg", "image/svg+xml", _read("icon.svg"))
        self._named = {asset.name: asset for asset in (self.style, self.script, self.icon)}

    def get(self, name: str) -> Asset | None:
        """Return the file of a name, or None."""
        return self._named.get(name)


def _read(name: str) -> str:
    file = resources.files("resay.reporting.dashboard") / "static" / name
    return file.read_text(encoding="utf-8")


def _asset(name: str, suffix: str, kind: str, text: str) -> Asset:
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Asset(f"{name}-{digest}.{suffix}", f"{kind}; charset=utf-8", content)


_MEANING = (
    "Scores lie between 0 and 1; 1 = surely hallucinated. Consistent does not mean true: a model"
    " that is wrong the same way every time agrees with itself. All times are UTC."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pages are.

    Attributes:
        base: The path that all of them begin with.
        assets: The files beside them.
    """

    base: str
    assets: Assets

    def home(self, wanted: Wanted | None = None, **changes: object) -> str:
        """Return the address of the list and the figures."""
        return f"{self.base or '/'}{(wanted or Wanted()).query(**changes)}"

    def part(self, name: str, wanted: Wanted) -> str:
        """Return the address of a part of that page."""
        return f"{self.base}/{name}{wanted.query()}"

    def verdict(self, entry_id: str, wanted: Wanted) -> str:
        """Return the address of a verdict, which knows where the reader came from."""
        return f"{self.base}/verdicts/{quote(entry_id, safe='')}{wanted.query()}"

    def file(self, name: str) -> str:
        """Return the address of a file beside the pages."""
        return f"{self.base}/static/{name}"


def page(
    place: Place,
    title: str,
    *body: Html | None,
    heading: Html | None = None,
    skip: tuple[str, str] | None = None,
    scripted: bool = False,
) -> str:
    """Return a whole page.

    Args:
        place: Where it is.
        title: What it is called in the browser's title.
        body: What is in its `main`.
        heading: Its `h1`, where that is no part of the body.
        skip: A target on the page with its name, for a link in front of everything.
        scripted: Whether it follows what happens.
    """
    brand = tag("a", tag("b", "Resay", class_="brand"), href=place.home(), class_="home")
    top = tag("header", tag("p", brand), heading, class_="top")
    whole = [
        tag("a", f"Skip to {skip[1]}", href=f"#{skip[0]}", class_="skip") if skip else None,
        top,
        tag("main", *body),
        tag("footer", tag("p", _MEANING), tag("p", f"Resay {__version__}")),
    ]
    head = _head(place, title, scripted)
    html = tag(
        "html",
        head,
        tag("body", *whole, class_=f"dashboard{'' if scripted else ' single'}"),
        lang="en",
    )
    return f"<!doctype html>\n{html}\n"


def notice_page(place: Place, title: str, *said: str) -> str:
    """Return a page that says why there is nothing else on it."""
    card = tag(
        "section",
        tag("h1", title),
        *(tag("p", line) for line in said),
        tag("p", tag("a", "All verdicts", href=place.home())),
        class_="panel",
    )
    return page(place, title, card)


def _head(place: Place, title: str, scripted: bool) -> Html:
    files = place.assets
    script = tag("script", src=place.file(files.script.name), type="module")
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{title} – Resay"),
        tag("link", rel="stylesheet", href=place.file(files.style.name)),
        tag("link", rel="icon", type="image/svg+xml", href=place.file(files.icon.name)),
        script if scripted else None,
    )
