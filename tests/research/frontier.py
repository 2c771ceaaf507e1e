"""Measures methods and chains by their cost, on data sets with labelled sentences.

Every chain that `chain: auto` chooses from is executed by the engine, with judges' recorded
answers; so are the published forms of methods, if recordings exist. A chain is on the frontier of a
data set if no other chain costs as little and ranks sentences as well.

Methods without recordings cannot be measured: those that ask other questions (`fibe`,
`direct_question`, `reverse_validation`, `mqag` and the like), and those that compare the meaning of
samples, which need an entailment model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any

import anyio

from resay import Request
from resay.errors import ConfigurationError
from resay.plugins import Completions, Provider
from resay.policy.candidates import candidates
from resay_lab.benchmarks import metrics
from resay_lab.benchmarks.measuring import Item, RecordedJudge
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.benchmarks.wikibio import ENTRIES, recorded_scores, recording_of
from resay_lab.calibration.diagrams import templates
from research.checking import Checked, check, judging
from research.defaults import (
    FACTSCORE,
    SAC3,
    WIKIBIO,
    Judged,
    No,
    RecordedJudgeAdapter,
    Source,
    by_sample,
    read_all,
)
from support.frontier import on_frontier

_NO: Mapping[str, No] = {WIKIBIO.name: "not_mentioned", SAC3.name: "contradicted"}
_RATED = {"long": WIKIBIO.name, "short": SAC3.name}
MEAN = "mean of the two"
"""The `data` label of the averaged rows, which `chain: auto` uses for answers of any length."""

COLUMNS = (
    Column("data", "data"),
    Column("method", "method, samples"),
    Column("judge", "judge"),
    Column("roc_auc", "ROC", 2),
    Column("average_precision", "AP", 2),
    Column("nonfact", "AUC-PR", 2),
    Column("calls", "calls", 2),
    Column("tokens", "tokens", 0),
    Column("ms", "ms", 1),
    Column("frontier", "frontier"),
)
"""The columns of the printed table."""


@dataclass(frozen=True, slots=True)
class BenchChain:
    """A chain to measure.

    Attributes:
        name: Its name in the table.
        chain: Its steps, as in a policy.
        samples: The maximum number of samples per response.
        asks: Whether it asks a judge.
        published: Whether the judge is asked the published question, once per sentence and sample.
        paper: The published figures, by data set.
    """

    name: str
    chain: Sequence[Mapping[str, Any]]
    samples: int
    asks: bool = False
    published: bool = False
    paper: Mapping[str, Mapping[str, float]] | None = None


_PUBLISHED = {f"{e.method}:{e.variant}": dict(e.paper) for e in ENTRIES if e.paper}


def bench_chains() -> list[BenchChain]:
    """Return the chains to measure on every data set that has enough samples for them."""
    auto = [
        BenchChain(name, candidate.steps, candidate.samples, candidate.judges > 0)
        for name, candidate in candidates().items()
    ]
    ngram = {"method": "ngram", "pool": "maximum", "n": 1, "counted": "response"}
    published = [
        BenchChain(
            "ngram, published, 20",
            (ngram,),
            20,
            paper={WIKIBIO.name: _PUBLISHED["ngram:maximum-1"]},
        ),
        BenchChain(
            "facts, leaning 0.5, 20",
            ({"method": "facts"}, {"method": "leaning", "lean": 0.5}),
            20,
        ),
        *(
            BenchChain(
                f"prompt, published, {samples}",
                ({"method": "prompt"},),
                samples,
                asks=True,
                published=True,
                paper={
                    # SelfCheckGPT's N, and SAC3's self-consistency (SC2).
                    20: {WIKIBIO.name: _PUBLISHED["prompt:per_pair"]},
                    10: {SAC3.name: {"roc_auc": 74.2}},
                }.get(samples),
            )
            for samples in (10, 20)
        ),
    ]
    return [*auto, *published]


@dataclass(frozen=True, slots=True)
class DataSet:
    """Responses with sentences labelled by people.

    Attributes:
        judged: The responses with all their samples, once for each judge with recorded answers;
            once if there is none.
    """

    judged: tuple[Judged, ...]

    @property
    def source(self) -> Source:
        """The source of the responses."""
        return self.judged[0].source

    @property
    def samples(self) -> int:
        """The smallest number of samples of any response."""
        return min(len(item.samples) for item in self.judged[0].items)

    def runs(self) -> Iterator[tuple[BenchChain, Judged]]:
        """Yield the chains to measure, each with the judge whose answers it uses."""
        for bench_chain in bench_chains():
            if bench_chain.samples > self.samples:
                continue
            if bench_chain.published and self.source.judges:
                yield from ((bench_chain, judged) for judged in self.judged)
            elif self.source.judges or not bench_chain.asks:
                yield bench_chain, self.judged[0]


def load(folder: Path, rows: slice) -> tuple[DataSet, ...]:
    """Read the available data sets.

    Args:
        folder: The data folder.
        rows: Which rows of each to read.

    Returns:
        The data sets that exist; WikiBio is required.

    Raises:
        ConfigurationError: WikiBio is missing, or a file is invalid.
    """
    sources = [
        source
        for source in (WIKIBIO, FACTSCORE, SAC3)
        if source is WIKIBIO or (folder / source.responses).is_file()
    ]
    return tuple(DataSet(read_all(folder, source, rows)) for source in sources)


def steps(data: Sequence[DataSet]) -> int:
    """Return the number of rows to measure."""
    return sum(len(list(data_set.runs())) for data_set in data)


class _TokenCountingProvider:
    """Adds token usage to recorded calls, at one token per four bytes."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

    async def takes_n(self, request: Request) -> bool:
        return await self._inner.takes_n(request)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        completions = await self._inner.complete(request, n=n)
        usage = replace(
            completions.usage,
            prompt_tokens=_tokens(*(str(message.get("content")) for message in request.messages)),
            completion_tokens=_tokens(*(completion.text for completion in completions.items)),
        )
        return replace(completions, usage=usage)


def _tokens(*texts: str) -> int:
    return round(sum(len(text.encode()) for text in texts) / 4)


class _TokenCountingJudge:
    """A recorded judge whose calls report token usage."""

    reports_tokens = True

    def __init__(self, inner: RecordedJudgeAdapter | RecordedJudge) -> None:
        self._inner = inner
        self.name, self.settings = inner.name, inner.settings

    async def prepare(self) -> None:
        """Do nothing: recordings need no setup."""

    def provider_for(self, item: int) -> Provider:
        """Return a provider of this item's recorded answers."""
        return _TokenCountingProvider(self._inner.provider_for(item))

    def with_limits(self, provider: Provider, limiter: object) -> Provider:
        """Return the provider itself."""
        del limiter
        return provider


async def run(
    folder: Path,
    data: Sequence[DataSet],
    *,
    plot: Path | None = None,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure all chains on all data sets.

    Args:
        folder: The data folder.
        data: The data sets.
        plot: Where to write the plot; None to write none.
        done: Called after each measured row.

    Returns:
        A row for each data set, method and judge, and the means that `chain: auto` uses.

    Raises:
        MissingDependencyError: scikit-learn or scipy is not installed.
        OSError: The plot cannot be written.
    """
    metrics.require()
    rows: list[dict[str, Any]] = []
    for data_set in data:
        measured: list[dict[str, Any]] = []
        for bench_chain, judged in data_set.runs():
            measured.append(_row(bench_chain, judged, await _measure(bench_chain, judged)))
            done()
        _mark(measured)
        rows += measured
        if data_set.source is WIKIBIO:
            rows += _recorded(folder, data_set)
    means = _means(rows)
    _mark(means)
    rows += means
    if plot is not None:
        await anyio.Path(plot).write_text(svg_of(rows), encoding="utf-8")
    about = {"responses": {d.source.name: len(d.judged[0].items) for d in data}}
    return ResultTable("frontier", COLUMNS, tuple(rows), tuple(_notes(rows, data)), about)


async def _measure(bench_chain: BenchChain, judged: Judged) -> list[Checked]:
    n = bench_chain.samples
    chain, cut = by_sample(bench_chain.chain), judged.cut(0, n)
    judge: RecordedJudgeAdapter | RecordedJudge = RecordedJudgeAdapter(
        cut, _NO.get(judged.source.name, "not_mentioned")
    )
    if bench_chain.published:
        recordings = {
            item.index: recording_of(item, rows)
            for item, rows in zip(cut.items, cut.answers, strict=True)
        }
        judge = RecordedJudge(judged.judge, recordings)
        chain = [judging(judge)]
    sampling = {"max": n, "min": min(3, n)}
    if bench_chain.published:
        sampling |= {"confidence": None}
    results = await check(
        {"chain": chain, "sampling": sampling}, cut.items, _TokenCountingJudge(judge)
    )
    # The published recordings contain failed calls; in any other chain a failure means that the
    # answer was never recorded.
    if not bench_chain.published:
        for result in results:
            if any(step.failures for step in result.verdict.steps):
                raise ConfigurationError(
                    f"{bench_chain.name!r} asks what was not recorded for {judged.name}"
                )
    return results


def _row(bench_chain: BenchChain, judged: Judged, results: Sequence[Checked]) -> dict[str, Any]:
    scores = [result.sentences for result in results]
    paper = (bench_chain.paper or {}).get(judged.source.name)
    asks = bench_chain.asks
    return {
        "data": judged.source.name,
        "method": bench_chain.name,
        "judge": judged.judge if asks else None,
        **_figures(judged, scores),
        "calls": fmean(result.verdict.samples + result.calls for result in results),
        "judge_calls": fmean(result.calls for result in results),
        "tokens": fmean(
            _sampling_tokens(item, result.verdict.samples) + result.tokens
            for item, result in zip(judged.items, results, strict=True)
        ),
        "ms": 1000 * fmean(result.seconds for result in results),
        "rounds": fmean(
            result.waves - 1 + (result.waves if result.calls else 0) for result in results
        ),
        "paper": paper,
    }


def _sampling_tokens(item: Item, samples: int) -> int:
    question = "" if item.request is None else str(item.request.question)
    return samples * _tokens(question) + _tokens(*item.samples[:samples])


def _figures(judged: Judged, scores: Sequence[Sequence[float | None]]) -> dict[str, float | None]:
    wrong: list[bool] = []
    values: list[float] = []
    for labels, answer_scores in zip(judged.labels, scores, strict=True):
        for label, score in zip(labels, answer_scores, strict=True):
            if label is not None and score is not None:
                wrong.append(label != "accurate")
                values.append(score)
    return {
        "roc_auc": metrics.roc_auc(wrong, values),
        "average_precision": metrics.average_precision(wrong, values),
        "nonfact": metrics.auc_pr(wrong, values),
        "sentences": len(values),
    }


def _recorded(folder: Path, data: DataSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each method whose scores by the authors' own code are recorded."""
    judged = data.judged[0]
    entries = [e for e in ENTRIES if e.variant == "recorded"]
    for name, results in recorded_scores(folder, entries, judged.items).items():
        figures = _figures(judged, [result.sentences for result in results])
        if figures["sentences"]:
            yield {
                "data": judged.source.name,
                "method": f"{name.partition(':')[0]}, recorded, {data.samples}",
                **figures,
                "calls": float(data.samples),
                "frontier": None,
                "paper": {"nonfact": _PUBLISHED[name]["nonfact"]},
            }


def _mark(rows: Sequence[dict[str, Any]]) -> None:
    """Set `frontier` in each row by comparing all rows, even those of different judges."""
    rated = [row for row in rows if row["roc_auc"] is not None]
    # Compare the displayed figures: differences in further decimals do not count.
    points = [(round(row["calls"], 2), round(row["roc_auc"], 2)) for row in rated]
    for row, mark in zip(rated, on_frontier(points), strict=True):
        row["frontier"] = mark


def _means(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the candidates' means over both rated data sets, if measured on both."""
    means: list[dict[str, Any]] = []
    for name in candidates():
        # If several judges answered, take the first.
        first = {row["data"]: row for row in reversed(rows) if row["method"] == name}
        of_both = [first[data] for data in _RATED.values() if data in first]
        if len(of_both) == len(_RATED) and all(row["roc_auc"] is not None for row in of_both):
            keys = ("roc_auc", "average_precision", "calls", "tokens", "ms", "rounds")
            figures = {key: fmean(row[key] for row in of_both) for key in keys}
            means.append({"data": MEAN, "method": name, **figures})
    return means


def tables_of(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the tables that `chain: auto` uses.

    Args:
        rows: The rows of `run`'s result.
    """
    keys = (("roc_auc", 2), ("calls", 2), ("rounds", 2), ("ms", 1))
    for answers, data in _RATED.items():
        first = {row["method"]: row for row in reversed(rows) if row["data"] == data}
        yield f'"{answers}": {{'
        for name in candidates():
            figures = ", ".join(str(round(first[name][key], digits)) for key, digits in keys)
            yield f'    "{name}": Measurements({figures}),'
        yield "},"


def _notes(rows: Sequence[Row], data: Sequence[DataSet]) -> Iterator[str]:
    yield (
        "ROC, AP and AUC-PR (by the trapezoidal rule, as in the papers) are of sentences that are"
        " not accurate, in percent, by the scores of verdicts. calls are the samples and the"
        " judge's answers, tokens those they read and write at one for four bytes, ms the check's"
        " own processor time; all are means per answer. frontier: nothing else on the same data"
        " has as few calls and as great a ROC."
    )
    yield (
        "`prompt` is the step of the default policy, one call for a sample; published: one for"
        " each sentence and sample. Recorded answers were given to the published question; a No"
        f" is read as not_mentioned on {WIKIBIO.name}, and as contradicted on {SAC3.name}, where"
        " the question was whether two answers are equivalent."
    )
    yield (
        "nli and bertscore are scores of the authors' code, recorded for 119 of the passages;"
        " they are on no frontier, because the others are measured on all."
    )
    yield (
        "No judge is recorded for factscore_instructgpt, and two samples, of other models. Methods"
        " that ask other questions, and those that compare samples by meaning, are not recorded"
        " anywhere, and left out. A `combination` is fitted to data like these, and left out too."
    )
    yield (
        f"{MEAN}: {' and '.join(_RATED.values())}, with the first judge. `chain: auto` goes by it,"
        " or by one of the two if the policy says which answers there are."
    )
    missing = {s.name for s in (FACTSCORE, SAC3)} - {d.source.name for d in data}
    for name in sorted(missing):
        yield f"{name}: skipped: no data."
    if any(row["data"] == MEAN for row in rows):
        yield "The tables of `chain: auto`:\n\n" + "\n".join(f"    {t}" for t in tables_of(rows))


_SIZE, _LEFT, _TOP, _PLOT_WIDTH, _PANEL_HEIGHT = 230, 60, 48, 400, 330


@dataclass(frozen=True, slots=True)
class _Point:
    """A method in the plot."""

    x: float
    y: float
    title: str
    label: str
    on_frontier: bool


@dataclass(frozen=True, slots=True)
class _Panel:
    """One data set in the plot: its methods, and the labels of its axes."""

    name: str
    points: list[_Point]
    shares: list[tuple[float, int]]
    calls: list[tuple[float, int]]

    @property
    def best(self) -> list[_Point]:
        """The methods on the frontier, the cheapest first."""
        return sorted((p for p in self.points if p.on_frontier), key=lambda p: p.x)


def svg_of(rows: Sequence[Row]) -> str:
    """Return the plot: ROC-AUC by calls for each data set, with the frontier as a line.

    Args:
        rows: The rows of `run`'s result.

    Returns:
        A self-contained SVG document.
    """
    names = list(dict.fromkeys(row["data"] for row in rows))
    panels: list[_Panel] = []
    for name in names:
        rated = [row for row in rows if row["data"] == name and row["roc_auc"] is not None]
        panels.append(_panel(name, rated))
    source = Path(__file__).with_name("frontier.svg.jinja").read_text("utf-8")
    svg = (
        templates()
        .from_string(source)
        .render(
            panels=panels,
            size=_SIZE,
            left=_LEFT,
            top=_TOP,
            width=_PLOT_WIDTH,
            panel_height=_PANEL_HEIGHT,
        )
    )
    return svg.lstrip()


def _panel(name: str, rows: Sequence[Row]) -> _Panel:
    """Return the panel of one data set; calls are on a log2 scale because they vary widely."""
    if not rows:
        return _Panel(name, [], [], [])
    max_power = max(log2(max(row["calls"], 1.0)) for row in rows) or 1.0
    low = min(5 * int(min(row["roc_auc"] for row in rows) // 5), 95)

    def x_of(power: float) -> float:
        return _LEFT + 10 + (_PLOT_WIDTH - 20) * power / max_power

    def y_of(percent: float) -> float:
        return _TOP + _SIZE * (1 - (percent - low) / (100 - low))

    points = [
        _Point(
            x=x_of(log2(max(row["calls"], 1.0))),
            y=y_of(row["roc_auc"]),
            title=f"{row['method']}: ROC {row['roc_auc']:.2f}, {row['calls']:.1f} calls",
            label=f"{row['method']}: {row['roc_auc']:.1f}, {row['calls']:.1f} calls",
            on_frontier=bool(row.get("frontier")),
        )
        for row in rows
    ]
    shares = [(y_of(share), share) for share in range(low, 101, 10)]
    return _Panel(
        name, points, shares, [(x_of(power), 2**power) for power in range(int(max_power) + 1)]
    )
