"""The charts of the figures, each with its numbers as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from resay.adapters.pages import Html, joined, scrolling, tag
from resay_server.dashboard.figures import Figures, checked, flag_rate
from resay_server.dashboard.query import FigureSpan
from resay_server.dashboard.texts import (
    UNKNOWN,
    clock,
    day,
    dollars,
    duration,
    moment,
    percent,
    share,
    time_tag,
)
from resay_server.journal import Slice

_WIDTH, _HEIGHT = 420, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 16, 14, 28
_INNER = _WIDTH - _LEFT - _RIGHT
_TALL = _HEIGHT - _TOP - _BOTTOM
_STEPS = (1.0, 2.0, 5.0, 10.0)
_MAX_TICKS = 4
_DAY_S = 86_400


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

    def y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return _TOP + _TALL * (1 - min(max(value / self.top, 0.0), 1.0))


@dataclass(frozen=True, slots=True)
class Time:
    """The time axis of a chart, divided into steps.

    Attributes:
        span: The span it shows.
        since: The start of the first step, in seconds since the epoch.
    """

    span: FigureSpan
    since: float

    @property
    def count(self) -> int:
        """The number of steps."""
        return self.span.length_s // self.span.step_s

    @property
    def width(self) -> float:
        """The width of a step."""
        return _INNER / self.count

    def step_at(self, start: float) -> int:
        """Return the index of the step that begins at a time."""
        return round((start - self.since) / self.span.step_s)

    def x(self, step: float) -> float:
        """Return the x coordinate of the middle of a step."""
        return _LEFT + (step + 0.5) * self.width


@dataclass(frozen=True, slots=True)
class Line:
    """A series of values.

    Attributes:
        kind: Its class in the style sheet.
        values: One value per step; None for a step without one.
    """

    kind: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A stacked bar of two parts.

    Attributes:
        step: The index of its step.
        first: The lower part.
        second: The upper part.
        unsure: Whether an unknown amount is missing.
    """

    step: int
    first: float
    second: float
    unsure: bool


def axis_of(largest: float, minimum: float, label: Callable[[float], str]) -> Axis:
    """Return an axis with a few round ticks.

    Args:
        largest: The largest value to show.
        minimum: The lowest value that the axis must reach.
        label: Formats a value with its unit.
    """
    reach = max(largest, minimum) if math.isfinite(largest) else minimum
    power = 10.0 ** math.floor(math.log10(reach / _MAX_TICKS))
    step = next(power * step for step in _STEPS if power * step * _MAX_TICKS >= reach * 0.999)
    count = math.ceil(reach / step - 0.001)
    return Axis(step * count, tuple(step * i for i in range(count + 1)), label)


def chart(
    label: str, time: Time, axis: Axis, shapes: Html, tooltips: Sequence[tuple[int, str]]
) -> Html:
    """Render a chart as SVG.

    Args:
        label: A description for screen readers.
        time: The time axis.
        axis: The vertical scale.
        shapes: The shapes over the grid lines.
        tooltips: The tooltips, each with the index of its step.
    """
    return tag(
        "svg",
        *(_rule(value, axis) for value in axis.ticks),
        *_times(time),
        shapes,
        *(_tooltip(time, step, text) for step, text in tooltips),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=label,
        class_="chart",
    )


def lines(series: Sequence[Line], time: Time, axis: Axis) -> Html:
    """Render lines, with gaps for missing values."""
    return joined([_line(line, time, axis) for line in series])


def bars(values: Sequence[Bar], time: Time, axis: Axis) -> Html:
    """Render stacked bars, with a mark on those with an unknown part."""
    return joined([_bar(bar, time, axis) for bar in values])


def sample(kind: str) -> Html:
    """Render a sample of a kind of line, bar or mark, for the legend."""
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
    x = time.x(time.step_at(start) - 0.5)
    text = day(when) if time.span.tick_s >= _DAY_S else clock(when)
    line = tag("path", d=f"M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM + 4}", class_="rule")
    name = tag("text", text, x=f"{x:.1f}", y=_HEIGHT - _BOTTOM + 18, class_="x")
    return joined([line, name])


def _line(line: Line, time: Time, axis: Axis) -> Html:
    points = [
        (time.x(i), axis.y(value)) for i, value in enumerate(line.values) if value is not None
    ]
    runs = _runs(line.values)
    paths = [_run(run, line, time, axis) for run in runs if len(run) > 1]
    # A point without neighbours would be invisible, and readers look for the last one.
    alone = [(time.x(run[0]), axis.y(line.values[run[0]] or 0)) for run in runs if len(run) == 1]
    marks = [_mark(line.kind, x, y) for x, y in [*alone, *points[-1:]]]
    return joined([*paths, *marks])


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
    left, width = time.x(bar.step) - time.width * 0.4, time.width * 0.8
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
    # Hatched, to be distinguishable without colours.
    rungs = [f"M{x:.1f} {y + i:.1f}h{width:.1f}" for i in range(2, int(height), 4)]
    return [shape, tag("path", d="".join(rungs), class_="rungs")] if rungs else [shape]


def _tooltip(time: Time, step: int, text: str) -> Html:
    x = time.x(step) - time.width / 2
    return tag(
        "rect",
        tag("title", text),
        x=f"{x:.1f}",
        y=_TOP,
        width=f"{time.width:.1f}",
        height=_TALL,
        class_="hit",
    )


def plots(figures: Figures) -> Html:
    """Render the charts of flag rate, latency and cost."""
    return tag("div", _flags(figures), _latency(figures), _costs(figures), class_="plots")


_SPARK_WIDTH, _SPARK_HEIGHT = 120, 24


def trend(figures: Figures, name: str | None) -> Html | None:
    """Render the flag rate of one part over time as a sparkline.

    Args:
        figures: The figures.
        name: The part's name.
    """
    rates = [(part.start, flag_rate(part)) for part in figures.trends.get(name, ())]
    measured = [(start, rate) for start, rate in rates if rate is not None]
    if not measured:
        return None
    scale = _SPARK_WIDTH / figures.span.length_s

    def point(start: float, rate: float) -> tuple[float, float]:
        x = (start - figures.since + figures.span.step_s / 2) * scale
        return x, 3 + (_SPARK_HEIGHT - 6) * (1 - rate)

    points = [point(start, rate) for start, rate in measured]
    course = " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
    last = points[-1]
    lowest, highest = min(rate for _, rate in measured), max(rate for _, rate in measured)
    label = (
        f"Flag rate of {name or 'none'}: from {percent(lowest)} to {percent(highest)},"
        f" at last {percent(measured[-1][1])}"
    )
    return tag(
        "svg",
        tag("path", d=f"M0 {_SPARK_HEIGHT - 3}H{_SPARK_WIDTH}", class_="rule"),
        tag("path", d=f"M{course}", class_="line flags") if len(points) > 1 else None,
        tag("circle", cx=f"{last[0]:.1f}", cy=f"{last[1]:.1f}", r="2.5", class_="mark flags"),
        viewBox=f"0 0 {_SPARK_WIDTH} {_SPARK_HEIGHT}",
        role="img",
        aria_label=label,
        class_="trend",
    )


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


def _flags(figures: Figures) -> Html:
    time = Time(figures.span, figures.since)
    rates = _values(figures, time, _flag_percent)
    measured = [rate for rate in rates if rate is not None]
    axis = axis_of(max(measured, default=0.0), 5.0, lambda value: f"{value:g}%")
    tooltips = [
        (step, f"{when}: {_of(part.decisions['flagged'], checked(part))} flagged")
        for step, when, part in _tooltip_rows(figures, time)
    ]
    label = f"Flag rate{_course(measured, lambda v: percent(v / 100), figures)}"
    rows = [
        (
            f"{checked(part):,}",
            f"{part.decisions['flagged']:,}",
            f"{part.decisions['inconclusive']:,}",
            percent(flag_rate(part)),
        )
        for part in figures.slices
    ]
    heads = ("Checked", "Flagged", "Inconclusive", "Flag rate")
    return _figure(
        "flag-rate",
        "Flag rate",
        "share of the checked answers",
        chart(label, time, axis, lines([Line("flags", rates)], time, axis), tooltips),
        [("flags", "flagged")],
        _table(figures, "Flag rate", heads, rows),
    )


def _latency(figures: Figures) -> Html:
    time = Time(figures.span, figures.since)
    medians = _values(figures, time, lambda part: part.latency_p50_s)
    p95s = _values(figures, time, lambda part: part.latency_p95_s)
    measured = [value for value in p95s if value is not None]
    axis = axis_of(max(measured, default=0.0), 0.1, lambda value: f"{value:g} s")
    tooltips = [
        (step, f"{when}: median {duration(part.latency_p50_s)}, p95 {duration(part.latency_p95_s)}")
        for step, when, part in _tooltip_rows(figures, time)
    ]
    label = f"95th percentile of the latency{_course(measured, duration, figures)}"
    rows = [
        (
            f"{part.entries:,}",
            duration(part.latency_p50_s),
            duration(part.latency_p95_s),
            duration(part.check_p50_s),
            duration(part.check_p95_s),
        )
        for part in figures.slices
    ]
    heads = ("Answers", "Median", "p95", "Check, median", "Check, p95")
    series = [Line("high", p95s), Line("middle", medians)]
    return _figure(
        "latency",
        "Latency",
        "until the user had the answer",
        chart(label, time, axis, lines(series, time, axis), tooltips),
        [("middle", "median"), ("high", "p95: 95 of 100 waited no longer")],
        _table(figures, "Latency", heads, rows),
    )


def _costs(figures: Figures) -> Html:
    time = Time(figures.span, figures.since)
    cost_bars = [
        Bar(
            step=time.step_at(part.start),
            first=part.cost_usd - part.check_cost_usd,
            second=part.check_cost_usd,
            unsure=part.unpriced > 0,
        )
        for part in figures.slices
    ]
    measured = [part.cost_usd for part in figures.slices]
    axis = _dollar_axis(max(measured, default=0.0))
    tooltips = [
        (step, f"{when}: {cost_of(part)}, for checks {_sum(part.check_cost_usd, part)}")
        for step, when, part in _tooltip_rows(figures, time)
    ]
    unsure = any(part.unpriced for part in figures.slices)
    course = _course(measured, dollars, figures)
    label = f"Cost{course}{'; some prices are not known' if unsure else ''}"
    rows = [
        (f"{part.entries:,}", cost_of(part), _sum(part.check_cost_usd, part), f"{part.unpriced:,}")
        for part in figures.slices
    ]
    heads = ("Answers", "Cost", "For checks", "Price not known")
    mark = [("unsure", "and more: some prices are not known")] if unsure else []
    return _figure(
        "cost",
        "Cost",
        f"per {figures.span.step}",
        chart(label, time, axis, bars(cost_bars, time, axis), tooltips),
        [("main", "main calls"), ("check", "checks"), *mark],
        _table(figures, "Cost", heads, rows),
    )


def _flag_percent(part: Slice) -> float | None:
    rate = flag_rate(part)
    return None if rate is None else 100 * rate


def _dollar_axis(largest: float) -> Axis:
    return axis_of(largest, 0.0001, lambda value: f"${value:,.4f}".rstrip("0").rstrip("."))


def _values(
    figures: Figures, time: Time, value: Callable[[Slice], float | None]
) -> tuple[float | None, ...]:
    by_step = {time.step_at(part.start): value(part) for part in figures.slices}
    return tuple(by_step.get(i) for i in range(time.count))


def _tooltip_rows(figures: Figures, time: Time) -> list[tuple[int, str, Slice]]:
    return [(time.step_at(part.start), _when(figures, part.start), part) for part in figures.slices]


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
    lowest, highest, last = (
        format_value(min(measured)),
        format_value(max(measured)),
        format_value(measured[-1]),
    )
    return (
        f" over {figures.span.title}, per {figures.span.step}: from {lowest} to {highest},"
        f" at last {last}"
    )


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def _table(
    figures: Figures, name: str, heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> Html:
    columns = [tag("th", "From", scope="col")]
    columns += [tag("th", head, scope="col", class_="number") for head in heads]
    body = [
        tag(
            "tr",
            tag("th", time_tag(part.start, _when(figures, part.start)), scope="row"),
            *(tag("td", cell, class_="number") for cell in row),
        )
        for part, row in zip(figures.slices, rows, strict=True)
    ]
    table = tag("table", tag("thead", tag("tr", *columns)), tag("tbody", *body))
    return scrolling(table, f"{name}, numbers")


def _figure(
    name: str, title: str, unit: str, drawn: Html, key: Sequence[tuple[str, str]], table: Html
) -> Html:
    legend = [tag("li", sample(kind), " ", text) for kind, text in key]
    head = tag("h3", title, " ", tag("small", unit))
    return tag(
        "figure",
        tag("figcaption", head),
        drawn,
        tag("ul", *legend, class_="key"),
        tag("details", tag("summary", f"{title} as a table"), table, id=f"{name}-table"),
        class_="plot",
    )
