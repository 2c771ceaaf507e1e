"""Learns the parameters of a chain's steps: weights of composites, and bands of `settle`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import anyio.to_thread

from resay import Policy
from resay.adapters.methods import Combination, Ensemble
from resay.adapters.terminal import counted
from resay.errors import ConfigurationError
from resay.plugins import ScorerConfig, Settle, Step, build, mean_score, over
from resay_lab.calibration.bands import fit_bands
from resay_lab.calibration.labels import LabelledRow
from resay_lab.calibration.runner import Outcome, Runner, Scored
from resay_lab.calibration.targets import Guarantee, Target
from resay_lab.calibration.thresholds import fit_thresholds
from resay_lab.calibration.weights import Learned, Values, learn, learn_sum


@dataclass(frozen=True, slots=True)
class Fitted:
    """The parameters learned for a chain.

    Attributes:
        policy: The policy with the learned parameters.
        rows: The number of labelled responses they were learned from.
        weighted: The indices of the steps whose weights were learned.
        banded: The indices of the steps whose bands were learned.
        share_settled: For each of the latter, the share of these responses' sentences it settles.
    """

    policy: Policy
    rows: int
    weighted: tuple[int, ...] = ()
    banded: tuple[int, ...] = ()
    share_settled: tuple[float, ...] = ()


def has_weights(policy: Policy) -> bool:
    """Return whether a step of the chain has weights to learn."""
    return any(_is_composite(config) for config in policy.chain)


def has_bands(policy: Policy) -> bool:
    """Return whether a step of the chain has bands to learn."""
    return bool(_banded(policy.chain))


async def fit_chain(
    policy: Policy,
    rows: Sequence[LabelledRow],
    runner: Runner,
    *,
    weights: bool,
    settle_error: float | None,
    targets: Sequence[Target],
) -> Fitted:
    """Learn weights and bands.

    Args:
        policy: The policy.
        rows: Labelled responses; none of them may be used for thresholds.
        runner: Runs the methods.
        weights: Whether to learn the weights of composites.
        settle_error: The share of settled sentences that may be decided differently from the last
            step, at the sentence threshold that these rows suggest for the chain with the bands;
            None leaves the bands as they are.
        targets: The targets that the thresholds will be fitted to.

    Returns:
        The policy with the learned parameters; weights have two digits.

    Raises:
        ConfigurationError: Nothing can be learned from the rows.
    """
    chain = _Methods(policy.chain, bands=settle_error is not None, weights=weights)
    scored = await runner.score(policy, chain.configs, rows)
    usable: list[Scored] = []
    reasons: set[str] = set()
    for response in scored:
        problems = [scores.error for scores in response.scores if scores.error]
        if problems:
            reasons.update(problems)
        else:
            usable.append(response)
    if not usable:
        raise ConfigurationError(
            f"nothing can be learned from {counted(len(scored), 'response')}:"
            f" {'; '.join(sorted(reasons)[:3]) or 'there is none'}"
        )
    learn_from = partial(_fitted, policy, chain, usable, weights, settle_error, targets)
    return await anyio.to_thread.run_sync(learn_from)


def _fitted(
    policy: Policy,
    chain: _Methods,
    usable: Sequence[Scored],
    weights: bool,
    settle_error: float | None,
    targets: Sequence[Target],
) -> Fitted:
    configs = list(policy.chain)
    weighted = tuple(i for i in chain.composites if weights)
    for i in weighted:
        configs[i] = _learned(i, configs[i], chain.of(i), usable)
    fitted = policy.model_copy(update={"chain": tuple(configs)})
    if settle_error is None:
        return Fitted(policy=fitted, rows=len(usable), weighted=weighted)
    banded, shares = _with_bands(fitted, chain, usable, settle_error, targets)
    return Fitted(
        policy=banded,
        rows=len(usable),
        weighted=weighted,
        banded=tuple(_banded(policy.chain)),
        share_settled=tuple(shares),
    )


class _Methods:
    """The methods to score separately, and the ones that each step consists of."""

    def __init__(self, chain: Sequence[ScorerConfig], *, bands: bool, weights: bool) -> None:
        self.composites = [i for i, config in enumerate(chain) if _is_composite(config)]
        steps = set(self.composites) if weights else set[int]()
        if bands:
            steps |= {*_banded(chain), _last(chain)}
        self.configs: list[ScorerConfig] = []
        self._slices: dict[int, slice] = {}
        for i in sorted(steps):
            config, start = chain[i], len(self.configs)
            if _is_composite(config):
                self.configs += [part.scorer for part in _parts(config)]
            else:
                self.configs.append(config.model_copy(update={"settle": None}))
            self._slices[i] = slice(start, len(self.configs))

    def of(self, i: int) -> slice:
        """Return the indices of a step's methods."""
        return self._slices[i]


def _is_composite(config: ScorerConfig) -> bool:
    return isinstance(config, (Combination.Config, Ensemble.Config))


def _parts(config: ScorerConfig) -> Sequence[Any]:
    return cast("Combination.Config | Ensemble.Config", config).parts


def _corrects(config: ScorerConfig) -> bool:
    return Step.of(config).corrects


def _last(chain: Sequence[ScorerConfig]) -> int:
    return max(i for i, config in enumerate(chain) if not _corrects(config))


def _banded(chain: Sequence[ScorerConfig]) -> list[int]:
    last = _last(chain)
    return [i for i, c in enumerate(chain) if i < last and c.settle is not None]


def _learned(
    step_index: int, config: ScorerConfig, indices: slice, usable: Sequence[Scored]
) -> ScorerConfig:
    values, wrong = _examples(config, indices, usable)
    name = f"chain[{step_index}] ({config.method_name})"
    try:
        if isinstance(config, Combination.Config):
            learned = learn(values, wrong).rounded()
            update = _combination(config, learned)
            useless = not any(part.weight for part in learned.parts)
        else:
            sums = [float(f"{weight:.1e}") for weight in learn_sum(values, wrong).weights]
            update = _weights(config, sums)
            useless = sum(sums) <= 0
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{name}: {error}; label more sentences, or leave the weights (`--no-weights`)"
        ) from error
    if useless:
        raise ConfigurationError(
            f"{name}: none of its parts scores hallucinated sentences higher than correct ones;"
            " take other parts"
        )
    return config.model_copy(update=update)


def _combination(config: Combination.Config, learned: Learned) -> Mapping[str, Any]:
    parts: list[Any] = []
    for part, new in zip(config.parts, learned.parts, strict=True):
        update = {"mean": new.mean, "deviation": new.deviation, "weight": new.weight}
        parts.append(part.model_copy(update=update))
    return {"parts": tuple(parts), "intercept": learned.intercept, "lean": learned.lean}


def _weights(config: ScorerConfig, weights: Sequence[float]) -> Mapping[str, Any]:
    parts = zip(_parts(config), weights, strict=True)
    return {"parts": tuple(part.model_copy(update={"weight": w}) for part, w in parts)}


def _examples(
    config: ScorerConfig, indices: slice, usable: Sequence[Scored]
) -> tuple[list[Values], list[list[bool]]]:
    """Return the values of labelled sentences, by response, with their labels."""
    scores_sentences = False
    for scored in usable:
        scores_sentences = scores_sentences or any(s.sentences for s in scored.scores[indices])
    values: list[Values] = []
    wrong: list[list[bool]] = []
    composite = _composite(config)
    for scored in usable:
        labels = scored.wrong if scores_sentences else (scored.row.hallucinated,)
        own_values: list[list[float | None]] = []
        own_labels: list[bool] = []
        for sentence, label in enumerate(labels):
            if label is not None:
                own_values.append(composite.values(scored.scores[indices], sentence))
                own_labels.append(label)
        values.append(own_values)
        wrong.append(own_labels)
    return values, wrong


def _composite(config: ScorerConfig) -> Combination | Ensemble:
    return cast("Combination | Ensemble", build(config))


def _step_scores(
    config: ScorerConfig, indices: slice, scored: Scored, sentences: int
) -> Sequence[float | None]:
    """Return a step's score of each sentence; the passage score if it scores no sentences."""
    scores = scored.scores[indices]
    if not _is_composite(config):
        return [scores[0].of_sentence(i) for i in range(sentences)]
    composite = _composite(config)
    return composite.combined([composite.values(scores, i) for i in range(sentences)])


def _with_bands(
    policy: Policy,
    chain: _Methods,
    usable: Sequence[Scored],
    error: float,
    targets: Sequence[Target],
) -> tuple[Policy, list[float]]:
    if policy.threshold.sentence is None:
        raise ConfigurationError(
            "bands depend on the decision about sentences, and the policy has `threshold.sentence:"
            " null`; set it to a number"
        )
    counts: list[int] = []
    for scored in usable:
        lengths = [len(scores.sentences) for scores in scored.scores]
        counts.append(max(lengths, default=0))
    if not any(counts):
        raise ConfigurationError("no step scores sentences, so none can be settled")

    def column(step_index: int) -> list[float | None]:
        config, indices = policy.chain[step_index], chain.of(step_index)
        scores: list[float | None] = []
        for scored, count in zip(usable, counts, strict=True):
            scores += _step_scores(config, indices, scored, count)
        return scores

    final = column(_last(policy.chain))
    columns = {step_index: column(step_index) for step_index in _banded(policy.chain)}
    best, share = {step_index: Settle() for step_index in columns}, 0.0
    # Settling changes the scores, and so the threshold at which the decisions must be right.
    for limit in _candidates(_suggested(policy, usable, counts, final, targets), final):
        bands = {
            step_index: _bands(own, final, limit, error) for step_index, own in columns.items()
        }
        together, settled = _cascade(columns, bands, final)
        limit = _suggested(policy, usable, counts, together, targets)
        otherwise = sum(over(together[i], limit) != over(final[i], limit) for i in settled)
        if otherwise <= error * len(settled) and len(settled) / len(final) > share:
            best, share = bands, len(settled) / len(final)
    configs = list(policy.chain)
    for step_index, settle in best.items():
        configs[step_index] = configs[step_index].model_copy(update={"settle": settle})
    shares = [_share(best[step_index], own) for step_index, own in columns.items()]
    return policy.model_copy(update={"chain": tuple(configs)}), shares


Column = Sequence[float | None]
"""A step's score of every sentence."""


def _candidates(suggested: float, final: Column) -> list[float]:
    """Return thresholds to fit bands at: the suggested one, and some quantiles of the scores."""
    ordered = sorted(score for score in final if score is not None)
    deciles: set[float] = set()
    if ordered:
        for i in range(1, 10):
            deciles.add(round(ordered[len(ordered) * i // 10], 4))
    return [suggested, *sorted(deciles)]


def _bands(own: Column, final: Column, limit: float, error: float) -> Settle:
    scores: list[float] = []
    decided: list[bool] = []
    for score, final_score in zip(own, final, strict=True):
        if score is not None and final_score is not None:
            scores.append(score)
            decided.append(final_score > limit)
    return fit_bands(scores, decided, error, threshold=limit)


def _cascade(
    columns: Mapping[int, Column], bands: Mapping[int, Settle], final: Column
) -> tuple[list[float | None], set[int]]:
    """Return the score of each sentence, and which are settled before the last step."""
    scores = list(final)
    settled: set[int] = set()
    for step_index in sorted(columns, reverse=True):
        for i, score in enumerate(columns[step_index]):
            if bands[step_index].settles(score):
                scores[i] = score
                settled.add(i)
    return scores, settled


def _share(settle: Settle, own: Column) -> float:
    return sum(map(settle.settles, own)) / max(len(own), 1)


def _suggested(
    policy: Policy,
    usable: Sequence[Scored],
    counts: Sequence[int],
    final: Sequence[float | None],
    targets: Sequence[Target],
) -> float:
    """Return an estimate of the sentence threshold that will be fitted."""
    outcomes: list[Outcome] = []
    start = 0
    for scored, count in zip(usable, counts, strict=True):
        own = tuple(final[start : start + count])
        start += count
        score = mean_score(own)
        if score is not None:
            outcomes.append(
                Outcome(
                    score=score,
                    sentences=own,
                    hallucinated=scored.row.hallucinated,
                    wrong=scored.wrong,
                )
            )
    old = cast("float", policy.threshold.sentence)
    try:
        fitted = fit_thresholds(outcomes, targets, Guarantee("expected"), policy.threshold)
    except ConfigurationError:
        # Too few responses to fit one; the policy's own is the best guess.
        return old
    return old if fitted.sentence is None else fitted.sentence
