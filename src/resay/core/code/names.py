"""External names in code: imports, installed packages, calls and flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CodeLanguage = Literal["python", "javascript", "java", "go", "rust", "csharp", "ruby", "shell"]
NameKind = Literal["package", "install", "member", "flag"]
Path = tuple[str, ...]
"""A qualified name: `("numpy", "linalg", "norm")`. A called part ends with `()`: `("pandas",
"read_csv()", "groupby")`."""


@dataclass(frozen=True, slots=True)
class CodeName:
    """An external name that code uses.

    Attributes:
        kind: An imported `package`, one that is installed (`install`), a `member` of one, or the
            `flag` of a command.
        language: The language of the code; with `install`, the language of the package.
        path: The qualified name; its first part is the package or the command.
        start: The start of its last part in the response, in code points.
        end: The end of that part (exclusive).
        imported: Whether this is the place of its import.
    """

    kind: NameKind
    language: CodeLanguage
    path: Path
    start: int
    end: int
    imported: bool = False

    @property
    def dotted(self) -> str:
        """The whole name, as written in code."""
        if self.kind == "flag":
            return " ".join(self.path)
        return self._joined(self.path)

    def _joined(self, path: Path) -> str:
        return ("::" if self.language == "rust" else ".").join(path)

    @property
    def statement(self) -> str:
        """A sentence that says how the code uses it."""
        if self.kind == "package":
            return f"The code imports {self.dotted}."
        if self.kind == "install":
            return f"The code installs the package {self.dotted}."
        if self.kind == "flag":
            return f"The code calls {self.path[0]} with {self.path[-1]}."
        if self.imported:
            return f"The code imports {self.path[-1]} from {self._joined(self.path[:-1])}."
        return f"The code uses {self.dotted}."
