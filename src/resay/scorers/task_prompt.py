"""SelfCheckGPT with task prompts (`prompt` with `task: definition`, `paraphrase` or `translation`).

Markchom, Jung and Liang, "NU-RU at SemEval-2024 Task 6: Hallucination and Related Observable
Overgeneration Mistake Detection Using Hypothesis-Target Similarity and SelfCheckGPT", SemEval 2024,
section 4.2, Table 1, equation 3.

A judge is asked whether a context supports the response as a whole, where the context is made for
what the response was to be:

    definition    the source, and what the term in it means by the target
    paraphrase    the source
    translation   the source and the target

The source is the query's question, the target the references. The same question is put N = `votes`
times at the judge's own temperature, and the score is the share of answers that are not Yes: an
undetermined answer counts as hallucination (section 5.1). A score over 0.5 is the majority.

Cost: N calls, or 1 where the provider takes `n`. Good at: short outputs with a known source. Bad
at: anything for which there is neither source nor target, and judges that do not vary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from resay.core.passage import Passage
from resay.core.verdict import Scores
from resay.errors import ScorerError
from resay.scorers.base import Need
from resay.scorers.common.judging import ask_together
from resay.scorers.common.support import RESTATED, ask_support, read_support
from resay.scorers.evidence import Evidence, Judge

__all__ = ["Context", "Task", "context_of", "needs", "render", "vote"]

Task = Literal["definition", "paraphrase", "translation"]

# How the term stands in the sources of the shared task, and how a person asks.
_QUOTES = "[\"'“”‘’]?"
_TERMS = tuple(
    re.compile(pattern.replace("Q", _QUOTES), re.IGNORECASE | re.DOTALL)
    for pattern in (
        # No term is longer, and what is not closed is not looked through again and again.
        r"<define>(.{1,400}?)</define>",
        r"\bmeaning of (?:the (?:word|term|phrase) )?Q(.{1,400}?)Q\s*\?",
        r"\bwhat does Q(.{1,400}?)Q mean\b",
        r"\bdefine (?:the (?:word|term|phrase) )?Q([^\"'“”‘’.?!\n]+)",
    )
)


@dataclass(frozen=True, slots=True)
class Context:
    """What a response is judged by.

    Attributes:
        text: The context as the judge reads it.
        term: The term a definition is of.
    """

    text: str
    term: str | None = None


def needs(task: Task) -> frozenset[Need]:
    """Return what the evidence must hold for a task."""
    if task == "paraphrase":
        return frozenset({"judge", "query"})
    return frozenset({"judge", "query", "references"})


async def context_of(task: Task, evidence: Evidence, term: str | None) -> Context:
    """Make the context of Table 1.

    Args:
        task: What the response was to be.
        evidence: The query, whose question is the source, and the references, the target.
        term: The term a definition is of; None to find it in the source.

    Returns:
        The context.

    Raises:
        ScorerError: There is no source, no target where one is needed, or no term can be found.
    """
    source = evidence.query.question if evidence.query else ""
    if not source:
        raise ScorerError(f"`task: {task}` needs the question; pass `question`")
    if task == "paraphrase":
        return Context(source)
    target = " ".join(reference.text for reference in await evidence.references.all())
    if not target:
        raise ScorerError(f"`task: {task}` needs the intended text; pass it as a reference")
    if task == "translation":
        return Context(f"{source} {target}")
    found = term or _term_in(source)
    if found is None:
        raise ScorerError("no term to define was found in the question; name it with `term`")
    return Context(f'{source} The term "{found}" means {target}', found)


def _term_in(source: str) -> str | None:
    # The question comes last; before it the text in question may speak of meanings itself.
    found = ([*pattern.finditer(source)] for pattern in _TERMS)
    return next((matches[-1][1].strip() for matches in found if matches), None)


def render(context: Context, hypothesis: str) -> str:
    """Return the published question about a response."""
    sentence = hypothesis if context.term is None else f"The term {context.term} means {hypothesis}"
    return ask_support(context.text, sentence)


async def vote(
    judge: Judge, context: Context, passage: Passage, votes: int, restate: bool
) -> Scores:
    """Ask several times whether the context supports the passage (Eq. 3).

    Args:
        judge: Who is asked, at its own temperature.
        context: What the passage is judged by.
        passage: The passage.
        votes: How many answers are wanted.
        restate: Whether an answer that cannot be read is asked for once more.

    Returns:
        A passage score: the share of answers that were not Yes. Failed calls are left out.
    """
    readings = await ask_together(
        judge.varied(),
        render(context, passage.text),
        read_support,
        RESTATED if restate else None,
        votes,
    )
    failures = tuple(failure for reading in readings for failure in reading.failures)
    answered = [reading for reading in readings if reading.answered]
    undetermined = sum(reading.undetermined for reading in answered)
    against = sum(reading.slots[0] is not True for reading in answered)
    return Scores(
        passage=against / len(answered) if answered else None,
        why_passage=f"not supported by the context in {against} of {len(answered)} answers",
        failures=failures,
        undetermined=undetermined,
        inconclusive=_why_inconclusive(votes, len(answered), undetermined),
    )


def _why_inconclusive(votes: int, answered: int, undetermined: int) -> str | None:
    if answered * 2 < votes:
        return f"{votes - answered} of {votes} votes failed"
    # Published, an unreadable answer counts as hallucination; a judge that never answers readably
    # says nothing about the response.
    if undetermined == answered:
        return f"none of {answered} judge answers was a yes or a no"
    return None
