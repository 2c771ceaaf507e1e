"""The result of a calibration: figures with bootstrap intervals, and the policy they lead to.

The bootstrap draws whole responses, with replacement, because sentences of one response are not
independent (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13: percentile
intervals). An interval shows how much a figure depends on which responses were labelled. It is no
guarantee: for a rate of 0 it is 0 to 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, cast

import yaml
from pydantic import BaseModel

from resay._internal.importing import load_optional
from resay.calibration.drift import distribution_lines
from resay.calibration.fitting import Fitted
from resay.calibration.labelling import FeedbackCounts
from resay.calibration.proposals import Proposal
from resay.calibration.running import Outcome
from resay.calibration.targets import Guarantee, Target
from resay.errors import ConfigurationError
from resay.policy import Policy, Threshold

_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Figure:
    """A share with its 95 % interval.

    Attributes:
        value: The share, in [0, 1]; None if there is nothing to take a share of.
        low: The lower end.
        high: The upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """How well thresholds perform.

    Attributes:
        passage_fpr: The share of the correct responses that are flagged.
        passage_recall: The share of the hallucinated responses that are flagged.
        passage_roc_auc: How often the passage score of a hallucinated response is greater than that
            of a correct one, ties counting half.
        passage_average_precision: The area under the precision-recall curve of the passage score,
            as a step function.
        sentence_fpr: The mean over responses of the share of correct sentences that are flagged.
        sentence_recall: The same for hallucinated sentences.
        sentence_roc_auc: Like `passage_roc_auc`, for all labelled sentences that have a score.
        sentence_average_precision: The same for average precision.
    """

    passage_fpr: Figure
    passage_recall: Figure
    passage_roc_auc: Figure
    passage_average_precision: Figure
    sentence_fpr: Figure
    sentence_recall: Figure
    sentence_roc_auc: Figure
    sentence_average_precision: Figure


def measure_figures(
    outcomes: Sequence[Outcome],
    threshold: Threshold,
    *,
    bootstrap: int,
    seed: int,
    weights: Sequence[float] | None = None,
) -> Figures:
    """Measure thresholds on labelled responses.

    Args:
        outcomes: The chain's scores of the responses, with the labels.
        threshold: The thresholds.
        bootstrap: How often responses are resampled; 0 for no intervals.
        seed: The same seed gives the same intervals.
        weights: The number of responses that each represents; None for equal weights.

    Returns:
        The figures.

    Raises:
        MissingDependencyError: numpy is not installed.
    """
    np = _np()
    count = len(outcomes)
    drawn = np.random.default_rng(seed).integers(count, size=(bootstrap, count))
    # The first row is the original responses, without resampling.
    times = np.ones((bootstrap + 1, count))
    for row, places in enumerate(drawn, 1):
        times[row] = np.bincount(places, minlength=count)
    if weights is not None:
        times *= np.array(weights)
    passages = [(i, float(o.flagged(threshold)), o.hallucinated) for i, o in enumerate(outcomes)]
    sentences = [
        (i, float(share), wrong)
        for i, o in enumerate(outcomes)
        for wrong in (False, True)
        if (share := o.share_flagged(wrong, threshold.sentence)) is not None
    ]
    by_passage = _ranking(times, [(i, o.score, o.hallucinated) for i, o in enumerate(outcomes)])
    by_sentence = _ranking(times, _scored_sentences(outcomes))
    return Figures(
        _rate(times, passages, False),
        _rate(times, passages, True),
        *by_passage,
        _rate(times, sentences, False),
        _rate(times, sentences, True),
        *by_sentence,
    )


Item = tuple[int, float, bool | None]
"""The index of its response, a number, and the label."""


def _scored_sentences(outcomes: Sequence[Outcome]) -> list[Item]:
    return [
        (i, score, wrong)
        for i, outcome in enumerate(outcomes)
        if outcome.wrong
        for score, wrong in zip(outcome.sentences, outcome.wrong, strict=True)
        if score is not None
    ]


def _rate(times: Any, items: Sequence[Item], label: bool) -> Figure:
    np = _np()
    chosen = [(i, value) for i, value, wrong in items if wrong is label]
    if not chosen:
        return Figure(None)
    places = np.array([i for i, _ in chosen])
    weights = times[:, places]
    return _figure(_quotient(weights @ np.array([v for _, v in chosen]), weights.sum(axis=1)))


def _ranking(times: Any, items: Sequence[Item]) -> tuple[Figure, Figure]:
    """Return ROC-AUC and average precision."""
    np = _np()
    known = sorted((item for item in items if item[2] is not None), key=lambda item: item[1])
    wrong = np.array([item[2] for item in known], dtype=bool)
    if not len(known) or wrong.all() or not wrong.any():
        return Figure(None), Figure(None)
    places = np.array([item[0] for item in known])
    scores = np.array([item[1] for item in known])
    starts = np.flatnonzero(np.append(True, scores[1:] > scores[:-1]))
    found = [
        _areas(times[row : row + _AT_ONCE, places], wrong, starts)
        for row in range(0, len(times), _AT_ONCE)
    ]
    return (
        _figure(np.concatenate([areas for areas, _ in found])),
        _figure(np.concatenate([precisions for _, precisions in found])),
    )


def _areas(weights: Any, wrong: Any, starts: Any) -> tuple[Any, Any]:
    """Return both areas for each row of weights; items are sorted by score."""
    np = _np()
    positive = np.add.reduceat(weights * wrong, starts, axis=1)
    negative = np.add.reduceat(weights * ~wrong, starts, axis=1)
    all_positive = positive.sum(axis=1)
    under = np.cumsum(negative, axis=1) - negative / 2
    roc = _quotient((positive * under).sum(axis=1), all_positive * negative.sum(axis=1))
    hits = np.cumsum(positive[:, ::-1], axis=1)
    seen = np.cumsum((positive + negative)[:, ::-1], axis=1)
    precision = hits / np.maximum(seen, 1)
    average = _quotient((positive[:, ::-1] * precision).sum(axis=1), all_positive)
    return roc, average


def _quotient(over: Any, under: Any) -> Any:
    np = _np()
    return np.divide(over, under, out=np.full(len(under), np.nan), where=under > 0)


def _figure(values: Any) -> Figure:
    """Return the first value with the 95 % interval of the others."""
    np = _np()
    rest = values[1:][~np.isnan(values[1:])]
    if not len(rest):
        return Figure(float(values[0]))
    low, high = np.percentile(rest, (2.5, 97.5))
    return Figure(float(values[0]), float(low), float(high))


def _np() -> Any:
    return load_optional("numpy", package="numpy", extra="calibrate", purpose="calibrating")


Path = tuple[str | int, ...]
_HEADER = re.compile(r"[ \t]*#: calibrated ")
_OURS = re.compile(r"[ \t]*#:( |$)")
_COMMENT = re.compile(r"[ \t]*(#|$)")
_END = re.compile(r"^\.\.\.[ \t]*(#[^\n]*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Change:
    """A comment above a key under which values may differ.

    Attributes:
        path: The path of the key.
        comment: The lines of the comment.
    """

    path: Path
    comment: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Edit:
    """A replacement for the text from `start` to `end`."""

    start: int
    end: int
    text: str


def changed_text(
    text: str,
    old: Policy,
    new: Policy,
    changes: Sequence[Change],
    *,
    env: Mapping[str, str] | None = None,
) -> str:
    """Return a policy's text with changed values.

    Args:
        text: The policy's text.
        old: The policy in the text.
        new: The policy that the text is to contain. Only values under the paths of `changes` may
            differ.
        changes: The keys, and the comments that replace those of earlier calibrations there.
        env: The values of `${NAME}`; None for the environment variables.

    Returns:
        The text. It was parsed again to check that it contains the new policy.

    Raises:
        ConfigurationError: It cannot be changed in place.
    """
    if Policy.parse(text, env=env) != old:
        raise ConfigurationError("the text is not that of the policy that was calibrated")
    values = [value for change in changes for value in _values(change.path, old, new)]
    edits = _Editor(text).edits(changes, values)
    result = text
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        result = result[: edit.start] + edit.text + result[edit.end :]
    try:
        same = Policy.parse(result, env=env) == new
    except ConfigurationError:
        same = False
    if not same:
        wanted = ", ".join(f"{_named(path)}: {_scalar(value)}" for path, value in values)
        raise ConfigurationError(
            "the policy file is written in a way that cannot be changed in place, as with anchors"
            f" (&name) that several keys share; set these yourself: {wanted}"
        )
    return result


def _named(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def _values(path: Path, old: Policy, new: Policy) -> Iterator[tuple[Path, float | None]]:
    """Yield the paths and new values of the numbers under a path that differ."""
    yield from _differences(path, _at(old, path), _at(new, path))


def _at(policy: Policy, path: Path) -> object:
    value: Any = policy
    for key in path:
        value = value[key] if isinstance(key, int) else getattr(value, key)
    return value


def _differences(path: Path, old: Any, new: Any) -> Iterator[tuple[Path, float | None]]:
    if old == new:
        return
    if isinstance(new, BaseModel):
        for name in type(new).model_fields:
            yield from _differences((*path, name), getattr(old, name), getattr(new, name))
    elif isinstance(new, tuple):
        for i, (before, after) in enumerate(zip(old, cast("tuple[object, ...]", new), strict=True)):
            yield from _differences((*path, i), before, after)
    else:
        yield path, new


def _scalar(value: float | None) -> str:
    if value is None:
        return "null"
    # Without an exponent and with a point, so that every version of YAML reads a number.
    text = format(Decimal(repr(float(value))), "f")
    return text if "." in text else f"{text}.0"


class _Editor:
    """Finds the edits of a YAML text that change values and comments."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = cast("yaml.MappingNode", yaml.compose(text, Loader=yaml.SafeLoader))
        self._newline = "\r\n" if "\r\n" in text else "\n"
        # Only in block scalars can a line that looks like a comment be text.
        self._blocks = [
            (node.start_mark.index, node.end_mark.index)
            for node in _nodes(self._root, set())
            if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
        ]

    def edits(
        self, changes: Sequence[Change], values: Sequence[tuple[Path, float | None]]
    ) -> set[_Edit]:
        """Return the edits that change values and put comments above them."""
        edits: set[_Edit] = set()
        added: dict[Path, dict[str, float | None]] = {}
        for path, value in values:
            node = self._node(path)
            if node is not None:
                edits.add(_Edit(node.start_mark.index, node.end_mark.index, _scalar(value)))
            else:
                added.setdefault(path[:-1], {})[str(path[-1])] = value
        comments: dict[int, tuple[str, ...]] = {}
        for change in changes:
            place = self._line_of(change.path)
            if place is None:
                # A new key includes its comment.
                new = added.pop(change.path, {})
                edits.add(self._appended(change.path, new, change.comment))
            else:
                comments[place] = (*comments.get(place, ()), *change.comment)
        edits.update(self._inserted(path, new) for path, new in added.items())
        for place, lines in comments.items():
            edits.update(self._commented(place, lines))
        return edits

    def _node(self, path: Path) -> yaml.Node | None:
        node: yaml.Node = self._root
        for key in path:
            found = _child(node, key)
            if found is None:
                return None
            node = found[1]
        return node

    def _line_of(self, path: Path) -> int | None:
        """Return the offset of the line of a key; None if there is no such key."""
        parent = self._node(path[:-1])
        found = _child(parent, path[-1]) if parent else None
        if found is None:
            return None
        return self._text.rfind("\n", 0, found[0].start_mark.index) + 1

    def _inserted(self, path: Path, values: Mapping[str, float | None]) -> _Edit:
        """Return the edit that adds keys to a mapping, before its first."""
        node = self._node(path)
        pairs = [f"{key}: {_scalar(value)}" for key, value in values.items()]
        if not isinstance(node, yaml.MappingNode):
            # `changed_text` parses the result and reports the failure.
            return _Edit(0, 0, "")
        if node.flow_style:
            place = self._text.index("{", node.start_mark.index) + 1
            return _Edit(place, place, ", ".join(pairs) + (", " if node.value else ""))
        first = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)[0][0].start_mark
        line_break = self._newline + " " * first.column
        return _Edit(first.index, first.index, "".join(pair + line_break for pair in pairs))

    def _appended(
        self, path: Path, values: Mapping[str, float | None], comment: Sequence[str]
    ) -> _Edit:
        """Return the edit that adds a new key with values to the document."""
        inner = ", ".join(f"{key}: {_scalar(value)}" for key, value in values.items())
        pair = f"{path[-1]}: {{{inner}}}"
        if not values:
            return _Edit(0, 0, "")
        newline = self._newline
        if self._root.flow_style:
            place = self._text.index("{", self._root.start_mark.index) + 1
            lines = "".join(f"#: {line}{newline}" for line in comment)
            return _Edit(place, place, f"{newline}{lines}{pair}, ")
        indent = " " * self._root.start_mark.column
        end = _END.search(self._text)
        place = end.start() if end else len(self._text)
        before = self._text[:place]
        gap = "" if before.endswith("\n") else newline
        lines = "".join(f"{indent}#: {line}{newline}" for line in comment)
        return _Edit(place, place, f"{gap}{lines}{indent}{pair}{newline}")

    def _commented(self, place: int, comment: Sequence[str]) -> Iterator[_Edit]:
        """Yield the edits that put a comment above a line and remove an earlier one."""
        line = self._text[place:]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        lines = "".join(f"{indent}#: {text}{self._newline}" for text in comment)
        yield _Edit(place, place, lines)
        above: list[tuple[int, str]] = []
        end = place
        while end > 0:
            start = self._text.rfind("\n", 0, end - 1) + 1
            if any(first <= start < last for first, last in self._blocks):
                break
            if not _COMMENT.match(self._text[start:end].rstrip("\r\n")):
                break
            above.insert(0, (start, self._text[start:end].rstrip("\r\n")))
            end = start
        removing = False
        for start, written in above:
            removing = bool(_HEADER.match(written) or (removing and _OURS.match(written)))
            if removing:
                yield _Edit(start, self._text.index("\n", start) + 1, "")


def _nodes(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    """Yield a node and all nodes in it, each once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    yield node
    if isinstance(node, yaml.CollectionNode):
        # A mapping contains pairs, a list items.
        for entry in cast("list[yaml.Node | tuple[yaml.Node, yaml.Node]]", node.value):
            for child in entry if isinstance(entry, tuple) else (entry,):
                yield from _nodes(child, seen)


def _child(node: yaml.Node, key: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the key and the value of a mapping's entry; for a list, the item twice."""
    if isinstance(key, int):
        if not isinstance(node, yaml.SequenceNode):
            return None
        items = cast("list[yaml.Node]", node.value)
        return (items[key], items[key]) if key < len(items) else None
    if not isinstance(node, yaml.MappingNode):
        return None
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
    return next(((k, v) for k, v in pairs if k.value == key), None)


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of responses in a calibration.

    Attributes:
        rows: Labelled responses.
        learned: Those of them that weights or bands were learned from.
        inconclusive: Those of the others whose check is inconclusive, incomplete or skipped.
        not_logged: Those of the others that are not in the log, if there is one.
        correct: Those that thresholds rest on and that are labelled correct.
        hallucinated: The same, labelled hallucinated.
        correct_sentences: The sentences of the latter two that are labelled correct.
        hallucinated_sentences: The same, labelled hallucinated.
    """

    rows: int
    learned: int
    inconclusive: int
    not_logged: int
    correct: int
    hallucinated: int
    correct_sentences: int
    hallucinated_sentences: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result of a calibration.

    Attributes:
        policy: The calibrated policy.
        old: The policy before the calibration.
        targets: The targets that the thresholds keep.
        guarantee: The promise about the targets.
        counts: The numbers of responses it rests on.
        figures: How well the thresholds perform on the responses they were fitted on.
        old_figures: How well the old ones would perform, with the same scores.
        fitted: The parameters learned besides thresholds; None if there are none.
        outcomes: The scores and labels the thresholds rest on. They contain no text.
        labels: The name of the labels file.
        seed: The seed of the division of responses and of the bootstrap.
        date: The date, as in 2025-01-31.
        notes: Remarks for the reader.
        proposals: Achievable alternatives to targets that are kept only by flagging nothing.
        feedback: The numbers of a journal's entries by use, if labels are from a journal.
    """

    policy: Policy
    old: Policy
    targets: tuple[Target, ...]
    guarantee: Guarantee
    counts: Counts
    figures: Figures
    old_figures: Figures
    fitted: Fitted | None
    outcomes: tuple[Outcome, ...]
    labels: str
    seed: int
    date: str
    notes: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    feedback: FeedbackCounts | None = None

    def flagged(self, wrong: bool) -> tuple[int, int]:
        """Return how many responses the old thresholds flag, and how many the new ones do.

        Args:
            wrong: Whether to count responses labelled hallucinated rather than correct, of those
                that the thresholds rest on.
        """
        labelled = [outcome for outcome in self.outcomes if outcome.hallucinated is wrong]
        old, new = self.old.threshold, self.policy.threshold
        return sum(o.flagged(old) for o in labelled), sum(o.flagged(new) for o in labelled)

    def promises(self) -> list[str]:
        """Return the promises, one line for each target."""
        return [f"{self.guarantee}, {target}" for target in self.targets]

    def write_into(self, text: str, *, env: Mapping[str, str] | None = None) -> str:
        """Return a policy file's text with the calibrated values.

        Everything else stays as it is, byte for byte. A comment above each changed key describes
        the measurement; it replaces the one of an earlier calibration.

        Args:
            text: The text of the policy that was calibrated.
            env: The values of `${NAME}`; None for the environment variables.

        Raises:
            ConfigurationError: The text is that of another policy, or is written in a way that
                cannot be changed in place, as with anchors shared by several keys.
        """
        return changed_text(text, self.old, self.policy, list(self._changes()), env=env)

    def _changes(self) -> Iterator[Change]:
        yield Change(("threshold",), self._comment())
        fitted = self.fitted
        if fitted is None:
            return
        for place in sorted({*fitted.weighted, *fitted.banded}):
            what = [
                *(["weights"] if place in fitted.weighted else []),
                *(["bands"] if place in fitted.banded else []),
            ]
            yield Change(
                ("chain", place),
                (
                    f"calibrated {self.date} from {self.labels}: {' and '.join(what)} learned from"
                    f" {fitted.rows} responses that the thresholds do not rest on",
                ),
            )

    def _comment(self) -> tuple[str, ...]:
        counts, found = self.counts, self.figures
        used = counts.correct + counts.hallucinated
        lines = [
            f"calibrated {self.date} from {self.labels}: {counts.rows} labelled responses,"
            f" thresholds rest on {used} ({counts.correct} correct, {counts.hallucinated}"
            f" hallucinated); {counts.inconclusive} inconclusive left out"
        ]
        lines += [f"target: {promise}" for promise in self.promises()]
        units = {target.unit for target in self.targets}
        feedback = self.feedback
        weighted = feedback is not None and feedback.uncertain > 0
        on = f"{self.counts.rows} that were drawn, by their weights" if weighted else "them"
        if "passage" in units:
            lines.append(_measured(on, "responses", found.passage_fpr, found.passage_recall))
        if "sentence" in units:
            lines.append(_measured(on, "sentences", found.sentence_fpr, found.sentence_recall))
        highest = (outcome.highest for outcome in self.outcomes)
        lines += distribution_lines(
            (outcome.score for outcome in self.outcomes),
            (score for score in highest if score is not None),
        )
        return tuple(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores of single responses, as JSON-ready values."""
        fitted = self.fitted
        return {
            "date": self.date,
            "labels": self.labels,
            "seed": self.seed,
            "targets": [asdict(target) | {"text": str(target)} for target in self.targets],
            "guarantee": asdict(self.guarantee) | {"text": str(self.guarantee)},
            "counts": asdict(self.counts),
            "flagged": {
                name: dict(zip(("before", "now"), self.flagged(wrong), strict=True))
                for name, wrong in (("correct", False), ("hallucinated", True))
            },
            "feedback": None if self.feedback is None else asdict(self.feedback),
            "threshold": _limits(self.policy.threshold),
            "old_threshold": _limits(self.old.threshold),
            "figures": asdict(self.figures),
            "old_figures": asdict(self.old_figures),
            "learned": None
            if fitted is None
            else {
                "responses": fitted.rows,
                "weights": list(fitted.weighted),
                "bands": list(fitted.banded),
                "share_settled": list(fitted.share_settled),
                "chain": [
                    step.model_dump(mode="json", exclude_unset=True) for step in self.policy.chain
                ],
            },
            "proposals": [
                {
                    "target": asdict(proposal.target),
                    "threshold": _limits(proposal.threshold),
                    "recall": proposal.recall,
                    "lean": proposal.lean,
                }
                for proposal in self.proposals
            ],
            "notes": list(self.notes),
        }


def _limits(threshold: Threshold) -> dict[str, float | None]:
    return {"passage": threshold.passage, "sentence": threshold.sentence}


def _measured(on: str, what: str, fpr: Figure, recall: Figure) -> str:
    return (
        f"measured on {on}: {percent(fpr)} of the correct {what} flagged,"
        f" {percent(recall)} of the hallucinated"
    )


def percent(figure: Figure) -> str:
    """Format a figure for display: `4.2 % (1.0 to 8.1)`."""
    if figure.value is None:
        return "?"
    text = f"{100 * figure.value:.1f} %"
    if figure.low is None or figure.high is None:
        return text
    return f"{text} ({100 * figure.low:.1f} to {100 * figure.high:.1f})"
