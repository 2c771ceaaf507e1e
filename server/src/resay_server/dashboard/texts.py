"""Format times, shares and costs for people."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

UNKNOWN = "unknown"

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Not from `strftime`, which depends on the process's locale.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def moment(time_s: float) -> datetime | None:
    """Convert seconds since the epoch to UTC; None beyond the range of `datetime`."""
    try:
        return _EPOCH + timedelta(seconds=time_s)
    except OverflowError:
        return None


def clock(when: datetime) -> str:
    """Format the hour and minute: `09:30`."""
    return f"{when:%H:%M}"


def day(when: datetime) -> str:
    """Format the day: `7 Nov`."""
    return f"{when.day} {_MONTHS[when.month - 1]}"


def stamp(time_s: float) -> str:
    """Format a time to the second, in UTC: `7 Nov 2026, 09:30:05`."""
    when = moment(time_s)
    return UNKNOWN if when is None else f"{day(when)} {when.year}, {when:%H:%M:%S}"


def short_time(time_s: float) -> str | None:
    """Format a time to the second, without the year: `7 Nov, 09:30:05`."""
    when = moment(time_s)
    return f"{day(when)}, {when:%H:%M:%S}" if when else None


def iso_time(time_s: float) -> str | None:
    """Format a time for programs: `2026-11-07T09:30:05Z`."""
    when = moment(time_s)
    return f"{when:%Y-%m-%dT%H:%M:%SZ}" if when else None


def duration(seconds: float) -> str:
    """Format a duration: `850 ms`, `2.41 s`, `1,250 s`."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds:,.0f} s" if seconds < 1e7 else f"{seconds:.1e} s"


def dollars(cost_usd: float | None) -> str:
    """Format a cost, or `unknown`."""
    if cost_usd is None or not math.isfinite(cost_usd):
        return UNKNOWN
    if cost_usd == 0:
        return "$0"
    if abs(cost_usd) < 0.0001:
        return "under $0.0001"
    return f"${cost_usd:,.4f}" if abs(cost_usd) < 1 else f"${cost_usd:,.2f}"


def share(part: float, of: float) -> float | None:
    """Return a part's share of a whole in [0, 1]; None if the whole is 0."""
    return part / of if of > 0 else None


def percent(part: float | None) -> str:
    """Format a share in percent; a dash for None."""
    if part is None:
        return "–"
    if 0 < part < 0.001:
        return "under 0.1%"
    return f"{part:.1%}" if part < 0.0995 else f"{part:.0%}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun: `1 verdict`, `2,000 verdicts`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


_LINE_CHARS = 160


def first_line(text: str) -> str:
    """Return the first line of a text that is not empty, cut to a length that fits a table."""
    line = next((line for line in text.splitlines() if line.strip()), "").strip()
    if len(line) > _LINE_CHARS:
        return f"{line[: _LINE_CHARS - 1].rstrip()}…"
    return line if line == text.strip() else f"{line} …"
