"""The choice of a chain: `chain: auto` is the best known chain for a budget.

`candidates` returns the available chains, and `MEASUREMENTS` how they did on recorded answers. A
budget is compared with a chain's maximum number of calls, whatever the answer; latency is an
estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, cast

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from resay._internal.plurals import counted
from resay._internal.strict import Strict
from resay.policy.candidates import Candidate, candidates
from resay.policy.measurements import Measurements, measurements_of
from resay.scorers import ScorerConfig


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
            f"chain: auto chose {self.name!r}: {counted(candidate.samples, 'sample')}, up to"
            f" {counted(candidate.calls, 'call')} per answer, ROC-AUC {measurements.roc_auc:.1f}"
        )
        for name, reason in self.rejected.items():
            yield f"  not {name!r}: {reason}"


def choose(
    budget: ChainBudget,
    *,
    min_samples: int = 1,
    chains: Mapping[str, Candidate] | None = None,
    measurements: Mapping[str, Measurements] | None = None,
) -> Choice:
    """Return the best chain that fits a budget.

    Args:
        budget: The budget.
        min_samples: The policy's own `sampling.min`, if set.
        chains: The chains, by name; None for `candidates()`.
        measurements: The measurements of each; None for those in the tables for `budget.answers`.

    Returns:
        The chain with the greatest ROC-AUC; among equals, the one with the fewest calls.

    Raises:
        ValueError: No chain fits.
    """
    available = candidates() if chains is None else chains
    measurements = measurements_of(budget.answers) if measurements is None else measurements
    order = sorted(
        measurements, key=lambda name: (-measurements[name].roc_auc, measurements[name].calls, name)
    )
    rejected: dict[str, str] = {}
    for name in order:
        candidate = available[name]
        reason = _rejection_reason(candidate, measurements[name], budget, min_samples)
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
    """Return why a chain cannot be chosen, or None."""
    if budget.free_only and candidate.judges:
        return "asks a judge, and free_only is true"
    if budget.calls_per_answer is not None and candidate.calls > budget.calls_per_answer:
        calls = counted(candidate.calls, "call")
        return f"up to {calls}, and calls_per_answer is {budget.calls_per_answer}"
    if budget.latency_s is not None and measurements.latency_s > budget.latency_s:
        return f"about {measurements.latency_s:.1f} s, and latency_s is {budget.latency_s:g}"
    if candidate.samples < min_samples:
        return f"{counted(candidate.samples, 'sample')}, and sampling.min is {min_samples}"
    return candidate.missing_package()


def min_samples(sampling: object) -> int:
    """Return the number of samples that a policy always wants.

    Args:
        sampling: Its `sampling`, validated or as written.
    """
    settings = _as_written(sampling)
    minimum = settings.get("min") if settings is not None else None
    return minimum if isinstance(minimum, int) else 1


def _as_written(section: object) -> Mapping[str, Any] | None:
    """Return the keys of a section that are set; None if it is not a section."""
    if isinstance(section, BaseModel):
        return section.model_dump(exclude_unset=True)
    return cast("Mapping[str, Any]", section) if isinstance(section, Mapping) else None


def with_chain(policy: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace `chain: auto` with the chosen chain and its number of samples.

    Args:
        policy: A policy with `chain: auto`, before validation.

    Returns:
        The policy with the chain; with a placeholder chain if its other settings are not valid, so
        that validation reports those.
    """
    with_placeholder = {**policy, "chain": candidates()["ngram, 2"].steps}
    sampling = _as_written(policy.get("sampling", {}))
    if sampling is None:
        return with_placeholder
    if "max" in sampling:
        _refuse(
            "sampling",
            "`chain: auto` chooses max; omit it, and set `budget.calls_per_answer` instead",
        )
    try:
        budget = ChainBudget.model_validate(policy.get("budget") or {})
    except ValidationError:
        return with_placeholder
    try:
        choice = choose(budget, min_samples=min_samples(sampling))
    except ValueError as error:
        _refuse("chain", str(error))
    return {
        **policy,
        "budget": budget,
        "chain": [dict(step) for step in choice.candidate.steps],
        "sampling": {**sampling, "max": choice.candidate.samples},
    }


def _refuse(key: str, message: str) -> NoReturn:
    error = PydanticCustomError("auto", "{message}", {"message": message})
    details = InitErrorDetails(type=error, loc=(key,), input=None)
    raise ValidationError.from_exception_data("policy", [details], hide_input=True)


def check_budget_use(budget: ChainBudget, chain: Sequence[ScorerConfig], samples: int) -> None:
    """Refuse a budget without `chain: auto`.

    Args:
        budget: The policy's budget.
        chain: Its chain, after `auto` was replaced.
        samples: Its `sampling.max`.
    """
    for candidate in candidates().values():
        if candidate.samples == samples and candidate.configs() == list(chain):
            return
    _refuse("budget", "has no use with a chain of your own; omit it, or write `chain: auto`")
