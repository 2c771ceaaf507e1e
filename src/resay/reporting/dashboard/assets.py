"""What the pages need besides themselves: a style sheet, a script and an icon."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from importlib import resources

from resay.reporting.render.html import stylesheet

__all__ = ["Asset", "Assets"]


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
