"""The methods that a benchmark can measure, and their names on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml
from pydantic import ValidationError

from resay.errors import ConfigurationError
from resay.plugins import JudgedConfig, ModelConfig, ScorerConfig, registry
from resay_lab.benchmarks.measuring import BenchJudge, Item
from resay_lab.benchmarks.rows import first_problem


@dataclass(frozen=True, slots=True)
class BenchEntry:
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

    @property
    def model(self) -> str:
        """The name of the neural model that its scorer runs."""
        model: str | ModelConfig = dict(self.config(None))["model"]
        return model.display_name if isinstance(model, ModelConfig) else model

    def of(self, items: Iterable[Item]) -> list[Item]:
        """Return the passages with as many samples as it uses."""
        return [replace(item, samples=item.samples[: self.samples]) for item in items]

    def config(self, judge: BenchJudge | None, **settings: Any) -> ScorerConfig:
        """Return the scorer's configuration.

        Args:
            judge: The judge, if the scorer asks one.
            **settings: Settings that override those of the entry.
        """
        judge_settings: Mapping[str, Any] = judge.settings if judge and self.needs_judge else {}
        return registry()[self.method].Config(**{**judge_settings, **self.settings, **settings})


class Baseline(BenchEntry):
    """A row for comparison that no scorer of ours computes."""

    __slots__ = ()

    @property
    def needs_judge(self) -> bool:
        """False: no judge is asked."""
        return False


def choose(entries: Sequence[BenchEntry], text: str) -> tuple[BenchEntry, ...]:
    """Find entries by name.

    Args:
        entries: All entries.
        text: Names separated by commas, each `method` or `method:variant`. A bare method selects
            all its variants that are not `extra`.

    Returns:
        The entries in the order named, each once.

    Raises:
        ConfigurationError: A name is unknown, or no name is given.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigurationError(f"no method is named in {text!r}; {_allowed(entries)}")
    chosen: dict[str, BenchEntry] = {}
    for name in names:
        for entry in _named(entries, name):
            chosen[entry.name] = entry
    return tuple(chosen.values())


def _named(entries: Sequence[BenchEntry], name: str) -> list[BenchEntry]:
    method, _, variant = name.partition(":")
    of_method = [entry for entry in entries if entry.method == method]
    if not of_method:
        raise ConfigurationError(f"unknown method {name!r}; {_allowed(entries)}")
    if ":" in name:
        named = [entry for entry in of_method if entry.variant == variant]
    else:
        named = [entry for entry in of_method if not entry.extra]
    if not named:
        raise ConfigurationError(f"unknown variant {name!r}; {_allowed(of_method)}")
    return named


def _allowed(entries: Sequence[BenchEntry]) -> str:
    methods = dict.fromkeys(entry.method for entry in entries)
    return f"choose from {', '.join([*methods, *(entry.name for entry in entries)])}"


def with_models(
    entries: Sequence[BenchEntry], assignments: Sequence[str]
) -> tuple[BenchEntry, ...]:
    """Replace the default models of methods.

    Args:
        entries: The entries to measure.
        assignments: Each `METHOD=MODEL`, or only `MODEL` if just one of the methods has a model. A
            model is a name, or settings as in a policy, such as `{name: FOLDER, backend: onnx}`.

    Returns:
        The entries with those models.

    Raises:
        ConfigurationError: A model matches no method, or its settings are invalid.
    """
    models = _models_by_method(entries, assignments)
    replaced: list[BenchEntry] = []
    for entry in entries:
        if entry.method in models:
            entry = _with_model(entry, models[entry.method][-1])
        replaced.append(entry)
    return tuple(replaced)


def with_each_model(
    entries: Sequence[BenchEntry],
    assignments: Sequence[str],
    defaults: Mapping[str, Sequence[str]],
) -> tuple[BenchEntry, ...]:
    """Return entries once for each model of their method.

    Args:
        entries: The entries to measure.
        assignments: Models, as for `with_models`.
        defaults: The models of methods for which none is given, by method.

    Raises:
        ConfigurationError: A model matches no method, or its settings are invalid.
    """
    models = {**defaults, **_models_by_method(entries, assignments)}
    repeated: list[BenchEntry] = []
    for entry in entries:
        if entry.method in models:
            repeated += (_with_model(entry, model) for model in models[entry.method])
        else:
            repeated.append(entry)
    return tuple(repeated)


def _models_by_method(
    entries: Sequence[BenchEntry], assignments: Sequence[str]
) -> dict[str, list[str | ModelConfig]]:
    takers = list(dict.fromkeys(entry.method for entry in entries if entry.takes_model))
    models: dict[str, list[str | ModelConfig]] = {}
    for text in assignments:
        method, model = _parse_assignment(text, takers)
        models.setdefault(method, []).append(model)
    return models


def _with_model(entry: BenchEntry, model: str | ModelConfig) -> BenchEntry:
    return replace(entry, settings={**entry.settings, "model": model})


def _parse_assignment(text: str, takers: Sequence[str]) -> tuple[str, str | ModelConfig]:
    method, sign, model = text.partition("=")
    named = bool(sign) and method in registry()
    if named and method in takers:
        return method, _model(model)
    if not takers:
        raise ConfigurationError(f"none of the methods has a model, so {text!r} is not used")
    if named or len(takers) != 1:
        raise ConfigurationError(
            f"{text!r} matches no method that has a model; pass METHOD=MODEL with one of:"
            f" {', '.join(takers)}"
        )
    return takers[0], _model(text)


def _model(text: str) -> str | ModelConfig:
    if not text.startswith("{"):
        return text
    try:
        return ModelConfig.model_validate(yaml.safe_load(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigurationError(
            f"{text!r} is not a model's settings: {first_problem(error)}"
        ) from error
