"""How well regeneration repairs flawed answers about a handbook.

A model answers questions about a made-up company's products (see `performance.handbook_world`). Its
answers are checked, and flagged ones are repaired with pages of the handbook. What counts is the
text that the user gets, and the verdict on it.
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
from performance.handbook_world import ATTRIBUTES, Claim, Handbook, Question, choose_questions, says
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
"""The retrievers that find pages."""

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
    """The questions of a run, and the ways of repairing their answers.

    Attributes:
        questions: How many questions, from all groups alike.
        retrievers: The retrievers, from `RETRIEVERS`.
        ks: How many documents a search returns; each is a way.
        otherwise: The actions on an answer that could not be repaired; each is a way.
        mode: How answers are repaired.
        seed: The seed of the handbook and of the questions.
    """

    questions: int = 120
    retrievers: tuple[str, ...] = RETRIEVERS
    ks: tuple[int, ...] = (3, 6)
    otherwise: tuple[str, ...] = ("annotate", "block")
    mode: Mode = "repair"
    seed: int = 0


Judge = Literal["statements", "words"]
"""How the judge reads prompts; see `run`."""
Way = tuple[str, int, str]
"""A retriever, its k, and the action on an answer that could not be repaired."""


def ways(setting: Setting) -> list[Way]:
    """Return all ways, in order."""
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

kept: It was right, and is in the text, unflagged. harmed: It was right, and is changed, flagged or
withheld. repaired: The right value is in the text, unflagged. acquitted: The wrong value is in the
text, unflagged. flagged: The value is in the text, flagged. old: The value of an older edition is
in the text, unflagged. other: Another value is in the text. removed: The text has no value, and
does not say why. told: The text says that the handbook has no value. mistold: It says so of
another attribute. otherwise: The answer was withheld, or the text has no value and the verdict is
flagged.
"""
_UNDOCUMENTED = re.compile(
    r"\b(?:documents?|handbook|sources?|pages?)\b[^.]*\b(?:do not|does not|don['’]t|doesn['’]t|not"
    r"|nothing|none)\b|\b(?:not|nothing|none|no)\b[^.]*\b(?:documents?|handbook|sources?|pages?)\b",
    re.IGNORECASE,
)


def outcome_of(claim: Claim, question: Question, answer: Answer) -> Outcome:
    """Return what became of a claim, by the text that the user gets and its verdict."""
    flagged = [sentence.text for sentence in answer.verdict.sentences if sentence.flagged]

    def in_text(value: str | None) -> bool:
        return value is not None and not answer.blocked and says(answer.text, value)

    def is_flagged(value: str) -> bool:
        return any(says(text, value) for text in flagged)

    if claim.kind == "right":
        return "kept" if in_text(claim.value) and not is_flagged(claim.value) else "harmed"
    if claim.old is not None and in_text(claim.old):
        return "flagged" if is_flagged(claim.old) else "old"
    if in_text(claim.value):
        return "flagged" if is_flagged(claim.value) else "acquitted"
    if claim.right is not None and in_text(claim.right):
        return "flagged" if is_flagged(claim.right) else "repaired"
    sentences = [sentence.text for sentence in Passage.of(answer.text).sentences]
    undocumented = [attributes_in(text) for text in sentences if _UNDOCUMENTED.search(text)]
    if undocumented:
        # "The documents do not say this", with no attribute, is about the claim itself.
        about_claim = any(not names or claim.attribute in names for names in undocumented)
        return "told" if about_claim else "mistold"
    if answer.blocked:
        return "otherwise"
    remaining = statements(answer.text, _conversation_text(question))
    if any(statement.attribute == claim.attribute for statement in remaining):
        return "other"
    return "otherwise" if answer.verdict.decision != "consistent" else "removed"


def citations_of(question: Question, answer: Answer, world: Handbook) -> Iterator[bool]:
    """Yield for each citation whether the document has the values of the sentence."""
    regeneration = answer.verdict.regeneration
    sources = {source.id: source for source in regeneration.sources} if regeneration else {}
    for sentence in answer.verdict.sentences:
        values = [item.value for item in statements(sentence.text, _conversation_text(question))]
        for document in sentence.citations:
            page = world.page_of(document)
            if page is None or page.product != question.product or not values:
                yield False
            else:
                yield all(says(sources[document].text, value) for value in values)


def _conversation_text(question: Question) -> str:
    return " ".join(str(message["content"]) for message in question.messages)


async def run(
    setting: Setting,
    *,
    judge: Judge | Path = "statements",
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Ask all questions in all ways.

    Args:
        setting: The questions, and the ways.
        judge: How the judge reads prompts: `statements` compares what sentences say of which
            product, `words` is the simulated provider, which compares words; or the folder of
            another judge.
        done: Called after each question.

    Returns:
        A row for each way.

    Raises:
        SkippedError: There is no such judge.
    """
    world = Handbook(setting.seed)
    questions = choose_questions(world.questions, setting.questions)
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
            answers = await _answers(guard, questions, done)
            findable = await _findable(as_retriever(retriever), questions, world, k)
        row = _row_of(questions, answers, world)
        rows.append({**about, "findable": findable, **row, "misunderstood": model.misunderstood})
    about = {"setting": asdict(setting), "judge": "reader" if isinstance(judge, Path) else judge}
    about |= {"pages": len(world.pages), "questions": len(questions)}
    return ResultTable("handbook", COLUMNS, tuple(rows), _NOTES, about)


_AT_ONCE = 8


async def _answers(
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
    """Return how often a search for an attribute of a product finds its right value, in percent."""
    findable: list[bool] = []
    for question in questions:
        for claim in question.claims:
            if claim.right is None:
                continue
            query = ATTRIBUTES[claim.attribute].question.format(s=question.product)
            documents = await retriever.retrieve(query, k=k)
            findable.append(
                any(
                    _has_value(document, question.product, claim.right, world)
                    for document in documents
                )
            )
    return 100 * fmean(findable) if findable else None


def _has_value(document: Document, product: str, value: str, world: Handbook) -> bool:
    page = world.page_of(document.id)
    return page is not None and page.product == product and says(document.text, value)


def _row_of(questions: Sequence[Question], answers: Sequence[Answer], world: Handbook) -> Row:
    outcomes: dict[str, Counter[str]] = {}
    failures: list[Row] = []
    citations: list[bool] = []
    for question, answer in zip(questions, answers, strict=True):
        own_citations = list(citations_of(question, answer, world))
        citations += own_citations
        undocumented = any(claim.kind == "undocumented" for claim in question.claims)
        for claim in question.claims:
            outcome = outcome_of(claim, question, answer)
            # Where a claim beside it can only be withheld, the policy withholds both.
            if outcome == "harmed" and answer.blocked and undocumented:
                outcome = "otherwise"
            outcomes.setdefault(claim.kind, Counter())[outcome] += 1
            if outcome not in _GOOD_OUTCOMES[claim.kind] or not all(own_citations):
                failures.append(_failure(question, claim, outcome, answer))
    claims = {kind: sum(counts.values()) for kind, counts in outcomes.items()}

    def share(kind: str, *names: str) -> float | None:
        if not claims.get(kind):
            return None
        return 100 * sum(outcomes[kind][name] for name in names) / claims[kind]

    none = Counter[str]()
    wrong = [outcomes.get(kind, none) for kind in ("invention", "outdated", "undocumented")]
    return {
        "harmed": outcomes.get("right", none)["harmed"],
        "repaired": share("invention", "repaired"),
        "standing": share("invention", "acquitted", "flagged"),
        "acquitted": sum(counts["acquitted"] for counts in wrong),
        "outdated_chosen": outcomes.get("outdated", none)["old"],
        "outdated_repaired": share("outdated", "repaired"),
        "unsaid_told": share("undocumented", "told"),
        "unsaid_otherwise": share("undocumented", "otherwise"),
        "unsaid_standing": share("undocumented", "acquitted", "flagged"),
        "citations": len(citations),
        "citations_right": 100 * fmean(citations) if citations else None,
        "calls": fmean(answer.usage.calls for answer in answers),
        "documents": fmean(len(_retrieved(answer)) for answer in answers),
        "claims": claims,
        "outcomes": {kind: dict(counts) for kind, counts in outcomes.items()},
        "failed": failures,
    }


_GOOD_OUTCOMES: Mapping[str, tuple[Outcome, ...]] = {
    "right": ("kept", "otherwise"),
    "invention": ("repaired",),
    "outdated": ("repaired",),
    "undocumented": ("told", "otherwise"),
}


def _retrieved(answer: Answer) -> set[str]:
    """Return the ids of the documents that the searches for an answer found."""
    regeneration = answer.verdict.regeneration
    documents: set[str] = set()
    for attempt in regeneration.attempts if regeneration else ():
        documents.update(attempt.documents)
    return documents


def _failure(question: Question, claim: Claim, outcome: str, answer: Answer) -> Row:
    regeneration = answer.verdict.regeneration
    return {
        "question": question.name,
        "asked": question.messages[-1]["content"],
        "product": question.product,
        "kind": claim.kind,
        "outcome": outcome,
        "said": claim.value,
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
    with TemporaryDirectory(prefix="resay-bench-", ignore_cleanup_errors=True) as folder:
        pages = Path(folder, "handbook")
        _write_pages(world, pages)
        retriever = FolderRetriever(pages, index=Path(folder, "index.sqlite"))
        await retriever.prepare()
        yield retriever


def _write_pages(world: Handbook, folder: Path) -> None:
    folder.mkdir()
    for page in world.pages:
        (folder / page.path).write_text(page.markdown, encoding="utf-8")


@asynccontextmanager
async def _function(world: Handbook) -> AsyncGenerator[object]:
    documents = [document for page in world.pages for document in page.documents]
    counts = [Counter(_stems(document.text)) for document in documents]
    document_counts = Counter[str]()
    for stems in counts:
        document_counts.update(stems.keys())

    def score(stems: Mapping[str, int], query_stems: Sequence[str]) -> float:
        """Return the sum of each stem's saturated frequency by how many documents have it."""
        total = 0.0
        for stem in query_stems:
            count = stems.get(stem, 0)
            total += count / (count + 1) / document_counts[stem]
        return total

    def search(query: str, k: int) -> list[Document]:
        query_stems = [stem for stem in set(_stems(query)) if stem in document_counts]
        scores = [score(stems, query_stems) for stems in counts]
        best = sorted(range(len(documents)), key=lambda i: (-scores[i], documents[i].id))
        return [documents[i] for i in best[:k] if scores[i]]

    yield search


@asynccontextmanager
async def _qdrant(world: Handbook) -> AsyncGenerator[object]:
    from resay.retrieval.qdrant import QdrantRetriever

    # To the mean of a text's words, one that is nothing but names is the nearest to each of them.
    documents = [d for page in world.pages for d in page.documents if statements(d.text)]
    with (
        TemporaryDirectory(prefix="resay-bench-", ignore_cleanup_errors=True) as folder,
        SimulatedInference(
            serves="embedder", dimensions=_DIMENSIONS, embed=_embedding(documents)
        ) as server,
    ):
        model = {"backend": "tei", "url": server.url}
        retriever = QdrantRetriever("handbook", model=model, path=folder)
        try:
            await retriever.add(documents)
            yield retriever
        finally:
            await retriever.aclose()


_STEM = 5


def _stems(text: str) -> list[str]:
    """Return the first letters of each word of a text; `X100-S` is one word."""
    return [word[:_STEM].lower() for word in re.findall(r"\w+(?:-\w+)*", text)]


_DIMENSIONS = 512
_MOST_WEIGHT = 3.0


def _embedding(documents: Sequence[Document]) -> Callable[[str], Sequence[float]]:
    """Return an embedding of words: similar where they begin alike, and longer where rare."""
    document_counts = Counter[str]()
    for document in documents:
        document_counts.update({word[:_STEM].lower() for word in tokenize(document.text)})

    @cache
    def embed(word: str) -> Sequence[float]:
        stem = word[:_STEM].lower()
        # As in a trained model, names of products and rare words weigh most, and numbers little.
        if not stem.isalnum():
            weight = 0.0
        elif stem.isdecimal():
            weight = 1.0
        elif not stem.isalpha():
            weight = _MOST_WEIGHT
        elif stem in document_counts:
            weight = min(log(len(documents) / document_counts[stem]), _MOST_WEIGHT)
        else:
            weight = 0.0
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
