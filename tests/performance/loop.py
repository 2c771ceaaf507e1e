"""The loop once through: answers are checked, some are labelled, and the policy is calibrated.

The simulated provider answers questions about things of which it knows some, and says what it
knows in one wording or another; of the others it makes up a part. So the truth of each answer is
known. A gateway checks them by a policy with the thresholds it came with; entries of its journal
are drawn at random and labelled by the truth; `resay calibrate` changes the policy's file; and new
questions are asked of a gateway with that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx
import typer

from resay import Policy
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_lab.calibration import (
    Calibration,
    Target,
    calibrate,
    read_journal_labels,
)
from resay_lab.calibration.diagrams import wilson
from resay_server.gateway import Gateway, GatewayConfig, serving
from resay_server.journal import Entry, JournalConfig, open_journal
from resay_server.labelling import SamplingCandidate, sample_entries
from simulation import Invention, SimulatedProvider, Subject, World

__all__ = ["Looped", "Share", "loop", "run"]

POLICY = """\
chain: [{method: ngram}]
sampling: {max: 5, confidence: null, start: after}
threshold: {passage: 0.5, sentence: 0.5}
"""
TARGET = Target("passage", "fpr", 0.2)
_AT_ONCE = 8
_FIRST = (
    *("Abern", "Brack", "Corv", "Dunst", "Ester", "Fallow", "Grims", "Halliv", "Ilmin", "Kestr"),
    *("Lindq", "Marw", "Nether", "Oller", "Pendr", "Quill", "Ravens", "Selw", "Thorn", "Ulver"),
)
_LAST = (
    *("ock", "well", "ane", "erfeld", "mont", "by", "holt", "ar", "ster", "elby", "vale", "ick"),
    *("cott", "ton", "ake", "on", "sby", "ater", "aby", "stone"),
)
_KINDS = ("Bridge", "Tower", "Theatre", "Garden")
# Each fact in wordings that share ever fewer words.
_FACTS = (
    ("{s} was opened in {year}.", "In {year} {s} was opened.", "Visitors came first in {year}."),
    ("It is {number} metres long.", "Its length is {number} metres.", "It measures {number} m."),
    ("It was designed by {person}.", "{person} designed it.", "The architect was {person}."),
    ("It stands in {place}.", "Its place is {place}.", "You find it at {place}."),
)
_MADE_UP = (
    "It was painted by {person} in {year:1900-1990}.",
    "About {number:1000-90000} people visit it every year.",
    "A copy of it was made in {place} by {person}.",
)

Rate = Callable[[Entry, bool], None]
"""Labels an entry: True if its answer is hallucinated."""


class _World(World):
    """One of so many subjects that looking for all of their names would take the longest."""

    def find(self, text: str) -> Subject | None:
        return next((subject for subject in self.subjects if subject.name in text), None)


Rating = Callable[[str], AbstractContextManager[Rate]]
"""Opens, by the gateway's address, what says it."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of some answers are flagged.

    Attributes:
        flagged: How many are.
        of: Of how many.
    """

    flagged: int
    of: int

    @property
    def value(self) -> float:
        """The share."""
        return self.flagged / self.of

    def __str__(self) -> str:
        low, high = wilson(self.flagged, self.of)
        return (
            f"{100 * self.value:.1f} % ({self.flagged} of {self.of};"
            f" {100 * low:.1f} to {100 * high:.1f})"
        )


@dataclass(frozen=True, slots=True)
class Looped:
    """What came of the loop.

    Attributes:
        calibration: What was found with the labels.
        policy: The policy's text, as it was changed.
        before: Of the first questions: the correct answers, and the hallucinated ones.
        after: The same of new questions, with the changed policy.
    """

    calibration: Calibration
    policy: str
    before: tuple[Share, Share]
    after: tuple[Share, Share]


def subjects(count: int, seed: int) -> tuple[list[Subject], Mapping[str, bool]]:
    """Return subjects to ask about, and which of them the model does not know well."""
    rng = random.Random(seed)
    names = [f"{first}{last} {kind}" for first in _FIRST for last in _LAST for kind in _KINDS]
    made: list[Subject] = []
    unknown: dict[str, bool] = {}
    for name in rng.sample(names, count):
        unknown[name] = rng.random() < 0.4
        wordings = rng.randint(2, 3)
        # What is true of it is the same however it is said.
        facts = [
            [
                Invention(wording.replace("{s}", f"the {name}")).say(random.Random(f"{name} {i}"))
                for wording in fact[:wordings]
            ]
            for i, fact in enumerate(_FACTS[: 2 if unknown[name] else None])
        ]
        inventions = [Invention(text) for text in _MADE_UP] if unknown[name] else []
        made.append(Subject(name, facts=facts, inventions=inventions))
    return made, unknown


def run(
    folder: Path, *, requests: int, new: int, labels: int, seed: int, rate: Rating | None = None
) -> Looped:
    """Go through the loop.

    Args:
        folder: Where the policy and the journal are.
        requests: How many questions are asked before.
        new: How many others after.
        labels: How many entries are labelled.
        seed: What all chance is drawn from.
        rate: How labels are given, by the gateway's address; None for its `POST /v1/feedback`.

    Returns:
        What came of it.
    """
    known, unknown = subjects(requests + new, seed)
    names = [subject.name for subject in known]
    file, url = folder / "policy.yaml", f"sqlite:///{folder / 'journal.db'}"
    file.write_text(POLICY, encoding="utf-8")
    with SimulatedProvider(world=_World(known), seed=seed) as provider:
        config = {
            "upstream": {"url": provider.root_url},
            "policies": {"default": str(file)},
            "journal": {"url": url, "content": "all"},
        }
        with serving(Gateway(GatewayConfig.of(config))) as address:
            before = _shares(_asked(address, names[:requests]), unknown)
            with (rate or by_api)(address) as rate_entry:
                _label(url, labels, seed, unknown, rate_entry)
        calibration = calibrate(
            file, read_journal_labels(url, Policy.load(file)), targets=[TARGET], seed=seed
        )
        text = calibration.write_into(POLICY)
        file.write_text(text, encoding="utf-8")
        with serving(Gateway(GatewayConfig.of(config))) as address:
            after = _shares(_asked(address, names[requests:]), unknown)
    return Looped(calibration, text, before, after)


@contextmanager
def by_api(address: str) -> Iterator[Rate]:
    """Label entries by `POST /v1/feedback`."""
    with httpx.Client(base_url=address) as client:

        def rate(entry: Entry, hallucinated: bool) -> None:
            # Feedback by the API is about the verdict unless it says otherwise.
            right = (entry.decision == "flagged") is hallucinated
            feedback = {"id": entry.request_id, "rating": "right" if right else "wrong"}
            client.post("/v1/feedback", json=feedback).raise_for_status()

        yield rate


def _asked(address: str, names: Sequence[str]) -> Mapping[str, bool]:
    """Ask of each thing, and return whether the answer was flagged."""
    with httpx.Client(timeout=60) as client:

        def ask(name: str) -> bool:
            message = {"role": "user", "content": _question(name)}
            body = {"model": "simulated", "messages": [message]}
            answer = client.post(f"{address}/v1/chat/completions", json=body)
            answer.raise_for_status()
            return answer.json()["hallucination"]["flagged"]

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(names, pool.map(ask, names), strict=True))


def _question(name: str) -> str:
    return f"Tell me about the {name}."


def _shares(flagged: Mapping[str, bool], unknown: Mapping[str, bool]) -> tuple[Share, Share]:
    correct = [flag for name, flag in flagged.items() if not unknown[name]]
    wrong = [flag for name, flag in flagged.items() if unknown[name]]
    return Share(sum(correct), len(correct)), Share(sum(wrong), len(wrong))


def _label(url: str, count: int, seed: int, unknown: Mapping[str, bool], rate: Rate) -> None:
    for entry in run_sync(_drawn, url, count, seed):
        rate(entry, next(u for name, u in unknown.items() if name in entry.question))


async def _drawn(url: str, count: int, seed: int) -> list[Entry]:
    journal = open_journal(JournalConfig(url=url))
    try:
        # Ids are not drawn from the seed, and entries are in the order in which checks ended.
        recent = sorted(await journal.recent(100_000), key=lambda entry: entry.question or "")
        entries = {entry.id: entry for entry in recent}
        limits = Policy.parse(POLICY).threshold
        candidates: list[SamplingCandidate] = []
        for entry in recent:
            candidate = SamplingCandidate.of(entry, limits)
            if candidate is not None:
                candidates.append(candidate)
        drawn = sample_entries(candidates, count, "random", now=0.0, seed=seed)
        await journal.add_sampled(drawn)
        return [entries[sampled.entry_id] for sampled in drawn]
    finally:
        await journal.aclose()


_COLUMNS = (
    Column("what", "answers"),
    Column("threshold", "threshold.passage, .sentence"),
    Column("false_alarms", "correct ones flagged"),
    Column("recall", "hallucinated ones flagged"),
)
_NOTES = (
    "Truth: what the simulated provider made up. The labels are by it too, without mistakes.",
    "In parentheses: counts, and the 95 % interval of Wilson.",
)


def loop(
    requests: Annotated[int, typer.Option(min=50, help="Questions, before and after.")] = 300,
    labels: Annotated[int, typer.Option(min=20, help="How many are labelled.")] = 60,
    seed: Annotated[int, typer.Option(help="What all chance is drawn from.")] = 0,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Check answers, label some, calibrate, and count false alarms before and after."""
    form = format_of(as_json, as_markdown)
    with TemporaryDirectory() as folder:
        looped = run(Path(folder), requests=requests, new=requests, labels=labels, seed=seed)
    print_result(table_of(looped, requests, labels), form)


def table_of(looped: Looped, requests: int, labels: int) -> ResultTable:
    """Return what came of the loop as a table."""
    calibration = looped.calibration
    old, new = calibration.old.threshold, calibration.policy.threshold
    counts = (calibration.counts.correct, calibration.counts.hallucinated)
    (alarms, fewer), (hits, remaining) = calibration.flagged(False), calibration.flagged(True)
    parts = (
        (f"{requests} before", old, looped.before),
        (f"the {labels} labelled", old, (Share(alarms, counts[0]), Share(hits, counts[1]))),
        (f"the {labels} labelled", new, (Share(fewer, counts[0]), Share(remaining, counts[1]))),
        (f"{requests} new ones after", new, looped.after),
    )
    rows: list[Row] = [
        {
            "what": what,
            "threshold": f"{limits.passage:g}, {limits.sentence:g}",
            "false_alarms": str(of_correct),
            "recall": str(of_wrong),
        }
        for what, limits, (of_correct, of_wrong) in parts
    ]
    return ResultTable("loop", _COLUMNS, tuple(rows), (*_NOTES, *calibration.promises()))
