"""Charts over time, drawn as SVG that needs neither colours nor a script."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from resay.reporting.dashboard.asking import Span
from resay.reporting.dashboard.texts import clock, day, moment
from resay.reporting.render.html import Html, joined, tag

__all__ = ["Axis", "Bar", "Line", "Time", "axis_of", "bars", "chart", "lines", "sample"]

_WIDTH, _HEIGHT = 420, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 16, 14, 28
_INNER = _WIDTH - _LEFT - _RIGHT
_TALL = _HEIGHT - _TOP - _BOTTOM
_STEPS = (1.0, 2.0, 5.0, 10.0)
_MOST_TICKS = 4
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale that begins at 0.

    Attributes:
        top: Where it ends.
        ticks: Which values have a line, the first of them 0.
        label: What to write beside a line, with the unit.
    """

    top: float
    ticks: tuple[float, ...]
    label: Callable[[float], str]

    def y(self, value: float) -> float:
        """Return how far below the picture's top a value is drawn."""
        return _TOP + _TALL * (1 - min(max(value / self.top, 0.0), 1.0))


@dataclass(frozen=True, slots=True)
class Time:
    """The points of time a chart has.

    Attributes:
        span: The span it shows.
        since: When the first point begins, in seconds since the epoch.
    """

    span: Span
    since: float

    @property
    def count(self) -> int:
        """How many points there are."""
        return self.span.length_s // self.span.step_s

    @property
    def width(self) -> float:
        """How wide a point is."""
        return _INNER / self.count

    def place(self, start: float) -> int:
        """Return which point begins at a time."""
        return round((start - self.since) / self.span.step_s)

    def x(self, place: float) -> float:
        """Return how far right the middle of a point is drawn."""
        return _LEFT + (place + 0.5) * self.width


@dataclass(frozen=True, slots=True)
class Line:
    """Values that belong together.

    Attributes:
        kind: How it is drawn: its class in the style sheet.
        values: One for each point of time; None where there is none.
    """

    kind: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """The two parts of a value, the second on top of the first.

    Attributes:
        place: Its point of time.
        first: The part below.
        second: The part above.
        unsure: Whether there is more of it that nobody knows.
    """

    place: int
    first: float
    second: float
    unsure: bool


def axis_of(largest: float, least: float, label: Callable[[float], str]) -> Axis:
    """Return an axis with few and round numbers.

    Args:
        largest: The largest value to be shown.
        least: How far it goes at least.
        label: Writes a value with its unit.
    """
    reach = max(largest, least) if math.isfinite(largest) else least
    power = 10.0 ** math.floor(math.log10(reach / _MOST_TICKS))
    step = next(power * step for step in _STEPS if power * step * _MOST_TICKS >= reach * 0.999)
    count = math.ceil(reach / step - 0.001)
    return Axis(step * count, tuple(step * i for i in range(count + 1)), label)


def chart(
    label: str, time: Time, axis: Axis, shapes: Html, said: Sequence[tuple[int, str]]
) -> Html:
    """Return a picture.

    Args:
        label: What it shows, for those who do not see it.
        time: Its points of time.
        axis: Its scale.
        shapes: What is drawn over the lines of the scale.
        said: What is said under the mouse, by point of time.
    """
    return tag(
        "svg",
        *(_rule(value, axis) for value in axis.ticks),
        *_times(time),
        shapes,
        *(_under_the_mouse(time, place, text) for place, text in said),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=label,
        class_="chart",
    )


def lines(series: Sequence[Line], time: Time, axis: Axis) -> Html:
    """Return lines that break off where there is nothing to show."""
    return joined([_line(one, time, axis) for one in series])


def bars(values: Sequence[Bar], time: Time, axis: Axis) -> Html:
    """Return bars of two parts; what nobody knows is marked."""
    return joined([_bar(bar, time, axis) for bar in values])


def sample(kind: str) -> Html:
    """Return what a kind of line, bar or mark looks like, for the legend."""
    if kind in {"main", "check"}:
        shape = joined(_filled(kind, 2, 2, 24, 10))
    elif kind == "unsure":
        shape = tag("text", "?", x=14, y=12, class_="unsure")
    else:
        middle = tag("path", d="M1 7H27", class_=f"line {kind}")
        shape = joined([middle, _mark(kind, 14, 7)])
    return tag("svg", shape, viewBox="0 0 28 14", aria_hidden="true", class_="swatch")


def _rule(value: float, axis: Axis) -> Html:
    y = axis.y(value)
    line = tag("path", d=f"M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}", class_="rule" if value else "base")
    text = tag("text", axis.label(value), x=_LEFT - 6, y=f"{y + 4:.1f}", class_="y")
    return joined([line, text])


def _times(time: Time) -> list[Html | None]:
    tick, step = time.span.tick_s, time.span.step_s
    starts = [time.since + i * step for i in range(time.count)]
    return [_time(time, start) for start in starts if start % tick == 0]


def _time(time: Time, start: float) -> Html | None:
    when = moment(start)
    if when is None:
        return None
    x = time.x(time.place(start) - 0.5)
    text = day(when) if time.span.tick_s >= _DAY_S else clock(when)
    line = tag("path", d=f"M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM + 4}", class_="rule")
    name = tag("text", text, x=f"{x:.1f}", y=_HEIGHT - _BOTTOM + 18, class_="x")
    return joined([line, name])


def _line(line: Line, time: Time, axis: Axis) -> Html:
    points = [
        (time.x(i), axis.y(value)) for i, value in enumerate(line.values) if value is not None
    ]
    runs = _runs(line.values)
    drawn = [_run(run, line, time, axis) for run in runs if len(run) > 1]
    # A point with no neighbours would not be seen, and the last one is what readers look for.
    alone = [(time.x(run[0]), axis.y(line.values[run[0]] or 0)) for run in runs if len(run) == 1]
    marks = [_mark(line.kind, x, y) for x, y in [*alone, *points[-1:]]]
    return joined([*drawn, *marks])


def _runs(values: Sequence[float | None]) -> list[list[int]]:
    runs: list[list[int]] = []
    for i, value in enumerate(values):
        if value is None:
            continue
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _run(run: Sequence[int], line: Line, time: Time, axis: Axis) -> Html:
    points = " ".join(f"{time.x(i):.1f} {axis.y(line.values[i] or 0):.1f}" for i in run)
    return tag("path", d=f"M{points}", class_=f"line {line.kind}")


def _mark(kind: str, x: float, y: float) -> Html:
    if kind == "high":
        return tag(
            "rect", x=f"{x - 3:.1f}", y=f"{y - 3:.1f}", width=6, height=6, class_="mark high"
        )
    return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.2", class_=f"mark {kind}")


def _bar(bar: Bar, time: Time, axis: Axis) -> Html:
    left, width = time.x(bar.place) - time.width * 0.4, time.width * 0.8
    bottom, middle = axis.y(0), axis.y(bar.first)
    top = axis.y(bar.first + bar.second)
    parts = [
        *_filled("main", left, middle, width, bottom - middle),
        *_filled("check", left, top, width, middle - top),
    ]
    if bar.unsure:
        parts.append(
            tag("text", "?", x=f"{left + width / 2:.1f}", y=f"{top - 3:.1f}", class_="unsure")
        )
    return joined(parts)


def _filled(kind: str, x: float, y: float, width: float, height: float) -> list[Html]:
    if height <= 0:
        return []
    size = {"width": f"{width:.1f}", "height": f"{max(height, 0.7):.1f}"}
    shape = tag("rect", x=f"{x:.1f}", y=f"{y:.1f}", class_=kind, **size)
    if kind == "main":
        return [shape]
    # Lines across it, so that it is told apart without colours too.
    rungs = [f"M{x:.1f} {y + i:.1f}h{width:.1f}" for i in range(2, int(height), 4)]
    return [shape, tag("path", d="".join(rungs), class_="rungs")] if rungs else [shape]


def _under_the_mouse(time: Time, place: int, text: str) -> Html:
    x = time.x(place) - time.width / 2
    return tag(
        "rect",
        tag("title", text),
        x=f"{x:.1f}",
        y=_TOP,
        width=f"{time.width:.1f}",
        height=_TALL,
        class_="hit",
    )
