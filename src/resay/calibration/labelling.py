"""Labels from a journal: drawing entries, reading labels, and the agreement of raters.

What a sample says about all entries depends on how it was drawn. Entries drawn at random (simple
random sampling without replacement) represent the others, flagged or not, and only they carry a
guarantee. Those drawn by uncertainty are drawn with unequal probabilities: systematically, with
sizes that fall with the distance of the scores from the thresholds (Madow, "On the Theory of
Systematic Sampling, II", Annals of Mathematical Statistics 1949; the probabilities are exact). Each
represents 1 / p entries, so that weighted rates are those of all entries (Horvitz and Thompson, "A
Generalization of Sampling Without Replacement From a Finite Universe", JASA 1952; divided by the
sum of the weights, Hajek 1971). An entry that is drawn again has the sum of its weights, so that
draws can be pooled (Hansen and Hurwitz 1943). Entries that raters picked themselves, without a
draw, say nothing about the others.

Agreement: Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
Measurement 1960.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from resay._internal.event_loops import sync_version
from resay.calibration.labels import LabelledRow, LabelledSentence
from resay.core.verdict import Decision, Verdict
from resay.errors import ConfigurationError
from resay.policy import Policy, Threshold
from resay.reporting.journal import (
    Draw,
    DrawnBy,
    Entry,
    Feedback,
    Journal,
    JournalConfig,
    open_journal,
)

# The share of a draw by uncertainty that is spread evenly over all entries.
_SPREAD = 0.2
# The distance from a threshold at which scores are hardly uncertain any more.
_NEAR = 0.1
# The queue keeps the order of the draw, so that any beginning of it is a draw too.
_STEP_S = 1e-5


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that can be drawn.

    Attributes:
        id: The entry's id.
        distance: How far its scores are from a different decision.
    """

    id: str
    distance: float

    @classmethod
    def of(cls, entry: Entry, threshold: Threshold) -> Candidate | None:
        """Return an entry as a candidate; None without a decision that could be right or wrong."""
        if entry.score is None or entry.decision not in ("consistent", "flagged"):
            return None
        scores = [
            found["score"]
            for found in entry.verdict.get("sentences") or ()
            if found.get("score") is not None
        ]
        mean: float | None = entry.verdict.get("mean_score")
        over = [
            score - limit
            for score, limit in (
                (mean, threshold.passage),
                (max(scores, default=None), threshold.sentence),
            )
            if score is not None and limit is not None
        ]
        return cls(entry.id, abs(max(over, default=math.inf)))


def draw_entries(
    candidates: Sequence[Candidate],
    count: int,
    by: DrawnBy,
    *,
    drawn: Iterable[Draw] = (),
    now: float,
    seed: int | None = None,
) -> list[Draw]:
    """Draw entries to label.

    Args:
        candidates: The entries to draw from.
        count: How many entries to draw that were not drawn before; fewer if not enough are left.
        by: `random`: all with the same probability; `uncertainty`: preferably those near the
            thresholds, though every entry has a chance.
        drawn: The earlier draws. Entries drawn at random are left out; one drawn by uncertainty
            may be drawn again, and a further draw by uncertainty adds to its weight.
        now: The current time, in seconds since the epoch.
        seed: The same seed gives the same draw; None for a different draw each time.

    Returns:
        The draws to store with `Journal.draw`, in the order in which to label them.

    Raises:
        ConfigurationError: There is nothing to draw from.
    """
    before = {one.entry_id: one.method for one in drawn}
    left = [one for one in candidates if before.get(one.id) != "random"]
    new = [one for one in left if by == "random" or one.id not in before]
    if not new:
        raise ConfigurationError(
            f"nothing to draw from: of {len(candidates)} entries with a decision, all were drawn"
            " before; label those, or choose other entries"
        )
    rng = random.Random(seed)  # noqa: S311 - no secret
    count = min(count, len(new))
    if by == "random":
        chosen = [(one.id, len(new) / count) for one in rng.sample(new, count)]
    else:
        chosen = _by_uncertainty(left, {one.id for one in new}, count, rng)
    rng.shuffle(chosen)
    return [Draw(name, by, weight, now + i * _STEP_S) for i, (name, weight) in enumerate(chosen)]


def _by_uncertainty(
    candidates: Sequence[Candidate], new: set[str], count: int, rng: random.Random
) -> list[tuple[str, float]]:
    """Return ids and weights; exactly `count` of the ids are new."""
    near = [math.exp(-one.distance / _NEAR) for one in candidates]
    whole = sum(near) or 1.0
    sizes = [(1 - _SPREAD) * one / whole + _SPREAD / len(near) for one in near]
    order = list(range(len(candidates)))
    rng.shuffle(order)
    # New entries come first: their probabilities add up to the requested number.
    order.sort(key=lambda i: candidates[i].id not in new)
    scale = _scale([sizes[i] for i in order[: len(new)]], count)
    place, chosen = rng.random(), list[tuple[str, float]]()
    passed = 0.0
    for number, i in enumerate(order, 1):
        probability = min(1.0, scale * sizes[i])
        # The new entries' probabilities add up to a whole number; ignore rounding errors.
        passed = float(count) if number == len(new) else passed + probability
        if passed > place:
            chosen.append((candidates[i].id, 1 / probability))
            place += 1
    return chosen


def _scale(sizes: Sequence[float], count: int) -> float:
    """Return the factor by which sizes, capped at 1, add up to a count."""
    rest, left = count, sorted(sizes, reverse=True)
    total = sum(left)
    for place, size in enumerate(left):
        # The largest sizes are capped: those entries are always drawn.
        if rest * size <= total or place == len(left) - 1:
            return rest / total
        rest, total = rest - 1, total - size
    return 1.0


@dataclass(frozen=True, slots=True)
class FeedbackCounts:
    """Numbers of a journal's entries, by the use of their feedback.

    Attributes:
        random: Labelled entries that were drawn at random; thresholds rest on those.
        uncertain: Labelled entries that were drawn by uncertainty; they count in rates.
        waiting: Entries drawn at random that nobody has rated.
        undrawn: Labelled entries that were not drawn; they are left out.
        unsure: Entries whose raters are unsure, or did not rate the whole.
        disagreed: Entries whose raters disagree.
        thumbs: Entries that have end users' thumbs only, of any policy.
        undecided: Labelled entries whose check came to no decision.
        other_chain: Entries made by another chain.
    """

    random: int = 0
    uncertain: int = 0
    waiting: int = 0
    undrawn: int = 0
    unsure: int = 0
    disagreed: int = 0
    thumbs: int = 0
    undecided: int = 0
    other_chain: int = 0

    def lines(self) -> list[str]:
        """Return the counts as sentences for the user, one per line."""
        told = [
            f"{self.random} labelled entries were drawn at random; thresholds and the guarantee"
            " rest on those alone"
        ]
        if self.uncertain:
            told.append(
                f"{self.uncertain} more were drawn by uncertainty; they count in the rates, each"
                " entry with the weight of its draw, and for no guarantee"
            )
        if self.waiting:
            told.append(
                f"{self.waiting} that were drawn at random are not rated yet; the guarantee takes"
                " them to be like the others"
            )
        left_out = (
            (self.undrawn, "were not drawn"),
            (self.unsure, "raters are unsure of"),
            (self.disagreed, "raters disagree about"),
            (self.thumbs, "have end users' thumbs only"),
            (self.undecided, "have a check without a decision"),
            (self.other_chain, "were made by another chain"),
        )
        out = [f"{count} that {why}" for count, why in left_out if count]
        return [*told, f"left out: {', '.join(out)}"] if out else told


@dataclass(frozen=True, slots=True)
class LabelledEntries:
    """Drawn entries with their labels and verdicts.

    Attributes:
        name: The journal's name.
        rows: The labels.
        verdicts: The recorded verdict of each entry.
        draws: The draw of each entry.
        counts: The numbers of entries, by the use of their feedback.
    """

    name: str
    rows: tuple[LabelledRow, ...]
    verdicts: tuple[Verdict, ...]
    draws: tuple[Draw, ...]
    counts: FeedbackCounts


async def aread_journal_labels(
    journal: str,
    policy: Policy,
    *,
    recorded_as: str | None = None,
    raters: Sequence[str] = (),
) -> LabelledEntries:
    """Read the labels of a journal's entries.

    Reviewers outrank end users, whose thumbs (feedback on the answer by `POST /v1/feedback`) are
    never labels: end users choose themselves which answers to rate.

    Args:
        journal: A file, or the address of a database.
        policy: The policy that made the verdicts.
        recorded_as: Read only entries of the policy with this name.
        raters: Read only feedback of these raters; empty for all.

    Returns:
        The entries that were drawn and have a label.

    Raises:
        ConfigurationError: There is no such journal, it has no feedback, or the entries are of
            several policies.
        JournalError: The journal cannot be read.
    """
    opened = open_journal(journal_config_of(journal))
    try:
        said: dict[str, list[Feedback]] = {}
        for one in await opened.feedback():
            if not raters or one.rater in raters:
                said.setdefault(one.entry_id, []).append(one)
        draws = {one.entry_id: one for one in await opened.drawn()}
        # Do not load entries for thumbs: end users may have given very many.
        reviewed = {name: ones for name, ones in said.items() if not all(map(_is_thumb, ones))}
        found = [await opened.get(name) for name in dict.fromkeys([*reviewed, *draws])]
    finally:
        await opened.aclose()
    thumbs = len(said) - len(reviewed)
    if not reviewed:
        by = f" by {', '.join(map(repr, raters))}" if raters else ""
        but = f" but {thumbs} end users' thumbs" if thumbs else ""
        raise ConfigurationError(
            f"the journal {_name(journal)!r} has no feedback{by}{but}; draw entries with `resay"
            " label --draw 60 --by random` and label them"
        )
    entries = [entry for entry in found if entry is not None]
    names = sorted({entry.policy for entry in entries if entry.id in reviewed})
    if recorded_as is None and len(names) > 1:
        raise ConfigurationError(
            f"feedback is on entries of several policies: {', '.join(map(repr, names))}; name the"
            " one to calibrate with --policy-name"
        )
    recorded_as = recorded_as or names[0]
    if recorded_as not in names:
        raise ConfigurationError(
            f"there is no feedback on entries of a policy {recorded_as!r}; there is on those of"
            f" {', '.join(map(repr, names))}"
        )
    entries = [entry for entry in entries if entry.policy == recorded_as]
    return _labelled(_name(journal), entries, said, draws, policy, thumbs)


read_journal_labels = sync_version(aread_journal_labels)
"""The synchronous version of `aread_journal_labels`."""


def journal_config_of(journal: str) -> JournalConfig:
    """Return the configuration that opens a journal.

    Args:
        journal: A file, or the address of a database.

    Raises:
        ConfigurationError: There is no such file, or the address is invalid.
    """
    config = None
    with suppress(ValidationError):
        config = JournalConfig(url=journal if "://" in journal else f"sqlite:///{journal}")
    # Raise outside of the handler, whose exception may contain a password.
    if config is None:
        raise ConfigurationError(
            "the address of a journal must be sqlite:///FILE or"
            " postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    if config.file is not None and not Path(config.file).expanduser().exists():
        raise ConfigurationError(f"no journal at {config.file!r}; pass its file or its address")
    return config


def _name(journal: str) -> str:
    # An address may contain a password.
    file = journal_config_of(journal).file
    name = "PostgreSQL journal" if file is None else Path(file).name
    return "".join(c if c.isprintable() else "?" for c in name)


def methods_of(policy: Policy) -> list[str]:
    """Return the methods that a policy's verdicts may contain, in order."""
    second = ["cross_model"] if policy.second is not None else []
    return [*(step.method_name for step in policy.chain), *second]


def _labelled(
    name: str,
    entries: Sequence[Entry],
    said: Mapping[str, Sequence[Feedback]],
    draws: Mapping[str, Draw],
    policy: Policy,
    thumbs: int,
) -> LabelledEntries:
    methods = methods_of(policy)
    counts = Counter(thumbs=thumbs)
    kept: list[tuple[LabelledRow, Verdict, Draw]] = []
    for entry in entries:
        verdict = Verdict.from_dict(entry.verdict)
        draw = draws.get(entry.id)
        row = _row(entry, verdict, said.get(entry.id, ()))
        if any(step.method not in methods for step in verdict.steps):
            counts["other_chain"] += 1
        elif isinstance(row, str):
            is_random = draw is not None and draw.method == "random"
            counts[row] += row != "waiting" or is_random
        elif entry.decision not in ("consistent", "flagged"):
            counts["undecided"] += 1
        elif draw is None:
            counts["undrawn"] += 1
        else:
            counts["random" if draw.method == "random" else "uncertain"] += 1
            kept.append((row, verdict, draw))
    return LabelledEntries(
        name,
        tuple(row for row, _, _ in kept),
        tuple(verdict for _, verdict, _ in kept),
        tuple(draw for _, _, draw in kept),
        FeedbackCounts(**counts),
    )


def _is_thumb(one: Feedback) -> bool:
    return one.source == "api" and one.about == "answer"


def _row(entry: Entry, verdict: Verdict, said: Sequence[Feedback]) -> LabelledRow | str:
    """Return the label of an entry, or the reason why it has none."""
    reviewed = [one for one in said if not _is_thumb(one)]
    if not reviewed:
        return "waiting"
    whole = [one for one in reviewed if one.claim is None]
    labels = {one.hallucinated(entry.decision) for one in whole} - {None}
    claims = _claims(entry, verdict, reviewed)
    # An entry with a hallucinated claim is hallucinated.
    if any(True in of_claim for of_claim in claims.values()):
        labels.add(True)
    if len(labels) > 1 or any({True, False} <= of_claim for of_claim in claims.values()):
        return "disagreed"
    sentences = _sentences(verdict, claims)
    if not labels and not sentences:
        # Without a decision, a verdict cannot be right or wrong.
        decided = entry.decision in ("consistent", "flagged")
        return "unsure" if decided else "undecided"
    own = labels.pop() if labels else any(sentence.wrong for sentence in sentences)
    return LabelledRow(f"entry {entry.id}", entry.id, hallucinated=own, sentences=sentences)


def _claims(
    entry: Entry, verdict: Verdict, said: Sequence[Feedback]
) -> Mapping[int, set[bool | None]]:
    """Return the labels of claims, or of sentences if there are no claims, by their indices."""
    parts = verdict.claims or verdict.sentences
    found: dict[int, set[bool | None]] = {}
    for one in said:
        if one.claim is not None and one.claim < len(parts):
            label = one.hallucinated(entry.decision, parts[one.claim].flagged)
            found.setdefault(one.claim, set()).add(label)
    return found


def _sentences(
    verdict: Verdict, claims: Mapping[int, set[bool | None]]
) -> tuple[LabelledSentence, ...]:
    """Return the labels of all sentences; nothing if any sentence has none.

    Raters who rate only some claims choose which, and those do not represent the others.
    """
    labels: list[set[bool | None]] = [set() for _ in verdict.sentences]
    parts = verdict.claims or verdict.sentences
    for place, part in enumerate(parts):
        sentence = getattr(part, "sentence", place)
        if 0 <= sentence < len(labels):
            labels[sentence] |= claims.get(place, {None})
    if not labels or any(True not in label and label != {False} for label in labels):
        return ()
    return tuple(LabelledSentence(None, True in label) for label in labels)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two raters agree about whole entries.

    Attributes:
        raters: Their names.
        both_hallucinated: The number of entries that both call hallucinated.
        first_only: The number that only the first calls hallucinated.
        second_only: The number that only the second calls hallucinated.
        both_correct: The number that both call correct.
        unsure: The number rated by both that one is unsure of, or without a decision; left out.
    """

    raters: tuple[str, str]
    both_hallucinated: int = 0
    first_only: int = 0
    second_only: int = 0
    both_correct: int = 0
    unsure: int = 0

    @property
    def entries(self) -> int:
        """The number of entries that both have labelled."""
        return self.both_hallucinated + self.first_only + self.second_only + self.both_correct

    @property
    def agreed(self) -> int:
        """The number of entries on which they agree."""
        return self.both_hallucinated + self.both_correct

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: 1 if they always agree, 0 if no more often than by chance.

        None if it is undefined: there are no entries, or all have the same label.
        """
        n = self.entries
        first = self.both_hallucinated + self.first_only
        second = self.both_hallucinated + self.second_only
        by_chance = first * second + (n - first) * (n - second)
        if by_chance == n * n:
            return None
        return (n * self.agreed - by_chance) / (n * n - by_chance)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        counted = {"entries": self.entries, "agreed": self.agreed, "kappa": self.kappa}
        return {**asdict(self), "raters": list(self.raters), **counted}

    def __str__(self) -> str:
        kappa = "not defined" if self.kappa is None else f"{self.kappa:.2f}"
        share = f" ({100 * self.agreed / self.entries:.1f} %)" if self.entries else ""
        one, other = (rater or "somebody" for rater in self.raters)
        return (
            f"{one} and {other}: {self.agreed} of {self.entries} entries alike{share}, Cohen's"
            f" kappa {kappa}; both hallucinated {self.both_hallucinated}, both correct"
            f" {self.both_correct}, only {one} hallucinated {self.first_only}, only {other}"
            f" {self.second_only}; unsure {self.unsure}"
        )


def agreements(said: Iterable[Feedback], decisions: Mapping[str, Decision]) -> list[Agreement]:
    """Return how far each two raters agree, pairs with the most entries first.

    Args:
        said: The feedback. Claims and end users' thumbs do not count.
        decisions: The decisions of the entries' checks, by id.
    """
    by_entry: dict[str, dict[str, bool | None]] = {}
    for one in said:
        if one.claim is None and not _is_thumb(one) and one.entry_id in decisions:
            label = one.hallucinated(decisions[one.entry_id])
            by_entry.setdefault(one.entry_id, {})[one.rater] = label
    found: dict[tuple[str, str], Counter[str]] = {}
    for labels in by_entry.values():
        for pair in combinations(sorted(labels), 2):
            cell = _CELLS.get((labels[pair[0]], labels[pair[1]]), "unsure")
            found.setdefault(pair, Counter())[cell] += 1
    all_pairs = [Agreement(pair, **cells) for pair, cells in found.items()]
    return sorted(all_pairs, key=lambda one: (-one.entries, one.raters))


_CELLS: Mapping[tuple[bool | None, bool | None], str] = {
    (True, True): "both_hallucinated",
    (True, False): "first_only",
    (False, True): "second_only",
    (False, False): "both_correct",
}


async def aread_agreements(journal: Journal) -> list[Agreement]:
    """Return how far the raters of a journal's entries agree.

    Raises:
        JournalError: The journal cannot be read.
    """
    said = await journal.feedback()
    raters: dict[str, set[str]] = {}
    for one in said:
        if not _is_thumb(one):
            raters.setdefault(one.entry_id, set()).add(one.rater)
    entries = [await journal.get(name) for name, known in raters.items() if len(known) > 1]
    return agreements(said, {entry.id: entry.decision for entry in entries if entry is not None})
