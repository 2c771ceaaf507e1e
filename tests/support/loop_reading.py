"""Records what patterns read on the event loop. To be run before `resay` is imported."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from typing import Any

# Where text is the first argument of a compiled pattern's method, and where it is the second.
_FIRST = ("search", "match", "fullmatch", "findall", "finditer", "split")
_SECOND = ("sub", "subn")


def on_event_loop() -> bool:
    """Return whether this thread is running an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Recorder:
    """The longest text that each line of Resay's gave to a pattern on the event loop."""

    def __init__(self) -> None:
        self.longest: dict[str, int] = {}

    def record(self, text: str | bytes) -> None:
        """Record a text that a pattern is about to read."""
        if not on_event_loop():
            return
        caller = inspect.currentframe()
        # Past this method and the pattern's.
        frame = caller.f_back.f_back if caller and caller.f_back else None
        assert frame is not None
        line = f"{frame.f_code.co_filename.rpartition('/resay/')[2]}:{frame.f_lineno}"
        self.longest[line] = max(self.longest.get(line, 0), len(text))

    def longer_than(self, chars: int) -> dict[str, int]:
        """Return the lines that gave a longer text to a pattern."""
        return {line: length for line, length in self.longest.items() if length > chars}


class RecordedPattern:
    """A compiled pattern that records what it reads."""

    def __init__(self, pattern: re.Pattern[Any], recorder: Recorder) -> None:
        self.original = pattern
        self.recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


def _recording(name: str, position: int) -> Callable[..., Any]:
    def method(self: RecordedPattern, *args: Any, **options: Any) -> Any:
        self.recorder.record(args[position])
        return getattr(self.original, name)(*args, **options)

    return method


for _name in _FIRST:
    setattr(RecordedPattern, _name, _recording(_name, 0))
for _name in _SECOND:
    setattr(RecordedPattern, _name, _recording(_name, 1))


def record_patterns() -> Recorder:
    """Record what every pattern reads that `resay` compiles from now on, in the whole process."""
    recorder = Recorder()
    compiled = re.compile

    def compile_recorded(pattern: Any, flags: Any = 0) -> Any:
        caller = inspect.currentframe()
        frame = caller.f_back if caller else None
        is_ours = frame is not None and "/resay/" in frame.f_code.co_filename
        made = compiled(
            pattern.original if isinstance(pattern, RecordedPattern) else pattern, flags
        )
        return RecordedPattern(made, recorder) if is_ours else made

    re.compile = compile_recorded  # type: ignore[assignment]
    return recorder
