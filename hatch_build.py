"""Makes the long description from the README, for places that do not have the other files.

Links to files of the repository lead to its address. As long as `[project.urls]` of pyproject.toml
has no `Repository`, links become their text, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)(\n*)")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)\s]+)\)")


def long_description(readme: str, repository: str | None) -> str:
    """Return the README with links that work everywhere.

    Args:
        readme: The README.
        repository: The repository's address; None if it has none yet.
    """
    if repository is None:
        return _LINK.sub(r"\1", _PICTURE.sub("", readme))
    pages = f"{repository.rstrip('/')}/blob/HEAD"
    files = f"{repository.rstrip('/')}/raw/HEAD"
    with_pictures = _PICTURE.sub(rf"![\1]({files}/\2)\3", readme)
    return _LINK.sub(rf"[\1]({pages}/\2)", with_pictures)


class LongDescription(MetadataHookInterface):
    """Adds the long description to the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add it."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        text = long_description(readme, repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
