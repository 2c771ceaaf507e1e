"""Whether documents support texts: all sets of a folder in one table, by the same methods.

RAGTruth and LLM-AggreFact (see `grounded`); SHROOM, whose outputs are compared with the text that
its annotators compared them with (see `shroom`); and the answers of Mu-SHROOM whose rows have
references (see `mushroom`). A text counts as flagged if the score of one of its sentences is over
0.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from resay.errors import ConfigurationError, ScorerError
from resay_lab.benchmarks import metrics, mushroom, shroom
from resay_lab.benchmarks.entries import BenchEntry
from resay_lab.benchmarks.grounded import (
    Judged,
    Scored,
    aggrefact_paper,
    is_flagged,
    load_aggrefact,
    load_ragtruth,
    model_of,
    note_on_prompts,
    notes_on,
    ragtruth_paper,
    span_f1,
)
from resay_lab.benchmarks.measuring import Measured, measure
from resay_lab.benchmarks.recorded_scores import RecordedScores
from resay_lab.benchmarks.table import Column, ResultTable, Row

RECORDED = "grounded_recorded.jsonl"
"""The file with recorded scores in a folder with data."""
MODELS: Mapping[str, Sequence[str]] = {
    "grounding": (
        "vectara/hallucination_evaluation_model",
        "KRLabsOrg/lettucedect-base-modernbert-en-v1",
        "lytang/MiniCheck-Flan-T5-Large",
        "yaxili96/FactCG-DeBERTa-v3-Large",
    )
}
"""The models that are measured unless others are named, by method."""
ENTRIES: tuple[BenchEntry, ...] = (
    BenchEntry("references", "words", {"by": "words"}),
    BenchEntry("ngram", "references", {"n": 1, "evidence": "references"}),
    BenchEntry("grounding", "documents", {}),
    BenchEntry("nli", "references", {"evidence": "references"}, extra=True),
)
"""All entries of this benchmark."""
COLUMNS = (
    Column("set", "set"),
    Column("method", "method"),
    Column("model", "model"),
    Column("texts", "texts", 0),
    Column("unsupported", "unsupported", 0),
    Column("flagged", "flagged", 0),
    Column("precision", "precision", 1),
    Column("recall", "recall", 1),
    Column("f1", "F1", 1),
    Column("balanced", "balanced", 1),
    Column("span_f1", "span F1", 1),
    Column("seconds", "s", 4),
)

# What is measured before it is recorded.
_BATCH = 32


@dataclass(frozen=True, slots=True)
class GroundedSet:
    """Texts with the documents that should support them.

    Attributes:
        name: The set's name, as on the command line.
        title: Its name in the table.
        texts: The texts.
        size: How many of them the folder has.
    """

    name: str
    title: str
    texts: Sequence[Judged]
    size: int


def load(data: Path, rows: slice, limit: int | None) -> tuple[list[GroundedSet], list[str]]:
    """Read the sets that a folder has.

    Args:
        data: The folder.
        rows: Which rows of each file to read.
        limit: How many texts of each set to keep, evenly spaced; None for all.

    Returns:
        The sets, and notes on those that the folder does not have.

    Raises:
        ConfigurationError: A file is invalid, or the folder has no set.
    """
    readers: Mapping[str, tuple[str, Callable[[], Sequence[Judged]]]] = {
        "ragtruth": ("RAGTruth", lambda: _if_there(load_ragtruth, data, "ragtruth.jsonl", rows)),
        "aggrefact": (
            "LLM-AggreFact",
            lambda: _if_there(load_aggrefact, data, "aggrefact.jsonl", rows),
        ),
        "shroom": ("SHROOM", lambda: _shroom(data, rows)),
        "mushroom": ("Mu-SHROOM", lambda: _mushroom(data, rows)),
    }
    sets: list[GroundedSet] = []
    notes: list[str] = []
    for name, (title, read) in readers.items():
        texts = read()
        if not texts:
            notes.append(f"{title}: skipped: no data.")
            continue
        chosen = spread(texts, limit)
        sets.append(GroundedSet(name=name, title=title, texts=chosen, size=len(texts)))
    if not sets:
        raise ConfigurationError(
            f"{str(data)!r} has none of the sets; fetch some with `resay bench fetch ragtruth"
            " shroom --data DIR`"
        )
    return sets, notes


def _if_there(
    read: Callable[[Path, slice], Sequence[Judged]], data: Path, file: str, rows: slice
) -> Sequence[Judged]:
    return read(data, rows) if (data / file).exists() else ()


def _shroom(data: Path, rows: slice) -> list[Judged]:
    judged: list[Judged] = []
    for track in shroom.TRACKS:
        if shroom.path_of(data, track).exists():
            outputs = shroom.load(data, [track], rows)
            judged += (Judged(each.item, each.task, each.hallucinated) for each in outputs)
    return judged


def _mushroom(data: Path, rows: slice) -> list[Judged]:
    outputs, _ = mushroom.load(data, "tst", (), rows)
    judged: list[Judged] = []
    for output in outputs:
        if output.item.references:
            # Characters are as good as spans: both are counted by character.
            spans = tuple((index, index + 1) for index in sorted(output.truth.hard))
            judged.append(Judged(output.item, output.language, bool(spans), spans))
    return judged


def spread(texts: Sequence[Judged], limit: int | None) -> Sequence[Judged]:
    """Return at most some number of texts, evenly spaced, so that all parts of a set have some."""
    if limit is None or limit >= len(texts):
        return texts
    return [texts[index * len(texts) // limit] for index in range(limit)]


async def run(
    sets: Sequence[GroundedSet],
    entries: Sequence[BenchEntry],
    recorded: RecordedScores,
    *,
    notes: Sequence[str] = (),
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure methods on all sets.

    A model that cannot be loaded is left out where its scores are not recorded.

    Args:
        sets: The sets.
        entries: The entries to measure.
        recorded: The recorded scores of models.
        notes: Notes on sets that are missing.
        done: Called after each text of each entry.

    Returns:
        One row for each set and entry.
    """
    rows: list[Row] = []
    all_notes = [*_notes(sets), *notes]
    # Why an entry's model cannot be run, by the entry's identity.
    unavailable: dict[int, str] = {}
    for grounded in sets:
        for entry in entries:
            label = f"{grounded.title}, {_label(entry)}"
            try:
                results, from_file = await _results(grounded, entry, recorded, unavailable, done)
            except (ConfigurationError, ScorerError) as error:
                unavailable[id(entry)] = str(error)
                all_notes.append(f"{label}: skipped: {error}.")
                continue
            rows.append(_row(grounded, entry, results))
            all_notes += (f"{grounded.title}, {note}" for note in notes_on(entry, results))
            if grounded.name == "ragtruth":
                all_notes += note_on_prompts(entry)
            if from_file:
                all_notes.append(
                    f"{label}: {from_file} of {len(results)} scores are recorded ones."
                )
    about = {"texts": sum(len(grounded.texts) for grounded in sets)}
    return ResultTable("grounded", COLUMNS, tuple(rows), tuple(all_notes), about)


async def _results(
    grounded: GroundedSet,
    entry: BenchEntry,
    recorded: RecordedScores,
    unavailable: Mapping[int, str],
    done: Callable[[], object],
) -> tuple[list[Measured], int]:
    """Return the result of each text, and how many of them are recorded."""
    results: dict[int, Measured] = {}
    missing: list[Judged] = []
    for judged in grounded.texts:
        result = recorded.of(entry, judged)
        if result is None:
            missing.append(judged)
        else:
            results[id(judged)] = result
            done()
    from_file = len(results)
    if missing and id(entry) in unavailable:
        raise ScorerError(unavailable[id(entry)])
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        items = [judged.item for judged in batch]
        measured = await measure(entry.config(None), items, None, concurrency=1, done=done)
        scored = list(zip(batch, measured, strict=True))
        recorded.add(grounded.name, entry, scored)
        results.update((id(judged), result) for judged, result in scored)
    return [results[id(judged)] for judged in grounded.texts], from_file


def _row(grounded: GroundedSet, entry: BenchEntry, results: Sequence[Measured]) -> Row:
    scored = list(zip(grounded.texts, results, strict=True))
    truth = [judged.unsupported for judged in grounded.texts]
    flagged = [is_flagged(result) for result in results]
    has_spans = any(judged.spans for judged in grounded.texts)
    papers = {
        "ragtruth": ragtruth_paper(entry, "all"),
        "aggrefact": aggrefact_paper(entry),
    }
    return {
        "set": grounded.title,
        "method": entry.name,
        "model": model_of(entry) or None,
        "texts": len(scored),
        "unsupported": sum(truth),
        "flagged": sum(flagged),
        "precision": metrics.rounded(metrics.precision(truth, flagged), 2),
        "recall": metrics.rounded(metrics.recall(truth, flagged), 2),
        "f1": metrics.rounded(metrics.f1(truth, flagged), 2),
        "balanced": metrics.rounded(_balanced(grounded, scored), 2),
        "span_f1": metrics.rounded(span_f1(scored), 2) if has_spans else None,
        "seconds": round(fmean(result.seconds for result in results), 5),
        "paper": papers.get(grounded.name),
    }


def _balanced(grounded: GroundedSet, scored: Sequence[Scored]) -> float | None:
    """Return the balanced accuracy; of LLM-AggreFact the mean of its data sets, as published."""
    if grounded.name != "aggrefact":
        return _balanced_accuracy(scored)
    by_group: dict[str, list[Scored]] = {}
    for judged, result in scored:
        by_group.setdefault(judged.group, []).append((judged, result))
    accuracies = map(_balanced_accuracy, by_group.values())
    defined = [accuracy for accuracy in accuracies if accuracy is not None]
    return fmean(defined) if defined else None


def _balanced_accuracy(scored: Sequence[Scored]) -> float | None:
    truth = [judged.unsupported for judged, _ in scored]
    return metrics.balanced_accuracy(truth, [is_flagged(result) for _, result in scored])


def _label(entry: BenchEntry) -> str:
    model = model_of(entry)
    return f"{entry.name} ({model})" if model else entry.name


def _notes(sets: Sequence[GroundedSet]) -> Iterator[str]:
    yield (
        "A text is flagged where the score of one of its sentences is over 0.5. Figures are"
        " percent; balanced: balanced accuracy, of LLM-AggreFact the mean of its data sets; s:"
        " seconds per text."
    )
    for grounded in sets:
        if len(grounded.texts) < grounded.size:
            count = f"{len(grounded.texts)} of {grounded.size} texts"
            yield f"{grounded.title}: {count}, evenly spaced."
