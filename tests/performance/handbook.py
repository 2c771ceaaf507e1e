"""What regeneration makes of flawed answers about a handbook: what users get in the end.

A model answers questions about a made-up company's products (see `performance.handbook_world`); its
answers are checked, and those that are flagged are repaired by pages of the handbook. What counts
is the text that the user gets, and the verdict on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.util import find_spec
from itertools import product
from math import log
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Literal

import anyio
import yaml

from performance.handbook_models import (
    HandbookModel,
    Reads,
    attributes_in,
    by_reader,
    by_statements,
    by_words,
    statements,
)
from performance.handbook_world import ATTRIBUTES, Claim, Handbook, Question, chosen, says
from resay import Answer, Document, Guard, Passage
from resay.core.regeneration import Mode
from resay.core.tokens import tokenize
from resay.policy import default_text
from resay.retrieval import AdaptedRetriever, FolderRetriever, as_retriever
from resay_lab.benchmarks.table import Column, ResultTable, Row
from simulation import SimulatedInference
from simulation.inference import embed_words

__all__ = ["RETRIEVERS", "Judge", "Outcome", "Setting", "outcome_of", "run", "ways"]

RETRIEVERS = ("folder", "function", "qdrant")
"""Where pages are found."""

COLUMNS = (
    Column("retriever", "pages from"),
    Column("k", "k", 0),
    Column("otherwise", "otherwise"),
    Column("findable", "findable %", 1),
    Column("harmed", "right harmed", 0),
    Column("repaired", "inventions repaired %", 1),
    Column("standing", "inventions standing %", 1),
    Column("acquitted", "acquitted", 0),
    Column("outdated_chosen", "old value chosen", 0),
    Column("outdated_repaired", "new value %", 1),
    Column("unsaid_told", "undocumented: told %", 1),
    Column("unsaid_otherwise", "undocumented: otherwise %", 1),
    Column("unsaid_standing", "undocumented: standing %", 1),
    Column("citations_right", "citations right %", 1),
    Column("calls", "calls", 2),
    Column("documents", "documents", 2),
    Column("remark", "remark"),
)
"""What readers see of a row."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What is asked, and in which ways.

    Attributes:
        questions: How many, of all groups alike.
        retrievers: Where pages are found.
        ks: How many of them each search gives.
        otherwise: What happens to an answer that could not be repaired.
        mode: How it is repaired.
        seed: What the handbook and the questions are drawn from.
    """

    questions: int = 120
    retrievers: tuple[str, ...] = RETRIEVERS
    ks: tuple[int, ...] = (3, 6)
    otherwise: tuple[str, ...] = ("annotate", "block")
    mode: Mode = "repair"
    seed: int = 0


Judge = Literal["statements", "words"]
"""Who reads what Resay asks; see `run`."""
Way = tuple[str, int, str]
"""A retriever, its k, and what happens otherwise."""


def ways(setting: Setting) -> list[Way]:
    """Return the ways of asking, in order."""
    return list(product(setting.retrievers, setting.ks, setting.otherwise))


Outcome = Literal[
    "kept",
    "harmed",
    "repaired",
    "acquitted",
    "flagged",
    "old",
    "other",
    "removed",
    "told",
    "mistold",
    "otherwise",
]
"""What became of a claim.

kept: It was right, and stands there unflagged. harmed: It was right, and is changed, flagged or
withheld. repaired: The right value stands there unflagged. acquitted: The wrong value stands there
unflagged. flagged: It stands there, flagged. old: The value of an older edition stands there
unflagged. other: Another value stands there. removed: Nothing is said of it any more, and nothing
tells so. told: The text says that the handbook does not say it. mistold: It says so of something
else that was asked. otherwise: The answer was withheld,
or nothing of it is left and the verdict is flagged.
"""
_TELLS = re.compile(
    r"\b(?:documents?|handbook|sources?|pages?)\b[^.]*\b(?:do not|does not|don['’]t|doesn['’]t|not"
    r"|nothing|none)\b|\b(?:not|nothing|none|no)\b[^.]*\b(?:documents?|handbook|sources?|pages?)\b",
    re.IGNORECASE,
)


def outcome_of(claim: Claim, question: Question, answer: Answer) -> Outcome:
    """Return what became of a claim, by the text that the user gets and its verdict."""
    flagged = [s.text for s in answer.verdict.sentences if s.flagged]

    def stands(value: str | None) -> bool:
        return value is not None and not answer.blocked and says(answer.text, value)

    def is_flagged(value: str) -> bool:
        return any(says(text, value) for text in flagged)

    if claim.kind == "right":
        return "kept" if stands(claim.said) and not is_flagged(claim.said) else "harmed"
    if claim.old is not None and stands(claim.old):
        return "flagged" if is_flagged(claim.old) else "old"
    if stands(claim.said):
        return "flagged" if is_flagged(claim.said) else "acquitted"
    if claim.right is not None and stands(claim.right):
        return "flagged" if is_flagged(claim.right) else "repaired"
    sentences = [sentence.text for sentence in Passage.of(answer.text).sentences]
    told = [attributes_in(text) for text in sentences if _TELLS.search(text)]
    if told:
        # "The documents do not say this" is about what stood there.
        return "told" if any(not of or claim.attribute in of for of in told) else "mistold"
    if answer.blocked:
        return "otherwise"
    asked = " ".join(str(message["content"]) for message in question.messages)
    left = statements(answer.text, asked)
    if any(statement.attribute == claim.attribute for statement in left):
        return "other"
    return "otherwise" if answer.verdict.decision != "consistent" else "removed"


def citations_of(question: Question, answer: Answer, world: Handbook) -> Iterator[bool]:
    """Yield for each document that a sentence cites whether it says what the sentence says."""
    regeneration = answer.verdict.regeneration
    sources = {source.id: source for source in regeneration.sources} if regeneration else {}
    asked = " ".join(str(message["content"]) for message in question.messages)
    for sentence in answer.verdict.sentences:
        told = statements(sentence.text, asked)
        for name in sentence.citations:
            page = world.page_of(name)
            is_about = page is not None and page.product == question.product
            yield bool(told) and is_about and all(says(sources[name].text, t.value) for t in told)


async def run(
    setting: Setting,
    *,
    judge: Judge | Path = "statements",
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Ask all questions in all ways.

    Args:
        setting: What is asked, and in which ways.
        judge: Who reads what Resay asks: `statements` compares what sentences say of which product,
            `words` is the simulated provider, which compares words; or the folder of
            another judge.
        done: Called after each question.

    Returns:
        A row for each way.

    Raises:
        SkippedError: There is no such judge.
    """
    world = Handbook(setting.seed)
    questions = chosen(world.questions, setting.questions)
    reads: Reads = by_words if judge == "words" else by_statements
    if isinstance(judge, Path):
        reads = by_reader(judge, world)
    rows: list[Row] = []
    for way in ways(setting):
        name, k, otherwise = way
        about: Row = {"retriever": name, "k": k, "otherwise": otherwise}
        if name == "qdrant" and find_spec("qdrant_client") is None:
            rows.append({**about, "remark": "not installed"})
            continue
        async with _RETRIEVERS[name](world) as retriever:
            model = HandbookModel(questions, reads)
            policy = yaml.safe_load(default_text())
            policy |= {"cache": {"store": "none"}}
            policy["action"] = {
                "do": "regenerate",
                "mode": setting.mode,
                "k": k,
                "otherwise": otherwise,
            }
            guard = Guard(policy, provider=model, retriever=retriever)
            answers = await _asked(guard, questions, done)
            findable = await _findable(as_retriever(retriever), questions, world, k)
        row = _row_of(questions, answers, world)
        rows.append({**about, "findable": findable, **row, "misunderstood": model.misunderstood})
    about = {"setting": asdict(setting), "judge": "reader" if isinstance(judge, Path) else judge}
    about |= {"pages": len(world.pages), "questions": len(questions)}
    return ResultTable("handbook", COLUMNS, tuple(rows), _NOTES, about)


_AT_ONCE = 8


async def _asked(
    guard: Guard, questions: Sequence[Question], done: Callable[[], object]
) -> list[Answer]:
    answers: dict[str, Answer] = {}
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def ask(question: Question) -> None:
        async with limit:
            answers[question.name] = await guard.aask([*question.messages], model="handbook")
        done()

    async with anyio.create_task_group() as tasks:
        for question in questions:
            tasks.start_soon(ask, question)
    return [answers[question.name] for question in questions]


async def _findable(
    retriever: AdaptedRetriever, questions: Sequence[Question], world: Handbook, k: int
) -> float | None:
    """Return how often the question alone, with the product's name, finds the newest page."""
    found: list[bool] = []
    for question in questions:
        for claim in question.claims:
            if claim.right is None:
                continue
            asked = ATTRIBUTES[claim.attribute].question.format(s=question.product)
            pages = [(world.page_of(d.id), d.text) for d in await retriever.retrieve(asked, k=k)]
            found.append(
                any(p and p.product == question.product and says(t, claim.right) for p, t in pages)
            )
    return 100 * fmean(found) if found else None


def _row_of(questions: Sequence[Question], answers: Sequence[Answer], world: Handbook) -> Row:
    found: dict[str, Counter[str]] = {}
    failed: list[Row] = []
    cited: list[bool] = []
    for question, answer in zip(questions, answers, strict=True):
        outcomes = [outcome_of(claim, question, answer) for claim in question.claims]
        right = [*citations_of(question, answer, world)]
        cited += right
        for claim, outcome in zip(question.claims, outcomes, strict=True):
            # Where a claim beside it can only be withheld, the policy withholds both.
            unsaid = any(other.kind == "undocumented" for other in question.claims)
            if outcome == "harmed" and answer.blocked and unsaid:
                outcome = "otherwise"
            found.setdefault(claim.kind, Counter())[outcome] += 1
            if outcome not in _WANTED[claim.kind] or not all(right):
                failed.append(_failed(question, claim, outcome, answer))
    gone = {kind: sum(counts.values()) for kind, counts in found.items()}

    def share(kind: str, *outcomes: str) -> float | None:
        if not gone.get(kind):
            return None
        return 100 * sum(found[kind][outcome] for outcome in outcomes) / gone[kind]

    none = Counter[str]()
    wrong = [found.get(kind, none) for kind in ("invention", "outdated", "undocumented")]
    return {
        "harmed": found.get("right", none)["harmed"],
        "repaired": share("invention", "repaired"),
        "standing": share("invention", "acquitted", "flagged"),
        "acquitted": sum(counts["acquitted"] for counts in wrong),
        "outdated_chosen": found.get("outdated", none)["old"],
        "outdated_repaired": share("outdated", "repaired"),
        "unsaid_told": share("undocumented", "told"),
        "unsaid_otherwise": share("undocumented", "otherwise"),
        "unsaid_standing": share("undocumented", "acquitted", "flagged"),
        "citations": len(cited),
        "citations_right": 100 * fmean(cited) if cited else None,
        "calls": fmean(answer.usage.calls for answer in answers),
        "documents": fmean(len(_documents(answer)) for answer in answers),
        "claims": gone,
        "outcomes": {kind: dict(counts) for kind, counts in found.items()},
        "failed": failed,
    }


_WANTED: Mapping[str, tuple[Outcome, ...]] = {
    "right": ("kept", "otherwise"),
    "invention": ("repaired",),
    "outdated": ("repaired",),
    "undocumented": ("told", "otherwise"),
}


def _documents(answer: Answer) -> set[str]:
    regeneration = answer.verdict.regeneration
    return {name for a in (regeneration.attempts if regeneration else ()) for name in a.documents}


def _failed(question: Question, claim: Claim, outcome: str, answer: Answer) -> Row:
    regeneration = answer.verdict.regeneration
    return {
        "question": question.name,
        "asked": question.messages[-1]["content"],
        "product": question.product,
        "kind": claim.kind,
        "outcome": outcome,
        "said": claim.said,
        "right": claim.right,
        "old": claim.old,
        "draft": question.draft,
        "text": answer.text,
        "decision": answer.verdict.decision,
        "attempts": [
            {"queries": a.queries, "documents": a.documents, "error": a.error, "found": a.decision}
            for a in (regeneration.attempts if regeneration else ())
        ],
    }


@asynccontextmanager
async def _folder(world: Handbook) -> AsyncGenerator[object]:
    # The index may still be open when the folder goes, which only Windows minds.
    with TemporaryDirectory(prefix="resay-bench-", ignore_cleanup_errors=True) as place:
        pages = Path(place, "handbook")
        _write(world, pages)
        retriever = FolderRetriever(pages, index=Path(place, "index.sqlite"))
        await retriever.prepare()
        yield retriever


def _write(world: Handbook, folder: Path) -> None:
    folder.mkdir()
    for page in world.pages:
        (folder / page.path).write_text(page.markdown, encoding="utf-8")


@asynccontextmanager
async def _function(world: Handbook) -> AsyncGenerator[object]:
    documents = [document for page in world.pages for document in page.documents]
    words = [Counter(_stems(document.text)) for document in documents]
    holders = Counter(stem for counts in words for stem in counts)

    def find(query: str, k: int) -> list[Document]:
        asked = [stem for stem in set(_stems(query)) if stem in holders]
        scores = [
            sum(counts[word] / (counts[word] + 1) / holders[word] for word in asked)
            for counts in words
        ]
        best = sorted(range(len(documents)), key=lambda i: (-scores[i], documents[i].id))
        return [documents[i] for i in best[:k] if scores[i]]

    yield find


@asynccontextmanager
async def _qdrant(world: Handbook) -> AsyncGenerator[object]:
    from resay.retrieval.qdrant import QdrantRetriever

    # To the mean of a text's words, one that is nothing but names is the nearest to each of them.
    documents = [d for page in world.pages for d in page.documents if statements(d.text)]
    with (
        TemporaryDirectory(prefix="resay-bench-", ignore_cleanup_errors=True) as place,
        SimulatedInference(
            serves="embedder", dimensions=_DIMENSIONS, embed=_embedding(documents)
        ) as server,
    ):
        model = {"backend": "tei", "url": server.url}
        retriever = QdrantRetriever("handbook", model=model, path=place)
        try:
            await retriever.add(documents)
            yield retriever
        finally:
            await retriever.aclose()


_STEM = 5


def _stems(text: str) -> list[str]:
    """Return what the words of a text begin with; `X100-S` is one."""
    return [word[:_STEM].lower() for word in re.findall(r"\w+(?:-\w+)*", text)]


_DIMENSIONS = 512
_MOST = 3.0


def _embedding(documents: Sequence[Document]) -> Callable[[str], Sequence[float]]:
    """Return what gives words a vector: alike where they begin alike, and longer where rare."""
    stems = [{word[:_STEM].lower() for word in tokenize(d.text)} for d in documents]
    holders = Counter(stem for of_one in stems for stem in of_one)

    @cache
    def embed(word: str) -> Sequence[float]:
        stem = word[:_STEM].lower()
        rarity = log(len(documents) / holders[stem]) if stem in holders else 0.0
        # What a trained model goes by: what it is about, and what is said; a number says little.
        is_code = not stem.isalpha() and not stem.isdecimal()
        weight = 1.0 if stem.isdecimal() else _MOST if is_code else min(rarity, _MOST)
        weight = weight if stem.isalnum() else 0.0
        return [weight * number for number in embed_words([stem], _DIMENSIONS)[0]]

    return embed


_RETRIEVERS: Mapping[str, Callable[[Handbook], Any]] = {
    "folder": _folder,
    "function": _function,
    "qdrant": _qdrant,
}

_NOTES = (
    "findable: how often a search for the question, with the product's name, finds the newest"
    " page's section: what a repair can reach with these pages.",
    "right harmed: right claims that are changed, flagged or withheld. repaired: of the inventions,"
    " those in whose place the right value stands unflagged; standing: that the user still reads,"
    " flagged or not; acquitted: wrong values, undocumented ones among them, that the user reads"
    " unflagged.",
    "old value chosen: values of an older edition, unflagged. undocumented: told: the text says"
    " that the handbook does not say it; otherwise: withheld, or given without the invention under"
    " a verdict that is flagged; standing: the invented value is still there.",
    "citations right: cited documents about the product that have the value. documents: that the"
    " searches for an answer found, each once.",
    "The judge reads prompts and knows no product. What it cannot know from a prompt, such as whom"
    " a bare sentence is about, counts in favour of the sentence.",
)
