"""Encloses texts in tags with a code that their authors cannot know."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fences:
    """The tags of one prompt.

    Attributes:
        code: What the names of its tags end with.
    """

    code: str

    @classmethod
    def around(cls, *texts: str) -> Fences:
        """Return the tags of a prompt that quotes texts.

        Args:
            *texts: All texts that it quotes.
        """
        # No text can contain the hash of all the texts it appears among.
        mixed = "\0".join(texts).encode("utf-8", "replace")
        return cls(hashlib.sha256(mixed).hexdigest()[:16])

    def enclose(self, name: str, text: str, *, number: int | None = None) -> str:
        """Return a text between tags.

        Args:
            name: The name of the tags, before the code.
            text: The text.
            number: The number to show in the opening tag.
        """
        attribute = "" if number is None else f' number="{number}"'
        return f"<{name}-{self.code}{attribute}>\n{text}\n</{name}-{self.code}>"
