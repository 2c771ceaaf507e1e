"""What a regeneration costs, beside one guarded answer, against a provider that takes its time.

The same questions are asked in several ways, in turns, so that a machine that is busy for a while
slows all of them. The model knows the subjects by half, so that every draft says things that it
cannot say twice. A question has its own `seed`, which the main call alone gets: each way repairs
the same drafts.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import resay
from performance.regenerate_rows import COLUMNS, RequestCost, row_of
from performance.serving import simulated_elsewhere
from performance.turns import Ask, Setting, in_turns
from resay import Guard, Request
from resay.adapters.providers import LiteLLMProvider, Metered
from resay.core.regeneration import Mode
from resay.retrieval import FolderRetriever, Retriever
from resay_lab.benchmarks.table import ResultTable
from simulation import World

__all__ = ["DEFAULT", "WAYS", "Way", "run"]

_MODEL = "openai/gpt-4.1-mini"
_SUBJECTS = tuple(subject.name for subject in World.default().subjects)
# They come with the demo, which is built upon the benches; they are data, not a module.
_DOCUMENTS = Path(resay.__file__).parent / "cli" / "demo_documents"
_CHAINS: Mapping[str, Mapping[str, Any]] = {
    "prompt": {"method": "prompt", "mode": "per_sample"},
    "ngram": {"method": "ngram"},
}

DEFAULT = Setting(requests=120, concurrency=4)
"""What is asked unless something else is said."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way of asking.

    Attributes:
        name: What it is called.
        chain: What checks the answer; None for nothing.
        mode: How a flagged answer is repaired; None for not at all.
        held: Whether the answer is streamed, and held until its sentences are checked.
    """

    name: str
    chain: str | None = None
    mode: Mode | None = None
    held: bool = False

    @property
    def policy(self) -> Mapping[str, Any]:
        """The policy of its guard."""
        action = {"do": "regenerate", "mode": self.mode} if self.mode else {"do": "annotate"}
        return {
            "chain": [_CHAINS[self.chain or "prompt"]],
            "cache": {"store": "none"},
            "action": action,
        }

    @property
    def guarded(self) -> str | None:
        """The name of the way that does the same and repairs nothing; None where none does."""
        same = (w for w in WAYS if (w.chain, w.held, w.mode) == (self.chain, self.held, None))
        return next((way.name for way in same), None) if self.chain else None


WAYS = (
    Way("unguarded"),
    Way("prompt", "prompt"),
    Way("prompt, repair", "prompt", "repair"),
    Way("prompt, rewrite", "prompt", "rewrite"),
    Way("ngram", "ngram"),
    Way("ngram, repair", "ngram", "repair"),
    Way("ngram, rewrite", "ngram", "rewrite"),
    Way("hold, prompt", "prompt", held=True),
    Way("hold, prompt, repair", "prompt", "repair", held=True),
    Way("hold, ngram", "ngram", held=True),
    Way("hold, ngram, repair", "ngram", "repair", held=True),
)
"""The ways of asking, in order."""


async def run(
    setting: Setting = DEFAULT, *, done: Callable[[], object] = lambda: None
) -> ResultTable:
    """Measure all ways.

    Args:
        setting: What is asked, and how long it takes.
        done: Called after each request.

    Returns:
        A row for each way.

    Raises:
        SkippedError: It cannot be measured here.
        MissingDependencyError: litellm is not installed.
    """
    with simulated_elsewhere(**setting.server) as params:
        async with _documents() as retriever:
            asks = {way.name: _asking(way, params, retriever) for way in WAYS}
            # The provider imports litellm quietly; by itself it fetches a list of prices first.
            await LiteLLMProvider().takes_n(Request((), _MODEL))
            # Everything once before, for what is loaded at the first use.
            for ask in asks.values():
                await ask(setting.requests)
            costs = await in_turns(asks, setting, done)
    rows = [row_of(way.name, costs[way.name], costs.get(way.guarded or "")) for way in WAYS]
    return ResultTable("regenerate", COLUMNS, tuple(rows), _NOTES, {"setting": asdict(setting)})


@asynccontextmanager
async def _documents() -> AsyncGenerator[Retriever]:
    # The index may still be open when the folder goes, which only Windows minds.
    with TemporaryDirectory(prefix="resay-bench-", ignore_cleanup_errors=True) as folder:
        retriever = FolderRetriever(_DOCUMENTS, index=Path(folder, "index.sqlite"))
        await retriever.prepare()
        yield retriever


def _asking(way: Way, params: Mapping[str, Any], retriever: Retriever) -> Ask[RequestCost]:
    if way.chain is None:
        return lambda number: _plainly(_query(number, params))
    guard = Guard(way.policy, retriever=retriever if way.mode else None)
    ask = _held if way.held else _whole
    return lambda number: ask(guard, _query(number, params))


def _query(number: int, params: Mapping[str, Any]) -> Request:
    seed, subject = divmod(number, len(_SUBJECTS))
    question = f"Tell me about {_SUBJECTS[subject]}."
    return Request.of(question, model=_MODEL, params={"seed": seed, **params})


async def _plainly(request: Request) -> RequestCost:
    meter = Metered(LiteLLMProvider())
    started = time.perf_counter()
    await meter.complete(request)
    return RequestCost(time.perf_counter() - started, meter.usage)


async def _whole(guard: Guard, request: Request) -> RequestCost:
    started = time.perf_counter()
    answer = await guard.aask(request)
    return RequestCost.by(answer, time.perf_counter() - started)


async def _held(guard: Guard, request: Request) -> RequestCost:
    first_s: float | None = None
    started = time.perf_counter()
    async with guard.astream(request, stream_mode="hold") as stream:
        async for part in stream:
            if first_s is None and part.text.strip():
                first_s = time.perf_counter() - started
    return RequestCost.by(stream.answer, time.perf_counter() - started, first_s)


_NOTES = (
    "Each way is asked the same questions, about what the model knows by half, and repairs the same"
    " drafts. Nothing is cached. prompt: a judge's answer for each sample; both chains draw 3 to 5"
    " samples, as many as the decision takes.",
    "guarded: the way with the same chain, whole or streamed, that marks flagged answers, repairing"
    " nothing. first: the first sentence of a stream released, in ms. repair: searching, comparing"
    " the draft with what was found, writing, and checking what was written, in ms at p50.",
    "flagged, repaired, consistent: of all answers, the drafts that were flagged, those in whose"
    " place another was given, and the answers that were consistent with what was found in the end."
    " removed: of the sentences that a repair changed, those it left out, since no document spoke"
    " of the same.",
    "The model is simulated and writes what the documents say and nothing else, so that the shares"
    " say that the machinery works and not how often a real model's answer is repaired. Its answers"
    " take the same time however short they are: a real model's one sentence of a repair takes less"
    " than a whole answer.",
    "Dollars are at the price that litellm knows for the name the model pretends to.",
)
