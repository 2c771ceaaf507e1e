"""Parses scores by name from a judge's answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.item_numbers import agreed
from resay.scorers.common.judge_json import json_values

_POINTS = lazy_pattern(
    r"(?P<score>-?\d+(?:[.,]\d{1,2})?)(?![.,]?\d)(?:\s*%)?"
    r"(?:\s*(?:/|out of|of)\s*(?P<whole>\d{1,4}))?(?:\s*(?:points?|pts)\b)?"
    r"(?=[\s*_`\"'.,;|)\]]|$)",
    re.IGNORECASE,
)
# Between a name and its points: closing marks, a separator, opening marks. A dash that touches the
# number is its sign.
_SCORED = lazy_pattern(
    r"(?<![^\W\d_])(?P<name>[^\W\d_]+)[\])*_`\"']*\s*(?:[:：=–—|]\s*|-\s+)?[\[(*_`\"']*"
    + _POINTS.pattern,
    re.IGNORECASE,
)
_OUT_OF_RANGE = -1.0
_MAX_DEPTH = 5
_NEXT_WORD = lazy_pattern(r"[ \t]+([^\W\d_]+)")
_REASON_FOLLOWS = frozenset(["as", "because", "since"])
_AROUND_NAME = " \t\r\n*_`\"'“”‘’«»「」#>[](){}:：-•"


def parse_named_scores(text: str, names: Sequence[str]) -> list[float | None]:
    """Parse one score from 0 to 100 for each of several names.

    Accepts `[Tom] 50`, `**Tom**: 50`, `Tom - 50/100`, `| Tom | 50 |`, several on a line, and JSON
    such as `{"Tom": 50}` or `[{"student": "Tom", "points": 50}]`. A name is undetermined if it is
    missing, or if its score is out of range or ambiguous; a score out of anything but 100 is out of
    range. A number followed by other words, as in `[Tom] 50 people came`, is not a score.

    Args:
        text: The judge's answer.
        names: The names to score.

    Returns:
        One score per name, in [0, 100], or None.
    """
    by_name = {name.casefold(): name for name in names}
    data = json_values(text)
    entries: list[tuple[str, float]] = []
    # A name in brackets is no list.
    if any(isinstance(value, dict) or (value and isinstance(value[0], dict)) for value in data):
        for value in data:
            entries += _scores_in_json(value, by_name)
    else:
        entries += _scores_in_text(text, by_name)
    scores_by_name = agreed(
        [(by_name[n.casefold()], score) for n, score in entries if n.casefold() in by_name]
    )
    scores: list[float | None] = []
    for name in names:
        score = scores_by_name.get(name)
        scores.append(score if score is not None and 0.0 <= score <= 100.0 else None)
    return scores


def _scores_in_text(text: str, names: Collection[str]) -> Iterator[tuple[str, float]]:
    for match in _SCORED.finditer(text):
        follows = _NEXT_WORD.match(text, match.end())
        word = follows[1].casefold() if follows else None
        if word is None or word in names or word in _REASON_FOLLOWS:
            yield match["name"], _points(match)


def _scores_in_json(data: Any, names: Collection[str], depth: int = 0) -> list[tuple[str, float]]:
    entries: list[tuple[str, float]] = []
    if depth > _MAX_DEPTH:
        return entries
    if isinstance(data, list):
        for item in cast("list[Any]", data):
            entries += _scores_in_json(item, names, depth + 1)
        return entries
    fields = cast("dict[Any, Any]", data) if isinstance(data, dict) else {}
    for name, value in fields.items():
        points = _json_points(value)
        if points is not None:
            entries.append((str(name).strip(_AROUND_NAME), points))
        elif isinstance(value, (dict, list)):
            entries += _scores_in_json(value, names, depth + 1)
    # {"student": "Tom", "points": 50}
    texts = [str(value).strip(_AROUND_NAME) for value in fields.values()]
    named = [text for text in texts if text.casefold() in names]
    scores = [points for points in map(_json_points, fields.values()) if points is not None]
    if len(named) == 1 and len(scores) == 1:
        entries.append((named[0], scores[0]))
    return entries


def _json_points(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Larger integers may not fit into a float.
        return float(value) if 0 <= value <= 100 else _OUT_OF_RANGE
    match = _POINTS.fullmatch(value.strip()) if isinstance(value, str) else None
    return _points(match) if match else None


def _points(match: re.Match[str]) -> float:
    # A score out of anything but 100 must not pass for one out of 100.
    if int(match["whole"] or 100) != 100:
        return _OUT_OF_RANGE
    return float(match["score"].replace(",", "."))
