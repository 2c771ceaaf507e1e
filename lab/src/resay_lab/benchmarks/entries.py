"""The methods that a benchmark can measure, and their names on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from resay.errors import ConfigurationError
from resay.models import ModelConfig
from resay.scorers import ScorerConfig, registry
from resay.scorers.common.judging import JudgedConfig
from resay_lab.benchmarks.measuring import BenchJudge, Item


@dataclass(frozen=True, slots=True)
class Entry:
    """One method in one variant: one row of a benchmark's table.

    Attributes:
        method: The scorer's name.
        variant: The variant's name.
        settings: The scorer's settings in this variant, without the judge.
        paper: The published figures, by the benchmark's own keys.
        extra: Measured only if its variant is named explicitly.
        live_only: Asks questions that no recording answers.
        samples: How many of a passage's samples it uses; None for all.
    """

    method: str
    variant: str
    settings: Mapping[str, Any]
    paper: Mapping[str, float] | None = None
    extra: bool = False
    live_only: bool = False
    samples: int | None = None

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.method}:{self.variant}"

    @property
    def needs_judge(self) -> bool:
        """Whether its scorer asks a judge."""
        scorer = registry()[self.method]
        if not issubclass(scorer.Config, JudgedConfig):
            return False
        return "judge" in scorer(scorer.Config(**self.settings)).needs

    @property
    def takes_model(self) -> bool:
        """Whether its scorer runs a neural model."""
        return "model" in registry()[self.method].Config.model_fields

    def of(self, items: Iterable[Item]) -> list[Item]:
        """Return the passages with as many samples as it uses."""
        return [replace(item, samples=item.samples[: self.samples]) for item in items]

    def config(self, judge: BenchJudge | None, **settings: Any) -> ScorerConfig:
        """Return the scorer's configuration.

        Args:
            judge: The judge, if the scorer asks one.
            **settings: Settings that override those of the entry.
        """
        asked: Mapping[str, Any] = judge.settings if judge and self.needs_judge else {}
        return registry()[self.method].Config(**{**asked, **self.settings, **settings})


class Baseline(Entry):
    """A row for comparison that no scorer of ours computes."""

    __slots__ = ()

    @property
    def needs_judge(self) -> bool:
        """False: no judge is asked."""
        return False


def choose(entries: Sequence[Entry], wanted: str) -> tuple[Entry, ...]:
    """Find entries by name.

    Args:
        entries: All entries.
        wanted: Names separated by commas, each `method` or `method:variant`. A bare method selects
            all its variants that are not `extra`.

    Returns:
        The entries in the order named, each once.

    Raises:
        ConfigurationError: A name is unknown, or no name is given.
    """
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    if not names:
        raise ConfigurationError(f"no method is named in {wanted!r}; {_allowed(entries)}")
    found: dict[str, Entry] = {}
    for name in names:
        found |= {entry.name: entry for entry in _named(entries, name)}
    return tuple(found.values())


def _named(entries: Sequence[Entry], name: str) -> list[Entry]:
    method, _, variant = name.partition(":")
    of_method = [entry for entry in entries if entry.method == method]
    if not of_method:
        raise ConfigurationError(f"unknown method {name!r}; {_allowed(entries)}")
    named = [e for e in of_method if (e.variant == variant if ":" in name else not e.extra)]
    if not named:
        raise ConfigurationError(f"unknown variant {name!r}; {_allowed(of_method)}")
    return named


def _allowed(entries: Sequence[Entry]) -> str:
    methods = dict.fromkeys(entry.method for entry in entries)
    return f"choose from {', '.join([*methods, *(entry.name for entry in entries)])}"


def with_models(entries: Sequence[Entry], given: Sequence[str]) -> tuple[Entry, ...]:
    """Replace the default models of methods.

    Args:
        entries: The entries to measure.
        given: Each `METHOD=MODEL`, or only `MODEL` if just one of the methods has a model. A model
            is a name, or settings as in a policy, such as `{name: FOLDER, backend: onnx}`.

    Returns:
        The entries with those models.

    Raises:
        ConfigurationError: A model matches no method, or its settings are invalid.
    """
    takers = list(dict.fromkeys(entry.method for entry in entries if entry.takes_model))
    models = dict(_assigned(text, takers) for text in given)
    return tuple(
        replace(entry, settings={**entry.settings, "model": models[entry.method]})
        if entry.takes_model and entry.method in models
        else entry
        for entry in entries
    )


def _assigned(text: str, takers: Sequence[str]) -> tuple[str, str | ModelConfig]:
    method, sign, model = text.partition("=")
    named = bool(sign) and method in registry()
    if named and method in takers:
        return method, _model(model)
    if not takers:
        raise ConfigurationError(f"none of the methods has a model, so {text!r} is not used")
    if named or len(takers) != 1:
        known = ", ".join(takers)
        raise ConfigurationError(
            f"{text!r} matches no method that has a model; pass METHOD=MODEL with one of: {known}"
        )
    return takers[0], _model(text)


def _model(text: str) -> str | ModelConfig:
    if not text.startswith("{"):
        return text
    try:
        return ModelConfig.model_validate(yaml.safe_load(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigurationError(f"{text!r} is not a model's settings: {_first(error)}") from error


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return str(error).partition("\n")[0]


ModelT = TypeVar("ModelT", bound=BaseModel)


class Lenient(BaseModel):
    """Base class of parsed rows; copies of a data set may have more fields than needed."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def read_lines(path: Path) -> list[bytes]:
    """Return a file's lines.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error


def choose_rows(lines: Sequence[bytes], rows: slice, path: Path) -> range:
    """Return the numbers of the selected rows.

    Args:
        lines: The file's lines.
        rows: Which of them to select.
        path: The file, for the message.

    Returns:
        Their numbers, from 0.

    Raises:
        ConfigurationError: No row is selected.
    """
    chosen = range(len(lines))[rows]
    if not chosen:
        raise ConfigurationError(f"no row is left of the {len(lines)} in {str(path)!r}")
    return chosen


def parse_row(model: type[ModelT], lines: Sequence[bytes], index: int, path: Path) -> ModelT:
    """Parse one row.

    Args:
        model: The model to parse it into.
        lines: The file's lines.
        index: The row's number, from 0.
        path: The file, for the message.

    Raises:
        ConfigurationError: The row does not exist, or does not match the model.
    """
    if index >= len(lines):
        raise ConfigurationError(f"{str(path)!r} has no row {index!r}")
    try:
        return model.model_validate_json(lines[index])
    except ValidationError as error:
        raise ConfigurationError(f"{str(path)!r}, line {index + 1}: {_first(error)}") from error
