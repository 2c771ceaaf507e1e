"""The three charts, each with its numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from resay.reporting.dashboard.charts import (
    Axis,
    Bar,
    Line,
    Time,
    axis_of,
    bars,
    chart,
    lines,
    sample,
)
from resay.reporting.dashboard.figures import Figures, checked, flag_rate
from resay.reporting.dashboard.texts import (
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
from resay.reporting.journal import Slice
from resay.reporting.render.html import Html, tag
from resay.reporting.render.html.figures import scrolling

__all__ = ["checks_share", "cost_of", "plots"]

_DAY_S = 86_400


def plots(figures: Figures) -> Html:
    """Return the charts of flag rate, latency and cost."""
    return tag("div", _flags(figures), _latency(figures), _costs(figures), class_="plots")


def cost_of(part: Slice) -> str:
    """Return what the answers of a slice cost, and whether that is all of it."""
    return _sum(part.cost_usd, part)


def checks_share(part: Slice) -> str:
    """Return which share of the cost is that of the checks."""
    of_checks = percent(share(part.check_cost_usd, part.cost_usd))
    if not part.unpriced:
        return of_checks
    # Where nothing is known of one of the two, a share would say that it was for free.
    both = 0 < part.check_cost_usd < part.cost_usd
    return f"{of_checks} of known" if both else UNKNOWN


def _sum(cost_usd: float, part: Slice) -> str:
    if not part.unpriced:
        return dollars(cost_usd)
    # What is known of it may be the smaller part.
    return f"at least {dollars(cost_usd)}" if cost_usd > 0 else UNKNOWN


def _flags(figures: Figures) -> Html:
    time = Time(figures.span, figures.since)
    rates = _values(figures, time, _flag_percent)
    known = [rate for rate in rates if rate is not None]
    axis = axis_of(max(known, default=0.0), 5.0, lambda value: f"{value:g}%")
    said = [
        (place, f"{when}: {_of(one.decisions['flagged'], checked(one))} flagged")
        for place, when, one in _told(figures, time)
    ]
    label = f"Flag rate{_course(known, lambda v: percent(v / 100), figures)}"
    rows = [
        (
            f"{checked(one):,}",
            f"{one.decisions['flagged']:,}",
            f"{one.decisions['inconclusive']:,}",
            percent(flag_rate(one)),
        )
        for one in figures.slices
    ]
    heads = ("Checked", "Flagged", "Inconclusive", "Flag rate")
    return _figure(
        "flag-rate",
        "Flag rate",
        "share of the checked answers",
        chart(label, time, axis, lines([Line("flags", rates)], time, axis), said),
        [("flags", "flagged")],
        _table(figures, "Flag rate", heads, rows),
    )


def _latency(figures: Figures) -> Html:
    time = Time(figures.span, figures.since)
    half = _values(figures, time, lambda one: one.latency_p50_s)
    most = _values(figures, time, lambda one: one.latency_p95_s)
    known = [value for value in most if value is not None]
    axis = axis_of(max(known, default=0.0), 0.1, lambda value: f"{value:g} s")
    said = [
        (place, f"{when}: median {duration(one.latency_p50_s)}, p95 {duration(one.latency_p95_s)}")
        for place, when, one in _told(figures, time)
    ]
    label = f"95th percentile of the latency{_course(known, duration, figures)}"
    rows = [
        (
            f"{one.entries:,}",
            duration(one.latency_p50_s),
            duration(one.latency_p95_s),
            duration(one.check_p50_s),
            duration(one.check_p95_s),
        )
        for one in figures.slices
    ]
    heads = ("Answers", "Median", "p95", "Check, median", "Check, p95")
    series = [Line("high", most), Line("middle", half)]
    return _figure(
        "latency",
        "Latency",
        "until the user had the answer",
        chart(label, time, axis, lines(series, time, axis), said),
        [("middle", "median"), ("high", "p95: 95 of 100 waited no longer")],
        _table(figures, "Latency", heads, rows),
    )


def _costs(figures: Figures) -> Html:
    time = Time(figures.span, figures.since)
    drawn = [
        Bar(
            time.place(one.start),
            one.cost_usd - one.check_cost_usd,
            one.check_cost_usd,
            one.unpriced > 0,
        )
        for one in figures.slices
    ]
    known = [one.cost_usd for one in figures.slices]
    axis = _dollar_axis(max(known, default=0.0))
    said = [
        (place, f"{when}: {cost_of(one)}, for checks {_sum(one.check_cost_usd, one)}")
        for place, when, one in _told(figures, time)
    ]
    unsure = any(one.unpriced for one in figures.slices)
    course = _course(known, dollars, figures)
    label = f"Cost{course}{'; some prices are not known' if unsure else ''}"
    rows = [
        (f"{one.entries:,}", cost_of(one), _sum(one.check_cost_usd, one), f"{one.unpriced:,}")
        for one in figures.slices
    ]
    heads = ("Answers", "Cost", "For checks", "Price not known")
    mark = [("unsure", "and more: some prices are not known")] if unsure else []
    return _figure(
        "cost",
        "Cost",
        f"per {figures.span.step}",
        chart(label, time, axis, bars(drawn, time, axis), said),
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
    known = {time.place(one.start): value(one) for one in figures.slices}
    return tuple(known.get(i) for i in range(time.count))


def _told(figures: Figures, time: Time) -> list[tuple[int, str, Slice]]:
    return [(time.place(one.start), _when(figures, one.start), one) for one in figures.slices]


def _when(figures: Figures, start: float) -> str:
    when = moment(start)
    if when is None:
        return UNKNOWN
    return f"{day(when)}, {clock(when)}" if figures.span.length_s > _DAY_S else clock(when)


def _course(known: Sequence[float], written: Callable[[float], str], figures: Figures) -> str:
    if not known:
        return f" over {figures.span.title}: no answers"
    lowest, highest, last = written(min(known)), written(max(known)), written(known[-1])
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
            tag("th", time_tag(one.start, _when(figures, one.start)), scope="row"),
            *(tag("td", cell, class_="number") for cell in row),
        )
        for one, row in zip(figures.slices, rows, strict=True)
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
