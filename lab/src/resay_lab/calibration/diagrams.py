"""Draws a calibration as diagrams in one SVG.

Reliability diagram: Niculescu-Mizil and Caruana, "Predicting Good Probabilities with Supervised
Learning", ICML 2005, section 2; the observed share in each bin of the score, with the 95 % interval
of Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 1927.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import sqrt
from statistics import fmean

from resay_lab.calibration.result import Calibration

_Z = 1.959964
_BINS = 10
_BARS = 20
_WIDTH, _HEIGHT = 760, 340
_SIZE = 240
_LEFT, _RIGHT, _TOP = 64, 420, 56
STYLE = """
svg{--back:#fff;--ink:#1f2328;--faint:#8c959f;--rule:#d0d7de;--good:#0969da;--bad:#cf222e}
@media (prefers-color-scheme:dark){svg{--back:#0d1117;--ink:#e6edf3;--faint:#8b949e;--rule:#30363d;
--good:#58a6ff;--bad:#ff7b72}}
.back{fill:var(--back)}text{fill:var(--ink);font:12px system-ui,sans-serif}
.small{font-size:10px;fill:var(--faint)}.head{font-size:14px;font-weight:600}
.frame{fill:none;stroke:var(--rule)}.even{stroke:var(--faint);stroke-dasharray:2 4}
.limit{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:6 3}
.range{stroke:var(--good);stroke-width:1.5}.point{fill:var(--good)}
.other{fill:none;stroke:var(--faint)}
.correct{fill:var(--good)}.hallucinated{fill:var(--bad)}
""".strip()
"""The CSS of all diagrams."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The items with scores in one interval.

    Attributes:
        count: The number of items, at least 1.
        score: Their mean score.
        share: The share of them that are labelled as hallucinated.
        low: The lower end of its 95 % interval.
        high: The upper end.
    """

    count: int
    score: float
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Panel:
    """The data of one unit: responses, or sentences.

    Attributes:
        name: The unit's name.
        items: The score and the label of each.
        threshold: The score above which they are flagged; None if the unit is not used to flag.
    """

    name: str
    items: tuple[tuple[float, bool], ...]
    threshold: float | None


def panels(calibration: Calibration) -> list[Panel]:
    """Return the units to show: responses, sentences, or both."""
    threshold = calibration.policy.threshold
    outcomes = calibration.outcomes
    passages = tuple((o.score, o.hallucinated) for o in outcomes if o.hallucinated is not None)
    sentences: list[tuple[float, bool]] = []
    for outcome in outcomes:
        if outcome.wrong:
            for score, wrong in zip(outcome.sentences, outcome.wrong, strict=True):
                if score is not None and wrong is not None:
                    sentences.append((score, wrong))
    both = (
        Panel("Responses", passages, threshold.passage),
        Panel("Sentences", tuple(sentences), threshold.sentence),
    )
    return [panel for panel in both if panel.items]


def bins_of(items: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Return the non-empty ones of ten bins of equal width.

    Args:
        items: Scores in [0, 1] with their labels.
    """
    by_bin: dict[int, list[tuple[float, bool]]] = {}
    for score, wrong in items:
        by_bin.setdefault(min(int(score * _BINS), _BINS - 1), []).append((score, wrong))
    return [_bin(by_bin[index]) for index in sorted(by_bin)]


def _bin(items: Sequence[tuple[float, bool]]) -> Bin:
    wrong = sum(label for _, label in items)
    low, high = wilson(wrong, len(items))
    return Bin(
        count=len(items),
        score=fmean(score for score, _ in items),
        share=wrong / len(items),
        low=low,
        high=high,
    )


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share.

    Args:
        hits: The number of successes.
        count: The number of trials, at least 1.
    """
    share, square = hits / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z * sqrt(share * (1 - share) / count + square / (4 * count * count))
    half /= 1 + square / count
    return max(middle - half, 0.0), min(middle + half, 1.0)


def svg_of(calibration: Calibration) -> str:
    """Return the diagrams, which show scores and labels, but no text of a response.

    Args:
        calibration: The calibration.

    Returns:
        A self-contained SVG document, always the same for the same calibration.
    """
    shown = panels(calibration)
    height = _HEIGHT * len(shown) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        f' width="{_WIDTH}" height="{height}" role="img" aria-labelledby="resay-title resay-desc">',
        f'<title id="resay-title">{escape(_title(calibration))}</title>',
        f'<desc id="resay-desc">{escape(_description(shown))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{_WIDTH}" height="{height}"/>',
    ]
    for i, panel in enumerate(shown):
        parts.append(f'<g transform="translate(0 {i * _HEIGHT})">')
        parts += _reliability(panel)
        parts += _histogram(panel)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _title(calibration: Calibration) -> str:
    return f"Calibration with {calibration.labels}, {calibration.date}"


def _description(shown: Sequence[Panel]) -> str:
    return " ".join(_sentence(panel) for panel in shown)


def _sentence(panel: Panel) -> str:
    wrong = sum(label for _, label in panel.items)
    limit = "no threshold" if panel.threshold is None else f"threshold {panel.threshold:g}"
    shares = ", ".join(f"{b.score:.2f}: {100 * b.share:.0f} %" for b in bins_of(panel.items))
    return (
        f"{panel.name}: {len(panel.items) - wrong} correct and {wrong} hallucinated, {limit}."
        f" Share hallucinated by mean score of the bin: {shares}."
    )


def _reliability(panel: Panel) -> Iterator[str]:
    yield svg_text(_LEFT, 24, f"{panel.name}: share hallucinated by score", "head")
    yield from _frame(_LEFT)
    yield svg_line("even", _LEFT, _TOP + _SIZE, _LEFT + _SIZE, _TOP)
    for step in range(0, 101, 25):
        yield svg_text(_LEFT - 8, _y(step / 100) + 4, f"{step} %", end=True)
    for score_bin in bins_of(panel.items):
        x = _LEFT + score_bin.score * _SIZE
        yield svg_line("range", x, _y(score_bin.low), x, _y(score_bin.high))
        yield f'<circle class="point" cx="{x:.1f}" cy="{_y(score_bin.share):.1f}" r="4"/>'
        yield svg_text(x, _TOP - 6, str(score_bin.count), "small", middle=True)
    yield from _limit(_LEFT, _TOP + _SIZE - 8, panel.threshold)


def _histogram(panel: Panel) -> Iterator[str]:
    counts = [[0] * _BARS, [0] * _BARS]
    for score, wrong in panel.items:
        counts[wrong][min(int(score * _BARS), _BARS - 1)] += 1
    greatest = max(*counts[False], *counts[True])
    middle, width = _TOP + _SIZE / 2, _SIZE / _BARS
    yield svg_text(_RIGHT, 24, f"{panel.name}: how many have which score", "head")
    yield from _frame(_RIGHT)
    for wrong, name in enumerate(("correct", "hallucinated")):
        for index, count in enumerate(counts[wrong]):
            height = count / greatest * (_SIZE / 2 - 4)
            top = middle if wrong else middle - height
            x = _RIGHT + index * width
            yield (
                f'<rect class="{name}" x="{x + 0.5:.1f}" y="{top:.1f}" width="{width - 1:.1f}"'
                f' height="{height:.1f}"/>'
            )
        y = middle + (14 if wrong else -6) + (_SIZE / 2 - 20) * (1 if wrong else -1)
        yield svg_text(_RIGHT + 6, y, f"{sum(counts[wrong])} {name}")
    yield svg_text(_RIGHT + _SIZE + 6, _TOP + 10, str(greatest), "small")
    yield svg_text(_RIGHT + _SIZE + 6, _TOP + _SIZE, str(greatest), "small")
    yield svg_line("frame", _RIGHT, middle, _RIGHT + _SIZE, middle)
    yield from _limit(_RIGHT, _TOP - 6, panel.threshold)


def _frame(left: float) -> Iterator[str]:
    yield f'<rect class="frame" x="{left}" y="{_TOP}" width="{_SIZE}" height="{_SIZE}"/>'
    for step in range(0, 101, 25):
        at = left + step / 100 * _SIZE
        yield svg_text(at, _TOP + _SIZE + 16, f"{step / 100:g}", middle=True)
    yield svg_text(left + _SIZE / 2, _TOP + _SIZE + 34, "score", "small", middle=True)


def _limit(left: float, height: float, threshold: float | None) -> Iterator[str]:
    if threshold is None:
        return
    x = left + threshold * _SIZE
    yield svg_line("limit", x, _TOP, x, _TOP + _SIZE)
    label = f"flagged over {threshold:g}"
    on_left = threshold > 0.5
    yield svg_text(x + (-5 if on_left else 5), height, label, "small", end=on_left)


def _y(share: float) -> float:
    return _TOP + (1 - share) * _SIZE


def svg_line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a line with a class of `STYLE`."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def svg_text(
    x: float, y: float, text: str, kind: str = "", *, end: bool = False, middle: bool = False
) -> str:
    """Return a text that starts, ends or is centred at a point."""
    anchor = "end" if end else "middle" if middle else "start"
    chosen = f' class="{kind}"' if kind else ""
    return f'<text{chosen} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
