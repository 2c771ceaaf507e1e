"""Judges a response by a context made for its task (`prompt` with `task`).

Markchom, Jung and Liang, "NU-RU at SemEval-2024 Task 6: Hallucination and Related Observable
Overgeneration Mistake Detection Using Hypothesis-Target Similarity and SelfCheckGPT", SemEval 2024,
section 4.2, Table 1, equation 3.

A judge is asked whether a context supports the response as a whole. The context depends on the
task:

    definition    the source, and the meaning of the term in it according to the target
    paraphrase    the source
    translation   the source and the target

The source is the request's question, the target the references. The same question is asked N =
`votes` times at the judge's own temperature, and the score is the share of answers that are not
Yes: an undetermined answer counts as hallucination (section 5.1). A score over 0.5 is the majority.

Cost: N calls, or 1 if the provider supports `n`. Good at: short outputs with a known source. Bad
at: responses with neither source nor target, and judges whose answers do not vary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage
from resay.core.quoting import quotable
from resay.core.scores import Scores
from resay.errors import ScorerError
from resay.scorers.base import Need
from resay.scorers.common.judge_calls import ask_together
from resay.scorers.common.yes_no import RESTATED, parse_support, support_question
from resay.scorers.evidence import Evidence
from resay.scorers.judge import Judge

Task = Literal["definition", "paraphrase", "translation"]
# How the shared task's sources, and people's questions, mark the term.
_QUOTES = "[\"'“”‘’]?"
_TERMS = tuple(
    lazy_pattern(pattern.replace("Q", _QUOTES), re.IGNORECASE | re.DOTALL)
    for pattern in (
        # No term is longer; the limit also keeps an unclosed tag from causing repeated scans.
        r"<define>(.{1,400}?)</define>",
        r"\bmeaning of (?:the (?:word|term|phrase) )?Q(.{1,400}?)Q\s*\?",
        r"\bwhat does Q(.{1,400}?)Q mean\b",
        r"\bdefine (?:the (?:word|term|phrase) )?Q([^\"'“”‘’.?!\n]+)",
    )
)


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The context by which a response is judged.

    Attributes:
        text: The context as shown to the judge.
        term: The term that is defined, if any.
    """

    text: str
    term: str | None = None


def needs_of(task: Task) -> frozenset[Need]:
    """Return the evidence that a task requires."""
    if task == "paraphrase":
        return frozenset({"judge", "question"})
    return frozenset({"judge", "question", "references"})


async def context_of(task: Task, evidence: Evidence, term: str | None) -> TaskContext:
    """Return the context of Table 1.

    Args:
        task: The task of the response.
        evidence: The request, whose question is the source, and the references, the target.
        term: The term that is defined; None to find it in the source.

    Returns:
        The context.

    Raises:
        ScorerError: The source, a required target, or the term is missing.
    """
    source = evidence.quoted_question
    if not source:
        raise ScorerError(f"`task: {task}` needs the question; pass `question`")
    if task == "paraphrase":
        return TaskContext(source)
    references = await evidence.references.all()
    target = " ".join(reference.derived(quotable) for reference in references)
    if not target:
        raise ScorerError(f"`task: {task}` needs the intended text; pass it as a reference")
    if task == "translation":
        return TaskContext(f"{source} {target}")
    term = term or _term_in(source)
    if term is None:
        raise ScorerError("found no term to define in the question; set `term`")
    return TaskContext(f'{source} The term "{term}" means {target}', term)


def _term_in(source: str) -> str | None:
    for pattern in _TERMS:
        matches = list(pattern.finditer(source))
        if matches:
            # The question comes last; the text before it may itself mention meanings.
            return matches[-1][1].strip()
    return None


def render(context: TaskContext, hypothesis: str) -> str:
    """Return the published question about a response."""
    if context.term is None:
        return support_question(context.text, hypothesis)
    return support_question(context.text, f"The term {context.term} means {hypothesis}")


async def vote(
    judge: Judge, context: TaskContext, passage: Passage, votes: int, restate: bool
) -> Scores:
    """Ask several times whether the context supports the passage (Eq. 3).

    Args:
        judge: The judge, asked at its own temperature.
        context: The context by which the passage is judged.
        passage: The passage.
        votes: Number of answers.
        restate: Whether to ask once more for an answer that cannot be parsed.

    Returns:
        A passage score: the share of answers other than Yes. Failed calls are left out.
    """
    parsed_answers = await ask_together(
        judge.varied(),
        render(context, passage.text),
        parse_support,
        RESTATED if restate else None,
        votes,
    )
    answered = [parsed for parsed in parsed_answers if parsed.answered]
    undetermined = sum(parsed.undetermined for parsed in answered)
    against = sum(parsed.slots[0] is not True for parsed in answered)
    return Scores(
        passage=against / len(answered) if answered else None,
        passage_reason=_reason(against, len(answered)),
        failures=tuple(failure for parsed in parsed_answers for failure in parsed.failures),
        undetermined=undetermined,
        error=_inconclusive_reason(votes, len(answered), undetermined),
    )


def _reason(against: int, answers: int) -> str | None:
    if not answers:
        return None
    if against:
        return f"not supported by the context in {against} of {answers} answers"
    return f"supported by the context in {answers} of {answers} answers"


def _inconclusive_reason(votes: int, answered: int, undetermined: int) -> str | None:
    if answered * 2 < votes:
        return f"{votes - answered} of {votes} votes failed"
    # As published, an unreadable answer counts as hallucination; but a judge that gives no readable
    # answer at all says nothing about the response.
    if undetermined == answered:
        return f"none of {answered} judge answers was a yes or a no"
    return None
