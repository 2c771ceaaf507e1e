"""The rows of the load bench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from performance.latency import percentile
from performance.load_asking import Sent, Subject
from resay_lab.benchmarks.table import Column, Row

__all__ = ["COLUMNS", "Round", "row_of", "rows_of"]

_LOW, _HIGH = 0.05, 0.95
_MOST_PROBLEMS = 3

COLUMNS = (
    Column("subject", "who is asked"),
    Column("answer", "answer"),
    Column("rate", "requests/s", 0),
    Column("rate_low", "from", 0),
    Column("rate_high", "to", 0),
    Column("p50_ms", "p50 ms", 1),
    Column("p99_ms", "p99 ms", 1),
    Column("cpu_ms", "CPU ms", 2),
    Column("calls", "upstream calls", 2),
    Column("ratio", "of LiteLLM", 2),
    Column("ratio_low", "from", 2),
    Column("ratio_high", "to", 2),
    Column("target", "target"),
    Column("outcome", "outcome"),
    Column("remark", "remark"),
)
"""What readers see of a row."""


@dataclass(frozen=True, slots=True)
class Round:
    """One turn of a subject.

    Attributes:
        seconds: The time on the clock of the whole turn, in seconds.
        sent: The answers to its requests.
        cpu_s: The processor time of the server meanwhile, in seconds; None where unknown.
        calls: How many requests the upstream got meanwhile.
    """

    seconds: float
    sent: tuple[Sent, ...]
    cpu_s: float | None
    calls: int

    @property
    def rate(self) -> float:
        """Good answers per second."""
        return sum(answer.problem is None for answer in self.sent) / self.seconds


def rows_of(
    subjects: Sequence[Subject],
    rounds: Mapping[Subject, Sequence[Round]],
    missing: Mapping[str, str],
) -> tuple[Row, ...]:
    """Return the rows of all subjects.

    Args:
        subjects: Who was to be asked.
        rounds: The rounds of those that were.
        missing: Why others were not, by the server's name.
    """
    peers = {s.streamed: rounds.get(s, ()) for s in subjects if s.server == "litellm"}
    rows: list[Row] = []
    for subject in subjects:
        if subject in rounds:
            rows.append(row_of(subject, rounds[subject], peers.get(subject.streamed, ())))
        else:
            skipped = missing[subject.server]
            rows.append({**_about(subject), "remark": skipped, "skipped": skipped})
    return tuple(rows)


def _about(subject: Subject) -> dict[str, Any]:
    return {
        "subject": subject.name,
        "answer": "streamed" if subject.streamed else "whole",
        "path": subject.path,
    }


def row_of(subject: Subject, rounds: Sequence[Round], peer: Sequence[Round]) -> Row:
    """Return the row of a subject.

    Args:
        subject: Who was asked.
        rounds: Its rounds, at least one.
        peer: What is compared with in the same rounds; empty where there is nothing.
    """
    answers = [answer for turn in rounds for answer in turn.sent]
    requests = len(answers)
    rates = [turn.rate for turn in rounds]
    seconds = [answer.seconds for answer in answers if answer.problem is None]
    cpu = [turn.cpu_s for turn in rounds if turn.cpu_s is not None]
    problems = Counter(answer.problem for answer in answers if answer.problem)
    ratios = _ratios(subject, rounds, peer)
    ratio = percentile(ratios, 0.5) if ratios else None
    met = None if ratio is None or subject.least is None else ratio >= subject.least
    met = False if problems and subject.least is not None else met
    return {
        **_about(subject),
        **_spread("rate", rates),
        "p50_ms": _ms(seconds, 0.5),
        "p99_ms": _ms(seconds, 0.99),
        "cpu_ms": round(1000 * sum(cpu) / requests, 3) if len(cpu) == len(rounds) else None,
        "calls": round(sum(turn.calls for turn in rounds) / requests, 3),
        **_spread("ratio", ratios),
        "target": None if subject.least is None else f">= {subject.least:g}",
        "met": met,
        "outcome": None if met is None else "met" if met else "MISSED",
        "failed": sum(problems.values()),
        "requests": requests,
        "rounds": len(rounds),
        "remark": _remark(problems),
        "skipped": None,
    }


def _ratios(subject: Subject, rounds: Sequence[Round], peer: Sequence[Round]) -> list[float]:
    if subject.server != "gateway" or subject.least is None:
        return []
    pairs = zip(rounds, peer, strict=False)
    return [own.rate / other.rate for own, other in pairs if other.rate]


def _spread(name: str, values: Sequence[float]) -> dict[str, float | None]:
    shares = {name: 0.5, f"{name}_low": _LOW, f"{name}_high": _HIGH}
    return {
        key: round(percentile(values, share), 3) if values else None
        for key, share in shares.items()
    }


def _ms(seconds: Sequence[float], share: float) -> float | None:
    return round(1000 * percentile(seconds, share), 2) if seconds else None


def _remark(problems: Mapping[str, int]) -> str | None:
    if not problems:
        return None
    most = sorted(problems.items(), key=lambda pair: -pair[1])[:_MOST_PROBLEMS]
    listed = ", ".join(f"{count} x {problem}" for problem, count in most)
    return f"{sum(problems.values())} requests failed: {listed}"
