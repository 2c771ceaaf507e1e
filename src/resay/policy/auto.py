"""Resolve `auto` in a policy's `chain` and `limits`.

`chain: auto` is the best known chain for a budget. `candidates` returns the available chains, and
`MEASUREMENTS` how they did on recorded answers, as printed by `resay bench frontier`. Chains are
compared by ROC-AUC on the data sets on which all of them could be measured. A budget is compared
with a chain's maximum number of calls, whatever the answer; latency is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from importlib import resources
from statistics import fmean
from typing import Annotated, Any, Literal, NoReturn, cast

import yaml
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from resay._internal.strict import Strict
from resay.errors import MissingDependencyError
from resay.scorers import JudgedConfig, ScorerConfig, build, registry

CALL_S = 2.0
"""Assumed seconds for one round of calls; the calls of a round are sent together."""


class ChainBudget(Strict):
    """The budget of a chain chosen by `chain: auto`."""

    calls_per_answer: int | None = Field(
        default=10,
        ge=1,
        description="The maximum number of samples and judge calls per answer; null = no limit."
        " Retries of failed calls and of unreadable answers are not counted.",
    )
    latency_s: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="Seconds that the check adds to the answer, estimated at 2 seconds for each"
        " round of calls; null = no limit. `limits.deadline_s` is the limit that is enforced.",
    )
    free_only: bool = Field(
        default=False,
        description="Choose only among chains without a judge. Samples are still drawn.",
    )
    answers: Literal["any", "long", "short"] = Field(
        default="any",
        description="The answers on which chains are compared: several sentences long (long:"
        " WikiBio), one sentence long (short: SAC3), or the mean of both (any).",
    )


Steps = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chain to choose from.

    Attributes:
        steps: The steps, as in a policy.
        samples: The maximum number of samples.
    """

    steps: Steps
    samples: int

    @property
    def judges(self) -> int:
        """The number of judge calls per sample: one for each step that asks a judge."""
        return sum(_asks(step) for step in self.steps)

    @property
    def calls(self) -> int:
        """The maximum number of samples and judge's answers."""
        return self.samples * (1 + self.judges)


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements of a chain.

    Attributes:
        roc_auc: ROC-AUC of its sentence scores, in percent.
        calls: Samples and judge's answers per answer, on average.
        rounds: Rounds of calls that the check waits for after the answer, on average.
        ms: Milliseconds of its own processor time per answer, on average.
    """

    roc_auc: float
    calls: float
    rounds: float
    ms: float

    @property
    def latency_s(self) -> float:
        """The estimated seconds that the chain adds to the answer."""
        return self.rounds * CALL_S + self.ms / 1000


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen chain.

    Attributes:
        name: Its name in the tables.
        candidate: The chain.
        measurements: Its measurements.
        rejected: Why each better chain was not chosen, by name, best first.
    """

    name: str
    candidate: Candidate
    measurements: Measurements
    rejected: Mapping[str, str]

    def lines(self) -> Iterator[str]:
        """Yield a description of the choice, and why no better chain was chosen."""
        measurements, candidate = self.measurements, self.candidate
        yield (
            f"chain: auto chose {self.name!r}: {candidate.samples} samples, up to"
            f" {candidate.calls} calls per answer, ROC-AUC {measurements.roc_auc:.1f}"
        )
        for name, reason in self.rejected.items():
            yield f"  not {name!r}: {reason}"


def _asks(step: Mapping[str, Any]) -> int:
    parts: Sequence[Mapping[str, Any]] = step.get("parts", ())
    if parts:
        return sum(_asks(part["scorer"]) for part in parts)
    return issubclass(registry()[step["method"]].Config, JudgedConfig)


@cache
def _default_judge() -> Mapping[str, Any]:
    """Return the step of the default policy, so that its numbers are defined in one place."""
    text = (resources.files("resay.policy") / "default.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["chain"][0]


@cache
def candidates() -> Mapping[str, Candidate]:
    """Return the available chains by their names in the tables."""
    facts, leaning = {"method": "facts"}, {"method": "leaning", "lean": 0.5}
    judge = _default_judge()
    both = {"method": "ensemble", "parts": [{"scorer": s, "weight": 0.5} for s in (facts, judge)]}
    chains: Mapping[str, tuple[Steps, Sequence[int]]] = {
        "ngram": (({"method": "ngram"},), (2, 5)),
        "facts": ((facts,), (2,)),
        "facts, leaning 0.5": ((facts, leaning), (1, 2, 3, 5, 10)),
        "prompt": ((judge,), (2, 5)),
        "prompt, leaning 0.5": ((judge, leaning), (2, 5, 10)),
        "facts > 0.9, prompt": (({**facts, "settle": {"above": 0.9}}, judge), (5,)),
        "facts + prompt": ((both,), (1, 2, 3, 5, 10)),
    }
    return {
        f"{name}, {samples}": Candidate(steps, samples)
        for name, (steps, counts) in chains.items()
        for samples in counts
    }


MEASUREMENTS: Mapping[str, Mapping[str, Measurements]] = {
    "long": {
        "ngram, 2": Measurements(58.54, 2.0, 0.0, 13.5),
        "ngram, 5": Measurements(66.01, 5.0, 0.0, 23.5),
        "facts, 2": Measurements(75.83, 2.0, 0.0, 19.0),
        "facts, leaning 0.5, 1": Measurements(77.06, 1.0, 0.0, 14.1),
        "facts, leaning 0.5, 2": Measurements(80.78, 2.0, 0.0, 19.6),
        "facts, leaning 0.5, 3": Measurements(82.97, 3.0, 0.0, 24.0),
        "facts, leaning 0.5, 5": Measurements(84.37, 5.0, 0.0, 34.0),
        "facts, leaning 0.5, 10": Measurements(86.07, 10.0, 0.0, 59.5),
        "prompt, 2": Measurements(82.94, 4.0, 1.0, 22.3),
        "prompt, 5": Measurements(86.37, 10.0, 3.0, 42.3),
        "prompt, leaning 0.5, 2": Measurements(83.4, 4.0, 1.0, 24.0),
        "prompt, leaning 0.5, 5": Measurements(86.72, 10.0, 3.0, 41.8),
        "prompt, leaning 0.5, 10": Measurements(87.66, 18.23, 7.17, 64.2),
        "facts > 0.9, prompt, 5": Measurements(86.37, 10.0, 1.0, 50.1),
        "facts + prompt, 1": Measurements(74.05, 2.0, 1.0, 16.5),
        "facts + prompt, 2": Measurements(80.54, 4.0, 1.0, 28.6),
        "facts + prompt, 3": Measurements(82.82, 6.0, 1.0, 36.7),
        "facts + prompt, 5": Measurements(84.78, 10.0, 1.0, 50.1),
        "facts + prompt, 10": Measurements(86.6, 20.0, 1.0, 83.8),
    },
    "short": {
        "ngram, 2": Measurements(78.7, 2.0, 0.0, 2.4),
        "ngram, 5": Measurements(80.04, 5.0, 0.0, 3.9),
        "facts, 2": Measurements(81.18, 2.0, 0.0, 3.1),
        "facts, leaning 0.5, 1": Measurements(77.16, 1.0, 0.0, 2.6),
        "facts, leaning 0.5, 2": Measurements(81.18, 2.0, 0.0, 3.3),
        "facts, leaning 0.5, 3": Measurements(81.24, 3.0, 0.0, 4.1),
        "facts, leaning 0.5, 5": Measurements(80.15, 5.0, 0.0, 4.7),
        "facts, leaning 0.5, 10": Measurements(81.07, 10.0, 0.0, 7.9),
        "prompt, 2": Measurements(62.38, 4.0, 1.0, 3.8),
        "prompt, 5": Measurements(63.33, 6.99, 1.5, 5.4),
        "prompt, leaning 0.5, 2": Measurements(62.38, 4.0, 1.0, 3.7),
        "prompt, leaning 0.5, 5": Measurements(63.33, 6.99, 1.5, 5.2),
        "prompt, leaning 0.5, 10": Measurements(63.26, 8.53, 2.02, 6.3),
        "facts > 0.9, prompt, 5": Measurements(63.32, 8.48, 1.0, 6.9),
        "facts + prompt, 1": Measurements(77.89, 2.0, 1.0, 3.7),
        "facts + prompt, 2": Measurements(79.8, 4.0, 1.0, 4.5),
        "facts + prompt, 3": Measurements(80.08, 6.0, 1.0, 5.5),
        "facts + prompt, 5": Measurements(79.14, 10.0, 1.0, 7.4),
        "facts + prompt, 10": Measurements(79.93, 20.0, 1.0, 12.2),
    },
}
"""Measurements by kind of answer, from `resay bench frontier`; also recorded in its notes."""


@cache
def measurements_of(answers: str) -> Mapping[str, Measurements]:
    """Return the measurements of all chains.

    Args:
        answers: The kind of answers: `long`, `short`, or `any` for the means of both.
    """
    if answers in MEASUREMENTS:
        return MEASUREMENTS[answers]
    pairs = {name: [of_kind[name] for of_kind in MEASUREMENTS.values()] for name in candidates()}
    return {
        name: Measurements(*map(fmean, zip(*map(astuple, of), strict=True)))
        for name, of in pairs.items()
    }


def choose(
    budget: ChainBudget,
    *,
    min_samples: int = 1,
    chains: Mapping[str, Candidate] | None = None,
    measurements: Mapping[str, Measurements] | None = None,
    missing: Callable[[Candidate], str | None] | None = None,
) -> Choice:
    """Return the best chain that fits a budget.

    Args:
        budget: The budget.
        min_samples: The policy's own `sampling.min`, if set.
        chains: The chains, by name; None for `candidates()`.
        measurements: The measurements of each; None for those in the tables for `budget.answers`.
        missing: Returns what a chain needs that is not installed; None for `missing_package`.

    Returns:
        The chain with the greatest ROC-AUC; among equals, the one with the fewest calls.

    Raises:
        ValueError: No chain fits.
    """
    available = candidates() if chains is None else chains
    measurements = measurements_of(budget.answers) if measurements is None else measurements
    lacks = missing or missing_package
    order = sorted(
        measurements, key=lambda name: (-measurements[name].roc_auc, measurements[name].calls, name)
    )
    rejected: dict[str, str] = {}
    for name in order:
        candidate = available[name]
        reason = _rejection_reason(candidate, measurements[name], budget, min_samples)
        reason = reason or lacks(candidate)
        if reason is None:
            return Choice(name, candidate, measurements[name], rejected)
        rejected[name] = reason
    cheapest = min(order, key=lambda name: available[name].calls)
    raise ValueError(
        f"no known chain fits; the cheapest, {cheapest!r}: {rejected[cheapest]}; allow more in"
        " `budget`, or list methods in `chain`"
    )


def _rejection_reason(
    candidate: Candidate,
    measurements: Measurements,
    budget: ChainBudget,
    min_samples: int,
) -> str | None:
    """Return why the budget or the policy's own `sampling.min` rules out a chain, or None."""
    if budget.free_only and candidate.judges:
        return "asks a judge, and free_only is true"
    if budget.calls_per_answer is not None and candidate.calls > budget.calls_per_answer:
        return f"up to {candidate.calls} calls, and calls_per_answer is {budget.calls_per_answer}"
    if budget.latency_s is not None and measurements.latency_s > budget.latency_s:
        return f"about {measurements.latency_s:.1f} s, and latency_s is {budget.latency_s:g}"
    if candidate.samples < min_samples:
        return f"{candidate.samples} samples, and sampling.min is {min_samples}"
    return None


def missing_package(candidate: Candidate) -> str | None:
    """Return an error message if a package that the chain needs is not installed, or None."""
    try:
        for config in _configs(candidate):
            build(config)
    except MissingDependencyError as error:
        return str(error)
    return None


def min_samples(sampling: object) -> int:
    """Return the number of samples that a policy always wants.

    Args:
        sampling: Its `sampling`, validated or as written.
    """
    given = sampling.model_dump(exclude_unset=True) if isinstance(sampling, BaseModel) else sampling
    least = given.get("min") if isinstance(given, Mapping) else None  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType] - untyped user input
    return least if isinstance(least, int) else 1


def with_chain(data: object) -> object:
    """Replace `auto` with the chosen chain and its number of samples.

    Args:
        data: A policy before validation.

    Returns:
        The policy with the chain; unchanged if its chain is not `auto`, or with a placeholder chain
        if its other settings are not valid, so that validation reports those.
    """
    if not isinstance(data, Mapping) or data.get("chain") != "auto":  # pyright: ignore[reportUnknownMemberType] - as above
        return data  # pyright: ignore[reportUnknownVariableType] - as above
    written = cast("Mapping[str, Any]", data)
    sampling: object = written.get("sampling", {})
    if isinstance(sampling, BaseModel):
        sampling = sampling.model_dump(exclude_unset=True)
    wrong = {**written, "chain": candidates()["ngram, 2"].steps}
    if not isinstance(sampling, Mapping):
        return wrong
    drawn = cast("Mapping[str, Any]", sampling)
    if "max" in drawn:
        _refuse(
            "sampling",
            "`chain: auto` chooses max; omit it, and set `budget.calls_per_answer` instead",
        )
    try:
        budget = ChainBudget.model_validate(written.get("budget") or {})
    except ValidationError:
        return wrong
    try:
        choice = choose(budget, min_samples=min_samples(drawn))
    except ValueError as error:
        _refuse("chain", str(error))
    return {
        **written,
        "budget": budget,
        "chain": [dict(step) for step in choice.candidate.steps],
        "sampling": {**drawn, "max": choice.candidate.samples},
    }


def _refuse(key: str, message: str) -> NoReturn:
    error = PydanticCustomError("auto", "{message}", {"message": message})
    details = InitErrorDetails(type=error, loc=(key,), input=None)
    raise ValidationError.from_exception_data("policy", [details], hide_input=True)


def check_budget_use(
    budget: ChainBudget | None, chain: Sequence[ScorerConfig], samples: int
) -> None:
    """Refuse a budget without `chain: auto`.

    Args:
        budget: The policy's budget.
        chain: Its chain, after `auto` was replaced.
        samples: Its `sampling.max`.
    """
    available = [(_configs(one), one.samples) for one in candidates().values()] if budget else []
    if budget and (list(chain), samples) not in available:
        _refuse("budget", "has no use with a chain of your own; omit it, or write `chain: auto`")


def allow_auto(schema: dict[str, Any]) -> None:
    """Make the JSON Schema of a chain accept `auto`.

    Args:
        schema: The schema of the list; changed in place.
    """
    notes = {key: schema.pop(key) for key in ("title", "description") if key in schema}
    rest = dict(schema)
    schema.clear()
    schema |= {**notes, "anyOf": [{"const": "auto"}, rest]}


def _configs(candidate: Candidate) -> list[ScorerConfig]:
    return [registry()[step["method"]].Config.model_validate(step) for step in candidate.steps]


def on_frontier(points: Iterable[tuple[float, float]]) -> list[bool]:
    """Return for each point whether no other point beats it.

    Args:
        points: The cost and value of each. A point beats another if it costs no more, is worth no
            less, and differs from it.
    """
    listed = list(points)
    return [
        not any(other[0] <= one[0] and other[1] >= one[1] and other != one for other in listed)
        for one in listed
    ]


_CALLS, _MAX_CALLS = 100, 1_000
_TOKENS, _MAX_TOKENS = 50_000, 500_000
_PAIR_CALLS, _PAIR_TOKENS = 2, 1_000
_MIN_SAMPLES = 10
_READING_SENTENCES = 50
_REQUESTS_BESIDE = 5


@dataclass(frozen=True, slots=True)
class Allowance:
    """The budget of a check.

    Attributes:
        calls: Number of calls.
        tokens: Number of prompt and completion tokens.
    """

    calls: int
    tokens: int


def allowance(
    sentences: int, *, samples: int, question_tokens: int = 0, reference_tokens: int = 0
) -> Allowance:
    """Return the calls and tokens that `auto` in `limits` allows.

    A method may compare each sentence with each sample. Each such pair allows 2 calls and 1,000
    tokens, up to a maximum, so that the cost of an answer does not grow without limit. Text
    supplied by callers is read again with each sample or sentence, and is allowed in addition: a
    long question must not leave an answer unchecked.

    Args:
        sentences: Number of sentences of the answer; fields, if it is an object.
        samples: Maximum number of samples; fewer than 10 count as 10, for methods that need none.
        question_tokens: Tokens of the question and everything sent with it.
        reference_tokens: Tokens of the references and of the documents for regenerating the answer.
    """
    pairs = sentences * max(samples, _MIN_SAMPLES)
    given = (samples + _REQUESTS_BESIDE) * question_tokens
    given += min(sentences, _READING_SENTENCES) * reference_tokens
    return Allowance(
        min(_CALLS + _PAIR_CALLS * pairs, _MAX_CALLS),
        min(_TOKENS + _PAIR_TOKENS * pairs, _MAX_TOKENS) + 2 * given,
    )
