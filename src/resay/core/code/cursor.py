"""A position among the tokens of code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from resay.core.code.tokens import CodeToken

MAX_PARTS = 8
"""The maximum number of parts that are read of a qualified name."""
END = CodeToken("end", "", 0)
"""The token before the first one and after the last one."""


@dataclass(slots=True)
class TokenCursor:
    """A position among tokens, which moves forward.

    Attributes:
        tokens: The tokens.
        position: The index of the token that is read next.
    """

    tokens: Sequence[CodeToken]
    position: int = 0

    @property
    def current(self) -> CodeToken:
        """The token that is read next."""
        return self.peek(0)

    @property
    def is_at_end(self) -> bool:
        """Whether no token is left."""
        return self.position >= len(self.tokens)

    def peek(self, by: int) -> CodeToken:
        """Return the token so many after the current one; before it, if the number is negative."""
        index = self.position + by
        return self.tokens[index] if 0 <= index < len(self.tokens) else END

    def advance(self, by: int = 1) -> None:
        """Move past tokens."""
        self.position += by

    def skip(self, text: str) -> bool:
        """Move past the current token if it has a text; return whether it has."""
        is_there = self.current.text == text
        self.position += is_there
        return is_there

    def next_tokens(self, first: int, last: int) -> Iterator[CodeToken]:
        """Yield some of the tokens after the current one.

        Args:
            first: How far the first is from the current one.
            last: How far the last is.
        """
        for index in range(self.position + first, min(self.position + last + 1, len(self.tokens))):
            yield self.tokens[index]

    def read_dotted(self, mark: str = ".") -> list[CodeToken]:
        """Read a dotted name and move past it.

        Args:
            mark: What stands between its parts.

        Returns:
            Its parts; none if there is no name.
        """
        parts: list[CodeToken] = []
        while self.current.kind == "name" and len(parts) < MAX_PARTS:
            parts.append(self.current)
            self.advance()
            if self.current.text != mark or self.peek(1).kind != "name":
                break
            self.advance()
        return parts

    def read_alias(self, otherwise: str) -> str:
        """Read the name after "as" and move past it; without one, return another name."""
        if self.current.text == "as" and self.peek(1).kind == "name":
            alias = self.peek(1).text
            self.advance(2)
            return alias
        return otherwise
