"""Measures the default policy as it ships: who is flagged, right and wrong.

The policy is `Policy.default()`, the object that a `Guard()` has, run through the chain with its
own sampling and early stop. Judges' answers are recorded ones. They were given to another question,
one about each sentence and sample, which is answered with Yes or No; the default policy asks about
all sentences together and has three answers. Each recorded answer enters as the line about its
sentence, as it was received: Yes is read as supported, and No as the policy reads a bare No, as
evidence that a sample does not mention the matter. What of the Noes would have been `contradicted`
nobody recorded, so each row stands beside one in which all of them are.

The fitted numbers of the policy, `most` of the weight of `not_mentioned` and `threshold.doubtful`,
are fitted again on everything, for comparison with what ships; `most` also by parts, to be measured
on the others.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from resay.benchmarks.entries import Lenient, choose_rows, parse_row, read_lines
from resay.benchmarks.measuring import Checked, Item, check
from resay.benchmarks.table import Column, ResultTable, Row
from resay.benchmarks.wikibio import DATA, RECORDED_DATA, Label
from resay.calibration.showing import wilson
from resay.core.passage import Passage
from resay.core.query import Query
from resay.core.usage import Usage
from resay.core.verdict import Band
from resay.errors import ConfigurationError
from resay.policy import Policy
from resay.providers.base import Completion, Completions, Provider
from resay.scorers.common.judging import read_yes_no
from resay.scorers.prompt import Between, Prompt

MOST_ACCURATE, LEAST_MAJOR = 20.0, 75.0
"""The goal, in percent: at most so many accurate sentences are flagged, and at least so many that
are major inaccurate."""

LEAST_RIGHT = 80.0
"""So many of the sentences that are called supported are to be accurate, in percent."""

FOLDS = 5
_STEPS = 10_000
_SHIPPED = "as it ships"
_LABELS: tuple[Label, ...] = ("accurate", "minor_inaccurate", "major_inaccurate")

No = Literal["not_mentioned", "contradicted"]
"""What a recorded No is read as."""

_READINGS: tuple[No, ...] = ("not_mentioned", "contradicted")


@dataclass(frozen=True, slots=True)
class Source:
    """A data set.

    Attributes:
        name: What it is called.
        responses: Its file, in the folder of the data.
        recorded: The file of judges' answers; None where none are recorded.
        judges: Whose answers are read.
    """

    name: str
    responses: str
    recorded: str | None = None
    judges: tuple[str, ...] = ()


WIKIBIO = Source("wikibio_gpt3", DATA, RECORDED_DATA, ("gemma4-31b", "qwen3.5-9b-think"))
SAC3 = Source(
    "sac3_hotpot",
    "sac3_hotpot/responses.jsonl",
    "sac3_hotpot/recorded.jsonl",
    ("chatgpt-equiv",),
)
FACTSCORE = Source("factscore_instructgpt", "factscore_instructgpt/responses.jsonl")


class _Response(Lenient):
    prompt: str = ""
    passage: str
    sentences: list[str]
    # None: nothing in the sentence could be checked.
    labels: list[Label | None]
    samples: list[str]


class _Recorded(Lenient):
    answers: dict[str, list[list[str | None]]] = Field(alias="prompt_answers")


@dataclass(frozen=True, slots=True)
class Judged:
    """A data set with one judge's answers, and as many samples as the default policy draws.

    Attributes:
        source: Which data set.
        judge: Whose answers.
        first: The number of the first of its samples, from 1.
        items: The passages.
        labels: For each passage the labels of its sentences.
        answers: For each passage what the judge said of each sentence, beside each sample.
    """

    source: Source
    judge: str
    first: int
    items: tuple[Item, ...]
    labels: tuple[tuple[Label | None, ...], ...]
    answers: tuple[Sequence[Sequence[str | None]], ...]

    @property
    def name(self) -> str:
        """The data set, the judge and the samples."""
        return f"{self.source.name}, {self.judge}, samples {self.drawn}"

    @property
    def drawn(self) -> str:
        """The numbers of its samples."""
        return f"{self.first} to {self.first + Policy.default().sampling.max - 1}"

    def cut(self, start: int, end: int) -> Judged:
        """Return the same with some of the samples.

        Args:
            start: The place of the first.
            end: The place after the last.
        """
        return replace(
            self,
            first=start + 1,
            items=tuple(replace(item, samples=item.samples[start:end]) for item in self.items),
            answers=tuple([row[start:end] for row in rows] for rows in self.answers),
        )

    @property
    def places(self) -> range:
        """The places of all passages."""
        return range(len(self.items))


Draws = tuple[Judged, ...]
"""One judge's answers about one data set: once for each lot of samples, from the first on."""


def load(folder: Path, source: Source, rows: slice) -> tuple[Draws, ...]:
    """Read a data set with its recorded answers.

    Args:
        folder: The folder of the data.
        source: Which data set.
        rows: Which rows to take.

    Returns:
        One for each judge.

    Raises:
        ConfigurationError: A file is not there, is not valid, has no such rows, or has fewer
            samples than the default policy draws.
    """
    if source.recorded is None:
        return ()
    read = read_all(folder, source, rows)
    drawn = Policy.default().sampling.max
    fewest = min(len(item.samples) for item in read[0].items)
    if fewest < drawn:
        raise ConfigurationError(
            f"{source.name!r} has rows with {fewest} samples; the default policy draws {drawn}"
        )
    starts = range(0, fewest - drawn + 1, drawn)
    return tuple(tuple(judged.cut(start, start + drawn) for start in starts) for judged in read)


def read_all(folder: Path, source: Source, rows: slice) -> tuple[Judged, ...]:
    """Read a data set with all its samples.

    Args:
        folder: The folder of the data.
        source: Which data set.
        rows: Which rows to take.

    Returns:
        One for each judge; one without answers where none are recorded.

    Raises:
        ConfigurationError: A file is not there, is not valid, or has no such rows.
    """
    path = folder / source.responses
    lines = read_lines(path)
    indices = choose_rows(lines, rows, path)
    read = [parse_row(_Response, lines, i, path) for i in indices]
    items = tuple(_item(i, row) for i, row in zip(indices, read, strict=True))
    labels = tuple(tuple(row.labels) for row in read)
    if source.recorded is None:
        nothing = tuple([[None] * len(row.samples) for _ in row.sentences] for row in read)
        return (Judged(source, "", 1, items, labels, nothing),)
    beside = folder / source.recorded
    recorded = read_lines(beside)
    said = [parse_row(_Recorded, recorded, i, beside).answers for i in indices]
    for index, row, answers in zip(indices, read, said, strict=True):
        _check_shape(source, index, row, answers)
    return tuple(
        Judged(source, judge, 1, items, labels, tuple(answers[judge] for answers in said))
        for judge in source.judges
    )


def _check_shape(
    source: Source, index: int, row: _Response, answers: Mapping[str, list[list[str | None]]]
) -> None:
    shape = [len(row.samples)] * len(row.sentences)
    for judge in source.judges:
        if len(row.labels) != len(shape) or [len(a) for a in answers.get(judge, ())] != shape:
            raise ConfigurationError(
                f"row {index!r} of {source.name!r} has not one label for each of its {len(shape)}"
                f" sentences and one answer of {judge!r} for each of its {len(row.samples)} samples"
            )


def _item(index: int, row: _Response) -> Item:
    try:
        passage = Passage.from_sentences(row.sentences, text=row.passage)
    except ConfigurationError:
        passage = Passage.from_sentences(row.sentences)
    query = Query.of(row.prompt) if row.prompt.strip() else None
    return Item(index, passage, tuple(row.samples), query=query)


_SECTION = r"<{name}-(?P<code>[0-9a-f]{{16}})>\n(?P<text>.*?)\n</{name}-(?P=code)>"
_CONTEXT = re.compile(_SECTION.format(name="context"), re.DOTALL)
_CLAIMS = re.compile(_SECTION.format(name="claims"), re.DOTALL)
_CLAIM = re.compile(r"^\d+\. (.*)$", re.MULTILINE)


class Recital:
    """Gives recorded answers about pairs in the form in which the default policy asks.

    Args:
        item: The passage.
        answers: What was said of each sentence, beside each sample.
        no: What a No is given as.
    """

    def __init__(self, item: Item, answers: Sequence[Sequence[str | None]], no: No) -> None:
        self._no = no
        self._answers = {
            (_flat(sentence.text), sample.strip()): answer
            for sentence, row in zip(item.passage.sentences, answers, strict=True)
            for sample, answer in zip(item.samples, row, strict=True)
        }

    async def takes_n(self, query: Query) -> bool:
        """Return that it gives one answer at a time."""
        del query
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Answer with one line for each claim, none where nothing was recorded.

        A judge that is asked once more, because a line is missing, says the same again.
        """
        del n
        prompt = str(query.messages[0]["content"])
        context, claims = _CONTEXT.search(prompt), _CLAIMS.search(prompt)
        if context is None or claims is None:
            raise ConfigurationError("the default policy asks in a form that was not recorded")
        asked = _CLAIM.findall(claims["text"])
        said = (self._answers[claim, context["text"]] for claim in asked)
        lines = [f"{i}: {self._word(answer)}" for i, answer in enumerate(said, 1) if answer]
        return Completions((Completion("\n".join(lines)),), Usage(calls=1))

    def _word(self, answer: str) -> str:
        if self._no == "contradicted" and read_yes_no(answer) is False:
            return "contradicted"
        return _flat(answer)


def _flat(text: str) -> str:
    return " ".join(text.splitlines())


class Reader:
    """Recorded answers as a judge of a benchmark.

    Args:
        judged: The passages with the judge's answers.
        no: What a recorded No is read as.
    """

    reports_tokens = False

    def __init__(self, judged: Judged, no: No) -> None:
        self.name = judged.judge
        self.settings: Mapping[str, Any] = {}
        self._no: No = no
        self._known = {
            item.index: (item, answers)
            for item, answers in zip(judged.items, judged.answers, strict=True)
        }

    async def prepare(self) -> None:
        """Do nothing: a recording is always there."""

    def answering(self, item: int) -> Provider:
        """Return a provider that gives this item's answers."""
        return Recital(*self._known[item], self._no)

    def guarded(self, provider: Provider, limiter: AbstractAsyncContextManager[object]) -> Provider:
        """Return the provider itself."""
        del limiter
        return provider


async def checked(policy: Policy, judged: Judged, no: No) -> list[Checked]:
    """Check a data set.

    Args:
        policy: The default policy, or a variant of it.
        judged: The passages with the judge's answers.
        no: What a recorded No is read as.

    Returns:
        One result per passage.

    Raises:
        ConfigurationError: The policy asks what was not recorded.
    """
    found = await check(policy, judged.items, Reader(judged, no))
    if any(step.failures for one in found for step in one.verdict.steps):
        raise ConfigurationError(f"{judged.name}: the default policy asks what was not recorded")
    return found


@dataclass(frozen=True, slots=True)
class Line:
    """The scores of a passage's sentences at any `most` of the weight of `not_mentioned`.

    A score is a mean of entries of which some lie between `least` and `most`, by the words: a
    straight line in `most`, as long as all samples are looked at.

    Attributes:
        low: The scores where it is `least`; None for a sentence that is not scored.
        high: Those where it is 1.
    """

    low: tuple[float | None, ...]
    high: tuple[float | None, ...]

    def bands(self, weight: float) -> list[Band | None]:
        """Return the band of each sentence at a weight."""
        threshold, least = Policy.default().threshold, shipped().least
        share = (weight - least) / (1 - least)
        return [
            threshold.band(None if a is None or b is None else a + share * (b - a))
            for a, b in zip(self.low, self.high, strict=True)
        ]


async def lines_of(judged: Judged) -> list[Line]:
    """Return the scores of a data set at any weight."""
    low, high = [
        await checked(weighed(weight, stops=False), judged, "not_mentioned")
        for weight in (shipped().least, 1.0)
    ]
    return [Line(tuple(a.sentences), tuple(b.sentences)) for a, b in zip(low, high, strict=True)]


Lines = Mapping[str, Sequence[Line]]
"""The lines of data sets, by their names."""


def fit(draws: Sequence[Draws], lines: Lines, left_out: int | None = None) -> float:
    """Return the greatest `most` with which few enough accurate sentences are flagged.

    Args:
        draws: On which data, and with whose answers. It is so with each judge, over all draws.
        lines: Their scores.
        left_out: The fold that is not looked at.

    Returns:
        The weight, with four decimals.
    """

    def holds(step: int) -> bool:
        for of_judge in draws:
            counts = Bands()
            for judged in of_judge:
                places = [i for i in judged.places if judged.items[i].index % FOLDS != left_out]
                counts.add(judged, {i: lines[judged.name][i].bands(step / _STEPS) for i in places})
            if counts.percent("accurate") > MOST_ACCURATE:
                return False
        return True

    first = round(shipped().least * _STEPS)
    steps = range(first + 1, _STEPS + 1)
    return (first + bisect_left(steps, True, key=lambda step: not holds(step))) / _STEPS


async def fit_doubtful(draws: Sequence[Draws]) -> float:
    """Return the greatest `threshold.doubtful` with which what is called supported mostly is.

    Args:
        draws: On which data, and with whose answers. It is so with each judge, over all draws.

    Returns:
        The threshold, in steps of 0.01; 0 where there is none.
    """
    limit = Policy.default().threshold.sentence or 1.0
    cuts = [step / 100 for step in range(1, 100) if step / 100 < limit]
    for of_judge in draws:
        scored: list[tuple[float, Label]] = []
        for judged in of_judge:
            found = await checked(Policy.default(), judged, "not_mentioned")
            for one, labels in zip(found, judged.labels, strict=True):
                for sentence, label in zip(one.verdict.sentences, labels, strict=True):
                    if sentence.score is not None and label is not None:
                        scored.append((sentence.score, label))
        cuts = [cut for cut in cuts if _right_up_to(cut, scored) >= LEAST_RIGHT]
    return max(cuts, default=0.0)


def _right_up_to(cut: float, scored: Sequence[tuple[float, Label]]) -> float:
    below = [label for score, label in scored if score <= cut]
    return 100 * below.count("accurate") / max(len(below), 1)


def weighed(weight: float, *, stops: bool = True) -> Policy:
    """Return the default policy with another `most` of the weight of `not_mentioned`.

    Args:
        weight: It.
        stops: Whether samples may stop early, as the policy says; else all are looked at.
    """
    policy, between = Policy.default(), Between(least=shipped().least, most=weight)
    chain = [
        step.model_copy(
            update={"weights": step.weights.model_copy(update={"not_mentioned": between})}
        )
        if isinstance(step, Prompt.Config)
        else step
        for step in policy.chain
    ]
    sampling = policy.sampling
    if not stops:
        sampling = sampling.model_copy(update={"confidence": None})
    return policy.model_copy(update={"chain": tuple(chain), "sampling": sampling})


def shipped() -> Between:
    """Return the weight of `not_mentioned` in the default policy."""
    step = next(s for s in Policy.default().chain if isinstance(s, Prompt.Config))
    assert isinstance(step.weights.not_mentioned, Between)  # noqa: S101 - so says default.yaml
    return step.weights.not_mentioned


@dataclass(slots=True)
class Bands:
    """How many sentences with each label are in each band; those in the last are flagged."""

    counts: Counter[tuple[Label, Band | None]] = field(
        default_factory=Counter[tuple[Label, Band | None]]
    )

    def add(self, judged: Judged, bands: Mapping[int, Sequence[Band | None]]) -> None:
        """Count the sentences of some passages.

        Args:
            judged: The data set.
            bands: The band of each sentence, by the places of the passages to count.
        """
        for place, row in bands.items():
            pairs = zip(judged.labels[place], row, strict=True)
            self.counts.update((label, band) for label, band in pairs if label is not None)

    def total(self, label: Label) -> int:
        """Return how many sentences have a label."""
        return sum(n for (known, _), n in self.counts.items() if known == label)

    def percent(self, label: Label) -> float:
        """Return which share of the sentences with a label is flagged; 0 where there are none."""
        return 100 * self.counts[label, "contradicted"] / max(self.total(label), 1)

    def figures(self) -> dict[str, Any]:
        """Return shares in percent with their 95 % intervals; None where there is no sentence."""
        figures: dict[str, Any] = {}
        for label in _LABELS:
            key, count = label.partition("_")[0], self.total(label)
            hits = self.counts[label, "contradicted"]
            low, high = wilson(hits, count) if count else (None, None)
            figures |= {
                f"{key}_sentences": count,
                f"{key}_flagged": round(100 * hits / count, 1) if count else None,
                f"{key}_low": None if low is None else round(100 * low, 1),
                f"{key}_high": None if high is None else round(100 * high, 1),
                key: None
                if low is None or high is None
                else f"{100 * hits / count:.1f} ({100 * low:.1f} to {100 * high:.1f})",
            }
        right, count = self.counts["accurate", "supported"], self.total("accurate")
        supported = sum(self.counts[label, "supported"] for label in _LABELS)
        figures["accurate_supported"] = round(100 * right / count, 1) if count else None
        figures["supported_right"] = round(100 * right / supported, 1) if supported else None
        return figures


COLUMNS = (
    Column("data", "data"),
    Column("judge", "judge"),
    Column("drawn", "samples"),
    Column("fitted_on", "fitted on"),
    Column("weight", "most", 4),
    Column("no", "No read as"),
    Column("accurate", "accurate flagged"),
    Column("minor", "minor flagged"),
    Column("major", "major flagged"),
    Column("accurate_supported", "accurate supported", 1),
    Column("supported_right", "supported that are accurate", 1),
    Column("samples", "looked at", 2),
    Column("calls", "calls", 2),
)
"""What readers see of a row."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a row of the table is to show.

    Attributes:
        judged: The data.
        no: What a recorded No is read as.
        fitted_on: Where the weight is from, for readers.
        weights: The weight for each passage.
    """

    judged: Judged
    no: No
    fitted_on: str
    weights: Sequence[float]


async def run(
    folder: Path, rows: slice, *, done: Callable[[], object] = lambda: None
) -> ResultTable:
    """Measure the default policy, as it ships and with its number fitted by parts.

    Args:
        folder: The folder of the data.
        rows: Which rows of WikiBio to take.
        done: Called after each row of the table.

    Returns:
        The table.

    Raises:
        ConfigurationError: WikiBio or its recorded answers cannot be read.
    """
    wikibio = load(folder, WIKIBIO, rows)
    missing = [s for s in (SAC3, FACTSCORE) if not (folder / s.responses).is_file()]
    sac3 = () if SAC3 in missing else load(folder, SAC3, slice(None))
    lines = {j.name: await lines_of(j) for draws in (*wikibio, *sac3) for j in draws}
    wanted = [*_shipped(wikibio, sac3), *_crossed(wikibio, sac3, lines)]
    table: list[Row] = []
    for one in wanted:
        table.append(await _row(one))
        done()
    fitted = {"most": fit(wikibio, lines), "doubtful": await fit_doubtful(wikibio)}
    notes = list(_notes(table, fitted, missing))
    return ResultTable("defaults", COLUMNS, tuple(table), tuple(notes), {"fitted": fitted})


def _shipped(wikibio: Sequence[Draws], sac3: Sequence[Draws]) -> Iterator[_Wanted]:
    for first, *others in (*wikibio, *sac3):
        weights = [shipped().most] * len(first.items)
        for no in _READINGS:
            yield _Wanted(first, no, _SHIPPED, weights)
        if first.source is WIKIBIO:
            for judged in others:
                yield _Wanted(judged, "not_mentioned", _SHIPPED, weights)


def _crossed(wikibio: Sequence[Draws], sac3: Sequence[Draws], lines: Lines) -> Iterator[_Wanted]:
    """Yield data with a weight that is fitted on others."""
    for (judged, *_), other in zip(wikibio, reversed(wikibio), strict=True):
        weights = [fit([other], lines)] * len(judged.items)
        yield _Wanted(judged, "not_mentioned", other[0].judge, weights)
    for draws in wikibio:
        by_fold = [fit([draws], lines, fold) for fold in range(FOLDS)]
        weights = [by_fold[item.index % FOLDS] for item in draws[0].items]
        yield _Wanted(draws[0], "not_mentioned", f"the other {FOLDS - 1} of {FOLDS} folds", weights)
    if not sac3:
        return
    weight, other = fit(sac3, lines), fit(wikibio, lines)
    for judged, *_ in wikibio:
        yield _Wanted(judged, "not_mentioned", SAC3.name, [weight] * len(judged.items))
    for judged, *_ in sac3:
        for no in _READINGS:
            yield _Wanted(judged, no, WIKIBIO.name, [other] * len(judged.items))


async def _row(wanted: _Wanted) -> Row:
    judged, weights = wanted.judged, wanted.weights
    counts, found = Bands(), dict[int, Checked]()
    for weight in sorted(set(weights)):
        policy = Policy.default() if weight == shipped().most else weighed(weight)
        results = await checked(policy, judged, wanted.no)
        found |= {i: results[i] for i in judged.places if weights[i] == weight}
    counts.add(judged, {i: [s.band for s in c.verdict.sentences] for i, c in found.items()})
    return {
        "data": judged.source.name,
        "judge": judged.judge,
        "drawn": judged.drawn,
        "fitted_on": wanted.fitted_on,
        "weight": round(fmean(weights), 4),
        "no": wanted.no,
        **counts.figures(),
        "samples": round(fmean(one.verdict.samples for one in found.values()), 2),
        "calls": round(fmean(one.calls for one in found.values()), 2),
        "holds": counts.percent("accurate") <= MOST_ACCURATE
        and counts.percent("major_inaccurate") >= LEAST_MAJOR,
    }


def steps(folder: Path, rows: slice) -> int:
    """Return how many rows there will be.

    Raises:
        ConfigurationError: WikiBio or its recorded answers cannot be read.
    """
    wikibio = load(folder, WIKIBIO, rows)
    beside = len(SAC3.judges) if (folder / SAC3.responses).is_file() else 0
    return sum(map(len, wikibio)) + (4 if beside else 3) * len(wikibio) + 4 * beside


def _notes(
    rows: Sequence[Row], fitted: Mapping[str, float], missing: Sequence[Source]
) -> Iterator[str]:
    yield (
        "Percent of the sentences with each label that are flagged, with the 95 % interval of"
        " Wilson; samples looked at and calls of the judge are means per passage. The policy is"
        " Policy.default(), run with its own sampling and early stop, on the first samples it"
        " would draw and on the next; a sentence that is not scored is not flagged."
    )
    yield (
        "Judges were recorded with the published question, whether the sample supports the"
        " sentence. Yes is supported; No is what a bare No is to the policy, not_mentioned. It"
        " does not tell whether the sample says something else, so each row as it ships stands"
        " beside one in which all Noes are contradictions: the truth lies between. On"
        " sac3_hotpot the question was whether two answers are equivalent, and its No is nearer"
        " to contradicted."
    )
    of_shipped = [row for row in rows if row["fitted_on"] == _SHIPPED and row["no"] == _READINGS[0]]
    for judge in WIKIBIO.judges:
        draws = [r for r in of_shipped if (r["data"], r["judge"]) == (WIKIBIO.name, judge)]
        shares = [fmean(r[f"{key}_flagged"] or 0 for r in draws) for key in ("accurate", "major")]
        yield (
            f"The goal is at most {MOST_ACCURATE:g} % of the accurate and at least"
            f" {LEAST_MAJOR:g} % of the major sentences of {WIKIBIO.name}. {judge}, as it ships:"
            f" {'met' if draws[0]['holds'] else 'not met'} on samples {draws[0]['drawn']};"
            f" {shares[0]:.1f} and {shares[1]:.1f} on average over {len(draws)} draws."
        )
    yield (
        "`most` of not_mentioned fitted on all of wikibio_gpt3 with both judges:"
        f" {_beside(fitted['most'], shipped().most, 4)}. It is the greatest in steps of 0.0001"
        f" with which at most {MOST_ACCURATE:g} % of the accurate sentences are flagged with each"
        " judge, over all draws of samples."
    )
    yield (
        "`threshold.doubtful` fitted on the same:"
        f" {_beside(fitted['doubtful'], Policy.default().threshold.doubtful or 0.0, 2)}. It is the"
        f" greatest in steps of 0.01 with which at least {LEAST_RIGHT:g} % of the sentences called"
        " supported are accurate."
    )
    if FACTSCORE not in missing:
        yield (
            "factscore_instructgpt: not applicable. No judge's answers are recorded, and its 2"
            " samples a response are fewer than"
            f" sampling.min ({Policy.default().sampling.min}), which is inconclusive."
        )
    for source in missing:
        yield f"{source.name}: skipped: no data."


def _beside(fitted: float, ships: float, digits: int) -> str:
    same = f"{fitted:.{digits}f}" == f"{ships:.{digits}f}"
    shown = "that is what ships" if same else f"what ships is {ships:.{digits}f}"
    return f"{fitted:.{digits}f}; {shown}"
