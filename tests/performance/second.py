"""How many consistent mistakes of a model a second model finds, and at what cost.

Both models know the same subjects. The first has a tenth of the facts wrong, the same way each
time, and the second another tenth. Beside its facts each answer has a detail that the model invents
anew each time, which consistency finds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import anyio
import typer

from resay import Guard, Request, Usage, Verdict
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay.plugins import Completion, Completions
from resay.testing import Invention, Subject, World
from resay.testing.tasks import find_task
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result
from resay_lab.benchmarks.table import Column, ResultTable

__all__ = ["FIRST", "SECOND", "WAYS", "Models", "Worlds", "ask", "second"]

FIRST, SECOND = "simulated/first", "simulated/second"
_KINDS = ("mill", "bridge", "tower", "canal", "library", "lighthouse", "theatre", "railway")
_ENDINGS = ("ford", "wick", "holm", "stead", "mouth", "field", "haven", "bury")
_STEMS = ("Aber", "Brack", "Cald", "Dun", "Eskel", "Fal", "Grim", "Hal", "Ilm", "Kest", "Lind")
_PEOPLE = ("Agnes Thorne", "Albin Marwick", "Cora Quill", "Silas Pendrake", "Mabel Selwater")
_TEMPLATES = (
    ("The {name} was opened in {value}.", "In {value} the {name} was opened."),
    ("The {name} was designed by the architect {value}.",),
    ("The {name} measures {value} metres from end to end.",),
    ("The {name} employed {value} workers when it was built.",),
)


@dataclass(frozen=True, slots=True)
class Worlds:
    """The facts of both models.

    Attributes:
        first: The facts of the first model.
        second: The facts of the second model.
        wrong: The facts that the first model has wrong, in its wordings.
        right: The facts that it has right, in its wordings.
        doubted: Those of its facts that the second model has wrong.
    """

    first: World
    second: World
    wrong: frozenset[str]
    right: frozenset[str]
    doubted: frozenset[str]

    @classmethod
    def of(
        cls, subjects: int, *, wrong: float = 0.1, unknown: float = 0.0, seed: int = 0
    ) -> Worlds:
        """Return two worlds.

        Args:
            subjects: How many subjects both know.
            wrong: The share of the facts that each has wrong; they have none of these in common.
            unknown: The share of the facts that the second has never heard of.
            seed: The seed of the facts.
        """
        rng = random.Random(seed)
        numbers = [(i, n) for i in range(subjects) for n in range(len(_TEMPLATES))]
        rng.shuffle(numbers)
        count = round(wrong * len(numbers))
        first_mistakes = frozenset(numbers[:count])
        second_mistakes = frozenset(numbers[count : 2 * count])
        first: list[Subject] = []
        second: list[Subject] = []
        kinds: dict[str, set[str]] = {"wrong": set(), "right": set(), "doubted": set()}
        for i in range(subjects):
            name = f"{_STEMS[i % 11]}{_ENDINGS[i // 11 % 8]} {_KINDS[i // 88 % 8]} {i:03}"
            truth = _values(rng)
            false = _values(rng, other_than=truth)
            invention = Invention(f"The first visitor of the {name} was {{person}} in {{year}}.")
            facts: list[tuple[str, ...]] = []
            for n in range(len(_TEMPLATES)):
                value = false[n] if (i, n) in first_mistakes else truth[n]
                fact = _wordings(n, name, value)
                facts.append(fact)
                kinds["wrong" if (i, n) in first_mistakes else "right"].update(fact)
                if (i, n) in second_mistakes:
                    kinds["doubted"].update(fact)
            first.append(Subject(name, (), facts, (invention,)))
            second_facts: list[tuple[str, ...]] = []
            for n in range(len(_TEMPLATES)):
                # The second model knows the first fact of every subject.
                if n == 0 or rng.random() >= unknown:
                    value = false[n] if (i, n) in second_mistakes else truth[n]
                    second_facts.append(_wordings(n, name, value))
            second.append(Subject(name, (), second_facts, (invention,)))
        return cls(
            first=World(first),
            second=World(second),
            wrong=frozenset(kinds["wrong"]),
            right=frozenset(kinds["right"]),
            doubted=frozenset(kinds["doubted"]),
        )


def _wordings(template: int, name: str, value: str) -> tuple[str, ...]:
    return tuple(text.format(name=name, value=value) for text in _TEMPLATES[template])


def _values(rng: random.Random, other_than: Sequence[str] = ()) -> list[str]:
    while True:
        year, length, workers = rng.randint(1712, 1994), rng.randint(20, 980), rng.randint(30, 900)
        values = [str(year), rng.choice(_PEOPLE), str(length), str(workers)]
        if not any(a == b for a, b in zip(values, other_than, strict=False)):
            return values


@dataclass(slots=True)
class Models:
    """Both models behind one provider, which counts the calls of each.

    Attributes:
        worlds: The facts of both.
        calls: How many calls each got.
    """

    worlds: Worlds
    calls: Counter[str] = field(default_factory=Counter[str])
    _drawn: Counter[str] = field(default_factory=Counter[str])

    async def takes_n(self, request: Request) -> bool:
        """Return that each answer takes a request of its own."""
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Answer as the model of the request."""
        model = request.model or FIRST
        self.calls[model] += 1
        world = self.worlds.second if model == SECOND else self.worlds.first
        prompts = [
            str(message["content"]) for message in request.messages if message["role"] == "user"
        ]
        key = f"{model} {prompts}"
        self._drawn[key] += 1
        rng = random.Random(f"{self._drawn[key]} {key}")
        task = find_task(prompts)
        text = task.answer(world, rng) if task else world.answer(prompts[-1], rng).text
        return Completions((Completion(text),), Usage(1, len(str(prompts)) // 4, len(text) // 4))


@dataclass(frozen=True, slots=True)
class Way:
    """A way of checking.

    Attributes:
        name: What it is called.
        chain: The method that compares with the first model's own samples.
        second: The policy's `second_opinion`, without its model; None for no second model.
    """

    name: str
    chain: str
    second: Mapping[str, Any] | None = None

    @property
    def policy(self) -> Mapping[str, Any]:
        """The policy of its guard."""
        modes = {"mode": "per_sample"} if self.chain == "prompt" else {}
        policy: dict[str, Any] = {
            "chain": [{"method": self.chain, **modes}],
            "cache": {"store": "none"},
        }
        if self.second is not None:
            policy["second_opinion"] = {"model": SECOND, **self.second}
        return policy


WAYS = (
    Way("prompt", "prompt"),
    Way("prompt, verification", "prompt", {}),
    Way("prompt, verification, share 0.5", "prompt", {"share": 0.5}),
    Way("prompt, verification, share 0", "prompt", {"share": 0.0}),
    Way("prompt, samples", "prompt", {"ask": "samples"}),
    Way("facts", "facts"),
    Way("facts, verification", "facts", {}),
    Way("facts, samples", "facts", {"ask": "samples"}),
)
"""The ways of checking, in order."""


@dataclass(slots=True)
class Tally:
    """The counts of one way.

    Attributes:
        answers: How many answers were checked.
        inconclusive: How many verdicts were inconclusive.
        calls: How many calls the checks made, by model.
        flagged: How many claims of each kind were flagged.
        claims: How many claims of each kind there were.
    """

    answers: int = 0
    inconclusive: int = 0
    calls: Counter[str] = field(default_factory=Counter[str])
    flagged: Counter[str] = field(default_factory=Counter[str])
    claims: Counter[str] = field(default_factory=Counter[str])

    def add(self, verdict: Verdict, worlds: Worlds) -> None:
        """Count the claims of one answer."""
        self.answers += 1
        self.inconclusive += verdict.inconclusive
        for sentence in verdict.sentences:
            kind = "made up"
            if sentence.text in worlds.wrong:
                kind = "wrong"
            elif sentence.text in worlds.doubted:
                kind = "doubted"
            elif sentence.text in worlds.right:
                kind = "right"
            self.claims[kind] += 1
            self.flagged[kind] += sentence.flagged

    def share(self, *kinds: str) -> float:
        """Return the share of the claims of some kinds that was flagged."""
        count = sum(self.claims[kind] for kind in kinds)
        return sum(self.flagged[kind] for kind in kinds) / count if count else 0.0


async def ask(way: Way, worlds: Worlds) -> Tally:
    """Ask the first model about each subject, and count the flagged claims.

    Args:
        way: How answers are checked.
        worlds: The facts of both models.
    """
    models, tally = Models(worlds), Tally()
    guard = Guard(way.policy, model=FIRST, provider=models)
    slots = anyio.Semaphore(8)

    async def ask_about(name: str) -> None:
        async with slots:
            answer = await guard.aask(f"Tell me about the {name}.")
            tally.add(answer.verdict, worlds)

    async with anyio.create_task_group() as tasks:
        for subject in worlds.first.subjects:
            tasks.start_soon(ask_about, subject.name)
    tally.calls = models.calls
    tally.calls[FIRST] -= tally.answers
    return tally


_COLUMNS = (
    Column("way", "way"),
    Column("wrong", "wrong each time, %", 1),
    Column("made_up", "made up, %", 1),
    Column("alarms", "false alarms, %", 1),
    Column("both_right", "both right, %", 1),
    Column("own", "first's calls", 2),
    Column("second", "second's", 2),
    Column("more", "more calls", 2),
)
_NOTES = (
    "wrong each time, made up: of these claims of the first model's answers, those that were"
    " flagged. false alarms: of its right claims, those that were flagged; both right: of those"
    " that the second model has right as well.",
    "first's calls, second's: the calls of a check to the first model (samples and judges, without"
    " the answer itself) and to the second. more calls: than the same chain with no second model.",
    "The models are simulated: the second contradicts whatever it believes otherwise. Real models"
    " share some of their mistakes, and overlook others.",
)


async def run(subjects: int, unknown: float = 0.0) -> ResultTable:
    """Check answers in all ways.

    Args:
        subjects: How many answers.
        unknown: The share of the facts that the second model has never heard of.

    Returns:
        A row for each way.
    """
    worlds = Worlds.of(subjects, unknown=unknown)
    rows: list[dict[str, Any]] = []
    alone: dict[str, float] = {}
    for way in WAYS:
        tally = await ask(way, worlds)
        own = tally.calls[FIRST] / tally.answers
        others = tally.calls[SECOND] / tally.answers
        alone.setdefault(way.chain, own + others)
        rows.append(
            {
                "way": way.name,
                "wrong": 100 * tally.share("wrong"),
                "made_up": 100 * tally.share("made up"),
                "alarms": 100 * tally.share("right", "doubted"),
                "both_right": 100 * tally.share("right"),
                "own": own,
                "second": others,
                "more": own + others - alone[way.chain],
            }
        )
    return ResultTable(
        "second", _COLUMNS, tuple(rows), _NOTES, {"answers": subjects, "unknown": unknown}
    )


def second(
    subjects: Annotated[int, typer.Option(min=10, help="How many answers are checked.")] = 250,
    unknown: Annotated[
        float, typer.Option(min=0, max=1, help="The facts that the second never heard of.")
    ] = 0.0,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what a second model finds of the mistakes that the first makes each time."""
    print_result(run_sync(run, subjects, unknown), format_of(as_json, as_markdown))
