"""Regular expressions that are compiled when they are first used.

Compiling all of a process's expressions takes longer than importing its modules; most processes
need a few of them.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is compiled on first use, as `re.compile` does at once.

    The functions of `re`, such as `re.sub`, do not take it; its own methods do the same.

    Args:
        source: The regular expression.
        flags: Flags of `re`.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(source, flags))


class _LazyPattern(Generic[AnyStr]):
    """Stands for a pattern, whose methods become its own when it is compiled."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # pickle and copy look for special methods, on objects that have no attributes yet.
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for attribute in _ATTRIBUTES:
            self.__dict__[attribute] = getattr(compiled, attribute)
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"lazy_pattern({self.pattern!r}, {self._flags})"


_ATTRIBUTES = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))
