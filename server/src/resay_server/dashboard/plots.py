"""What the charts of the figures show, and where; `charts.html` draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from resay_server.dashboard.figures import Figures, checked, flag_rate
from resay_server.dashboard.texts import (
    UNKNOWN,
    clock,
    day,
    dollars,
    duration,
    moment,
    percent,
    share,
)
from resay_server.journal import Slice

_TICK_STEPS = (1.0, 2.0, 5.0, 10.0)
_MAX_TICKS = 4
_DAY_S = 86_400
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of a chart, and the edges of the area in which values are drawn."""

    width: int = 420
    height: int = 210
    left: int = 54
    right: int = 404
    top: int = 14
    bottom: int = 182

    def y(self, value: float, largest: float) -> float:
        """Return the y coordinate of a value."""
        return self.top + (self.bottom - self.top) * (1 - min(max(value / largest, 0.0), 1.0))


_FRAME = Frame()


@dataclass(frozen=True, slots=True)
class Axis:
    """A vertical scale that begins at 0.

    Attributes:
        top: The largest value on it.
        ticks: The values with a grid line, beginning with 0.
        label: Formats a value with its unit.
    """

    top: float
    ticks: tuple[float, ...]
    label: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Line:
    """A series of values.

    Attributes:
        kind: Its class in the style sheet.
        runs: Its points, cut where values are missing.
        marks: The points with a mark: the last one, and those without neighbours, which would be
            invisible without.
    """

    kind: str
    runs: list[list[Point]]
    marks: list[Point]


@dataclass(frozen=True, slots=True)
class Bar:
    """A stacked bar of two parts.

    Attributes:
        left: The x coordinate of its left edge.
        width: Its width.
        bottom: The y coordinate of its lower end.
        middle: That of the boundary between the parts.
        top: That of its upper end.
        unsure: Whether an unknown amount is missing.
    """

    left: float
    width: float
    bottom: float
    middle: float
    top: float
    unsure: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table beside a chart.

    Attributes:
        start: The start of its step, in seconds since the epoch.
        when: The same, formatted.
        cells: Its other cells.
    """

    start: float
    when: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A chart with its numbers.

    Attributes:
        id: Its name in ids.
        title: Its title.
        unit: What its values are.
        label: A description for screen readers.
        axis: The vertical scale.
        times: The x coordinates on the time axis that have a label.
        step_width: The width of a step.
        tooltips: The left edge and the text of each step's tooltip.
        legend: The class and the meaning of each kind of line, bar or mark.
        columns: The columns of its table.
        rows: The rows of its table.
        lines: The lines on it.
        bars: The bars on it.
        frame: Its size.
    """

    id: str
    title: str
    unit: str
    label: str
    axis: Axis
    times: list[tuple[float, str]]
    step_width: float
    tooltips: list[tuple[float, str]]
    legend: list[tuple[str, str]]
    columns: tuple[str, ...]
    rows: list[Row]
    lines: list[Line] = field(default_factory=list[Line])
    bars: list[Bar] = field(default_factory=list[Bar])
    frame: Frame = _FRAME


@dataclass(frozen=True, slots=True)
class Trend:
    """The flag rate of one part over time, as a small chart.

    Attributes:
        label: A description for screen readers.
        points: Its points.
        width: Its width.
        height: Its height.
    """

    label: str
    points: list[Point]
    width: int
    height: int


def plots(figures: Figures) -> list[Plot]:
    """Return the charts of flag rate, latency and cost."""
    return [_flags(figures), _latency(figures), _costs(figures)]


def trend(figures: Figures, name: str | None) -> Trend | None:
    """Return the flag rate of one part over time; None if none of its answers was checked.

    Args:
        figures: The figures.
        name: The part's name.
    """
    rates = [(part.start, flag_rate(part)) for part in figures.trends.get(name, ())]
    measured = [(start, rate) for start, rate in rates if rate is not None]
    if not measured:
        return None
    width, height = 120, 24
    scale = width / figures.span.length_s
    points: list[Point] = []
    for start, rate in measured:
        middle = start - figures.since + figures.span.step_s / 2
        points.append((middle * scale, 3 + (height - 6) * (1 - rate)))
    lowest, highest = min(rate for _, rate in measured), max(rate for _, rate in measured)
    label = (
        f"Flag rate of {name or 'none'}: from {percent(lowest)} to {percent(highest)},"
        f" at last {percent(measured[-1][1])}"
    )
    return Trend(label, points, width, height)


def cost_of(part: Slice) -> str:
    """Format the cost of a slice's answers; a lower bound if some prices are unknown."""
    return _sum(part.cost_usd, part)


def checks_share(part: Slice) -> str:
    """Format the checks' share of the cost."""
    of_checks = percent(share(part.check_cost_usd, part.cost_usd))
    if not part.unpriced:
        return of_checks
    # If the main calls or the checks have no known cost, a share would suggest they were free.
    both = 0 < part.check_cost_usd < part.cost_usd
    return f"{of_checks} of known" if both else UNKNOWN


def _sum(cost_usd: float, part: Slice) -> str:
    if not part.unpriced:
        return dollars(cost_usd)
    # The known part may be the smaller one.
    return f"at least {dollars(cost_usd)}" if cost_usd > 0 else UNKNOWN


def _flags(figures: Figures) -> Plot:
    rates = [_flag_percent(part) for part in figures.slices]
    measured = [rate for rate in rates if rate is not None]
    axis = _axis(max(measured, default=0.0), 5.0, lambda value: f"{value:g}%")
    return Plot(
        id="flag-rate",
        title="Flag rate",
        unit="share of the checked answers",
        label=f"Flag rate{_course(measured, lambda value: percent(value / 100), figures)}",
        axis=axis,
        times=_times(figures),
        step_width=_step_width(figures),
        tooltips=_tooltips(
            figures, lambda part: f"{part.decisions['flagged']:,} of {checked(part):,} flagged"
        ),
        legend=[("flags", "flagged")],
        columns=("Checked", "Flagged", "Inconclusive", "Flag rate"),
        rows=_rows(
            figures,
            lambda part: (
                f"{checked(part):,}",
                f"{part.decisions['flagged']:,}",
                f"{part.decisions['inconclusive']:,}",
                percent(flag_rate(part)),
            ),
        ),
        lines=[_line(figures, "flags", axis, _flag_percent)],
    )


def _latency(figures: Figures) -> Plot:
    measured = [part.latency_p95_s for part in figures.slices]
    axis = _axis(max(measured, default=0.0), 0.1, lambda value: f"{value:g} s")
    return Plot(
        id="latency",
        title="Latency",
        unit="until the user had the answer",
        label=f"95th percentile of the latency{_course(measured, duration, figures)}",
        axis=axis,
        times=_times(figures),
        step_width=_step_width(figures),
        tooltips=_tooltips(
            figures,
            lambda part: (
                f"median {duration(part.latency_p50_s)}, p95 {duration(part.latency_p95_s)}"
            ),
        ),
        legend=[("middle", "median"), ("high", "p95: 95 of 100 waited no longer")],
        columns=("Answers", "Median", "p95", "Check, median", "Check, p95"),
        rows=_rows(
            figures,
            lambda part: (
                f"{part.entries:,}",
                duration(part.latency_p50_s),
                duration(part.latency_p95_s),
                duration(part.check_p50_s),
                duration(part.check_p95_s),
            ),
        ),
        lines=[
            _line(figures, "high", axis, lambda part: part.latency_p95_s),
            _line(figures, "middle", axis, lambda part: part.latency_p50_s),
        ],
    )


def _costs(figures: Figures) -> Plot:
    measured = [part.cost_usd for part in figures.slices]
    axis = _axis(max(measured, default=0.0), 0.0001, _tick_dollars)
    unsure = any(part.unpriced for part in figures.slices)
    course = _course(measured, dollars, figures)
    legend = [("main", "main calls"), ("check", "checks")]
    if unsure:
        legend.append(("unsure", "and more: some prices are not known"))
    return Plot(
        id="cost",
        title="Cost",
        unit=f"per {figures.span.step}",
        label=f"Cost{course}{'; some prices are not known' if unsure else ''}",
        axis=axis,
        times=_times(figures),
        step_width=_step_width(figures),
        tooltips=_tooltips(
            figures,
            lambda part: f"{cost_of(part)}, for checks {_sum(part.check_cost_usd, part)}",
        ),
        legend=legend,
        columns=("Answers", "Cost", "For checks", "Price not known"),
        rows=_rows(
            figures,
            lambda part: (
                f"{part.entries:,}",
                cost_of(part),
                _sum(part.check_cost_usd, part),
                f"{part.unpriced:,}",
            ),
        ),
        bars=[_bar(figures, part, axis) for part in figures.slices],
    )


def _flag_percent(part: Slice) -> float | None:
    rate = flag_rate(part)
    return None if rate is None else 100 * rate


def _tick_dollars(value: float) -> str:
    return f"${value:,.4f}".rstrip("0").rstrip(".")


def _axis(largest: float, minimum: float, label: Callable[[float], str]) -> Axis:
    """Return an axis with a few round ticks.

    Args:
        largest: The largest value to show.
        minimum: The lowest value that the axis must reach.
        label: Formats a value with its unit.
    """
    reach = max(largest, minimum) if math.isfinite(largest) else minimum
    power = 10.0 ** math.floor(math.log10(reach / _MAX_TICKS))
    step = next(power * step for step in _TICK_STEPS if power * step * _MAX_TICKS >= reach * 0.999)
    count = math.ceil(reach / step - 0.001)
    return Axis(step * count, tuple(step * i for i in range(count + 1)), label)


def _step_width(figures: Figures) -> float:
    return (_FRAME.right - _FRAME.left) * figures.span.step_s / figures.span.length_s


def _step_index(figures: Figures, start: float) -> int:
    return round((start - figures.since) / figures.span.step_s)


def _x(figures: Figures, start: float) -> float:
    """Return the x coordinate at which the step that begins at a time does."""
    return _FRAME.left + _step_index(figures, start) * _step_width(figures)


def _times(figures: Figures) -> list[tuple[float, str]]:
    span = figures.span
    times: list[tuple[float, str]] = []
    for index in range(span.length_s // span.step_s):
        start = figures.since + index * span.step_s
        when = moment(start)
        if start % span.tick_s == 0 and when is not None:
            text = day(when) if span.tick_s >= _DAY_S else clock(when)
            times.append((_x(figures, start), text))
    return times


def _line(
    figures: Figures, kind: str, axis: Axis, value_of: Callable[[Slice], float | None]
) -> Line:
    runs: list[list[Point]] = []
    last_index = None
    for part in figures.slices:
        value = value_of(part)
        if value is None:
            continue
        index = _step_index(figures, part.start)
        middle = _x(figures, part.start) + _step_width(figures) / 2
        if last_index is None or index != last_index + 1:
            runs.append([])
        runs[-1].append((middle, _FRAME.y(value, axis.top)))
        last_index = index
    marks = [run[0] for run in runs if len(run) == 1]
    return Line(kind, runs, marks + [run[-1] for run in runs[-1:]])


def _bar(figures: Figures, part: Slice, axis: Axis) -> Bar:
    width = _step_width(figures)
    return Bar(
        left=_x(figures, part.start) + width * 0.1,
        width=width * 0.8,
        bottom=_FRAME.y(0, axis.top),
        middle=_FRAME.y(part.cost_usd - part.check_cost_usd, axis.top),
        top=_FRAME.y(part.cost_usd, axis.top),
        unsure=part.unpriced > 0,
    )


def _tooltips(figures: Figures, text_of: Callable[[Slice], str]) -> list[tuple[float, str]]:
    return [
        (_x(figures, part.start), f"{_when(figures, part.start)}: {text_of(part)}")
        for part in figures.slices
    ]


def _rows(figures: Figures, cells_of: Callable[[Slice], tuple[str, ...]]) -> list[Row]:
    return [Row(part.start, _when(figures, part.start), cells_of(part)) for part in figures.slices]


def _when(figures: Figures, start: float) -> str:
    when = moment(start)
    if when is None:
        return UNKNOWN
    return f"{day(when)}, {clock(when)}" if figures.span.length_s > _DAY_S else clock(when)


def _course(
    measured: Sequence[float], format_value: Callable[[float], str], figures: Figures
) -> str:
    if not measured:
        return f" over {figures.span.title}: no answers"
    return (
        f" over {figures.span.title}, per {figures.span.step}: from"
        f" {format_value(min(measured))} to {format_value(max(measured))},"
        f" at last {format_value(measured[-1])}"
    )
