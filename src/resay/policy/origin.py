"""The file that a policy was read from, for errors about what the policy names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resay.policy.document import Document, Path, Problem


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a policy was read from.

    All origins are equal, because they change nothing of what a policy does.

    Attributes:
        source: The name of the file; None for a policy that is from no file.
        lines: The line of each key and item in it.
    """

    source: str | None = field(default=None, compare=False)
    lines: Mapping[Path, int] = field(default_factory=dict[Path, int], compare=False, repr=False)

    @classmethod
    def of_document(cls, document: Document, source: str) -> Origin:
        """Return the origin of a document that was read from a file."""
        lines = {path: position.key for path, position in document.positions.items()}
        return cls(source, lines)

    def located(self, message: str, path: Path) -> str:
        """Return a message with the file, the line and the key that it is about.

        Args:
            message: The message.
            path: The path of the key, which the message may begin with.
        """
        if self.source is None or message.startswith(f"{self.source}:"):
            return message
        line = None
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                break
        problem = Problem(path, message, line)
        if message.startswith(f"{problem.key}: "):
            problem = Problem((), message, line)
        return problem.text(self.source)
