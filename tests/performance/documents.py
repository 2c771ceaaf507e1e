"""What each way to compare with documents costs: calls, tokens and time.

Answers are written from documents: some claims word for word, some in other words, and some of both
with another value. The judge and the generative models are a server on this machine that knows what
is right and waits as long as one of their answers takes; the classifiers are networks of the real
shape with tiny, random weights, so that of them only the calls say anything.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from resay import Guard, Verdict
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result
from resay_lab.benchmarks.table import Column, ResultTable
from support.embeddings import ChatServer
from support.tiny_models import JUDGED_LABELS, make_modernbert, make_roberta

__all__ = ["WAYS", "Answer", "Server", "answers_of", "documents", "run"]

_STEMS = ("Aber", "Brack", "Cald", "Dun", "Eskel", "Fal", "Grim", "Hal", "Ilm", "Kest", "Lind")
_ENDINGS = ("ford", "wick", "holm", "stead", "mouth", "field", "haven", "bury")
_KINDS = ("mill", "bridge", "tower", "canal", "library", "lighthouse", "theatre", "railway")
_CHARS_PER_TOKEN = 4
# How many claims of an answer are of which sort, and how many of them have another value.
_SORTS = ("same words",) * 5 + ("other words",) * 4
_WRONG = 0.25
_SUBJECTS = 5


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact in a document, in its words, in others, and with another value in both.

    Attributes:
        sentence: Its sentence in the document.
        forms: By sort of claim, the right claim and the wrong one.
    """

    sentence: str
    forms: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its documents.

    Attributes:
        documents: The documents.
        claims: Each claim, with the index of its document, its sentence there, and whether it is
            right.
    """

    documents: tuple[str, ...]
    claims: Mapping[str, tuple[int, str, bool]]

    @property
    def text(self) -> str:
        """The answer."""
        return " ".join(self.claims)


def _facts(name: str, kind: str, rng: random.Random) -> list[Fact]:
    subject = f"{name} {kind}"
    year, length, workers = (
        rng.randint(1801, 1899),
        rng.randint(21, 89),
        rng.randint(11, 99),
    )
    templates = (
        (
            "The {subject} was opened in {value}.",
            "It was in {value} that the {subject} began its work.",
            year,
        ),
        (
            "The {subject} is {value} m long.",
            "From end to end, the {subject} measures {value} m.",
            length,
        ),
        (
            "The {subject} employs {value} people.",
            "The {subject} has a staff of {value} people.",
            workers,
        ),
    )
    facts: list[Fact] = []
    for same, other, value in templates:
        wrong = value + rng.randint(3, 9)
        forms = {
            sort: (
                template.format(subject=subject, value=value),
                template.format(subject=subject, value=wrong),
            )
            for sort, template in (("same words", same), ("other words", other))
        }
        facts.append(Fact(same.format(subject=subject, value=value), forms))
    return facts


def answers_of(count: int, seed: int = 1) -> list[Answer]:
    """Return answers, each of nine claims from three documents among five.

    Args:
        count: How many.
        seed: Makes others.
    """
    rng = random.Random(seed)
    names = [stem + ending for stem in _STEMS for ending in _ENDINGS]
    pool = rng.sample([(name, kind) for name in names for kind in _KINDS], _SUBJECTS * count)
    answers: list[Answer] = []
    for first in range(0, len(pool), _SUBJECTS):
        subjects = pool[first : first + _SUBJECTS]
        documents: list[str] = []
        claims: dict[str, tuple[int, str, bool]] = {}
        sorts = rng.sample(_SORTS, len(_SORTS))
        for index, (name, kind) in enumerate(subjects):
            facts = _facts(name, kind, rng)
            filler = "It stands near the river, which is known for its fog. Visitors are welcome."
            documents.append(" ".join([*(fact.sentence for fact in facts), filler]))
            for fact in facts if index < len(_SORTS) // len(facts) else ():
                right, wrong = fact.forms[sorts.pop()]
                is_right = rng.random() >= _WRONG
                claims[right if is_right else wrong] = index, fact.sentence, is_right
        answers.append(Answer(tuple(documents), claims))
    return answers


class Server(ChatServer):
    """Plays the judge and the generative models.

    Args:
        claims: The claims that it knows.
        latency_s: How long an answer takes.

    Attributes:
        calls: How many answers it gave.
        chars: How many characters it read and wrote.
    """

    def __init__(self, claims: Mapping[str, tuple[int, str, bool]], latency_s: float) -> None:
        super().__init__()
        self.reply = self._reply
        self.calls = 0
        self.chars = 0
        self._claims = claims
        self._latency_s = latency_s
        self._lock = threading.Lock()

    def _reply(self, body: Mapping[str, Any]) -> tuple[str, None]:
        """Wait, and return the answer to a request."""
        messages = body["messages"]
        if body.get("max_tokens") == 1 and "\nClaim: " not in messages[-1]["content"]:
            # The question whether it works.
            return "Yes", None
        text = self._text(messages[-1]["content"])
        time.sleep(self._latency_s)
        with self._lock:
            self.calls += 1
            self.chars += len(text) + sum(len(message["content"]) for message in messages)
        return text, None

    def _text(self, prompt: str) -> str:
        if "Answer to verify:" in prompt:
            text = prompt.rsplit("Answer to verify:\n", 1)[1]
            wrong = [c for c, (_, _, right) in self._claims.items() if not right and c in text]
            spans = [{"text": claim, "category": "contradiction"} for claim in wrong]
            return json.dumps({"hallucinated_spans": spans})
        if "\nClaim: " in prompt:
            document, claim = prompt.split("\nClaim: ", 1)
            _, sentence, is_right = self._claims[claim]
            return "Yes" if is_right and sentence in document else "No"
        listed = prompt.rsplit("<claims", 1)[1]
        verdicts: list[dict[str, Any]] = []
        for number, claim in re.findall(r"^(\d+)\. (.+)$", listed, re.MULTILINE):
            index, sentence, is_right = self._claims[claim]
            verdict: dict[str, Any] = {"claim": int(number), "quotes": [sentence]}
            verdict["supported_by"] = [index + 1] if is_right else []
            verdict["contradicted_by"] = [] if is_right else [index + 1]
            verdicts.append(verdict)
        return json.dumps(verdicts)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to compare with documents.

    Attributes:
        name: Its name.
        step: Its row in a policy, without the model.
        model: The name of the generative model, or of the tiny network; None if it has neither.
        decides: Whether its verdicts mean anything here.
    """

    name: str
    step: Mapping[str, Any]
    model: str | None = None
    decides: bool = True


_PROMPT = {"method": "prompt"}
_GROUNDING = {"method": "grounding"}
WAYS = (
    Way("words", {"method": "facts"}),
    Way("judge", _PROMPT),
    Way("judge, words first", {**_PROMPT, "words_first": True}),
    Way("classifier of claims", {**_GROUNDING, "format": "minicheck"}, "minicheck", decides=False),
    Way(
        "of claims, words first",
        {**_GROUNDING, "format": "minicheck", "words_first": True},
        "minicheck",
        decides=False,
    ),
    Way("classifier of tokens", _GROUNDING, "lettucedetect", decides=False),
    Way("generative, by claim", _GROUNDING, "bespoke-minicheck"),
    Way("by claim, words first", {**_GROUNDING, "words_first": True}, "bespoke-minicheck"),
    Way("generative, of spans", _GROUNDING, "lettucedect-chat"),
)


def _model(way: Way, server: Server, folder: Path) -> dict[str, Any]:
    """Return the setting `model` of a way, if it has one."""
    if way.model is None:
        return {}
    if way.model in ("minicheck", "lettucedetect"):
        # What one model has read is read from its cache the next time.
        path = folder / way.name.replace(" ", "-")
        if way.model == "minicheck":
            make_roberta(path, head=True, labels=JUDGED_LABELS, room=512)
        else:
            make_modernbert(path, room=4096)
        return {"model": str(path)}
    return {"model": {"backend": "chat", "name": way.model, "url": server.url}}


async def run(answers: int, latency_ms: float) -> ResultTable:
    """Compare answers with their documents in all ways.

    Args:
        answers: How many answers.
        latency_ms: How long an answer of a judge or a generative model takes.

    Returns:
        A row for each way.
    """
    checked = answers_of(answers)
    claims = {text: claim for answer in checked for text, claim in answer.claims.items()}
    rows: list[dict[str, Any]] = []
    with (
        Server(claims, latency_ms / 1000) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        for way in WAYS:
            step = {**way.step, "evidence": "documents", **_model(way, server, Path(folder))}
            policy = {"chain": [step], "cache": {"store": "none"}}
            guard = Guard(policy, model="played", api_base=server.url, api_key="x")
            async with guard:
                rows.append(await _row(way, guard, checked, server))
    about = {"answers": answers, "claims": len(_SORTS), "latency_ms": latency_ms}
    return ResultTable("documents", _COLUMNS, tuple(rows), _NOTES, about)


async def _row(way: Way, guard: Guard, answers: list[Answer], server: Server) -> dict[str, Any]:
    # Loads the model.
    await guard.acheck(answers[0].text, references=list(answers[0].documents))
    server.calls = server.chars = 0
    seconds: list[float] = []
    verdicts: list[Verdict] = []
    for answer in answers:
        started = time.perf_counter()
        references = list(answer.documents)
        verdicts.append(
            await guard.acheck(answer.text, question="What is known?", references=references)
        )
        seconds.append(time.perf_counter() - started)
    by_words = wrong = caught = right = alarms = 0
    for answer, verdict in zip(answers, verdicts, strict=True):
        for claim in verdict.claims:
            is_right = answer.claims[claim.text][2]
            by_words += claim.by == "facts"
            right += is_right
            wrong += not is_right
            caught += claim.flagged and not is_right
            alarms += claim.flagged and is_right
    return {
        "way": way.name,
        "by_words": 100 * by_words / (right + wrong),
        "calls": server.calls / len(answers),
        "tokens": server.chars / _CHARS_PER_TOKEN / len(answers),
        "p50": 1000 * statistics.median(seconds),
        "found": 100 * caught / wrong if way.decides else None,
        "alarms": 100 * alarms / right if way.decides else None,
    }


_COLUMNS = (
    Column("way", "way"),
    Column("by_words", "settled by words, %", 0),
    Column("calls", "calls", 1),
    Column("tokens", "tokens", 0),
    Column("p50", "p50, ms", 0),
    Column("found", "wrong claims found, %", 0),
    Column("alarms", "false alarms, %", 0),
)
_NOTES = (
    "for an answer of nine claims from five documents: five claims in a document's words, four in"
    " others, a quarter of them with another number.",
    "tokens: read and written, of four characters each.",
    "judge and generative models are played by a server that knows what is right; the classifiers"
    " have tiny, random weights: add the time of yours.",
)


def documents(
    answers: Annotated[
        int, typer.Option(min=1, max=100, help="How many answers are checked.")
    ] = 40,
    latency_ms: Annotated[
        float, typer.Option(min=0, help="How long a judge's or a generative model's answer takes.")
    ] = 500,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what each way to compare with documents costs."""
    print_result(run_sync(run, answers, latency_ms), format_of(as_json, as_markdown))
