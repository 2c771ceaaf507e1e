"""The PHD benchmark: passage-level hallucination detection.

Yang, Sun and Wan, "A New Benchmark and Reverse Validation Method for Passage-level Hallucination
Detection", Findings of EMNLP 2023, sections 3, 5 and 6: 300 passages that ChatGPT wrote about
entities, each labelled as a whole by people. There are 100 for each of three domains: entities
about which the web has much (high), less (medium) or little (low) information.

The task is to detect non-factual passages; figures are F1, precision and recall (Tables 3 and 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from resay import Passage, Request
from resay.adapters import tally
from resay.adapters.methods import Entity, ReverseValidation, Variant, without_entity
from resay.errors import ConfigurationError
from resay.plugins import Scores
from resay_lab.benchmarks import entries, metrics, wikibio
from resay_lab.benchmarks.entries import Baseline, BenchEntry
from resay_lab.benchmarks.measuring import (
    COST_COLUMNS,
    RECORDED,
    BenchJudge,
    Item,
    Measured,
    RecordedJudge,
    cost_of,
    failures_of,
    measure,
)
from resay_lab.benchmarks.rows import DataRow, choose_rows, parse_row, read_lines
from resay_lab.benchmarks.table import Column, ResultTable, Row

Domain = Literal["high", "medium", "low"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
"""How much information the web has about a passage's entity."""
Match = Literal["names", "exact"]
Ids = Literal["even", "odd"]

_DATA = "phd.jsonl"


class _DataRow(DataRow):
    entity: str
    domain: Domain
    passage: str
    label: Literal["factual", "non-factual"]
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Corpus:
    """The passages to score.

    Attributes:
        items: The passages, each with its entity.
        wrong: Whether people called each passage non-factual.
        domains: The domain of each passage.
    """

    items: tuple[Item, ...]
    wrong: tuple[bool, ...]
    domains: tuple[Domain, ...]


def load(data: Path, rows: slice, ids: Ids | None = None) -> Corpus:
    """Read the data set.

    Args:
        data: The folder that contains it.
        rows: Which rows to read.
        ids: Read only rows with an even, or with an odd, number.

    Returns:
        The passages.

    Raises:
        ConfigurationError: The file is missing or invalid, or has no such rows.
    """
    path = data / _DATA
    lines = read_lines(path)
    remainders = {None: (0, 1), "even": (0,), "odd": (1,)}[ids]
    indices = [i for i in choose_rows(lines, rows, path) if i % 2 in remainders]
    if not indices:
        raise ConfigurationError(f"none of those rows of {str(path)!r} is {ids}; pass other --rows")
    data_rows = [parse_row(_DataRow, lines, i, path) for i in indices]
    return Corpus(
        items=tuple(_item(i, row) for i, row in zip(indices, data_rows, strict=True)),
        wrong=tuple(row.label == "non-factual" for row in data_rows),
        domains=tuple(row.domain for row in data_rows),
    )


def _item(index: int, row: _DataRow) -> Item:
    # The prompt of section 3.1.
    request = Request.of(f"Please write a brief Wikipedia for {row.entity}")
    passage = Passage.of(row.passage)
    return Item(index, passage, row.samples, request=request, entity=row.entity)


JUDGE = f"{RECORDED}chatgpt"
"""The judge with recorded answers."""

TURNS = 4
"""The maximum number of question sets in a recorded examination; the longest have as many."""

_RECORDED = "phd_recorded.jsonl"

_FOLLOW_UP = " Do you have any follow-up questions? Please answer with Yes or No."
# The baseline b by which bert-score 0.3 rescales F1 of English texts (roberta-large, layer 17) to
# (F1 - b)/(1 - b).
_BASELINE = 0.83122575


class _Question(DataRow):
    question: str
    answer: str


class _Requirements(DataRow):
    requirements: str
    answer: str


class _Turn(DataRow):
    role: Literal["user", "assistant"]
    content: str


class _Row(DataRow):
    id: int
    rv_qg: _Question
    rv_em: _Requirements
    lm_vs_lm: list[_Turn]
    zero_shot: str
    bertscore_roberta_large: float


def _examination(turns: Sequence[_Turn]) -> list[str]:
    """Return the turns of examiner and examinee, without the script's text between them.

    The examiner's turns are the assistant's. The examinee's answers appear in the user's turns,
    before the script's question about follow-up questions.
    """
    examination: list[str] = []
    sets = 0
    for before, turn in pairwise(turns):
        if turn.role == "user" and turn.content.endswith(_FOLLOW_UP):
            examination.append(turn.content.removesuffix(_FOLLOW_UP))
            sets += 1
        elif turn.role == "assistant":
            # After the last set that it may ask, our examiner is not asked for more.
            is_last = sets == TURNS and before.content.endswith(_FOLLOW_UP)
            if not is_last:
                examination.append(turn.content)
    if sets > TURNS:
        raise ConfigurationError(f"an examination has {sets} sets of questions; {TURNS} are read")
    return examination


_SCRIPTS: Mapping[str, Callable[[_Row], list[str]]] = {
    "reverse_validation:question": lambda row: [row.rv_qg.question, row.rv_qg.answer],
    "reverse_validation:matching": lambda row: [row.rv_em.requirements, row.rv_em.answer],
    "cross_examination:revised": lambda row: _examination(row.lm_vs_lm),
    "zero_shot:per_passage": lambda row: [row.zero_shot],
}


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recorded answers about some passages.

    Attributes:
        items: The passages.
        rows: The recording about each passage.
    """

    items: tuple[Item, ...]
    rows: tuple[_Row, ...]

    @classmethod
    def read(cls, data: Path, items: Iterable[Item]) -> Recordings:
        """Read the recordings.

        Args:
            data: The folder that contains them.
            items: The passages that they must be about.

        Raises:
            ConfigurationError: The file is missing or invalid, or about other passages.
        """
        path = data / _RECORDED
        if not path.is_file():
            raise ConfigurationError(
                f"there is no {str(path)!r}, and recordings cannot be fetched; ask a model"
                " with --judge, and leave bertscore out"
            )
        lines = read_lines(path)
        chosen = tuple(items)
        rows = tuple(parse_row(_Row, lines, item.index, path) for item in chosen)
        for item, row in zip(chosen, rows, strict=True):
            if row.id != item.index:
                raise ConfigurationError(
                    f"{str(path)!r}, line {item.index + 1}: this is passage {row.id!r}, not"
                    f" {item.index!r}; sort the lines by `id`"
                )
        return cls(chosen, rows)

    def judge(self, entry: str) -> RecordedJudge:
        """Return the judge that gives the recorded answers for one entry.

        Args:
            entry: The entry's name.

        Raises:
            ConfigurationError: An examination has more sets of questions than supported.
        """
        script = _SCRIPTS[entry]
        answers = {item.index: script(row) for item, row in zip(self.items, self.rows, strict=True)}
        return RecordedJudge(JUDGE, answers)

    def leaks(self, variant: Variant) -> int:
        """Return how many of the recorded questions or requirement lists name the entity."""
        count = 0
        for item, row in zip(self.items, self.rows, strict=True):
            text = row.rv_qg.question if variant == "question" else row.rv_em.requirements
            count += without_entity(text, Entity(item.entity or ""), variant) != text
        return count

    def over(self, threshold: float) -> list[bool]:
        """Return whether each passage's recorded score (1 - BERTScore) exceeds a threshold."""
        return [row.bertscore_roberta_large > threshold for row in self.rows]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold for BERTScore, chosen on WikiBio.

    Attributes:
        rescaled: The threshold as chosen, for scores rescaled with the baseline.
        value: The same threshold for scores that are not rescaled.
        passages: The number of passages it was chosen on.
        f1: The F1 that it reaches on them, in percent.
    """

    rescaled: float
    value: float
    passages: int
    f1: float


class _Labelled(DataRow):
    labels: list[str]


class _Scored(DataRow):
    bert_scores: list[float] | None


def bertscore_threshold(data: Path) -> Threshold:
    """Choose the threshold as the paper does (section 5): the best one on WikiBio.

    Scores are means over a passage's sentences, and a passage with any wrong sentence is positive.
    WikiBio's recorded scores are 1 - (F - b)/(1 - b), with BERTScore's baseline b; those of PHD are
    1 - F, so the threshold is converted to that scale.

    Args:
        data: The folder with the WikiBio data and its recordings.

    Returns:
        The threshold with the greatest F1; the smallest if several have it.

    Raises:
        ConfigurationError: The files are missing or invalid, or contain no such scores.
    """
    path, recorded = data / wikibio.DATA, data / wikibio.RECORDED_DATA
    lines, scored = read_lines(path), read_lines(recorded)
    wrong: list[bool] = []
    scores: list[float] = []
    for i in range(len(scored)):
        sentences = parse_row(_Scored, scored, i, recorded).bert_scores
        if sentences:
            labels = parse_row(_Labelled, lines, i, path).labels
            wrong.append(any(label != "accurate" for label in labels))
            scores.append(fmean(sentences))
    if not any(wrong):
        raise ConfigurationError(f"{str(recorded)!r} has no `bert_scores` of a wrong passage")
    f1_by_threshold: dict[float, float] = {}
    for threshold in sorted(set(scores)):
        flagged = [score > threshold for score in scores]
        f1_by_threshold[threshold] = metrics.f1(wrong, flagged) or 0.0
    best = max(f1_by_threshold, key=lambda threshold: f1_by_threshold[threshold])
    return Threshold(
        rescaled=best,
        value=best * (1.0 - _BASELINE),
        passages=len(scores),
        f1=f1_by_threshold[best],
    )


ENTRIES: tuple[BenchEntry, ...] = (
    Baseline("all_false", "baseline", {}),
    BenchEntry("cross_examination", "revised", {"turns": TURNS}),
    Baseline("bertscore", "roberta-large", {}),
    BenchEntry("zero_shot", "per_passage", {}),
    BenchEntry("reverse_validation", "question", {"variant": "question"}),
    BenchEntry("reverse_validation", "matching", {"variant": "matching"}),
    BenchEntry("fibe", "exam", {}, live_only=True),
    BenchEntry("direct_question", "per_sentence", {}, live_only=True),
    BenchEntry("prompt", "per_pair", {"form": "published"}, live_only=True),
    BenchEntry("ngram", "maximum-1", {"pool": "maximum", "n": 1, "counted": "response"}),
)
"""All entries of this benchmark; those of the paper first, in its order."""

# Table 3: F1, precision and recall in percent, for each domain.
_TABLE_3: Mapping[str, Mapping[Domain | Literal["all"], tuple[float, float, float]]] = {
    "all_false:baseline": {
        "all": (41.3, 26.0, 100.0),
        "high": (24.6, 14.0, 100.0),
        "medium": (38.7, 24.0, 100.0),
        "low": (57.1, 40.0, 100.0),
    },
    "cross_examination:revised": {
        "all": (25.5, 75.0, 15.4),
        "high": (11.1, 25.0, 7.1),
        "medium": (34.5, 100.0, 20.8),
        "low": (25.5, 85.7, 15.0),
    },
    "bertscore:roberta-large": {
        "all": (41.1, 26.0, 97.4),
        "high": (23.6, 13.5, 92.8),
        "medium": (39.7, 24.7, 100.0),
        "low": (56.1, 39.4, 97.5),
    },
    "zero_shot:per_passage": {
        "all": (0.0, 0.0, 0.0),
        "high": (0.0, 0.0, 0.0),
        "medium": (0.0, 0.0, 0.0),
        "low": (0.0, 0.0, 0.0),
    },
    "reverse_validation:question": {
        "all": (52.3, 40.7, 73.1),
        "high": (33.3, 25.5, 50.0),
        "medium": (53.3, 44.4, 66.6),
        "low": (58.6, 44.7, 85.0),
    },
    "reverse_validation:matching": {
        "all": (59.1, 48.0, 76.9),
        "high": (41.9, 31.0, 64.3),
        "medium": (64.2, 58.6, 70.8),
        "low": (63.6, 50.7, 85.0),
    },
}
# Table 5: tokens and seconds per passage, over all domains.
_TABLE_5: Mapping[str, tuple[float, float]] = {
    "cross_examination:revised": (5974.5, 29.48),
    "bertscore:roberta-large": (435.7, 122.4),
    "reverse_validation:question": (297.3, 2.65),
    "reverse_validation:matching": (510.4, 7.25),
}


def choose(names: str) -> tuple[BenchEntry, ...]:
    """Find entries by name.

    Args:
        names: Names separated by commas; `all` selects every method of the paper.

    Returns:
        The entries in the order named, each once.

    Raises:
        ConfigurationError: A name is unknown, or no name is given.
    """
    expanded: list[str] = []
    for name in names.split(","):
        expanded += _TABLE_3 if name.strip() == "all" else [name]
    return entries.choose(ENTRIES, ",".join(expanded))


def published(entry: BenchEntry, domain: Domain | Literal["all"]) -> Mapping[str, float] | None:
    """Return the paper's figures for an entry, by the keys of its row."""
    if entry.name not in _TABLE_3:
        return None
    f1, precision, recall = _TABLE_3[entry.name][domain]
    figures = {"f1": f1, "precision": precision, "recall": recall}
    if domain == "all" and entry.name in _TABLE_5:
        tokens, seconds = _TABLE_5[entry.name]
        return {**figures, "tokens": tokens, "seconds": seconds}
    return figures


_FLAG_OVER = 0.5

COLUMNS = (
    Column("method", "method"),
    Column("variant", "variant"),
    Column("judge", "judge"),
    Column("match", "match"),
    Column("domain", "domain"),
    Column("f1", "F1", 1),
    Column("precision", "P", 1),
    Column("recall", "R", 1),
    Column("flagged", "flagged", 0),
    Column("undetermined", "undetermined", 0),
    *COST_COLUMNS,
)
"""The columns of the printed table."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """The result of one entry on every passage.

    Attributes:
        entry: The entry.
        flagged: Whether it calls each passage non-factual.
        judge: The judge, if one was asked.
        results: The measurement of each passage; empty for a baseline.
        match: How names were compared, if they were.
    """

    entry: BenchEntry
    flagged: Sequence[bool]
    judge: BenchJudge | None = None
    results: Sequence[Measured] = ()
    match: Match | None = None


async def run(
    corpus: Corpus,
    entries: Sequence[BenchEntry],
    judge: BenchJudge | None,
    *,
    recordings: Recordings | None = None,
    threshold: Threshold | None = None,
    match: Match = "names",
    concurrency: int = 16,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on the data set.

    Args:
        corpus: The passages.
        entries: The entries to measure.
        judge: A live judge; None to use the recorded answers.
        recordings: The recordings about the passages: answers, and scores for `bertscore`.
        threshold: `bertscore` flags passages above it.
        match: How `reverse_validation` compares names.
        concurrency: The maximum number of concurrent requests to a live judge.
        done: Called after each passage of each entry.

    Returns:
        Up to four rows per entry: all passages, and each domain that has passages.

    Raises:
        ConfigurationError: Recordings or a threshold that an entry needs are missing.
        ProviderError: A live judge failed to answer.
    """
    if judge is not None:
        await judge.prepare()
    findings: list[_Finding] = []
    for entry in entries:
        if isinstance(entry, Baseline):
            flagged = _flagged_by_baseline(entry, corpus, recordings, threshold)
            findings.append(_Finding(entry, flagged))
            continue
        entry_judge = (judge or _recorded(entry, recordings)) if entry.needs_judge else None
        entry_match = match if entry.method == "reverse_validation" else None
        settings = {} if entry_match is None else {"match": entry_match}
        results = await measure(
            entry.config(entry_judge, **settings),
            corpus.items,
            entry_judge,
            concurrency=concurrency,
            done=done,
        )
        findings.append(
            _Finding(
                entry=entry,
                flagged=[_flags(result.scores) for result in results],
                judge=entry_judge,
                results=results,
                match=entry_match,
            )
        )
    notes = [*_notes(findings)]
    notes += _notes_on_matching(findings, recordings if judge is None else None)
    rows: list[Row] = []
    for finding in findings:
        rows += _rows(corpus, finding)
        if threshold and finding.entry.method == "bertscore":
            notes.append(_note_on(threshold))
    for finding in findings:
        notes += _notes_on(finding)
    about = {"passages": len(corpus.items)}
    return ResultTable("phd", COLUMNS, tuple(rows), tuple(notes), about)


def _recorded(entry: BenchEntry, recordings: Recordings | None) -> BenchJudge:
    if recordings is None:
        raise ConfigurationError(f"{entry.name!r} needs a judge or the recordings; pass one")
    return recordings.judge(entry.name)


def _flags(scores: Scores) -> bool:
    return not _is_undetermined(scores) and (scores.passage_score or 0.0) > _FLAG_OVER


def _is_undetermined(scores: Scores) -> bool:
    return scores.error is not None or scores.passage_score is None


def _flagged_by_baseline(
    baseline: Baseline,
    corpus: Corpus,
    recordings: Recordings | None,
    threshold: Threshold | None,
) -> list[bool]:
    if baseline.method == "all_false":
        return [True] * len(corpus.items)
    if recordings is None or threshold is None:
        raise ConfigurationError(
            f"{baseline.name!r} needs the recordings and a threshold; pass them"
        )
    return recordings.over(threshold.value)


def _rows(corpus: Corpus, finding: _Finding) -> Iterator[Row]:
    everything = range(len(corpus.items))
    yield _row(corpus, finding, "all", everything)
    for domain in DOMAINS:
        indices = [i for i in everything if corpus.domains[i] == domain]
        if indices:
            yield _row(corpus, finding, domain, indices)


def _row(
    corpus: Corpus, finding: _Finding, domain: Domain | Literal["all"], indices: Sequence[int]
) -> Row:
    wrong = [corpus.wrong[i] for i in indices]
    flagged = [finding.flagged[i] for i in indices]
    results = [finding.results[i] for i in indices] if finding.results else []
    figures = {
        "f1": metrics.f1(wrong, flagged),
        "precision": metrics.precision(wrong, flagged),
        "recall": metrics.recall(wrong, flagged),
    }
    nothing = {column.key: None for column in COST_COLUMNS}
    cost = cost_of(results, finding.judge) if results else nothing
    return {
        "method": finding.entry.method,
        "variant": finding.entry.variant,
        "judge": finding.judge.name if finding.judge else None,
        "match": finding.match,
        "domain": domain,
        "passages": len(indices),
        # One decimal is displayed; rounding to two first would round some the wrong way.
        **{key: metrics.rounded(value, 4) for key, value in figures.items()},
        "flagged": sum(flagged),
        "undetermined": sum(_is_undetermined(result.scores) for result in results),
        **cost,
        "paper": published(finding.entry, domain),
    }


def _notes(findings: Sequence[_Finding]) -> Iterator[str]:
    yield (
        "Non-factual passages are to be found: F1, P (precision) and R (recall) in percent; flagged"
        " and undetermined are numbers of passages. Undetermined ones count as not flagged."
    )
    yield "calls, tokens and s (seconds) are means per passage."
    judges = [finding.judge for finding in findings if finding.judge]
    if any(not judge.reports_tokens for judge in judges):
        yield from _notes_on_recorded(findings)
    if judges:
        yield "The paper's judge was ChatGPT (gpt-3.5-turbo-0301) at temperature 0."
    unpublished = [
        finding.entry.name
        for finding in findings
        if finding.results and published(finding.entry, "all") is None
    ]
    if unpublished:
        yield (
            f"{', '.join(unpublished)}: not in the paper; a passage is flagged when its score is"
            f" over {_FLAG_OVER:g}, which nobody has tuned."
        )


def _notes_on_recorded(findings: Sequence[_Finding]) -> Iterator[str]:
    yield "s of a recorded judge is the time without its model; its tokens were not recorded."
    tokens: list[str] = []
    for finding in findings:
        paper = published(finding.entry, "all") or {}
        if finding.judge and "tokens" in paper:
            tokens.append(f"{finding.entry.name} {paper['tokens']:g}")
    if tokens:
        yield f"The paper's tokens per passage (Table 5): {', '.join(tokens)}."


def _notes_on_matching(
    findings: Sequence[_Finding], recordings: Recordings | None
) -> Iterator[str]:
    matched = [finding for finding in findings if finding.match]
    if not matched:
        return
    if matched[0].match == "exact":
        yield "match exact: the answer must hold the entity's name, as in the paper."
    else:
        yield (
            "match names, Resay's default: the answer must give the entity, by any way to write its"
            " name. The paper's figures are those of exact matching. The rules were made looking at"
            " even rows (and, early on, at a few odd ones); --ids odd measures on the others."
        )
    if any(finding.entry.variant == "matching" for finding in matched):
        share = ReverseValidation.Config().share
        yield (
            f"matching: less than {share:g} % of the requirements met is flagged, as in the"
            " authors' released code; their paper says that only over 90 % will do."
        )
    if recordings is not None:
        for finding in matched:
            yield _note_on_leaks(finding, recordings)


def _note_on_leaks(finding: _Finding, recordings: Recordings) -> str:
    variant = "question" if finding.entry.variant == "question" else "matching"
    noun = "questions" if variant == "question" else "lists of requirements"
    text = (
        f"{finding.entry.name}: {recordings.leaks(variant)} of {len(recordings.rows)} recorded"
        f" {noun} name the entity, which gives the answer away."
    )
    if finding.match == "exact":
        return text
    return f"{text} Resay takes the name out, but the recorded answers are to the text as it was."


def _note_on(threshold: Threshold) -> str:
    return (
        "bertscore: recorded scores of SelfCheckGPT's code, not of Resay's scorer. Flagged is"
        f" what is over {threshold.value:.4f}. As in the paper the threshold is the one with the"
        f" best F1 ({threshold.f1:.1f}) for WikiBio, here for the {threshold.passages} passages"
        " with recorded scores. Those are rescaled with BERTScore's baseline and these are not;"
        f" rescaled, the threshold is {threshold.rescaled:.4f}."
    )


def _notes_on(finding: _Finding) -> Iterator[str]:
    yield from failures_of(finding.entry.name, finding.results)
    reasons = [
        result.scores.error or "no score"
        for result in finding.results
        if _is_undetermined(result.scores)
    ]
    if reasons:
        yield (
            f"{finding.entry.name}: {len(reasons)} of {len(finding.results)} passages are"
            f" undetermined ({tally(reasons)})."
        )
