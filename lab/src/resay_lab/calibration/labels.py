"""Reads labelled responses from JSON Lines and CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from resay import Passage
from resay.adapters.terminal import counted
from resay.errors import ConfigurationError

_LABEL = Literal["correct", "hallucinated"]
# The columns of a batch's results that are no input of a check.
_RESULTS = frozenset({"decision", "score", "reason", "claims", "usage", "error"})
# One of these is enough.
_LABELS = frozenset({"label", "hallucinated", "sentences"})
_MORE_CELLS = "more cells than columns"
# How alike two names are if one is probably misspelt (`lable`, `smaples`).
_ALMOST = 0.8
_LISTS = ("samples", "references")
_JSON = ("question", "sentences", "logprobs")
_NO_LABEL = 'has no label; set `"label": "correct"` or `"hallucinated"`, or label its `sentences`'


class Span(Protocol):
    """A span of a response."""

    @property
    def start(self) -> int:
        """Its start, in code points."""
        ...

    @property
    def end(self) -> int:
        """Its end (exclusive), in code points."""
        ...


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class _SentenceRow(_Strict):
    text: str = Field(min_length=1)
    label: _LABEL | None = None
    hallucinated: bool | None = None


class _Row(_Strict):
    # Columns of one's own, which a batch passes through.
    model_config = ConfigDict(extra="ignore")

    id: str | int | None = None
    response: str | None = None
    question: str | list[dict[str, Any]] | None = None
    entity: str | None = None
    model: str | None = None
    samples: list[str] | None = None
    references: list[str] = []
    logprobs: list[dict[str, Any]] | None = None
    label: _LABEL | None = None
    hallucinated: bool | None = None
    sentences: list[_SentenceRow | _LABEL | None] | None = None


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """The label of a sentence.

    Attributes:
        text: The sentence; None if labels follow the order of Resay's own sentences.
        wrong: Whether it is hallucinated; None if it has no label.
    """

    text: str | None
    wrong: bool | None


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A labelled response with the inputs of its check.

    Attributes:
        where: The file and the line, for messages.
        id: Its id in a log.
        response: The text; None if only logged verdicts are used.
        question: The question it answers, as text or as a conversation.
        entity: Its main subject.
        model: The model that wrote it.
        samples: Other responses to the same question; None to have them drawn.
        references: Trusted texts.
        logprobs: The tokens of the response, in the format of OpenAI's `logprobs.content`.
        hallucinated: The label of the whole response. If only sentences are labelled: whether any
            of them is hallucinated, or None if none is but not all have a label.
        sentences: The labels of its sentences; empty if they have none.
    """

    where: str
    id: str | None = None
    response: str | None = None
    question: str | Sequence[Mapping[str, Any]] | None = None
    entity: str | None = None
    model: str | None = None
    samples: tuple[str, ...] | None = None
    references: tuple[str, ...] = ()
    logprobs: tuple[Mapping[str, Any], ...] | None = None
    hallucinated: bool | None = None
    sentences: tuple[LabelledSentence, ...] = ()

    def labels_of(self, spans: Sequence[Span]) -> tuple[bool | None, ...]:
        """Return the labels of a check's sentences.

        If Resay splits sentences differently from the labels, a sentence is hallucinated if it
        overlaps one labelled so, and correct if all that it overlaps are labelled correct.

        Args:
            spans: The sentences of the check, by their place in the response.

        Returns:
            One label for each, None if it has none; empty if no sentence of the response is
            labelled.

        Raises:
            ConfigurationError: The labels do not match the sentences.
        """
        if not self.sentences:
            return ()
        texts = [sentence.text for sentence in self.sentences if sentence.text is not None]
        if not texts:
            return self._by_place(spans)
        if self.response is None:
            raise ConfigurationError(
                f"{self.where}: sentences are labelled by their text; add the `response` they are"
                " in, or label them in order"
            )
        try:
            placed = Passage.from_sentences(texts, text=self.response).sentences
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.where}: {error}") from error
        labelled = list(zip(placed, (s.wrong for s in self.sentences), strict=True))
        return tuple(_label(span, labelled) for span in spans)

    def _by_place(self, spans: Sequence[Span]) -> tuple[bool | None, ...]:
        if len(spans) != len(self.sentences):
            raise ConfigurationError(
                f"{self.where}: {counted(len(self.sentences), 'label')} in `sentences`, but Resay"
                f" finds {counted(len(spans), 'sentence')} in the response; label each with its"
                " text:"
                ' {"text": …, "label": …}'
            )
        return tuple(sentence.wrong for sentence in self.sentences)


def _label(span: Span, labelled: Sequence[tuple[Span, bool | None]]) -> bool | None:
    labels: list[bool | None] = []
    for sentence, wrong in labelled:
        if sentence.start < span.end and span.start < sentence.end:
            labels.append(wrong)
    if True in labels:
        return True
    return None if None in labels or not labels else False


def read_objects(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Read JSON Lines.

    Args:
        path: The file, in UTF-8. Blank lines are skipped.

    Returns:
        For each line its place (file and line, for messages) and its object.

    Raises:
        ConfigurationError: The file cannot be read, or a line contains something else.
    """
    text = _read_text(path)
    lines = [(f"{path}:{i}", line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    return [(where, _object(where, line)) for where, line in lines]


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{str(path)!r} is not UTF-8 text") from error


def _read_csv(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Read the rows of a CSV file as JSON Lines would have them; empty cells are left out."""
    lines = _read_text(path).splitlines(keepends=True)
    heading = lines[0] if lines else ""
    # Spreadsheets write semicolons where commas are decimal.
    delimiter = ";" if ";" in heading and "," not in heading else ","
    limit = csv.field_size_limit(2**31 - 1)
    try:
        rows = list(csv.DictReader(lines, delimiter=delimiter, restkey=_MORE_CELLS))
    except csv.Error as error:
        raise ConfigurationError(f"{str(path)!r} is not valid CSV: {error}") from error
    finally:
        csv.field_size_limit(limit)
    objects: list[tuple[str, dict[str, Any]]] = []
    for number, row in enumerate(rows, 1):
        data: dict[str, Any] = {key: cell for key, cell in row.items() if cell}
        for key in _JSON:
            if key in data:
                data[key] = _json_or_text(data[key])
        for key in _LISTS:
            if key in data and not data[key].lstrip().startswith("["):
                data[key] = [data[key]]
        truth = {"true": True, "false": False}
        if "hallucinated" in data:
            data["hallucinated"] = truth.get(data["hallucinated"].lower(), data["hallucinated"])
        objects.append((f"{path}, row {number}", data))
    return objects


def _without_results(data: dict[str, Any]) -> dict[str, Any]:
    """Return a row without a batch's results, and with its lists as lists."""
    inputs = {key: value for key, value in data.items() if key not in _RESULTS}
    # As in a batch, a conversation takes the place of a question.
    if messages := _json_or_text(inputs.pop("messages", None)):
        inputs["question"] = messages
    for key in _LISTS:
        if key in inputs:
            inputs[key] = _json_or_text(inputs[key])
    return inputs


def _json_or_text(value: Any) -> Any:
    """Return what a text contains as JSON, if it begins like a list or an object of JSON."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        data: object = json.loads(line)
    except ValueError as error:
        problem = f"not valid JSON ({error}); one object on each line"
    else:
        if isinstance(data, dict):
            return cast("dict[str, Any]", data)
        problem = f"must be an object, not {type(data).__name__!r}"
    # Raise outside of the handler, whose exception contains the line.
    raise ConfigurationError(f"{where}: {problem}")


def read_labels(path: str | Path, *, responses: bool = True) -> list[LabelledRow]:
    """Read a file of labelled responses.

    Args:
        path: JSON Lines, or CSV (`.csv`) with these columns. Each object has `response` and a
            `label` ("correct" or "hallucinated") or `hallucinated` (true or false), or labelled
            `sentences`, or both; and the inputs of its check: `question`, `samples`, `references`,
            `logprobs`, `model`, `entity`. A list may be a text with a JSON list. `id` identifies
            it. Other columns are left out, as a batch passes them through; one whose name is
            almost that of an input which is missing is refused.
        responses: Whether `response` is required.

    Returns:
        The rows.

    Raises:
        ConfigurationError: The file cannot be read, or a row is invalid, by file and line.
    """
    path = Path(path)
    objects = _read_csv(path) if path.suffix.lower() == ".csv" else read_objects(path)
    rows = [_row(where, _without_results(data), responses) for where, data in objects]
    if not rows:
        raise ConfigurationError(f"{str(path)!r} contains no labelled response")
    by_id: dict[str, str] = {}
    for row in rows:
        if row.id is not None and by_id.setdefault(row.id, row.where) != row.where:
            raise ConfigurationError(f"{row.where}: id {row.id!r} is also used at {by_id[row.id]}")
    return rows


def _row(where: str, data: dict[str, Any], responses: bool) -> LabelledRow:
    row = _validated(where, data)
    if responses and not (row.response or "").strip():
        raise ConfigurationError(f"{where}: `response` is missing; it is the text that is labelled")
    sentences = tuple(_sentence(where, i, s) for i, s in enumerate(row.sentences or ()))
    if len({s.text is None for s in sentences if s.wrong is not None or s.text}) > 1:
        raise ConfigurationError(
            f"{where}: `sentences` mixes labels with and without text; give each its text, or none"
        )
    own = _one_label(where, row.label, row.hallucinated)
    wrong = [sentence.wrong for sentence in sentences]
    if own is None and all(label is None for label in wrong):
        raise ConfigurationError(f"{where}: {_NO_LABEL}")
    return LabelledRow(
        where=where,
        id=None if row.id is None else str(row.id),
        response=row.response,
        question=row.question,
        entity=row.entity,
        model=row.model,
        samples=None if row.samples is None else tuple(row.samples),
        references=tuple(row.references),
        logprobs=None if row.logprobs is None else tuple(row.logprobs),
        hallucinated=_of_sentences(wrong) if own is None else own,
        sentences=sentences,
    )


def _validated(where: str, data: dict[str, Any]) -> _Row:
    _refuse_misspelt(where, data)
    try:
        return _Row.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
    # Raise outside of the handler, whose exception contains the values.
    raise ConfigurationError(f"{where}: {_problem(first['loc'], first['msg'])}")


def _problem(loc: Sequence[int | str], message: str) -> str:
    key = loc[0]
    if key == "sentences" and len(loc) > 1:
        return (
            f'sentences[{loc[1]}]: must be "correct", "hallucinated" or null, or an object'
            ' {"text": …, "label": …}'
        )
    return f"{key}: {message[0].lower()}{message[1:]}"


def _refuse_misspelt(where: str, data: Mapping[str, Any]) -> None:
    """Refuse a key that is probably meant as one that the row lacks."""
    if _MORE_CELLS in data:
        raise ConfigurationError(f"{where}: the row has {_MORE_CELLS}")
    missing = [name for name in _Row.model_fields if name not in data]
    if not _LABELS.isdisjoint(data):
        missing = [name for name in missing if name not in _LABELS]
    for key in data:
        if key in _Row.model_fields:
            continue
        nearest = get_close_matches(key, missing, 1, cutoff=_ALMOST)
        if nearest:
            raise ConfigurationError(
                f"{where}: unknown key {key!r}; did you mean {nearest[0]!r}? If not, give it a name"
                " that is less like it"
            )


def _sentence(where: str, i: int, given: _SentenceRow | str | None) -> LabelledSentence:
    if isinstance(given, _SentenceRow):
        label = _one_label(f"{where}: sentences[{i}]", given.label, given.hallucinated)
        return LabelledSentence(text=given.text, wrong=label)
    return LabelledSentence(None, None if given is None else given == "hallucinated")


def _one_label(where: str, label: str | None, hallucinated: bool | None) -> bool | None:
    if label is not None and hallucinated is not None:
        raise ConfigurationError(f"{where}: set `label` or `hallucinated`, not both")
    return hallucinated if label is None else label == "hallucinated"


def _of_sentences(wrong: Sequence[bool | None]) -> bool | None:
    if True in wrong:
        return True
    return None if None in wrong else False
